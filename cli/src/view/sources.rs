//! Source files for the page: their text, their place, or nothing.
//!
//! Takes the files that code counts for, or those that a listing of events names; gives what became of each. A file
//! that is not there, is none of the user's own or changed since the run, is said to be; its lines keep their numbers
//! all the same. The files of the costliest lines go first. Of one for which [`MOST_BYTES`] leave no room, only the
//! lines that have numbers go in, with some around them; if these are too many, it is left out, and said to be.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;

use serde::Serialize;

use super::tree;
use crate::annotate::{Finder, State};
use crate::profile::Profile;
use crate::shared::printable;

/// What of the sources goes into the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sources {
    /// Their text: whoever gets the page can read them
    #[default]
    Embed,
    /// Where they are on this machine, as links
    Link,
    /// Nothing but names of files and numbers of lines
    None,
}

#[derive(Serialize)]
pub struct Embedded {
    /// Index of the file; of a listing's, none.
    file: Option<usize>,
    /// Of a listing's: its name there.
    name: Option<String>,
    state: &'static str,
    text: Option<String>,
    /// Instead of the whole text: lines, each part with the number of its first.
    parts: Vec<(u32, String)>,
    /// Where it is now.
    path: Option<String>,
}

/// Source text of all files together.
const MOST_BYTES: usize = 5 << 20;
/// Lines around one that has a number.
const AROUND: u32 = 6;

/// Puts files into a page, as long as there is room.
pub struct Shelf<'a> {
    finder: &'a Finder,
    mode: Sources,
    left: usize,
}

impl<'a> Shelf<'a> {
    #[must_use]
    pub fn new(finder: &'a Finder, mode: Sources) -> Self {
        Self { finder, mode, left: MOST_BYTES }
    }

    /// Those of a page's profile.
    pub fn of_profile(&mut self, profile: &Profile, described: &tree::Described) -> Vec<Embedded> {
        if self.mode == Sources::None {
            return Vec::new();
        }
        let tree::Described { files, costs, numbered, .. } = described;
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by_key(|file| Reverse(costs[*file]));
        let of = |file: usize| {
            // Names that are not printable are shown in another way than the system has them.
            let known = profile.strings.iter().find(|text| printable::name(text) == files[file].as_str());
            let found = self.finder.find(profile, known.unwrap_or(&files[file]));
            self.put(Some(file), None, found, &numbered[file])
        };
        order.into_iter().map(of).collect()
    }

    /// Files that a listing of events names, but for those that are `known`.
    pub fn of_listing(&mut self, listing: &str, known: &[String]) -> Vec<Embedded> {
        if self.mode == Sources::None {
            return Vec::new();
        }
        let mut places: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for line in listing.lines() {
            let Some((name, number)) = line.rsplit_once(" at ").and_then(|(_, place)| place.rsplit_once(':')) else {
                continue;
            };
            if let (Ok(number), false) = (number.parse(), known.iter().any(|known| known == name)) {
                places.entry(name).or_default().insert(number);
            }
        }
        let of = |(name, lines): (&str, BTreeSet<u32>)| {
            self.put(None, Some(name.into()), self.finder.look(name, None), &lines)
        };
        places.into_iter().map(of).collect()
    }

    /// `numbered`: the lines that the page has something to say of.
    fn put(
        &mut self,
        file: Option<usize>,
        name: Option<String>,
        (state, lines): (State, Vec<String>),
        numbered: &BTreeSet<u32>,
    ) -> Embedded {
        let (state, path) = match &state {
            State::Same(path) => ("same", Some(path)),
            State::Changed(path) => ("changed", Some(path)),
            State::Unverified(path) => ("unverified", Some(path)),
            State::Outside(_) => ("outside", None),
            State::Missing => ("missing", None),
        };
        let (mut text, mut parts) = (None, Vec::new());
        if self.mode == Sources::Embed && path.is_some() {
            let all = 1..=lines.len() as u32;
            if self.takes(&lines, std::slice::from_ref(&all)) {
                text = Some(joined(&lines, &all));
            } else {
                let around = around(numbered, lines.len() as u32);
                if self.takes(&lines, &around) {
                    parts = around.iter().map(|part| (*part.start(), joined(&lines, part))).collect();
                }
            }
        }
        let is_left_out = self.mode == Sources::Embed && path.is_some() && text.is_none() && parts.is_empty();
        let state = if is_left_out { "large" } else { state };
        let path = path.filter(|_| self.mode == Sources::Link).and_then(|path| absolute(path));
        Embedded { file, name, state, text, parts, path }
    }

    /// Whether there is room for these lines, which then is taken.
    fn takes(&mut self, lines: &[String], parts: &[RangeInclusive<u32>]) -> bool {
        let bytes: usize = parts.iter().flat_map(|part| of_part(lines, part)).map(|line| line.len() + 1).sum();
        let fits = bytes <= self.left;
        self.left -= if fits { bytes } else { 0 };
        fits
    }
}

/// Numbers of lines near numbered ones, in rows.
fn around(numbered: &BTreeSet<u32>, last: u32) -> Vec<RangeInclusive<u32>> {
    let mut parts: Vec<RangeInclusive<u32>> = Vec::new();
    for line in numbered.iter().filter(|line| (1..=last).contains(*line)) {
        let (from, to) = (line.saturating_sub(AROUND).max(1), line.saturating_add(AROUND).min(last));
        match parts.last_mut() {
            Some(part) if from <= part.end() + 1 => *part = *part.start()..=to,
            _ => parts.push(from..=to),
        }
    }
    parts
}

fn of_part<'l>(lines: &'l [String], part: &RangeInclusive<u32>) -> &'l [String] {
    &lines[*part.start() as usize - 1..*part.end() as usize]
}

fn joined(lines: &[String], part: &RangeInclusive<u32>) -> String {
    of_part(lines, part).iter().map(|line| printable_code(line)).collect::<Vec<_>>().join("\n")
}

/// Tabs stay, as the page sets them.
fn printable_code(line: &str) -> String {
    line.split('\t').map(printable::code).collect::<Vec<_>>().join("\t")
}

fn absolute(path: &Path) -> Option<String> {
    path.canonicalize().ok()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_around_numbered_ones_are_rows_that_keep_apart() {
        let numbered = BTreeSet::from([0, 3, 20, 40, 400]);
        assert_eq!(around(&numbered, 43), [1..=9, 14..=26, 34..=43]);
        assert_eq!(around(&BTreeSet::from([10, 23]), 100), [4..=29]);
        assert_eq!(around(&BTreeSet::new(), 5), []);
    }
}
