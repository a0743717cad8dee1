//! The history that a repository has anyway: baselines are committed files.
//!
//! Takes a repository and the directory of the baselines, gives an [`Entry`] for each baseline that a commit changed,
//! the oldest first. Nothing is run. What is no baseline is passed over and said.

use std::path::Path;

use super::Entry;
use crate::gate::baseline;
use crate::git::{Commit, Git};

/// Entries, and what was passed over.
#[derive(Debug, Default)]
pub struct Past {
    pub entries: Vec<Entry>,
    pub notes: Vec<String>,
}

/// Reads the baselines of every commit up to one.
///
/// # Errors
/// Those of git.
pub fn read(git: &Git, until: &Commit, directory: &str) -> anyhow::Result<Past> {
    let mut past = Past::default();
    for (commit, files) in git.touching(until, directory)? {
        for file in files {
            let path = Path::new(&file);
            let (Some(case), Some("toml")) = (path.file_stem(), path.extension().and_then(|e| e.to_str())) else {
                continue;
            };
            // Removed ones end there.
            let Some(text) = git.file(&commit.id, &file) else { continue };
            let text = String::from_utf8_lossy(&text);
            match baseline::from_text(path, &text) {
                Ok(summary) => {
                    let case = case.to_string_lossy();
                    past.entries.push(Entry::from_summary(&case, &commit, false, &summary, usize::MAX));
                }
                Err(error) => past.notes.push(format!("{}: passed over: {error}", commit.short())),
            }
        }
    }
    Ok(past)
}
