//! Runs programs and measures how long they take.
//!
//! Takes programs, gives the time of each run. Several programs take turns, so that what slows the machine down for a
//! while slows down all of them; the first turn warms up and does not count. Standard output is thrown away, standard
//! error kept, the environment left alone. Refuses programs that do not start, or that end with a signal or an exit
//! code other than 0.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use dmdprof_models::fidelity::median;

use crate::shared::signals::{self, Kind};

/// A program to measure.
#[derive(Clone, Debug)]
pub struct Runner {
    /// For messages.
    pub name: String,
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// Else standard input is empty.
    pub stdin: Option<PathBuf>,
}

/// One run, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lap {
    /// From before the program's start to its end.
    pub wall: f64,
    /// CPU time in user mode, of the program and of the children that it waited for.
    pub user: f64,
    /// CPU time in user and system mode. Kernels that sample by ticks know this sum well, and the two parts badly.
    pub cpu: f64,
}

/// The runs of one program; never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Laps(Vec<Lap>);

impl Laps {
    #[must_use]
    pub fn runs(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn least(&self) -> f64 {
        self.0.iter().map(|lap| lap.wall).fold(f64::INFINITY, f64::min)
    }

    #[must_use]
    pub fn most(&self) -> f64 {
        self.0.iter().map(|lap| lap.wall).fold(0.0, f64::max)
    }

    #[must_use]
    pub fn median(&self) -> f64 {
        median(self.0.iter().map(|lap| lap.wall).collect())
    }

    /// Median CPU time in user mode.
    #[must_use]
    pub fn user(&self) -> f64 {
        median(self.0.iter().map(|lap| lap.user).collect())
    }

    /// Least CPU time: what other work on the machine disturbs least.
    #[must_use]
    pub fn least_cpu(&self) -> f64 {
        self.0.iter().map(|lap| lap.cpu).fold(f64::INFINITY, f64::min)
    }

    /// Median absolute deviation from the median, as a part of the median.
    #[must_use]
    pub fn spread(&self) -> f64 {
        let middle = self.median();
        median(self.0.iter().map(|lap| (lap.wall - middle).abs()).collect()) / middle
    }
}

/// Measures each of `runners` `runs` times, at least once.
///
/// # Errors
/// The first program that does not start or fails.
pub fn measure(runners: &[Runner], runs: usize) -> anyhow::Result<Vec<Laps>> {
    for runner in runners {
        lap(runner)?;
    }
    let mut all: Vec<Vec<Lap>> = vec![Vec::new(); runners.len()];
    for _ in 0..runs.max(1) {
        for (runner, laps) in runners.iter().zip(&mut all) {
            laps.push(lap(runner)?);
        }
    }
    Ok(all.into_iter().map(Laps).collect())
}

fn lap(runner: &Runner) -> anyhow::Result<Lap> {
    let mut command = Command::new(&runner.program);
    command.args(&runner.arguments).stdin(input(runner.stdin.as_deref())?).stdout(Stdio::null());
    let started = Instant::now();
    let started_child = signals::spawn(&mut command, Kind::Program);
    let (child, watched) = started_child.with_context(|| format!("cannot start {}", runner.name))?;
    let (status, user, cpu) = wait(child.id()).with_context(|| format!("lost track of {}", runner.name))?;
    let wall = started.elapsed().as_secs_f64();
    watched.ended();
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(Lap { wall, user, cpu }),
        (Some(code), _) => bail!("{} failed: exit code {code}; the time of a failure says nothing", runner.name),
        (None, signal) => bail!("{} failed: signal {} ended it", runner.name, signal.unwrap_or(0)),
    }
}

fn input(path: Option<&Path>) -> anyhow::Result<Stdio> {
    let Some(path) = path else { return Ok(Stdio::null()) };
    Ok(File::open(path).with_context(|| format!("cannot read {}", path.display()))?.into())
}

/// Waits for a child; gives how it ended, its seconds in user mode, and those in user and system mode.
fn wait(child: u32) -> io::Result<(ExitStatus, f64, f64)> {
    let mut status = 0;
    loop {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: both pointers are to live variables of the types that the call writes; a zeroed `rusage` is a valid
        // one.
        let (ended, usage) = unsafe {
            let ended = libc::wait4(child as libc::pid_t, &mut status, 0, usage.as_mut_ptr());
            (ended, usage.assume_init())
        };
        if ended >= 0 {
            let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
            let (user, system) = (seconds(usage.ru_utime), seconds(usage.ru_stime));
            return Ok((ExitStatus::from_raw(status), user, user + system));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Runner {
        let arguments = ["-c", script].map(OsString::from).to_vec();
        Runner { name: "it".into(), program: "/bin/sh".into(), arguments, stdin: None }
    }

    #[test]
    fn the_middle_run_counts_and_the_spread_is_a_part_of_it() {
        let laps = Laps([4.0, 1.0, 2.0].map(|wall| Lap { wall, user: wall / 2.0, cpu: wall / 4.0 }).to_vec());
        assert_eq!((laps.runs(), laps.least(), laps.median(), laps.most()), (3, 1.0, 2.0, 4.0));
        assert_eq!((laps.user(), laps.least_cpu(), laps.spread()), (1.0, 0.25, 0.5));
    }

    #[test]
    fn programs_take_turns_after_one_turn_that_does_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let runners = ["a", "b"].map(|name| shell(&format!("printf {name} >> {}", log.display())));
        let laps = measure(&runners, 2).expect("they run");
        assert_eq!(std::fs::read_to_string(log).expect("a log"), "ababab");
        assert!(laps.iter().all(|l| l.runs() == 2 && l.least() > 0.0));
    }

    #[test]
    fn user_time_is_the_programs_own() {
        let busy = shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
        let laps = measure(&[busy, shell("sleep 0.05")], 1).expect("they run");
        assert!(laps[0].user() > 0.005 && laps[1].user() < 0.04 && laps[1].least() >= 0.05, "{laps:?}");
    }

    #[test]
    fn failures_are_named() {
        let error = |runner: Runner| format!("{:#}", measure(&[runner], 1).expect_err("fails"));
        assert_eq!(error(shell("exit 3")), "it failed: exit code 3; the time of a failure says nothing");
        assert_eq!(error(shell("kill -9 $$")), "it failed: signal 9 ended it");
        assert!(error(Runner { program: "/no/such".into(), ..shell("") }).starts_with("cannot start it: "));
        let stdin = Some(PathBuf::from("/no/such"));
        assert!(error(Runner { stdin, ..shell("") }).starts_with("cannot read /no/such: "));
    }
}
