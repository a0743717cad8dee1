//! A commit's files in a directory of their own.
//!
//! Takes a repository, gives a clone that shares its objects, in which one commit after the other is checked out. The
//! repository itself is not written to, so that removing the directory is all there is to clean up, also after an
//! interruption. The clone has none of the repository's configuration and hooks.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{Commit, Git, finish};
use crate::driver::scratch::Scratch;

/// A directory with a commit's files.
#[derive(Debug)]
pub struct Checkout {
    git: Git,
    directory: PathBuf,
    _scratch: Scratch,
}

impl Checkout {
    /// One without files.
    ///
    /// # Errors
    /// When there is no room for it.
    pub fn new(git: &Git) -> anyhow::Result<Self> {
        let scratch = Scratch::for_programs()?;
        let place = scratch.path().canonicalize().context("a temporary directory is not there")?;
        // As the original is called: what names it does so everywhere.
        let directory = place.join(git.root().file_name().unwrap_or("checkout".as_ref()));
        let mut clone = git.command(&place);
        clone.args(["clone", "--quiet", "--shared", "--no-checkout", "--template=", "--"]);
        finish(clone.arg(git.root()).arg(&directory), "clone", &[])?;
        Ok(Checkout { git: git.clone(), directory, _scratch: scratch })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Exactly the files of a commit, and nothing that was built.
    ///
    /// # Errors
    /// Those of git.
    pub fn set(&self, commit: &Commit) -> anyhow::Result<()> {
        let of_clone =
            |arguments: &[&str]| finish(self.git.command(&self.directory).args(arguments), arguments[0], &[]).map(drop);
        of_clone(&["checkout", "--quiet", "--force", "--detach", "--end-of-options", &commit.id])?;
        of_clone(&["clean", "-ffdxq"])
    }
}
