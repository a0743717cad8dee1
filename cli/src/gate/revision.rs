//! Other revisions of the repository, measured as the one at hand is.
//!
//! Takes a commit and a case, gives the [`Summary`] of its run: from what an earlier measurement of the same commit has
//! left, else from a checkout of its own that is built with the project's `build` command. The configuration is that of
//! the revision at hand, so that all are measured alike. Refuses what would not be a measurement of that revision:
//! cases outside of the repository.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow, bail};

use super::check;
use super::config::Case;
use super::key::{PathMap, PrefixRule};
use super::project::Project;
use super::runner;
use super::summary::Summary;
use super::{baseline, source};
use crate::driver::object_cache::{Cache, Key};
use crate::git::checkout::Checkout;
use crate::git::{Commit, Git};
use crate::shared::signals::{self, Kind};
use crate::shared::{hash, printable};

/// Bumped when summaries that are kept mean something else.
const FORM: &str = "gate 1";
/// What changes what compilers make.
const VARIABLES: [&str; 11] = [
    "PATH",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
    "DMDPROF_CLANG",
    "CARGO_PROFILE",
    "MAKEFLAGS",
];

/// Why there are no numbers of a commit: it does not build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotBuilt(pub String);

/// Measures revisions, one after the other.
pub struct Revisions<'p> {
    project: &'p Project,
    git: Git,
    rules: Vec<PrefixRule>,
    /// Options of each run.
    options: Vec<OsString>,
    /// This program, and the compilers that there are.
    tools: String,
    checkout: Option<Checkout>,
    /// The commit that is checked out, and whether it was built.
    built: Option<(Commit, Result<(), NotBuilt>)>,
    /// Commits that were built, or did not build.
    pub builds: usize,
}

impl<'p> Revisions<'p> {
    /// # Errors
    /// When there is no repository around the project.
    pub fn new(project: &'p Project, more: &[PrefixRule], options: Vec<OsString>) -> anyhow::Result<Self> {
        Ok(Revisions {
            git: Git::around(&project.home)?,
            rules: project.rules(more),
            options,
            tools: tools()?,
            project,
            checkout: None,
            built: None,
            builds: 0,
        })
    }

    #[must_use]
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// A directory of the project as a path in the repository.
    fn inside(&self, path: &Path) -> anyhow::Result<PathBuf> {
        let real = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
        let root = self.git.root().canonicalize().context("the repository is not there")?;
        let inside = real.strip_prefix(&root).map(Path::to_path_buf);
        inside.map_err(|_| anyhow!("{} is not in the repository {}", path.display(), root.display()))
    }

    /// Refuses cases whose program or directory another revision does not have.
    fn is_of_revision(&self, case: &Case) -> anyhow::Result<()> {
        let program = case.command.first().map(Path::new).filter(|program| program.starts_with(self.git.root()));
        let directory =
            case.dir.as_deref().filter(|dir| dir.is_absolute() || dir.components().any(|c| c.as_os_str() == ".."));
        if let Some(path) = program.or(directory) {
            bail!(
                "case {}: {} is not a path below the configuration, so other revisions do not have one of their own; write it relative",
                case.name,
                path.display()
            );
        }
        Ok(())
    }

    fn key(&self, commit: &Commit, case: &Case) -> Key {
        let variables = VARIABLES.map(|name| format!("{name}={:?}", std::env::var_os(name)));
        let (build, home) = (&self.project.config.build, self.inside(&self.project.home).ok());
        let what = format!("{case:?} {build:?} {home:?} {:?} {:?}", self.rules, self.options);
        let mut parts = vec![FORM, &self.tools, &commit.id, &what];
        parts.extend(variables.iter().map(String::as_str));
        Key::new(&parts, b"")
    }

    /// The numbers of a commit's case, or why it has none.
    ///
    /// # Errors
    /// When it builds and cannot be run or measured, or there is no room for a checkout.
    pub fn summary(&mut self, commit: &Commit, case: &Case) -> anyhow::Result<Result<Summary, NotBuilt>> {
        self.is_of_revision(case)?;
        let cache = Cache::of_user()?;
        let in_use = cache.as_ref().and_then(|cache| cache.in_use().ok());
        let key = self.key(commit, case);
        if let Some(kept) = in_use.as_ref().and_then(|in_use| in_use.find(&key))
            && let Ok(summary) = source::read_baseline(&kept)
        {
            return Ok(Ok(summary));
        }
        let measured = self.measured(commit, case)?;
        if let (Some(in_use), Ok(summary)) = (in_use, &measured) {
            // Kept or not, the numbers are there.
            in_use.get(&key, |path| Ok(fs::write(path, baseline::to_text(summary))?)).ok();
        }
        if let Some(cache) = cache {
            cache.drop_the_oldest().ok();
        }
        Ok(measured)
    }

    fn measured(&mut self, commit: &Commit, case: &Case) -> anyhow::Result<Result<Summary, NotBuilt>> {
        if let Err(not_built) = self.build(commit)? {
            return Ok(Err(not_built));
        }
        let Some(checkout) = &self.checkout else { bail!("there is no checkout") };
        let home = checkout.path().join(self.inside(&self.project.home)?);
        let root = checkout.path().join(self.inside(&self.project.root)?);
        let workers = OsString::from(format!("--workers={}", crate::shared::processors()));
        let options: Vec<OsString> = [workers].into_iter().chain(self.options.iter().cloned()).collect();
        let job = Project::job(case, &home, &options);
        say(&format!("{}: running {}", commit.short(), case.name));
        let summary = check::summary(&job, &PathMap::new(Some(&root), &self.rules));
        let hint = if self.project.config.build.is_empty() {
            "\n  nothing was built: write build = [\"make\", ...] into dmdprof.toml if the revision's programs are to be"
        } else {
            ""
        };
        summary.map(Ok).map_err(|e| anyhow!("{} ({}): {e:#}{hint}", commit.short(), case.name))
    }

    /// Has the commit's files where they are measured, built.
    fn build(&mut self, commit: &Commit) -> anyhow::Result<Result<(), NotBuilt>> {
        if let Some((known, result)) = &self.built
            && known.id == commit.id
        {
            return Ok(result.clone());
        }
        if self.checkout.is_none() {
            self.checkout = Some(Checkout::new(&self.git)?);
        }
        let Some(checkout) = &self.checkout else { bail!("there is no checkout") };
        checkout.set(commit)?;
        let home = checkout.path().join(self.inside(&self.project.home)?);
        self.builds += 1;
        let result = if home.is_dir() {
            let build = &self.project.config.build;
            if !build.is_empty() {
                say(&format!("{}: building ({})", commit.short(), commit.subject));
            }
            build_in(build, &home)?
        } else {
            Err(NotBuilt("it has no directory of the configuration".into()))
        };
        self.built = Some((commit.clone(), result.clone()));
        Ok(result)
    }

    /// Builds the checkout at hand, where it is.
    ///
    /// # Errors
    /// When it does not build.
    pub fn build_here(&self) -> anyhow::Result<()> {
        let build = &self.project.config.build;
        if !build.is_empty() {
            say("building the files at hand");
        }
        build_in(build, &self.project.home)?.map_err(|NotBuilt(why)| anyhow!("the files at hand do not build: {why}"))
    }
}

/// What decides what is measured besides the project: this program, and compilers.
fn tools() -> anyhow::Result<String> {
    let own = std::env::current_exe().context("cannot find dmdprof's own executable")?;
    let clang = std::env::var_os("DMDPROF_CLANG").unwrap_or_else(|| "clang".into());
    let said = |program: &OsStr, option: &str| {
        let output = Command::new(program).arg(option).stdin(Stdio::null()).stderr(Stdio::null()).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    };
    Ok(format!("{}\n{}\n{}", hash::of_file(&own)?, said(&clang, "--version"), said("rustc".as_ref(), "-vV")))
}

fn say(text: &str) {
    eprintln!("dmdprof: {}", printable::name(text));
}

/// Runs the build command; what it says is shown if it fails.
fn build_in(build: &[String], directory: &Path) -> anyhow::Result<Result<(), NotBuilt>> {
    let Some((program, arguments)) = build.split_first() else { return Ok(Ok(())) };
    if let Some(signal) = signals::received() {
        bail!("not built: signal {signal} was to end dmdprof");
    }
    let path = if program.contains('/') { directory.join(program) } else { program.into() };
    let mut command = Command::new(&path);
    command.args(arguments).current_dir(directory).env("PATH", search_path()?);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (output, _watched) = match signals::output(&mut command, Kind::Program) {
        Ok(run) => run,
        Err(error) => return Ok(Err(NotBuilt(format!("cannot start {program:?}: {error}")))),
    };
    if let Some(signal) = signals::received() {
        bail!("not built: signal {signal} was to end dmdprof");
    }
    if output.status.success() {
        return Ok(Ok(()));
    }
    let said = [output.stdout, output.stderr].concat();
    Ok(Err(NotBuilt(format!("{program}: {}{}", output.status, runner::said(&said)))))
}

/// With this dmdprof in it, so that builds use no other one.
fn search_path() -> anyhow::Result<OsString> {
    let own = std::env::current_exe().context("cannot find dmdprof's own executable")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let first = all.iter().map(|directory| directory.join("dmdprof")).find(|file| file.is_file());
    if first.and_then(|file| file.canonicalize().ok()) == own.canonicalize().ok() {
        return Ok(path);
    }
    let directory = own.parent().map(Path::to_path_buf);
    std::env::join_paths(directory.into_iter().chain(all)).context("the directory of dmdprof cannot be in PATH")
}

/// A case of a command that was typed.
///
/// # Errors
/// When a word is not UTF-8, or the directory is not that of the project.
pub fn typed(name: &str, command: &[OsString], project: &Project) -> anyhow::Result<Case> {
    let word =
        |word: &OsString| word.to_str().map(str::to_owned).with_context(|| format!("{} is not UTF-8", word.display()));
    let words = command.iter().map(word).collect::<anyhow::Result<_>>()?;
    let directory = project.here.strip_prefix(&project.home).map(Path::to_path_buf);
    let directory =
        directory.map_err(|_| anyhow!("{} is not below {}", project.here.display(), project.home.display()))?;
    Ok(Case { name: name.into(), command: words, dir: Some(directory), env: BTreeMap::new(), ..Case::default() })
}
