//! Source files for the page: their text, their place, or nothing.
//!
//! Takes the files that code counts for, in the profile's order; gives what became of each. A file that is not there, or changed since the run, is
//! said to be; its lines keep their numbers all the same. Files beyond [`MOST_BYTES`] together are left out, and said to be.

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
    /// Index of the file.
    file: usize,
    state: &'static str,
    text: Option<String>,
    /// Where it is now.
    path: Option<String>,
}

/// Source text of all files together.
const MOST_BYTES: usize = 6 << 20;

/// `files`: as the page names them, in the same order as in the profile's strings they were found.
pub fn of(profile: &Profile, files: &[String], finder: &Finder, mode: Sources) -> Vec<Embedded> {
    if mode == Sources::None {
        return Vec::new();
    }
    let mut left = MOST_BYTES;
    let mut list = Vec::new();
    for (number, shown) in files.iter().enumerate() {
        // Names that are not printable are shown in another way than the system has them.
        let known = profile.strings.iter().find(|text| printable::name(text) == shown.as_str());
        let (state, lines) = finder.find(profile, known.unwrap_or(shown));
        let (state, path) = match &state {
            State::Same(path) => ("same", Some(path)),
            State::Changed(path) => ("changed", Some(path)),
            State::Unverified(path) => ("unverified", Some(path)),
            State::Missing => ("missing", None),
        };
        let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
        let fits = mode == Sources::Embed && path.is_some() && bytes <= left;
        if fits {
            left -= bytes;
        }
        let text = fits.then(|| lines.iter().map(|line| printable_code(line)).collect::<Vec<_>>().join("\n"));
        let state = if mode == Sources::Embed && path.is_some() && !fits { "large" } else { state };
        let path = path.filter(|_| mode == Sources::Link).and_then(|path| absolute(path));
        list.push(Embedded { file: number, state, text, path });
    }
    list
}

/// Tabs stay, as the page sets them.
fn printable_code(line: &str) -> String {
    line.split('\t').map(printable::code).collect::<Vec<_>>().join("\t")
}

fn absolute(path: &Path) -> Option<String> {
    path.canonicalize().ok()?.to_str().map(str::to_owned)
}
