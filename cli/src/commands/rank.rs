//! `dmdprof rank`: which of several variants to keep.
//!
//! Takes programs or source files, runs each under `dmdprof run` or finds what an earlier run left, prints the ranking.
//! Refuses what does not run to its end, and options that contradict each other.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::estimate::{MachineArgs, WorkArgs};
use super::print::PrintArgs;
use crate::cores::{self, Cores};
use crate::emulator::Emulator;
use crate::estimate::times::Times;
use crate::gate::runner::{self, Inputs, Job, Left};
use crate::machine::{Machine, zoo};
use crate::measure::{
    options::StackArgs,
    program::{CompileArgs, Program},
    typed::Typed,
    values::ModelArg,
};
use crate::profile::unseen;
use crate::rank::cache::{Cache, Question};
use crate::rank::elements::Elements;
use crate::rank::same::Comparison;
use crate::rank::sheet::{self, Options};
use crate::rank::{Evidence, Variant};
use crate::report::parse_percent;
use crate::shared::hash;

/// Rank variants of a kernel: the same result, in the least time
///
/// Runs each variant under `dmdprof run`, compares its result with the baseline's (exit code; declared outputs, else
/// standard output), and ranks those that do the same by the cycles that a core would take, by the bytes of lines that
/// a usual hierarchy of caches moves, by ByteDMD and by the estimated time on machines. Results are kept in
/// $XDG_CACHE_HOME/dmdprof/rank by the content of program, arguments and inputs, so that an unchanged variant does not
/// run again.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RankArgs {
    #[command(flatten)]
    pub machine: MachineArgs,

    #[command(flatten)]
    pub work: WorkArgs,

    #[command(flatten)]
    pub build: CompileArgs,

    /// Give this file to each run as standard input
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,

    /// Largest absolute difference of a result to the baseline's; 0 accepts only equal bytes
    #[arg(long, value_name = "T", default_value = "0", value_parser = parse_tolerance)]
    pub tolerance: f64,

    /// By how many percent a variant with a difference must be cheaper than the best one without
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = parse_percent)]
    pub margin: f64,

    /// What declared outputs consist of (with --tolerance)
    #[arg(long, value_enum, default_value_t, value_name = "TYPE")]
    pub elements: Elements,

    /// Measured times to compare estimates with: CSV with the columns name,seconds, names as typed here (see
    /// `dmdprof time`)
    #[arg(long, value_name = "FILE")]
    pub times: Option<PathBuf>,

    /// Cores by whose cycles variants are ranked: machines by name, the one that matters first. The others say whether
    /// the order is the same elsewhere [default: `local` if that was calibrated with a core, else zen4-9654-core; then
    /// skx-6148-core and snb-e5-2680-core]
    #[arg(long, value_name = "MACHINE,...", value_parser = cores::parse)]
    pub cycles: Option<Cores>,

    /// Rank without cycles, which take a run of each variant under the emulator
    #[arg(long, conflicts_with = "cycles")]
    pub no_cycles: bool,

    /// Run every variant, and keep no result
    #[arg(long)]
    pub no_cache: bool,

    #[command(flatten)]
    pub print: PrintArgs,

    /// The variants, the baseline first: programs with hooks, or source files (.c .cc .cpp .cxx .rs .ll .bc)
    #[arg(required = true, num_args = 2.., value_name = "VARIANT")]
    pub variants: Vec<OsString>,

    /// Arguments of every variant
    #[arg(last = true, value_name = "ARGS")]
    pub arguments: Vec<OsString>,

    // Behind all others, which would have this heading too.
    #[command(flatten, next_help_heading = "Options of the runs")]
    pub stack: Typed<StackArgs>,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof rank ijk.c ikj.c tiled.c                         by the cycles of a core
  dmdprof rank --cycles zen4-9654-core,skx-6148-core a b   programs without hooks: all is measured under the emulator
  dmdprof rank --machine skx-6148-core,h100-sxm ijk.c ikj.c tiled.c -- 256
  dmdprof rank --tolerance 1e-9 sum.c pairwise.c           a little rounding is fine, if it pays
  dmdprof time -o times.csv a.rs b.rs && dmdprof rank --machine local --times times.csv a.rs b.rs";

fn parse_tolerance(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|t: &f64| *t >= 0.0 && t.is_finite()).ok_or_else(|| "must be a number, at least 0".into())
}

/// Runs, compares and prints.
///
/// # Errors
/// What cannot be built, run or estimated, and variants that have nothing to rank.
pub fn command(args: &RankArgs) -> anyhow::Result<()> {
    let names = super::variant_names(&args.variants)?;
    let machines = args.machine.named_or_local()?;
    let options = Options {
        comparison: Comparison { tolerance: args.tolerance, elements: args.elements },
        margin: args.margin,
        choice: args.machine.choice(),
        work: args.work.work,
        times: args.times.as_deref().map(Times::read).transpose()?,
    };
    if let Some(times) = &options.times {
        times.check("one of the variants", names.iter().map(String::as_str))?;
    }
    let mut results = Results::new(args, &machines)?;
    let mut variants = Vec::new();
    for (name, typed) in names.into_iter().zip(&args.variants) {
        let evidence = results.evidence_for(typed).with_context(|| format!("variant {name}"))?;
        variants.push(Variant { name, evidence });
    }
    results.say();
    for Variant { name, evidence } in &variants {
        unseen::warn(&format!("{name}: "), &unseen::sentences(&evidence.profile.coverage));
    }
    args.print.print(&sheet::document(&variants, &machines, &options)?)
}

/// Where the result of each variant comes from.
struct Results<'a> {
    args: &'a RankArgs,
    cache: Option<Cache>,
    /// None where there is no emulator.
    cores: Option<Cores>,
    /// SHA-256 of dmdprof itself.
    tool: String,
    directory: PathBuf,
    asked: usize,
    found: usize,
}

impl<'a> Results<'a> {
    fn new(args: &'a RankArgs, machines: &[Machine]) -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("cannot find dmdprof's own executable")?;
        Ok(Results {
            args,
            cache: if args.no_cache { None } else { Cache::of_user() },
            cores: if args.no_cycles || args.stack.args.model == ModelArg::Values {
                None
            } else {
                of_cores(args, machines)?
            },
            tool: hash::of_file(&own)?,
            directory: std::env::current_dir().context("the current directory is not there")?,
            asked: 0,
            found: 0,
        })
    }

    /// Builds if need be, and runs unless the result is known.
    fn evidence_for(&mut self, typed: &OsString) -> anyhow::Result<Evidence> {
        let RankArgs { build, stack, .. } = self.args;
        let target = Program::find(typed, |source| build.build(source, &[], stack.args.model.into()))?;
        let mut job = self.job(&target);
        let inputs = Inputs::before(&job)?;
        let key = self.question(&target, &job, &inputs)?.key();
        self.asked += 1;
        if let Some(evidence) = self.cache.as_ref().and_then(|cache| cache.get(&key)) {
            self.found += 1;
            return Ok(evidence);
        }
        // Until the run is over.
        let _twin = self.add_cycles(&mut job, typed, &target)?;
        let Left { profile, stdout, outputs } = runner::run_keeping(&job)?;
        let evidence = Evidence { profile, stdout, outputs };
        // A run that changes its inputs answers another question than the next one will ask.
        if let Some(cache) = self.cache.as_ref().filter(|_| inputs.are_unchanged())
            && let Err(error) = cache.put(&key, &evidence)
        {
            eprintln!("dmdprof: warning: the result cannot be kept for the next time: {error}");
        }
        Ok(evidence)
    }

    fn job(&self, target: &Program) -> Job {
        Job {
            command: std::iter::once(target.path.clone().into()).chain(self.args.arguments.iter().cloned()).collect(),
            env: BTreeMap::new(),
            dir: self.directory.clone(),
            stdin: self.args.stdin.clone(),
            inputs: Vec::new(),
            options: self.args.stack.words.clone(),
        }
    }

    /// Asks for cycles, if there can be some. Gives the program without hooks, if that had to be built.
    fn add_cycles(&self, job: &mut Job, typed: &OsString, target: &Program) -> anyhow::Result<Option<Program>> {
        let Some(cores) = &self.cores else { return Ok(None) };
        let twin = target.is_built().then(|| self.args.build.level.twin(typed)).transpose()?;
        // Built elsewhere with hooks, it has none.
        if twin.is_none() && target.has_hooks() {
            return Ok(None);
        }
        job.options.push(cores.option().into());
        if let Some(twin) = &twin {
            job.options.extend(["--native".into(), twin.path.clone().into()]);
        }
        Ok(twin)
    }

    fn question(&self, target: &Program, job: &Job, inputs: &Inputs) -> anyhow::Result<Question> {
        Ok(Question {
            tool: self.tool.clone(),
            options: job
                .options
                .iter()
                .cloned()
                .chain(self.cores.iter().map(|cores| format!("{cores:?}").into()))
                .collect(),
            program: hash::of_file(&target.path)?,
            name: target.path.file_name().unwrap_or_default().to_os_string(),
            arguments: self.args.arguments.clone(),
            stdin: job.stdin.as_deref().map(hash::of_file).transpose()?,
            files: inputs.hashes().map(|(path, hash)| (path.to_path_buf(), hash.to_owned())).collect(),
            directory: self.directory.clone(),
        })
    }

    /// How many runs were spared, on standard error: what is printed is the same as without a cache.
    fn say(&self) {
        if self.found > 0 {
            eprintln!(
                "dmdprof: note: {} of {} results came from the cache (--no-cache runs all)",
                self.found, self.asked
            );
        }
    }
}

/// The cores that follow, if there is an emulator.
fn of_cores(args: &RankArgs, machines: &[Machine]) -> anyhow::Result<Option<Cores>> {
    if Emulator::of_this_machine().is_err() {
        return Ok(None);
    }
    let others = OTHER_CORES.iter().filter_map(|name| zoo::machine(name));
    let usual = || Ok(cores::parse("").map_err(anyhow::Error::msg)?.beside(others));
    // Times on a machine with a core are those of the core.
    let timed = machines.iter().filter(|machine| !machine.core.is_empty()).cloned();
    Ok(Some(args.cycles.clone().map_or_else(usual, anyhow::Ok)?.beside(timed)))
}

/// Cores that are asked whether the order is the same there: older and narrower ones, with other caches.
const OTHER_CORES: [&str; 2] = ["skx-6148-core", "snb-e5-2680-core"];

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    #[command(name = "dmdprof rank")]
    struct Cli {
        #[command(flatten)]
        args: RankArgs,
    }

    #[test]
    fn help() {
        insta::assert_snapshot!(Cli::command().term_width(110).render_long_help());
    }

    #[test]
    fn options_mean_what_they_say() {
        let parse = |words: &str| Cli::try_parse_from(words.split(' ')).map(|cli| cli.args);
        let args = parse("rank --margin 7 --tolerance 1e-9 --liveness exact a b c -- 1 --margin").expect("valid");
        assert_eq!((args.margin, args.tolerance, args.variants.len(), args.arguments.len()), (0.07, 1e-9, 3, 2));
        assert_eq!(args.stack.words, ["--liveness=exact"]);
        let args = parse("rank a b").expect("valid");
        assert_eq!((args.margin, args.tolerance, args.elements), (0.05, 0.0, Elements::F64));
        for bad in [
            "rank a",
            "rank --margin 101 a b",
            "rank --tolerance -1 a b",
            "rank --tolerance nan a b",
            "rank --line-size 48 a b",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
