//! `dmdprof export`: a profile for another viewer, or the accesses of a trace.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum, builder::PossibleValue};

use super::{
    export_accesses::{self, Window},
    profile::ProfileArg,
    record::DEFAULT_TRACE,
    replay::is_trace,
};
use crate::export::{self, DEFAULT_METRICS, Options, Target};
use crate::gate::{metric::Metric, summary::Numbers};
use crate::profile;
use crate::report::{Inlined, Sums, numbers::SumsContext};
use crate::shared::{output_file, project};

/// Write the profile for another viewer, or a trace as text
///
/// All formats of viewers hold the program's totals exactly, and the calling contexts as far as they can. `--to
/// accesses` takes a trace of `dmdprof record` in the place of a profile. See docs/export.md.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ExportArgs {
    #[command(flatten)]
    pub profile: ProfileArg,

    /// For which viewer, or `accesses`
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: To,

    /// With --to accesses: those from number FIRST to number LAST, counted from 1; one of both may be left out
    #[arg(long, value_name = "FIRST..LAST")]
    pub window: Option<Window>,

    /// Which numbers: cost, read, written, cold, accesses, flops, int_ops, Q(32KiB), deeper(32KiB), ...; may be
    /// repeated
    ///
    /// [default: cost,read,written,cold,accesses,Q(32KiB),Q(1MiB); cost where the format holds one]
    #[arg(short, long, value_name = "METRIC[,METRIC...]", value_delimiter = ',', value_parser = metric_of_code)]
    pub metric: Vec<Metric>,

    /// Show code inlined from the standard library and system headers as frames of its own
    #[arg(long, conflicts_with = "no_inline")]
    pub library: bool,

    /// Only linked functions are frames: inlined code counts for what it was inlined into
    #[arg(long)]
    pub no_inline: bool,

    /// With --to sarif: at most so many lines
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub top: u32,

    /// Where to write it; `-` is standard output [default: a name that the viewer knows, in the current directory].
    /// Accesses are packed if the name ends in .gz or .zst
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof export --to callgrind && kcachegrind callgrind.out.dmdprof
  dmdprof export --to speedscope -o kernel.speedscope.json     then drop it on speedscope.app
  dmdprof export --to pprof && go tool pprof -top dmdprof.pb.gz
  dmdprof export --to folded --metric 'Q(32KiB)' -o - | inferno-flamegraph > q32.svg
  dmdprof export --to cpuprofile --metric read && code dmdprof.cpuprofile      numbers at the lines
  dmdprof export --to sarif --top 20 -o dmdprof.sarif ci.data
  dmdprof export --to accesses app.trace -o app.txt.zst        what `dmdprof import` and simulators take
  dmdprof export --to accesses --window 1000001..1000100 app.trace -o -

`dmdprof record` makes a trace.";

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// A profile.
    Viewer(Target),
    /// A trace.
    Accesses,
}

impl ValueEnum for To {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: std::sync::LazyLock<Vec<To>> = std::sync::LazyLock::new(|| {
            Target::value_variants().iter().map(|to| To::Viewer(*to)).chain([To::Accesses]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Viewer(target) => target.to_possible_value(),
            Self::Accesses => Some(
                PossibleValue::new("accesses").help("Simulators, `dmdprof import`: one line per access of a trace"),
            ),
        }
    }
}

fn metric_of_code(text: &str) -> Result<Metric, String> {
    let metric: Metric = text.parse()?;
    if export::is_of_code(metric) {
        return Ok(metric);
    }
    Err(format!("{text} is not a number of single call stacks; see `dmdprof report`"))
}

/// Writes the file and says where it is.
///
/// # Errors
/// A profile that cannot be read, several metrics where one fits, a file that cannot be written.
pub fn command(args: &ExportArgs) -> anyhow::Result<()> {
    let To::Viewer(target) = args.to else { return accesses(args) };
    if args.window.is_some() {
        bail!("--window is about the accesses of a trace, and a profile has none; add --to accesses, and name a trace");
    }
    let metrics = metrics(args, target)?;
    let profile = profile::read(args.profile.path())?;
    let metrics = of_profile(metrics, args.metric.is_empty(), &profile)?;
    let inlined = match (args.no_inline, args.library) {
        (true, _) => Inlined::Linked,
        (false, true) => Inlined::All,
        (false, false) => Inlined::Own,
    };
    let root = std::env::current_dir().ok().map(|here| project::repository(&here).unwrap_or(here));
    let options = Options { target, metrics, inlined, top: args.top as usize, root };
    let path = args.output.clone().unwrap_or_else(|| target.default_file().into());
    if path == Path::new("-") {
        return to_standard_output(&profile, &options);
    }
    let failed = || format!("cannot write {}", path.display());
    let mut out = BufWriter::new(output_file::create(&path).with_context(failed)?);
    export::write(&profile, &options, &mut out).and_then(|()| out.flush()).with_context(failed)?;
    eprintln!("dmdprof: wrote {}", path.display());
    Ok(())
}

/// The accesses of a trace.
fn accesses(args: &ExportArgs) -> anyhow::Result<()> {
    if !args.metric.is_empty() || args.library || args.no_inline {
        bail!(
            "--metric, --library and --no-inline are about profiles; lines of accesses have neither numbers nor frames"
        );
    }
    let trace = args.profile.named().unwrap_or(Path::new(DEFAULT_TRACE));
    if trace.is_file() && !is_trace(trace) {
        let trace = trace.display();
        bail!("{trace} is no trace; --to accesses takes one of `dmdprof record`, as a profile has no single accesses");
    }
    export_accesses::command(trace, args.window, args.output.as_deref())
}

fn metrics(args: &ExportArgs, target: Target) -> anyhow::Result<Vec<Metric>> {
    let format = target.to_possible_value().map_or_else(String::new, |v| v.get_name().into());
    match (args.metric.as_slice(), target.holds_several()) {
        ([], true) => Ok(DEFAULT_METRICS.to_vec()),
        ([], false) => Ok(vec![Metric::COST]),
        ([_, _, ..], false) => bail!("{format} holds one metric; name one with --metric, and write a file for each"),
        (named, _) => {
            let mut unique: Vec<Metric> = Vec::new();
            named.iter().for_each(|metric| {
                if !unique.contains(metric) {
                    unique.push(*metric)
                }
            });
            Ok(unique)
        }
    }
}

/// Where traffic is not known, what is read deeper stands in its place, if nobody asked for it by name.
fn of_profile(metrics: Vec<Metric>, by_default: bool, profile: &profile::Profile) -> anyhow::Result<Vec<Metric>> {
    let none = Sums::default();
    let measured = Numbers::from_sums(&none, SumsContext { profile, total: &none });
    let known = |metric: Metric| match metric {
        _ if metric.is_measured(&measured) => Ok(metric),
        Metric::Traffic(capacity) if by_default => Ok(Metric::Deeper(capacity)),
        _ => bail!("{metric} was not measured: {}", metric.advice()),
    };
    metrics.into_iter().map(known).collect()
}

/// A reader that has seen enough (`| head`) is no error.
fn to_standard_output(profile: &profile::Profile, options: &Options) -> anyhow::Result<()> {
    let stdout = io::stdout();
    if stdout.is_terminal() && matches!(options.target, Target::Pprof | Target::Firefox) {
        bail!("the format is binary; name a file with -o, or pipe it");
    }
    let mut out = BufWriter::new(stdout.lock());
    match export::write(profile, options, &mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}
