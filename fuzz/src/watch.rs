//! Runs a worker, and another one after each input that kills or stops it.
//!
//! Takes a target and how long; gives how many inputs were run and what was found. An input that takes longer than a
//! while counts as a hang.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::{corpus, mutate, targets::Target};

/// An input takes microseconds; machines may be busy.
const HANG: Duration = Duration::from_secs(20);
/// For targets that may be slow.
const SLOW: Duration = Duration::from_secs(1);
const GLANCE: Duration = Duration::from_millis(20);
/// More of one target say nothing new.
const ENOUGH: usize = 5;

pub enum Limit {
    Until(Instant),
    Inputs(u64),
}

pub struct Job<'a> {
    pub target: &'a Target,
    pub seed: u64,
    pub corpus: &'a Path,
    pub program: &'a Path,
    pub findings: &'a Path,
    pub limit: Limit,
}

pub struct Finding {
    pub file: PathBuf,
    pub why: String,
}

pub struct Outcome {
    pub inputs: u64,
    /// Given up, of a target that may be slow.
    pub slow: u64,
    pub findings: Vec<Finding>,
}

/// How a worker ended.
enum Ended {
    Done,
    TimeUp,
    TooSlow,
    Failed(String),
}

impl Job<'_> {
    /// # Errors
    /// When a worker cannot be started or a finding cannot be saved.
    pub fn run(&self) -> anyhow::Result<Outcome> {
        let directory = tempfile::tempdir()?;
        let state = directory.path().join("state");
        let mut outcome = Outcome { inputs: 0, slow: 0, findings: Vec::new() };
        let end = if let Limit::Inputs(inputs) = self.limit { inputs } else { u64::MAX };
        let mut from = 0;
        while from < end && outcome.findings.len() < ENOUGH {
            fs::write(&state, from.to_le_bytes())?;
            let messages = directory.path().join("messages");
            let mut worker = self.start(&state, &messages, from..end)?;
            let ended = self.watch(&mut worker, &state, &messages)?;
            let number = at_hand(&state)?;
            outcome.inputs = number;
            match ended {
                Ended::Done | Ended::TimeUp => break,
                Ended::TooSlow => outcome.slow += 1,
                Ended::Failed(why) => outcome.findings.push(self.save(number, why)?),
            }
            from = number + 1;
        }
        Ok(outcome)
    }

    fn start(&self, state: &Path, messages: &Path, numbers: std::ops::Range<u64>) -> anyhow::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("worker").arg(self.target.name).arg("--corpus").arg(self.corpus).arg("--state").arg(state);
        command.arg("--dmdprof").arg(self.program);
        for (name, number) in [("--seed", self.seed), ("--from", numbers.start), ("--to", numbers.end)] {
            command.arg(name).arg(number.to_string());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(messages)?);
        command.spawn().context("cannot start a worker")
    }

    fn watch(&self, worker: &mut Child, state: &Path, messages: &Path) -> anyhow::Result<Ended> {
        let mut last = (at_hand(state)?, Instant::now());
        loop {
            if let Some(status) = worker.try_wait()? {
                let failed = || Ended::Failed(why(status, &fs::read_to_string(messages).unwrap_or_default()));
                return Ok(if status.success() { Ended::Done } else { failed() });
            }
            let number = at_hand(state)?;
            if number != last.0 {
                last = (number, Instant::now());
            }
            let is_slow = self.target.may_be_slow;
            let hangs = last.1.elapsed() > if is_slow { SLOW } else { HANG };
            if hangs || matches!(self.limit, Limit::Until(end) if Instant::now() >= end) {
                worker.kill()?;
                worker.wait()?;
                return Ok(match (hangs, is_slow) {
                    (true, true) => Ended::TooSlow,
                    (true, false) => Ended::Failed(format!("no end after {} s", HANG.as_secs())),
                    (false, _) => Ended::TimeUp,
                });
            }
            std::thread::sleep(GLANCE);
        }
    }

    fn save(&self, number: u64, why: String) -> anyhow::Result<Finding> {
        let seeds = corpus::read(self.corpus)?;
        fs::create_dir_all(self.findings)?;
        let file = self.findings.join(format!("{}-{}-{number}", self.target.name, self.seed));
        fs::write(&file, mutate::input(&seeds, self.seed, number))
            .with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Finding { file, why })
    }
}

fn at_hand(state: &Path) -> anyhow::Result<u64> {
    let bytes = fs::read(state)?;
    Ok(u64::from_le_bytes(bytes.as_slice().try_into().context("the state is 8 bytes")?))
}

fn why(status: ExitStatus, messages: &str) -> String {
    let said = messages.lines().find(|line| line.contains("panicked at") || line.contains("memory allocation"));
    let next = messages.lines().skip_while(|line| !line.contains("panicked at")).nth(1).unwrap_or_default();
    match (status.signal(), said) {
        (_, Some(said)) => format!("{said} {next}").trim().to_owned(),
        (Some(signal), None) => format!("killed by signal {signal}"),
        (None, None) => format!("exit code {:?}: {}", status.code(), messages.lines().last().unwrap_or_default()),
    }
}
