//! `dmdprof diff`: what changed between two runs.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};

use super::print::{ToArgs, WidthArgs};
use crate::document::{self, Look};
use crate::gate::compare::Comparison;
use crate::gate::estimated::{Doubt, difference};
use crate::gate::key::{PathMap, PrefixRule};
use crate::gate::metric::Metric;
use crate::gate::output::diff::Diff;
use crate::gate::provenance::Difference;
use crate::gate::source;
use crate::profile::{self, DEFAULT_FILE};
use crate::view::matched::Against;
use crate::view::{Content, page_file};

/// Compare two profiles, and say why costs changed
///
/// Without arguments: the previous profile, dmdprof.data.old, with dmdprof.data. With one, B: B.old with B. Baselines
/// of `dmdprof check` (.toml) and the estimates of samples can be compared too. The exit code does not depend on what
/// is found; `dmdprof check` is the gate.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DiffArgs {
    /// [A] B: the profile or baseline before, and the one after
    #[arg(value_name = "PROFILE", num_args = 0..=2)]
    pub profiles: Vec<PathBuf>,

    /// How to print it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,

    /// Which number's change orders the functions: cost, cycles, traffic(32KiB), read, calls, Q(32KiB), ... [default:
    /// cost, of runs of lines alone traffic(32KiB)]
    #[arg(long, value_name = "METRIC", value_parser = metric_of_functions)]
    pub sort: Option<Metric>,

    /// Show at most so many functions [default: 30 in tables and Markdown, all elsewhere]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,

    /// Read source paths that begin with OLD as if they began with NEW; may be repeated, the last match wins
    #[arg(long, value_name = "OLD=NEW")]
    pub path_prefix_map: Vec<PrefixRule>,

    #[command(flatten)]
    pub width: WidthArgs,

    #[command(flatten)]
    pub to: ToArgs,

    /// Also write both runs as a page for the browser (see `dmdprof view`)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof diff                                  the last two runs
  dmdprof diff before.data after.data --top 5
  dmdprof diff dmdprof/matmul.toml dmdprof.data a committed baseline with the last run
  dmdprof diff dmdprof.data dmdprof.estimate    an exact run with the estimates of a sample
  dmdprof diff --sort 'Q(32KiB)' a.data b.data  by traffic at 32 KiB
  dmdprof diff --path-prefix-map /build=. a.data b.data";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Table,
    /// For programs: exact integers
    Json,
    /// For spreadsheets: one line per changed function, exact integers
    Csv,
    /// For pull requests: Markdown
    Md,
}

fn metric_of_functions(text: &str) -> Result<Metric, String> {
    let metric: Metric = text.parse()?;
    metric.of_functions().then_some(metric).ok_or_else(|| format!("functions have no {metric} of their own"))
}

const TABLE_TOP: usize = 30;

/// Prints the difference.
///
/// # Errors
/// When a file cannot be read, or the numbers have different meanings.
pub fn command(args: &DiffArgs) -> anyhow::Result<()> {
    args.html.as_deref().map_or(Ok(()), page_file::check_output)?;
    let [before, after] = given(&args.profiles);
    if args.profiles.len() < 2 && !before.exists() {
        bail!(
            "there is no {}: with one profile or none, the one before is meant, as `dmdprof run` keeps it; name both: dmdprof diff \
             BEFORE {}",
            before.display(),
            after.display()
        );
    }
    let paths = source::path_map(&args.path_prefix_map)?;
    let Compared { differences, mut comparison, doubts } = compared(&before, &after, &paths)?;
    let sort = args.sort.unwrap_or_else(|| default_sort(&comparison));
    if comparison.has(sort) != [true, true] && doubts.iter().all(Option::is_none) {
        bail!("{sort} is not known of both: {}, or sort by another metric", sort.advice());
    }
    comparison.sort(sort);
    let names = [&before, &after].map(|path| path.display().to_string());
    if doubts.iter().any(Option::is_some) {
        return estimated(args, &names, &comparison, &doubts);
    }
    if let Some(path) = &args.html {
        let diff = json_of(names.clone(), &comparison, &differences)?;
        write_page(path, [&before, &after], diff, Against { comparison: &comparison, paths: &paths })?;
    }
    let few = matches!(args.format, Format::Table | Format::Md).then_some(TABLE_TOP);
    let terminal = args.to.terminal();
    let diff = Diff {
        names,
        comparison: &comparison,
        differences: &differences,
        sort,
        top: args.top.map(|n| n as usize).or(few),
        width: args.width.columns(&terminal),
        color: terminal.color,
    };
    args.to.write(|mut out| match args.format {
        Format::Table => diff.table(&mut out),
        Format::Json => diff.json(&mut out),
        Format::Csv => diff.csv(&mut out),
        Format::Md => diff.markdown(&mut out),
    })
}

/// What orders functions if nothing else is said: runs of lines alone have no cost.
fn default_sort(comparison: &Comparison) -> Metric {
    let lines = Metric::LineTraffic(32 << 10);
    let has_bytes = [&comparison.before, &comparison.after].into_iter().any(|side| side.of(Metric::READ) > 0);
    if !has_bytes && comparison.total(lines).is_some() { lines } else { Metric::COST }
}

/// Prints what changed where a side at least is the estimates of a sample.
fn estimated(args: &DiffArgs, names: &[String; 2], comparison: &Comparison, doubts: &Doubts) -> anyhow::Result<()> {
    let format = match args.format {
        Format::Table => document::Format::Table,
        Format::Json => document::Format::Json,
        Format::Csv => document::Format::Csv,
        Format::Md => bail!("the estimates of a sample are compared as a table, JSON or CSV"),
    };
    if args.html.is_some() {
        bail!("--html needs profiles, and one of these is the estimates of a sample");
    }
    if args.sort.is_some_and(|sort| sort != Metric::COST) {
        bail!(
            "--sort needs profiles, and one of these is the estimates of a sample: they are in the order of the cost"
        );
    }
    let few = (args.format == Format::Table).then_some(TABLE_TOP);
    let top = args.top.map(|n| n as usize).or(few);
    let document = difference(names, comparison, doubts, top);
    let terminal = args.to.terminal();
    let look = Look { format, width: args.width.columns(&terminal), color: terminal.color };
    args.to.write(|mut out| document.write(look, &mut out))
}

/// How far off the costs of both sides may be.
type Doubts = [Option<Doubt>; 2];

/// What differs besides the numbers, and the numbers.
struct Compared {
    differences: Vec<Difference>,
    comparison: Comparison,
    doubts: Doubts,
}

fn compared(before: &Path, after: &Path, paths: &PathMap) -> anyhow::Result<Compared> {
    let ((a, a_doubt), (mut b, b_doubt)) = (source::read(before, paths)?, source::read(after, paths)?);
    let differences = a.provenance.differences(&b.provenance);
    // A core that was asked for follows another run than the one that comes by itself: all else is compared.
    for part in differences.iter().filter_map(|d| d.what.part()) {
        b.total.by_path.retain(|path, _| !path.starts_with(part));
    }
    if let Some(d) = differences.iter().find(|d| d.what.is_of_the_model() && d.what.part().is_none()) {
        let (name, advice) = (d.name(), d.advice());
        bail!(
            "{} and {} have different {name}: {} and {}\n  {advice}",
            before.display(),
            after.display(),
            d.before,
            d.after
        );
    }
    Ok(Compared { differences, comparison: Comparison::between(&a, &b), doubts: [a_doubt, b_doubt] })
}

/// Two files that were compared.
pub struct Sides {
    names: [String; 2],
    paths: PathMap,
    differences: Vec<Difference>,
    comparison: Comparison,
}

/// Compares two files, largest change of the cost first.
///
/// # Errors
/// As [`command`].
pub fn sides(before: &Path, after: &Path) -> anyhow::Result<Sides> {
    let paths = source::path_map(&[])?;
    let Compared { differences, mut comparison, doubts } = compared(before, after, &paths)?;
    if doubts.iter().any(Option::is_some) {
        bail!("a page needs profiles, and one of these is the estimates of a sample");
    }
    comparison.sort(Metric::COST);
    Ok(Sides { names: [before, after].map(|p| p.display().to_string()), paths, differences, comparison })
}

impl Sides {
    /// # Errors
    /// As [`json_of`].
    pub fn json(&self) -> anyhow::Result<String> {
        json_of(self.names.clone(), &self.comparison, &self.differences)
    }

    #[must_use]
    pub fn against(&self) -> Against<'_> {
        Against { comparison: &self.comparison, paths: &self.paths }
    }
}

/// Whether a file's name is that of a baseline.
#[must_use]
pub fn is_baseline(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "toml")
}

/// The JSON of a comparison, with all functions.
///
/// # Errors
/// None that a writer to memory has.
pub fn json_of(names: [String; 2], comparison: &Comparison, differences: &[Difference]) -> anyhow::Result<String> {
    let diff = Diff { names, comparison, differences, sort: Metric::COST, top: None, width: None, color: false };
    let mut text = Vec::new();
    diff.json(&mut text)?;
    Ok(String::from_utf8(text)?)
}

/// A page with both runs; of baselines, which have no calling contexts, only the functions.
fn write_page(path: &Path, [before, after]: [&Path; 2], diff: String, against: Against<'_>) -> anyhow::Result<()> {
    let run = |path: &Path| (!is_baseline(path)).then(|| profile::read(path)).transpose();
    let (was, is) = (run(before)?, run(after)?);
    let content = Content {
        profile: is.as_ref(),
        before: was.as_ref().filter(|_| is.is_some()),
        names: [before, after].map(|p| p.display().to_string()),
        against: is.is_some().then_some(against),
        diff: Some(diff),
        ..Content::default()
    };
    page_file::write_page(path, &content, &page_file::PageArgs::default().options(Some("compare"))?)
}

fn given(profiles: &[PathBuf]) -> [PathBuf; 2] {
    match profiles {
        [a, b] => [a.clone(), b.clone()],
        [b] => [old(b), b.clone()],
        _ => [old(Path::new(DEFAULT_FILE)), DEFAULT_FILE.into()],
    }
}

/// What `run` calls the previous profile.
fn old(path: &Path) -> PathBuf {
    crate::profile::file::old_path(path)
}
