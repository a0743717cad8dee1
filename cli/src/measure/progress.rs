//! Progress on standard error while a program runs, if that is a terminal; nothing otherwise.

use std::{
    io::IsTerminal,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{Builder, Scope, ScopedJoinHandle},
    time::{Duration, Instant},
};

use dmdprof_runtime::session::Progress;
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};

/// Short runs show nothing at all.
const QUIET_START: Duration = Duration::from_secs(2);
const REFRESH: Duration = Duration::from_millis(250);

/// A line on standard error that tells how far the analysis is.
pub struct Display<'scope> {
    stop: Arc<AtomicBool>,
    program_ended: Arc<AtomicBool>,
    thread: Option<ScopedJoinHandle<'scope, ()>>,
}

impl<'scope> Display<'scope> {
    /// Starts showing `progress`.
    pub fn start<'env>(scope: &'scope Scope<'scope, 'env>, progress: &'env Progress) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let program_ended = Arc::new(AtomicBool::new(false));
        let (until, ended) = (stop.clone(), program_ended.clone());
        let show = move || show(progress, &until, &ended);
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

fn show(progress: &Progress, stop: &AtomicBool, program_ended: &AtomicBool) {
    let started = Instant::now();
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template("{spinner} dmdprof: {msg}").expect("a fixed template"));
    while !stop.load(Ordering::Relaxed) {
        std::thread::park_timeout(REFRESH);
        if started.elapsed() < QUIET_START {
            continue;
        }
        let accesses = progress.accesses.load(Ordering::Relaxed);
        let rate = (accesses as f64 / started.elapsed().as_secs_f64()) as u64;
        let behind = progress.backlog.load(Ordering::Relaxed);
        let rest = if progress.has_ended() {
            ", finishing"
        } else if program_ended.load(Ordering::Relaxed) {
            ", waiting for processes that the program left running (Ctrl-C stops waiting)"
        } else {
            ""
        };
        bar.set_message(format!(
            "{} accesses, {}/s, {} behind{rest}",
            HumanCount(accesses),
            HumanCount(rate),
            HumanBytes(behind)
        ));
        bar.tick();
    }
    bar.finish_and_clear();
}
