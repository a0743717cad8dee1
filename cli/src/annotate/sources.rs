//! Where the source files of a profile are now, and whether they are still what was compiled.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::{
    profile::Profile,
    shared::{
        project::OwnDirectories,
        source_file::{self, lines},
    },
};

/// What became of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// There, and the same as when the profile was made.
    Same(PathBuf),
    /// There, but changed since: lines may have moved.
    Changed(PathBuf),
    /// There, but it could not be read when the profile was made, so that nobody knows whether it is the same.
    Unverified(PathBuf),
    /// There, but not below the directories whose files are shown.
    Outside(PathBuf),
    Missing,
}

/// Looks for source files: where the compiler saw them, then below the given directories, then below the current one.
/// The profile, which may be anybody's, says where that is; so only what is the user's own is read.
pub struct Finder {
    directories: Vec<PathBuf>,
    own: OwnDirectories,
}

impl Finder {
    /// `directories`: those that the user has named.
    #[must_use]
    pub fn new(directories: &[PathBuf]) -> Self {
        Self { directories: directories.to_vec(), own: OwnDirectories::new(directories) }
    }

    /// State and lines of a file of the profile.
    #[must_use]
    pub fn find(&self, profile: &Profile, path: &str) -> (State, Vec<String>) {
        let source = profile.sources.iter().find(|source| profile.strings[source.path.index()] == path);
        self.look(path, source.and_then(|source| source.sha256))
    }

    /// State and lines of a file whose hash is or is not known.
    #[must_use]
    pub fn look(&self, path: &str, recorded: Option<[u8; 32]>) -> (State, Vec<String>) {
        let (mut changed, mut outside) = (None, None);
        for candidate in self.candidates(path) {
            let Some(real) = candidate.canonicalize().ok().filter(|real| real.is_file()) else { continue };
            if !self.own.has(&real) {
                outside.get_or_insert(real);
                continue;
            }
            // What was looked at, not what a link leads to by now.
            let Ok(bytes) = source_file::read(&real) else { continue };
            let found: [u8; 32] = Sha256::digest(&bytes).into();
            match recorded {
                Some(recorded) if recorded == found => return (State::Same(candidate), lines(&bytes)),
                Some(_) => {
                    changed.get_or_insert((State::Changed(candidate), lines(&bytes)));
                }
                None => return (State::Unverified(candidate), lines(&bytes)),
            }
        }
        changed.unwrap_or((outside.map_or(State::Missing, State::Outside), Vec::new()))
    }

    /// The path itself; then, below each directory, its ends, longest first.
    fn candidates(&self, path: &str) -> Vec<PathBuf> {
        let mut candidates = vec![PathBuf::from(path)];
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
        let here = PathBuf::from(".");
        for directory in self.directories.iter().chain([&here]) {
            candidates.extend((0..parts.len()).map(|from| directory.join(parts[from..].join("/"))));
        }
        candidates
    }
}

/// Whether a path is meant by its whole or its last parts.
#[must_use]
pub fn is_called(path: &str, wanted: &str) -> bool {
    let wanted = wanted.trim_start_matches("./");
    path == wanted || path.strip_suffix(wanted).is_some_and(|before| before.ends_with('/'))
}

#[must_use]
pub fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}
