//! Runs a case under `dmdprof run`, in a process of its own, and reads what it left: the profile, and if wanted what
//! the program printed and the outputs that it declared.
//!
//! The environment that makes runs differ from machine to machine is fixed ([`FIXED`]); the case's own settings win.
//! Refuses what a gate must not build on: no profile, a program that a signal ended, lost events.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

use anyhow::{Context, anyhow, bail};

use super::key::PathMap;
use crate::launch::{RANDOMISE_VARIABLE, surroundings};
use crate::profile::model::Outcome;
use crate::profile::{DEFAULT_FILE, Profile};
use crate::sample::{Measured, file};
use crate::shared::signals::{self, Kind};
use crate::shared::{hash, outputs};

/// What is measured must not depend on language, time zone or number of processors.
pub const FIXED: [(&str, &str); 4] =
    [("LC_ALL", "C"), ("TZ", "UTC0"), ("OMP_NUM_THREADS", "1"), ("RAYON_NUM_THREADS", "1")];
/// Lines of the program's messages that are shown when it fails.
const LINES_SHOWN: usize = 20;

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Job {
    pub command: Vec<OsString>,
    pub env: BTreeMap<String, String>,
    pub dir: PathBuf,
    pub stdin: Option<PathBuf>,
    /// Files that the run reads, besides those that the command names.
    pub inputs: Vec<PathBuf>,
    /// Options of `dmdprof run`.
    pub options: Vec<OsString>,
}

/// Where the program finds its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// At the same place in every run.
    Fixed,
    Random,
}

/// Runs to the end; what the program prints is thrown away.
///
/// # Errors
/// When there is no complete profile, with what the program said.
pub fn run(job: &Job, addresses: Addresses) -> anyhow::Result<Profile> {
    measure(job, addresses)?.into_exact().ok_or_else(not_exact)
}

/// Runs to the end, perhaps with a sample; what the program prints is thrown away.
///
/// # Errors
/// As [`run`].
pub fn measure(job: &Job, addresses: Addresses) -> anyhow::Result<Measured> {
    let directory = tempfile::tempdir().context("cannot create a temporary directory")?;
    let path = directory.path().join(DEFAULT_FILE);
    let mut command = command(job, addresses, &path)?;
    finish(command.stdout(Stdio::null()), job, &path).map(|(measured, _)| measured)
}

/// Why estimates are refused.
#[must_use]
pub fn not_exact() -> anyhow::Error {
    anyhow!("this needs the exact numbers of all reads, and --sample gives estimates; leave it out")
}

/// What a run left.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    pub profile: Profile,
    pub stdout: Vec<u8>,
    /// Bytes of declared outputs, in the order of declaration.
    pub outputs: Vec<Vec<u8>>,
}

/// As [`run`], at fixed addresses, but keeps what the program prints and declares. The exit code is in the profile.
///
/// # Errors
/// As [`run`]; also when a declared output cannot be saved.
pub fn run_keeping(job: &Job) -> anyhow::Result<Left> {
    let directory = tempfile::tempdir().context("cannot create a temporary directory")?;
    let (path, saved) = (directory.path().join(DEFAULT_FILE), directory.path().join("outputs"));
    let mut job = job.clone();
    job.options.extend(["--save-outputs".into(), saved.clone().into()]);
    let mut command = command(&job, Addresses::Fixed, &path)?;
    let (measured, output) = finish(command.stdout(Stdio::piped()), &job, &path)?;
    let profile = measured.into_exact().ok_or_else(not_exact)?;
    if let Outcome::Exited(code) = profile.meta.outcome
        && output.status.code() != Some(code)
    {
        bail!("the run is not whole: {}{}", output.status, said(&output.stderr));
    }
    let outputs = outputs::read(&saved).context("cannot read the outputs that the program declared")?;
    Ok(Left { profile, stdout: output.stdout, outputs })
}

/// `dmdprof run`, with everything but standard output decided.
fn command(job: &Job, addresses: Addresses, profile: &Path) -> anyhow::Result<Command> {
    let own = std::env::current_exe().context("cannot find dmdprof's own executable")?;
    let mut command = Command::new(own);
    command.args(["run", "--quiet", "--no-twin", "-o"]).arg(profile).args(&job.options).arg("--").args(&job.command);
    command.envs(FIXED).envs(&job.env).current_dir(&job.dir).stderr(Stdio::piped());
    match addresses {
        Addresses::Fixed => command.env(surroundings::FIXED_VARIABLE, "1"),
        Addresses::Random => command.env(RANDOMISE_VARIABLE, "1"),
    };
    match &job.stdin {
        Some(file) => command.stdin(open(file)?),
        None => command.stdin(Stdio::null()),
    };
    Ok(command)
}

fn finish(command: &mut Command, job: &Job, profile: &Path) -> anyhow::Result<(Measured, Output)> {
    if let Some(signal) = signals::received() {
        bail!("not run: signal {signal} was to end dmdprof");
    }
    let run = signals::output(command, Kind::Own);
    let (output, _watched) = run.with_context(|| format!("cannot run in {}", job.dir.display()))?;
    let estimates = file::beside(profile);
    let Some(left) = [profile, &estimates].into_iter().find(|path| path.exists()) else {
        bail!("there is no profile{}", said(&output.stderr));
    };
    let measured = file::read(left)?;
    check_complete(measured.profile()).map_err(|e| anyhow!("{e}{}", said(&output.stderr)))?;
    Ok((measured, output))
}

/// A profile of which every number counts everything.
///
/// # Errors
/// What is missing.
pub fn check_complete(profile: &Profile) -> anyhow::Result<()> {
    profile.incomplete().map_or(Ok(()), |why| bail!("the run is incomplete: {why}"))
}

fn open(path: &Path) -> anyhow::Result<File> {
    File::open(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The last lines of the messages.
#[must_use]
pub fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
    last.iter().map(|line| format!("\n  | {line}")).collect()
}

/// Files that a run reads, as they were before it.
pub struct Inputs(Vec<Input>);

struct Input {
    path: PathBuf,
    sha256: String,
    stamp: Stamp,
}

type Stamp = Option<(u64, SystemTime)>;

fn stamp(path: &Path) -> Stamp {
    let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((data.len(), data.modified().ok()?))
}

impl Inputs {
    /// Those that the job lists, and arguments that are files.
    ///
    /// # Errors
    /// When a listed one cannot be read.
    pub fn before(job: &Job) -> anyhow::Result<Self> {
        let listed = job.inputs.iter().chain(&job.stdin).cloned();
        let arguments = job.command.iter().skip(1).map(|word| job.dir.join(word)).filter(|path| path.is_file());
        let mut paths: Vec<PathBuf> = listed.chain(arguments).collect();
        paths.sort();
        paths.dedup();
        let input = |path: PathBuf| Ok(Input { sha256: hash::of_file(&path)?, stamp: stamp(&path), path });
        Ok(Inputs(paths.into_iter().map(input).collect::<anyhow::Result<_>>()?))
    }

    /// SHA-256 of each, with its path.
    pub fn hashes(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.0.iter().map(|input| (input.path.as_path(), input.sha256.as_str()))
    }

    /// After the run: whether it wrote to none of them.
    #[must_use]
    pub fn are_unchanged(&self) -> bool {
        self.0.iter().all(|input| input.stamp == stamp(&input.path))
    }

    /// After the run: without what it wrote itself.
    #[must_use]
    pub fn after(self, paths: &PathMap) -> BTreeMap<String, String> {
        let unchanged = self.0.into_iter().filter(|input| input.stamp == stamp(&input.path));
        unchanged.map(|input| (paths.apply(&input.path.to_string_lossy()), input.sha256)).collect()
    }
}
