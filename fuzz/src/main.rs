//! Feeds damaged input to everything that dmdprof reads, and says what panicked, crashed, hung or ran out of memory.
//!
//! Takes seeds from a corpus, changes them, and runs a target on each in a process of its own. Inputs are numbered: the
//! same seed and number give the same input on every machine. It knows nothing of coverage; the corpus is what gets it
//! deep into the formats.

mod corpus;
mod mutate;
mod packed;
mod targets;
mod watch;
mod worker;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};

use targets::{PROGRAM, TARGETS, Target, named};

/// Damaged input for everything that dmdprof reads
#[derive(Parser)]
#[command(
    after_help = "Examples:\n  dmdprof-fuzz run --seconds 60               all targets, a minute together\n  dmdprof-fuzz run ring --inputs 1000000      one of them, so many inputs\n  dmdprof-fuzz one ring fuzz/findings/ring-1-234   a finding again, with its message"
)]
struct Cli {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Run targets on changed seeds
    Run(RunArgs),
    /// Run a target on one file as it is
    One {
        target: String,
        file: PathBuf,
        #[command(flatten)]
        program: ProgramArg,
    },
    /// Write the input of a seed and a number to a file
    Input {
        target: String,
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        number: u64,
        #[arg(short, long)]
        output: PathBuf,
        #[arg(long, default_value = "fuzz/corpus")]
        corpus: PathBuf,
    },
    /// Write seeds made from a real run into the corpus
    Seeds(corpus::Sources),
    /// What `run` starts
    #[command(hide = true)]
    Worker(worker::WorkerArgs),
}

#[derive(Args, Clone)]
pub struct ProgramArg {
    /// The dmdprof to test; default: the one beside this program
    #[arg(long, value_name = "FILE")]
    dmdprof: Option<PathBuf>,
}

#[derive(Args)]
struct RunArgs {
    /// Targets [default: all]
    targets: Vec<String>,

    /// Seconds for all targets together
    #[arg(long, default_value_t = 60)]
    seconds: u64,

    /// Inputs per target, instead of a time
    #[arg(long)]
    inputs: Option<u64>,

    /// Another seed gives other inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Directories of seeds, one per target
    #[arg(long, default_value = "fuzz/corpus")]
    corpus: PathBuf,

    /// Where inputs go that a target failed on
    #[arg(long, default_value = "fuzz/findings")]
    findings: PathBuf,

    #[command(flatten)]
    program: ProgramArg,
}

impl ProgramArg {
    fn settle(&self) -> anyhow::Result<PathBuf> {
        let beside = || Some(std::env::current_exe().ok()?.with_file_name("dmdprof"));
        let program = self.dmdprof.clone().or_else(beside).context("the place of this program is not known")?;
        if !program.is_file() {
            bail!("{} is missing; build the workspace first, or name it with --dmdprof", program.display());
        }
        Ok(PROGRAM.get_or_init(|| program).clone())
    }
}

fn main() -> anyhow::Result<ExitCode> {
    match Cli::parse().command {
        Action::Run(args) => run(&args),
        Action::One { target, file, program } => {
            program.settle()?;
            let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            (find(&target)?.run)(&bytes);
            println!("{target}: no defect");
            Ok(ExitCode::SUCCESS)
        }
        Action::Input { target, seed, number, output, corpus } => {
            let seeds = corpus::read(&corpus.join(find(&target)?.name))?;
            std::fs::write(&output, mutate::input(&seeds, seed, number))
                .with_context(|| format!("cannot write {}", output.display()))?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Seeds(sources) => sources.write().map(|()| ExitCode::SUCCESS),
        Action::Worker(args) => worker::run(&args).map(|()| ExitCode::SUCCESS),
    }
}

fn find(name: &str) -> anyhow::Result<&'static Target> {
    let names = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    named(name).with_context(|| format!("there is no target {name}; there are {}", names()))
}

fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let program = args.program.settle()?;
    let chosen: Vec<&Target> = match args.targets.as_slice() {
        [] => TARGETS.iter().collect(),
        names => names.iter().map(|name| find(name)).collect::<anyhow::Result<_>>()?,
    };
    let each = Duration::from_millis(args.seconds * 1000 / chosen.len() as u64);
    let mut failed = false;
    println!("{:<16}  {:>10}  {:>7}  {:>8}  findings", "target", "inputs", "seconds", "given up");
    for target in chosen {
        let started = Instant::now();
        let job = watch::Job {
            target,
            seed: args.seed,
            corpus: &args.corpus.join(target.name),
            program: &program,
            findings: &args.findings,
            limit: args.inputs.map_or(watch::Limit::Until(started + each), watch::Limit::Inputs),
        };
        let outcome = job.run()?;
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{:<16}  {:>10}  {seconds:>7.1}  {:>8}  {}",
            target.name,
            outcome.inputs,
            outcome.slow,
            outcome.findings.len()
        );
        for finding in &outcome.findings {
            failed = true;
            println!("  {}: {}", show(&finding.file), finding.why);
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn show(path: &Path) -> String {
    path.display().to_string()
}
