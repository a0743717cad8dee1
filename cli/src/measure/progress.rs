//! Progress on standard error while a program runs, if that is a terminal; nothing otherwise.
//!
//! How far a run is can be told only if it is known how long it will be, and no part of it says that. What is known is
//! how many accesses the same command had the last time, if the profile of that is still there: of those it has a part,
//! and the rest takes so long at the rate until now. A run of more than a minute is told what takes less.

use std::{
    io::IsTerminal,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{Builder, Scope, ScopedJoinHandle},
    time::{Duration, Instant},
};

use dmdprof_runtime::analysis::Progress;
use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};

use crate::profile::{Profile, file, model::Outcome};

/// Short runs show nothing at all.
const QUIET_START: Duration = Duration::from_secs(2);
const REFRESH: Duration = Duration::from_millis(250);

/// A run of the same command until here is a long one.
const LONG: Duration = Duration::from_secs(60);

/// What is known of a run before it begins.
#[derive(Clone, Default)]
pub struct PriorRun {
    /// Where the run before has left its profile, if it did, and the command that is run.
    pub before: Option<(PathBuf, Vec<String>)>,
    /// What takes less time.
    pub advice: Option<&'static str>,
}

impl PriorRun {
    /// Accesses of the run before.
    fn accesses(&self) -> Option<u64> {
        let (path, command) = self.before.as_ref().filter(|(path, _)| path.is_file())?;
        let Profile { meta, totals, .. } = file::from_bytes(path, &file::bytes_of(path).ok()?).ok()?;
        let is_whole = matches!(meta.outcome, Outcome::Exited(_)) && meta.incomplete.is_none() && meta.roi.is_none();
        (is_whole && meta.command == *command).then_some(totals.accesses)
    }
}

/// A line on standard error that tells how far the analysis is.
pub struct Display<'scope> {
    stop: Arc<AtomicBool>,
    program_ended: Arc<AtomicBool>,
    thread: Option<ScopedJoinHandle<'scope, ()>>,
}

impl<'scope> Display<'scope> {
    /// Starts showing `progress`.
    pub fn start<'env>(scope: &'scope Scope<'scope, 'env>, progress: &'env Progress, known: &'env PriorRun) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let program_ended = Arc::new(AtomicBool::new(false));
        let (until, ended) = (stop.clone(), program_ended.clone());
        let show = move || show(progress, known, &until, &ended);
        // Nobody misses it where the system gives no thread.
        let thread = std::io::stderr().is_terminal().then(|| Builder::new().spawn_scoped(scope, show).ok()).flatten();
        Self { stop, program_ended, thread }
    }

    /// The program itself has ended; descendants of it may still run.
    pub fn program_ended(&self) {
        self.program_ended.store(true, Ordering::Relaxed);
    }

    /// Clears the line.
    pub fn finish(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The display thread computes nothing that could be lost.
            let _ = thread.join();
        }
    }
}

fn show(progress: &Progress, known: &PriorRun, stop: &AtomicBool, program_ended: &AtomicBool) {
    let started = Instant::now();
    let mut before = None;
    let mut advice = known.advice;
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template("{spinner} dmdprof: {msg}").expect("a fixed template"));
    while !stop.load(Ordering::Relaxed) {
        std::thread::park_timeout(REFRESH);
        if started.elapsed() < QUIET_START {
            continue;
        }
        let accesses = progress.accesses.load(Ordering::Relaxed);
        let rate = (accesses as f64 / started.elapsed().as_secs_f64()) as u64;
        let before = *before.get_or_insert_with(|| known.accesses());
        let left = before.and_then(|before| time_left(accesses, before, rate));
        let behind = progress.backlog.load(Ordering::Relaxed);
        let rest = if progress.has_ended() {
            ", finishing"
        } else if program_ended.load(Ordering::Relaxed) {
            ", waiting for processes that the program left running (Ctrl-C stops waiting)"
        } else {
            ""
        };
        bar.set_message(format!(
            "{} accesses{}, {}/s, {} behind{rest}",
            HumanCount(accesses),
            left.zip(before).map_or_else(String::new, |(left, before)| part(accesses, before, left)),
            HumanCount(rate),
            HumanBytes(behind)
        ));
        bar.tick();
        let all = left.map_or(started.elapsed(), |left| started.elapsed() + left);
        if let Some(advice) = advice.take_if(|_| all > LONG) {
            let length = left.map_or("has taken a minute".into(), |_| format!("takes about {}", HumanDuration(all)));
            bar.suspend(|| eprintln!("dmdprof: note: this run {length}: {advice}"));
        }
    }
    bar.finish_and_clear();
}

/// What the rest takes at this rate, if as many accesses come as before.
fn time_left(accesses: u64, before: u64, rate: u64) -> Option<Duration> {
    let rest = before.checked_sub(accesses).filter(|_| rate > 0)?;
    Some(Duration::from_secs(rest.div_ceil(rate)))
}

/// How far that is.
fn part(accesses: u64, before: u64, left: Duration) -> String {
    let percent = accesses * 100 / before.max(1);
    format!(" ({percent} % of the run before, about {} left)", HumanDuration(left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample;

    #[test]
    fn a_run_is_as_far_as_the_one_before_had_accesses() {
        let left = time_left(12, 100, 2).expect("known");
        assert_eq!(part(12, 100, left), " (12 % of the run before, about 44 seconds left)");
        assert_eq!(time_left(101, 100, 2), None, "it is another run");
        assert_eq!(time_left(0, 100, 0), None);
    }

    #[test]
    fn only_a_whole_run_of_the_same_command_says_how_long_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.data");
        let mut profile = sample::small();
        profile.meta.outcome = Outcome::Exited(0);
        let accesses = |profile: &mut Profile, command: &[String]| {
            crate::profile::complete(&path, profile, |_| ()).unwrap();
            PriorRun { before: Some((path.clone(), command.to_vec())), advice: None }.accesses()
        };
        let command = profile.meta.command.clone();
        assert_eq!(accesses(&mut profile, &command), Some(profile.totals.accesses));
        assert_eq!(accesses(&mut profile, &["other".to_owned()]), None);
        profile.meta.incomplete = Some("it was cut".into());
        assert_eq!(accesses(&mut profile, &command), None);
    }
}
