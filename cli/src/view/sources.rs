//! Source files for the page: their text, their place, or nothing.
//!
//! Takes the files that code counts for, or those that a listing of events names; gives what became of each. A file that is not there, or changed since
//! the run, is said to be; its lines keep their numbers all the same. The files of the costliest lines go first; those beyond [`MOST_BYTES`] together are
//! left out, and said to be.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use crate::annotate::{Finder, State};
use crate::printable;
use crate::profile::Profile;

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
    /// Where it is now.
    path: Option<String>,
}

/// Source text of all files together.
const MOST_BYTES: usize = 5 << 20;

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

    /// `files`: as the page names them, with what each costs.
    pub fn of_profile(&mut self, profile: &Profile, files: &[String], costs: &[u128]) -> Vec<Embedded> {
        if self.mode == Sources::None {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by_key(|file| Reverse(costs[*file]));
        let of = |file: usize| {
            // Names that are not printable are shown in another way than the system has them.
            let known = profile.strings.iter().find(|text| printable::name(text) == files[file].as_str());
            let found = self.finder.find(profile, known.unwrap_or(&files[file]));
            self.put(Some(file), None, found)
        };
        order.into_iter().map(of).collect()
    }

    /// Files that a listing of events names, but for those that are `known`.
    pub fn of_listing(&mut self, listing: &str, known: &[String]) -> Vec<Embedded> {
        if self.mode == Sources::None {
            return Vec::new();
        }
        let places = listing.lines().filter_map(|line| Some(line.rsplit_once(" at ")?.1.rsplit_once(':')?.0));
        let names: BTreeSet<&str> = places.filter(|name| !known.iter().any(|known| known == name)).collect();
        names.into_iter().map(|name| self.put(None, Some(name.into()), self.finder.look(name, None))).collect()
    }

    fn put(&mut self, file: Option<usize>, name: Option<String>, (state, lines): (State, Vec<String>)) -> Embedded {
        let (state, path) = match &state {
            State::Same(path) => ("same", Some(path)),
            State::Changed(path) => ("changed", Some(path)),
            State::Unverified(path) => ("unverified", Some(path)),
            State::Missing => ("missing", None),
        };
        let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
        let fits = self.mode == Sources::Embed && path.is_some() && bytes <= self.left;
        if fits {
            self.left -= bytes;
        }
        let text = fits.then(|| lines.iter().map(|line| printable_code(line)).collect::<Vec<_>>().join("\n"));
        let state = if self.mode == Sources::Embed && path.is_some() && !fits { "large" } else { state };
        let path = path.filter(|_| self.mode == Sources::Link).and_then(|path| absolute(path));
        Embedded { file, name, state, text, path }
    }
}

/// Tabs stay, as the page sets them.
fn printable_code(line: &str) -> String {
    line.split('\t').map(printable::code).collect::<Vec<_>>().join("\t")
}

fn absolute(path: &Path) -> Option<String> {
    path.canonicalize().ok()?.to_str().map(str::to_owned)
}
