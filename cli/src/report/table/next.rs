//! The last lines of a report: commands that say more of this profile, and where its words are explained.

use std::path::Path;

use crate::{
    profile::DEFAULT_FILE,
    report::{
        analysis::{Analysis, Grouping},
        args::ReportOptions,
    },
};

/// Where words are explained.
pub const GLOSSARY: &str = "docs/glossary.md";

/// What to type next.
pub fn commands(analysis: &Analysis, options: &ReportOptions) -> String {
    let (profile, has_bytes) = (argument(&options.profile), analysis.profile.meta.has_bytes());
    let is_by_line = matches!(analysis.grouping, Grouping::Lines(_));
    let has_lines = analysis.rows.iter().any(|row| row.file.is_some() && row.line > 0);
    let has_flows = analysis.profile.flows.is_some() && analysis.profile.objects.is_some();
    let has_pairs = has_flows || !analysis.profile.pairs.is_empty();
    let report = match (has_lines && !is_by_line, has_bytes) {
        (true, true) => format!("dmdprof report{profile} --lines (or --depths, -v)"),
        (true, false) => format!("dmdprof report{profile} --lines (or -v)"),
        (false, true) => format!("dmdprof report{profile} --depths (or -v)"),
        (false, false) => format!("dmdprof report{profile} -v"),
    };
    let causes =
        (analysis.profile.cycles.is_some() && !options.causes).then(|| format!("dmdprof report{profile} --causes"));
    let option = if profile.is_empty() { "" } else { " -p" };
    let why = has_pairs.then(|| format!("dmdprof why{option}{profile}"));
    let view = has_bytes.then(|| format!("dmdprof view{profile} --open"));
    causes.into_iter().chain(why).chain([report]).chain(view).collect::<Vec<_>>().join("; ")
}

/// A path as a shell takes it for one word.
fn argument(path: &Path) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:@%".contains(c);
    match &*path.to_string_lossy() {
        DEFAULT_FILE => String::new(),
        path if path.chars().all(is_plain) => format!(" {path}"),
        path => format!(" '{}'", path.replace('\'', "'\\''")),
    }
}
