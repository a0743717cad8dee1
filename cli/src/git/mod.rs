//! A git repository, asked through the program `git`.
//!
//! Takes revisions and paths as people and projects write them, gives [`Commit`]s, their files, and checkouts of their
//! own ([`checkout::Checkout`]). No word is taken for an option. What the repository's own configuration names is not
//! run: no hook, filter, monitor, pager or program for signatures. Refuses, with what to do, where there is no
//! repository and what is no revision.

pub mod checkout;
pub mod write;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::shared::signals::{self, Kind};

/// A revision that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// All hexadecimal digits.
    pub id: String,
    /// When it was committed, as in `2026-11-26T20:16:46+00:00`.
    pub date: String,
    pub subject: String,
}

/// Fields of a commit, which [`Commit::from_line`] reads.
const FIELDS: &str = "%H%x09%cI%x09%s";

/// A commit's name for people.
#[must_use]
pub fn short(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

/// The day of a commit's date.
#[must_use]
pub fn day(date: &str) -> &str {
    date.get(..10).unwrap_or_default()
}

/// One line per commit, behind what begins it.
fn form(beginning: &str) -> String {
    format!("--format={beginning}{FIELDS}")
}

impl Commit {
    #[must_use]
    pub fn short(&self) -> &str {
        short(&self.id)
    }

    fn from_line(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, '\t');
        let (id, date) = (parts.next()?, parts.next()?);
        let text = |part: &str| part.to_owned();
        Some(Commit { id: text(id), date: text(date), subject: text(parts.next().unwrap_or_default()) })
    }
}

/// A repository.
#[derive(Clone, Debug)]
pub struct Git {
    root: PathBuf,
    /// Settings that take the place of the repository's own.
    settings: Vec<(String, String)>,
}

/// What no repository is asked about.
const SETTINGS: [(&str, &str); 9] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.askPass", ""),
    ("core.sshCommand", "false"),
    ("log.showSignature", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("advice.detachedHead", "false"),
];
/// They would lead git to another repository than the one around the directory.
const MISLEADING: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_EXTERNAL_DIFF",
];

impl Git {
    /// The repository around a directory.
    ///
    /// # Errors
    /// When there is none, or no git.
    pub fn around(directory: &Path) -> anyhow::Result<Self> {
        let settings = SETTINGS.map(|(key, value)| (key.into(), value.into())).into();
        let mut git = Git { root: directory.to_path_buf(), settings };
        let root = git
            .text(&["rev-parse", "--show-toplevel"])
            .with_context(|| format!("there is no git repository around {}", directory.display()))?;
        git.root = PathBuf::from(root.trim_end_matches('\n'));
        git.without_own_filters();
        Ok(git)
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Filters of the user and the system stay, as large files need theirs; those that the repository's own
    /// configuration defines do nothing.
    fn without_own_filters(&mut self) {
        let Ok(found) = self.text(&["config", "--show-scope", "--name-only", "-z", "--get-regexp", "^filter\\."])
        else {
            return;
        };
        let words: Vec<&str> = found.split('\0').collect();
        for pair in words.chunks(2) {
            let [scope, key] = pair else { continue };
            if matches!(*scope, "local" | "worktree") {
                let value = if key.ends_with(".required") { "false" } else { "" };
                self.settings.push(((*key).to_owned(), value.into()));
            }
        }
    }

    /// `git`, for the repository, with everything decided but what to do.
    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(directory).args(["--no-pager", "--literal-pathspecs", "--no-optional-locks"]);
        MISLEADING.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (number, (key, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), key).env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What a command printed.
    ///
    /// # Errors
    /// When it fails, with what it said.
    fn output(&self, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        finish(self.command(&self.root).args(arguments), arguments.first().unwrap_or(&""), &[])
    }

    fn text(&self, arguments: &[&str]) -> anyhow::Result<String> {
        Ok(String::from_utf8_lossy(&self.output(arguments)?).into_owned())
    }

    /// The commit that a revision means.
    ///
    /// # Errors
    /// When there is none.
    pub fn commit(&self, revision: &str) -> anyhow::Result<Commit> {
        let wanted = format!("{revision}^{{commit}}");
        let found = self.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]);
        let id = found.map_err(|_| {
            anyhow::anyhow!(
                "there is no revision {revision:?} in {}; a shallow clone has few (git fetch --unshallow, or fetch it by name)",
                self.root.display()
            )
        })?;
        let line = self.text(&["log", "-1", &form(""), "--end-of-options", id.trim_end()])?;
        Commit::from_line(line.trim_end_matches('\n')).context("git does not describe the commit")
    }

    /// Commits after the first up to the second along first parents, the oldest first.
    ///
    /// # Errors
    /// When the one does not lead to the other.
    pub fn between(&self, from: &Commit, to: &Commit) -> anyhow::Result<Vec<Commit>> {
        if self.output(&["merge-base", "--is-ancestor", &from.id, &to.id]).is_err() {
            bail!("{} is no ancestor of {}: no commits lead from the one to the other", from.short(), to.short());
        }
        let range = format!("{}..{}", from.id, to.id);
        let listed = self.text(&["log", "--first-parent", "--reverse", &form(""), &range, "--"])?;
        Ok(listed.lines().filter_map(Commit::from_line).collect())
    }

    /// Commits along first parents that changed something below a directory, with the files, the oldest first.
    ///
    /// # Errors
    /// Those of git.
    pub fn touching(&self, from: &Commit, directory: &str) -> anyhow::Result<Vec<(Commit, Vec<String>)>> {
        let form = form("%x00");
        let arguments = [
            "log",
            "--first-parent",
            "-m",
            "--reverse",
            "--no-renames",
            "--name-only",
            "-z",
            &form,
            &from.id,
            "--",
            directory,
        ];
        let listed = self.text(&arguments)?;
        let mut found: Vec<(Commit, Vec<String>)> = Vec::new();
        // Names come behind their commit; commits have tabs, and are told by their length.
        for part in listed.split('\0').map(|part| part.trim_start_matches('\n')).filter(|part| !part.is_empty()) {
            let is_commit = part.split('\t').next().is_some_and(|id| id.len() >= 40 && part.len() > id.len());
            match (Commit::from_line(part).filter(|_| is_commit), found.last_mut()) {
                (Some(commit), _) => found.push((commit, Vec::new())),
                (None, Some((_, names))) => names.push(part.to_owned()),
                (None, None) => {}
            }
        }
        Ok(found)
    }

    /// Whether files that are followed differ from those of the last commit, one of them aside.
    #[must_use]
    pub fn is_dirty(&self, aside: Option<&Path>) -> bool {
        let Ok(changed) = self.text(&["status", "--porcelain", "--no-renames", "--untracked-files=no", "-z"]) else {
            return false;
        };
        let file = |line: &str| line.get(3..).map(|path| self.root.join(path));
        changed.split('\0').filter(|line| !line.is_empty()).any(|line| file(line).as_deref() != aside)
    }

    /// A file of a commit, by its path in the repository; `None` if it is not there.
    #[must_use]
    pub fn file(&self, commit: &str, path: &str) -> Option<Vec<u8>> {
        self.output(&["cat-file", "blob", &format!("{commit}:{path}")]).ok()
    }
}

/// Runs git with an input.
fn finish(command: &mut Command, what: &str, input: &[u8]) -> anyhow::Result<Vec<u8>> {
    if !input.is_empty() {
        command.stdin(Stdio::piped());
    }
    let started = signals::spawn(command, Kind::Program);
    let (mut child, watched) = started.context("cannot start git; install it (Debian: apt-get install git)")?;
    if let Some(mut to) = child.stdin.take() {
        // A git that does not want it says why below.
        let _ = std::io::Write::write_all(&mut to, input);
    }
    let output = child.wait_with_output().context("cannot run git")?;
    watched.ended();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("git {what} failed: {}", said.trim());
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests;
