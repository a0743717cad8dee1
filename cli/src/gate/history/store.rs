//! Where a history is: a file, a directory, a branch of git or its notes.
//!
//! Takes what the user or `dmdprof.toml` says, gives the lines, and adds some. What a project's own file says stays in
//! its repository: no absolute path, nothing above, no link out of it.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};

use crate::git::{Commit, Git};

/// Name of the file in directories and on branches.
pub const FILE: &str = "history.jsonl";

/// Where lines are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryStore {
    File(PathBuf),
    Branch(String),
    Notes(String),
}

impl HistoryStore {
    /// What a user says, from a directory.
    #[must_use]
    pub fn of_user(text: &str, here: &Path) -> Self {
        match text.split_once(':') {
            Some(("branch", name)) => HistoryStore::Branch(name.into()),
            Some(("notes", name)) => HistoryStore::Notes(name.into()),
            _ => {
                let path = here.join(text);
                let is_file = path.extension().is_some_and(|e| e == "jsonl");
                HistoryStore::File(if is_file { path } else { path.join(FILE) })
            }
        }
    }

    /// What the configuration in a directory says.
    ///
    /// # Errors
    /// When that would be outside of the directory.
    pub fn of_project(text: &str, home: &Path) -> anyhow::Result<Self> {
        let place = HistoryStore::of_user(text, home);
        if let HistoryStore::File(path) = &place {
            let inside = path.strip_prefix(home).ok();
            let is_plain = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
            let nearest = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(home);
            let is_real =
                nearest.canonicalize().ok().zip(home.canonicalize().ok()).is_some_and(|(a, b)| a.starts_with(b));
            if !(inside.is_some_and(is_plain) && is_real) {
                bail!(
                    "[history] of dmdprof.toml leads out of its directory ({text:?}); give --history {text:?} if that is meant"
                );
            }
        }
        Ok(place)
    }

    /// The file, if it is one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            HistoryStore::File(path) => Some(path),
            HistoryStore::Branch(_) | HistoryStore::Notes(_) => None,
        }
    }

    /// What is there; nothing if there is none yet.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, git: Option<&Git>) -> anyhow::Result<Vec<u8>> {
        match self {
            HistoryStore::File(path) => match fs::read(path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
                text => text.with_context(|| format!("cannot read {}", path.display())),
            },
            HistoryStore::Branch(name) => Ok(needed(git)?.of_branch(name, FILE)?.unwrap_or_default()),
            HistoryStore::Notes(name) => needed(git)?.notes(name),
        }
    }

    /// Adds lines.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn append(&self, git: Option<&Git>, commit: &Commit, lines: &str) -> anyhow::Result<()> {
        match self {
            HistoryStore::File(path) => {
                let cannot = || format!("cannot write {}", path.display());
                fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).with_context(cannot)?;
                // A link would lead to a file that somebody else has chosen.
                let mut options = OpenOptions::new();
                let file = options.create(true).append(true).custom_flags(libc::O_NOFOLLOW).open(path);
                file.and_then(|mut file| file.write_all(lines.as_bytes())).with_context(cannot)
            }
            HistoryStore::Branch(name) => {
                let subject = format!("Numbers of {}", commit.short());
                needed(git)?.append_to_branch(name, FILE, lines, &subject)
            }
            HistoryStore::Notes(name) => needed(git)?.append_to_note(name, commit, lines),
        }
    }
}

impl std::fmt::Display for HistoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HistoryStore::File(path) => write!(f, "{}", path.display()),
            HistoryStore::Branch(name) => write!(f, "branch {name}"),
            HistoryStore::Notes(name) => write!(f, "notes {name}"),
        }
    }
}

fn needed(git: Option<&Git>) -> anyhow::Result<&Git> {
    git.context("a history on a branch or in notes needs a git repository around the current directory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_history_stays_in_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir_all(home.join("own")).unwrap();
        std::os::unix::fs::symlink(folder.path(), home.join("link")).unwrap();
        for text in ["/etc", "..", "own/../../x", "link", "link/x.jsonl"] {
            let error = HistoryStore::of_project(text, &home).unwrap_err().to_string();
            assert!(error.contains("leads out of its directory"), "{text}: {error}");
        }
        assert_eq!(HistoryStore::of_project("own", &home).unwrap(), HistoryStore::File(home.join("own").join(FILE)));
        assert_eq!(HistoryStore::of_project("a/b.jsonl", &home).unwrap(), HistoryStore::File(home.join("a/b.jsonl")));
        assert_eq!(HistoryStore::of_project("branch:x", &home).unwrap(), HistoryStore::Branch("x".into()));
        assert_eq!(HistoryStore::of_user("/x", &home), HistoryStore::File("/x/history.jsonl".into()));
        let place = HistoryStore::of_user("new/h.jsonl", &home);
        assert!(place.read(None).unwrap().is_empty());
        place.append(None, &Commit::default(), "1\n").unwrap();
        place.append(None, &Commit::default(), "2\n").unwrap();
        assert_eq!(place.read(None).unwrap(), b"1\n2\n");
        assert!(HistoryStore::Branch("x".into()).read(None).is_err());
    }
}
