//! A file that grows on a branch of its own, or lines in notes of commits.
//!
//! Takes a line, adds it without touching files that are checked out or the index. Refuses names that are none, and
//! branches that somebody works on: one that is checked out, and one that has no such file.

use anyhow::{Context, bail};

use super::{Commit, Git, finish};

/// What others call the author of the branch.
const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "dmdprof"),
    ("GIT_AUTHOR_EMAIL", "dmdprof@localhost"),
    ("GIT_COMMITTER_NAME", "dmdprof"),
    ("GIT_COMMITTER_EMAIL", "dmdprof@localhost"),
];
/// Others may add a line at the same time.
const TRIES: usize = 10;

impl Git {
    fn with_input(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<String> {
        let mut command = self.command(self.root());
        command.args(arguments).envs(AUTHOR);
        Ok(String::from_utf8_lossy(&finish(&mut command, arguments[0], input)?).trim().to_owned())
    }

    /// A reference below `refs/` that may exist.
    fn reference(&self, kind: &str, name: &str) -> anyhow::Result<String> {
        let full = format!("refs/{kind}/{name}");
        self.output(&["check-ref-format", &full]).with_context(|| format!("{name:?} is no name for git"))?;
        Ok(full)
    }

    /// The file of a branch; `None` if there is no such branch yet.
    ///
    /// # Errors
    /// When the name is none, or the branch has no such file.
    pub fn of_branch(&self, branch: &str, file: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let full = self.reference("heads", branch)?;
        if self.output(&["rev-parse", "--verify", "--quiet", &full]).is_err() {
            return Ok(None);
        }
        let found = self.file(&full, file);
        found.map(Some).with_context(|| {
            format!("the branch {branch} has no {file}, so it is none that dmdprof has made; name another one")
        })
    }

    /// Makes `text` the file of a branch, if it is still what it was.
    fn replace(&self, branch: &str, file: &str, text: &[u8], subject: &str) -> anyhow::Result<()> {
        let full = self.reference("heads", branch)?;
        let old = self.text(&["rev-parse", "--verify", "--quiet", &full]).ok().map(|id| id.trim().to_owned());
        let blob = self.with_input(&["hash-object", "-w", "--stdin", "--no-filters"], text)?;
        let tree = self.with_input(&["mktree"], format!("100644 blob {blob}\t{file}\n").as_bytes())?;
        let parent: Vec<&str> = old.iter().flat_map(|old| ["-p", old]).collect();
        let commit =
            self.with_input(&[&["commit-tree", &tree][..], &parent, &["-F", "-"]].concat(), subject.as_bytes())?;
        // Forty zeros: the branch must not be there.
        let before = old.unwrap_or_else(|| "0".repeat(commit.len()));
        self.output(&["update-ref", "-m", "dmdprof: history", &full, &commit, &before]).map(drop)
    }

    /// Adds to the file of a branch, which is made if there is none.
    ///
    /// # Errors
    /// As [`Git::of_branch`]; when the branch is checked out.
    pub fn append_to_branch(&self, branch: &str, file: &str, lines: &str, subject: &str) -> anyhow::Result<()> {
        let full = self.reference("heads", branch)?;
        let worktrees = self.text(&["worktree", "list", "--porcelain"])?;
        if worktrees.lines().any(|line| line.strip_prefix("branch ") == Some(full.as_str())) {
            bail!("the branch {branch} is checked out; name one that is only for the history");
        }
        let mut failed = None;
        for _ in 0..TRIES {
            let mut text = self.of_branch(branch, file)?.unwrap_or_default();
            text.extend_from_slice(lines.as_bytes());
            match self.replace(branch, file, &text, subject) {
                Ok(()) => return Ok(()),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(|| anyhow::anyhow!("nothing was tried")))
            .with_context(|| format!("cannot add to the branch {branch}"))
    }

    /// Adds lines to the note of a commit.
    ///
    /// # Errors
    /// Those of git.
    pub fn append_to_note(&self, notes: &str, commit: &Commit, lines: &str) -> anyhow::Result<()> {
        let full = self.reference("notes", notes)?;
        let arguments = ["notes", "--ref", &full, "append", "-F", "-", &commit.id];
        self.with_input(&arguments, lines.as_bytes()).map(drop)
    }

    /// The lines of all notes.
    ///
    /// # Errors
    /// When the name is none.
    pub fn notes(&self, notes: &str) -> anyhow::Result<Vec<u8>> {
        let full = self.reference("notes", notes)?;
        let mut text = Vec::new();
        for line in self.text(&["notes", "--ref", &full, "list"])?.lines() {
            let Some((note, _commit)) = line.split_once(' ') else { continue };
            text.extend(self.output(&["cat-file", "blob", note])?);
            text.push(b'\n');
        }
        Ok(text)
    }
}
