//! One run of a command: what it printed, the files that it left, and the processor time that it took. Takes a command
//! and where it runs; gives an error if it takes longer than it may. Finds the first difference of two runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use wait4::Wait4;

use crate::tool::in_tests;

/// What a run of the workload left: its output and the files that it wrote.
#[derive(Debug)]
pub struct Ran {
    pub output: Output,
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    pub took: Spent,
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Spent {
    /// Processor time of all processes, which other work on the machine changes less than the time that passes.
    pub processor: Duration,
    /// Time that passed.
    pub wall: Duration,
    /// Memory of the largest process, in bytes; 0 if nobody kept it.
    #[serde(default, skip_serializing)]
    pub memory: u64,
}

/// `timeout` with a command below it, without input and without settings of the developer's environment. The words of
/// the command that are to run follow.
pub fn limited(seconds: u32, below: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", &seconds.to_string()]).args(below).stdin(Stdio::null());
    command.env("F", in_tests("farm")).env_remove("DMDPROF_CHANNEL").env("NO_COLOR", "1");
    command
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    let is_done = copied.is_ok_and(|status| status.success());
    is_done.then_some(()).ok_or_else(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

/// Runs a command to its end; gives what it and all that it waited for took. Output goes through files of a folder, as
/// pipes would have to be read meanwhile.
///
/// # Errors
/// That it could not be started, or its output could not be read.
pub fn timed(command: &mut Command, folder: &Path) -> Result<(Output, Spent), String> {
    let (stdout, stderr) = (folder.join("stdout"), folder.join("stderr"));
    let create = |path: &Path| fs::File::create(path).map_err(|e| format!("{}: {e}", path.display()));
    command.stdout(create(&stdout)?).stderr(create(&stderr)?);
    let started = Instant::now();
    let child = command.spawn().map_err(|e| format!("cannot start {command:?}: {e}"))?;
    let ended = child.wait4().map_err(|e| e.to_string())?;
    let wall = started.elapsed();
    let read = |path: &Path| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let output = Output { status: ended.status, stdout: read(&stdout)?, stderr: read(&stderr)? };
    let processor = ended.rusage.utime + ended.rusage.stime;
    Ok((output, Spent { processor, wall, memory: ended.rusage.maxrss }))
}

impl Ran {
    /// Runs a [`limited`] command in a folder; its output goes by way of another.
    ///
    /// # Errors
    /// That it took too long or could not be started.
    pub fn run_limited(command: &mut Command, scratch: &Path, folder: &Path) -> Result<Self, String> {
        let (output, took) = timed(command.current_dir(folder), scratch)?;
        if output.status.code() == Some(124) {
            return Err("it took longer than it may".to_owned());
        }
        let mut files = BTreeMap::new();
        collect(folder, folder, &mut files).map_err(|e| e.to_string())?;
        Ok(Self { output, files, took })
    }

    /// The first difference from a run that is as it should be, what `dmdprof` says of itself left out.
    pub fn difference(&self, expected: &Self) -> Option<String> {
        let own = |bytes: &[u8]| -> Vec<u8> {
            let lines = bytes.split_inclusive(|b| *b == b'\n');
            lines.filter(|line| !line.starts_with(b"dmdprof: ")).flatten().copied().collect()
        };
        let (a, b) = (&expected.output, &self.output);
        if a.status != b.status {
            return Some(format!("{} against {}", a.status, b.status));
        }
        if a.stdout != b.stdout {
            return Some("standard output".to_owned());
        }
        if own(&a.stderr) != own(&b.stderr) {
            return Some("standard error".to_owned());
        }
        let mut names = expected.files.keys().chain(self.files.keys());
        let differs = names.find(|name| expected.files.get(*name) != self.files.get(*name));
        differs.map(|name| format!("file {}", name.display()))
    }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else {
            files.insert(path.strip_prefix(root).unwrap_or(&path).to_owned(), fs::read(&path)?);
        }
    }
    Ok(())
}
