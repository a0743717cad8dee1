//! The clock beside the counts: where a program without hooks is, as it runs natively, by samples.
//!
//! Takes a program and its arguments, runs it until there are enough samples or until another run would take too long,
//! and gives a [`Clock`]: samples by function and line. The first run goes to its end, unless nobody asked for a clock
//! and it takes far too long. What the program prints is thrown away. Refuses programs that cannot be started, and
//! those of which there is no sample. Samples are no part of a profile, which is the same in every run;
//! [`file`](mod@file) has them beside it.

mod events;
pub mod file;
mod processes;
mod timer;

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};

pub use self::file::Clock;
use self::{events::Events, processes::Processes, timer::Timer};
use crate::{
    launch::{self, Ending},
    profile::model::{ClockRuns, ENOUGH_SAMPLES, Outcome, SampledBy},
    shared::signals::{self, Kind},
};

/// How long a program may be run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// No run begins that would not be over then.
    budget: Duration,
    /// A run that takes longer is ended.
    longest: Option<Duration>,
}

impl Effort {
    /// Of a clock that was asked for.
    pub const ASKED: Self = Self { budget: Duration::from_secs(10), longest: None };

    /// Of one that comes by itself, after a counted run of this time. Without hooks and the analysis nothing takes
    /// longer, but for what waits, or gets no input and goes on for ever.
    #[must_use]
    pub fn unasked(counted: Duration) -> Self {
        let budget = Duration::from_secs(1);
        Self { budget, longest: Some(counted + budget) }
    }
}

/// It is looked whether the program has ended when a quarter more of its time has passed, but so often at least and at
/// most. Buffers hold many times as much.
const LOOKS: [Duration; 2] = [Duration::from_micros(200), Duration::from_millis(20)];
/// Short runs show nothing at all.
const QUIET_START: Duration = Duration::from_secs(1);

/// What is run.
pub struct SampledProgram {
    pub program: PathBuf,
    /// What the program is called by.
    pub name: OsString,
    pub arguments: Vec<OsString>,
    /// A file that is read from its start, or nothing.
    pub stdin: Option<PathBuf>,
    /// It stands for one with hooks.
    pub is_twin: bool,
}

/// Who takes the samples of a run.
enum Sampler {
    Events(Events),
    Timer(Timer),
}

impl Sampler {
    /// Of a run by its number. Each begins at another phase of the clock: samples of many short runs would all be of
    /// the same moments.
    fn open(run: u64) -> anyhow::Result<Self> {
        // Parts of 1 that never come near each other (Weyl): multiples of the golden ratio.
        let phase = (0.5 + run as f64 * 0.618_033_988_749_895).fract();
        let events = if are_unwanted() { Err(io::ErrorKind::PermissionDenied.into()) } else { Events::open(phase) };
        match events {
            Ok(events) => Ok(Self::Events(events)),
            Err(_) => Ok(Self::Timer(Timer::new(phase).context("there is no memory for samples")?)),
        }
    }

    fn sampled_by(&self) -> SampledBy {
        match self {
            Self::Events(_) => SampledBy::Events,
            Self::Timer(_) => SampledBy::Timer,
        }
    }

    /// Tells of what has come until now.
    fn take(&mut self, to: &mut Processes, has_ended: bool) -> io::Result<()> {
        match self {
            Self::Events(events) => events.take(to, has_ended),
            Self::Timer(timer) => timer.take(to, has_ended)?,
        }
        Ok(())
    }
}

/// Runs a program and says where it was.
///
/// # Errors
/// When it cannot be run, or no sample came.
pub fn measure(sampled: &SampledProgram, effort: Effort) -> anyhow::Result<Clock> {
    let started = Instant::now();
    let (mut runs, mut processes) =
        (ClockRuns { is_twin: sampled.is_twin, ..ClockRuns::default() }, Processes::default());
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template("{spinner} dmdprof: {msg}").expect("a fixed template"));
    loop {
        let began = Instant::now();
        let mut sampler = Sampler::open(runs.runs)?;
        runs.sampled_by = sampler.sampled_by();
        runs.runs += 1;
        let status = run(sampled, &mut sampler, &mut processes, effort.longest, |samples| {
            if started.elapsed() > QUIET_START {
                bar.set_message(format!("clock: run {}, {samples} samples", runs.runs));
                bar.tick();
            }
        })?;
        runs.outcome = Ending { code: status.code(), signal: status.signal() }.outcome();
        let has_ended = matches!(runs.outcome, Outcome::Exited(_)) && signals::received().is_none();
        if processes.samples() >= ENOUGH_SAMPLES || !has_ended || started.elapsed() + began.elapsed() > effort.budget {
            break;
        }
    }
    bar.finish_and_clear();
    runs.lost = processes.lost;
    if processes.samples() == 0 {
        bail!("{}", nothing(&runs, processes.lost));
    }
    Ok(file::named(runs, processes.samples_by_place()))
}

fn nothing(runs: &ClockRuns, lost: u64) -> String {
    let why = match runs.sampled_by {
        _ if lost > 0 => "all samples were lost",
        SampledBy::Events => "it ends before the first sample, or is in the system all the time",
        SampledBy::Timer => {
            "the system refuses events (`sysctl kernel.perf_event_paranoid=2`, or --cap-add PERFMON of a container, allows \
             them), and a timer needs a program that is linked dynamically and runs for some milliseconds"
        }
    };
    format!("no sample of the program: {why}")
}

/// Runs it once.
fn run(
    sampled: &SampledProgram,
    sampler: &mut Sampler,
    to: &mut Processes,
    longest: Option<Duration>,
    tell: impl Fn(u64),
) -> anyhow::Result<ExitStatus> {
    let mut command = launch::plain(&sampled.program);
    command.arg0(&sampled.name).args(&sampled.arguments);
    command.stdin(input(sampled)?).stdout(Stdio::null()).stderr(Stdio::null());
    if let Sampler::Timer(timer) = sampler {
        timer.prepare(&mut command)?;
    }
    let (mut child, watched) = signals::spawn(&mut command, Kind::Program)
        .with_context(|| format!("cannot start {}", sampled.program.display()))?;
    let ([least, most], began) = (LOOKS, Instant::now());
    let status = loop {
        let status = child.try_wait().context("lost track of the program")?;
        sampler.take(to, status.is_some()).context("samples cannot be read")?;
        if let Some(status) = status {
            break status;
        }
        if longest.is_some_and(|longest| began.elapsed() > longest) {
            child.kill().and_then(|()| child.wait()).context("lost track of the program")?;
            bail!("without hooks it takes longer than with them, as if it waited for something");
        }
        tell(to.samples());
        std::thread::sleep((began.elapsed() / 4).clamp(least, most));
    };
    watched.ended();
    Ok(status)
}

fn input(sampled: &SampledProgram) -> anyhow::Result<Stdio> {
    let Some(path) = &sampled.stdin else { return Ok(Stdio::null()) };
    Ok(File::open(path).with_context(|| format!("cannot read {}", path.display()))?.into())
}

/// For tests, and for whoever wants to compare: as if the system refused events.
fn are_unwanted() -> bool {
    is_by("timer")
}

fn is_by(what: &str) -> bool {
    std::env::var_os("DMDPROF_CLOCK_BY").is_some_and(|by| by == what)
}
