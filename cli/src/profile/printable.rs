//! A profile whose names can be printed.
//!
//! Takes a profile, gives the same with every name and path as [`printable`] has it, for everything that people read.
//! Nothing is copied if all of them are printable, as they nearly always are. Refuses nothing. Files are not found by
//! these paths.

use std::borrow::Cow;

use super::model::Profile;
use crate::shared::printable;

/// A profile whose names have no control characters, as a terminal gets them.
#[must_use]
pub(crate) fn for_people(profile: &Profile) -> Cow<'_, Profile> {
    if texts(profile).all(|text| matches!(printable::name(text), Cow::Borrowed(_))) {
        return Cow::Borrowed(profile);
    }
    let mut changed = profile.clone();
    each(&mut changed, |text| {
        if let Cow::Owned(printed) = printable::name(text) {
            *text = printed;
        }
    });
    Cow::Owned(changed)
}

fn texts(profile: &Profile) -> impl Iterator<Item = &String> {
    let Profile { strings, meta, coverage, regions, compilers, .. } = profile;
    let counted = coverage.skipped.iter().chain(&coverage.unseen_calls).map(|(name, _)| name);
    strings
        .iter()
        .chain(compilers)
        .chain([&meta.tool_version, &meta.model])
        .chain(&meta.command)
        .chain(&meta.roi)
        .chain(&meta.incomplete)
        .chain(counted)
        .chain(&coverage.without_hooks)
        .chain(coverage.modules.iter().map(|module| &module.name))
        .chain(regions.iter().map(|region| &region.name))
}

/// As [`texts`].
fn each(profile: &mut Profile, change: impl FnMut(&mut String)) {
    let Profile { strings, meta, coverage, regions, compilers, .. } = profile;
    let counted = coverage.skipped.iter_mut().chain(&mut coverage.unseen_calls).map(|(name, _)| name);
    strings
        .iter_mut()
        .chain(compilers)
        .chain([&mut meta.tool_version, &mut meta.model])
        .chain(&mut meta.command)
        .chain(&mut meta.roi)
        .chain(&mut meta.incomplete)
        .chain(counted)
        .chain(&mut coverage.without_hooks)
        .chain(coverage.modules.iter_mut().map(|module| &mut module.name))
        .chain(regions.iter_mut().map(|region| &mut region.name))
        .for_each(change);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        profile::sample,
        report::{self, Format, ReportOptions},
    };

    #[test]
    fn every_name_of_a_profile_is_printable_for_people_and_exact_for_programs() {
        let clean = sample::small();
        assert!(matches!(for_people(&clean), Cow::Borrowed(_)));
        let mut evil = clean;
        let mut renamed = 0;
        each(&mut evil, |text| {
            renamed += 1;
            *text = format!("=\x1b[31m{renamed}\n::error::\u{202e}x");
        });
        assert_eq!(renamed, texts(&evil).count());
        for format in [Format::Table, Format::Csv, Format::Json] {
            let mut out = Vec::new();
            let options = ReportOptions { format, threshold: 0.0, ..ReportOptions::default() };
            report::render(&evil, &options, &mut out).expect("it can be shown");
            let out = String::from_utf8(out).expect("text");
            assert!(out.contains("31m"), "{format:?} has no names:\n{out}");
            assert!(!out.contains(['\x1b', '\u{202e}']) || format == Format::Json, "{out}");
            assert!(!out.contains('\x1b') && !out.lines().any(|l| l.trim_start().starts_with("::error")), "{out}");
            assert!(format != Format::Csv || !out.contains(",=") && !out.contains("\"="), "a formula:\n{out}");
        }
    }
}
