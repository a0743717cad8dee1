//! A commit's files in a directory of their own.
//!
//! Takes a repository, gives a clone that shares its objects, in which one commit after the other is checked out. The
//! repository itself is not written to, so that removing the directory is all there is to clean up, also after an
//! interruption. The clone has none of the repository's configuration and hooks. Submodules come from where the
//! repository has them checked out, in the same way; nothing is fetched, and a commit that is not there is refused.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
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
        git.clone_to(&directory)?;
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
        self.git.fill(&self.directory, &commit.id)
    }
}

impl Git {
    /// A clone without files, next to the directory's neighbours.
    fn clone_to(&self, directory: &Path) -> anyhow::Result<()> {
        let mut clone = self.command(self.root());
        clone.args(["clone", "--quiet", "--shared", "--no-checkout", "--template=", "--"]);
        finish(clone.arg(self.root()).arg(directory), "clone", &[]).map(drop)
    }

    /// Has a clone of this repository hold the files of a commit and of its submodules.
    fn fill(&self, clone: &Path, id: &str) -> anyhow::Result<()> {
        let run = |arguments: &[&str]| finish(self.command(clone).args(arguments), arguments[0], &[]).map(drop);
        run(&["checkout", "--quiet", "--force", "--detach", "--end-of-options", id])?;
        run(&["clean", "-ffdxq"])?;
        for (path, id) in self.submodules(id)? {
            let directory = clone.join(&path);
            let git = self.submodule(&path)?;
            if !directory.join(".git").exists() {
                git.clone_to(&directory)?;
            }
            git.fill(&directory, &id).with_context(|| format!("the submodule {}", path.display()))?;
        }
        Ok(())
    }

    /// Paths of the submodules of a commit that are checked out here, each with its commit there.
    fn submodules(&self, id: &str) -> anyhow::Result<Vec<(PathBuf, String)>> {
        const MODE: &str = "160000 commit ";
        let listed = self.output(&["ls-tree", "-r", "-z", "--full-tree", id])?;
        let entries = listed.split(|byte| *byte == 0).filter_map(|entry| {
            let at = entry.iter().position(|byte| *byte == b'\t')?;
            let id = str::from_utf8(&entry[..at]).ok()?.strip_prefix(MODE)?;
            Some((PathBuf::from(OsStr::from_bytes(&entry[at + 1..])), id.trim_end().to_owned()))
        });
        Ok(entries.filter(|(path, _)| self.root().join(path).join(".git").exists()).collect())
    }

    fn submodule(&self, path: &Path) -> anyhow::Result<Self> {
        let directory = self.root().join(path);
        let git = Git::around(&directory)?;
        let is_own = git.root().canonicalize().ok() == directory.canonicalize().ok();
        anyhow::ensure!(is_own, "{} is no repository of its own", directory.display());
        Ok(git)
    }
}
