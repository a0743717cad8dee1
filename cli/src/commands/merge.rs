//! `dmdprof merge`: makes a profile of the parts of a trace.
//!
//! Takes the files of `dmdprof slice`, in any order; writes the profile and the report that `dmdprof replay` would
//! have, or makes one slice of neighbouring ones. Refuses files of different traces or analyses, parts that are missing
//! or there twice, and damaged files.

use std::{
    fs::File,
    io::BufReader,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, bail};
use clap::Args;
use dmdprof_runtime::analysis::{
    Replayed,
    shard_files::{self, Joined, Name, Summary, read_name, read_summary},
};

use super::replay::{origin, warn_of_cut};
use crate::{
    measure::{
        analysis::{AnalysisArgs, ResultArgs},
        options::WorkArgs,
        rules::Driver,
        typed::of_words,
    },
    report::ReportArgs,
    shared::output_file,
};

/// Make a profile of the parts of a trace
///
/// Puts all parts of a trace together, as `dmdprof slice` made them: writes the profile and the report that
/// `dmdprof replay` of the trace would have. The recorded program must be where it was: source positions are in it.
/// With a name for the output that ends in .slice, makes one slice of neighbours, to be merged with others like any
/// slice; that needs no program.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct MergeArgs {
    /// All parts, or neighbours, in any order
    #[arg(value_name = "SLICE", required = true)]
    pub slices: Vec<PathBuf>,

    #[command(flatten)]
    pub results: ResultArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof merge *.slice                     all parts that are here
  dmdprof merge -q *.slice -o app.data      profile only
  dmdprof merge 1.slice 2.slice -o 12.slice     one slice of two neighbours";

type Slice = (Name, PathBuf, BufReader<File>);

/// Runs the command.
///
/// # Errors
/// When a file cannot be read, is damaged or does not fit the others, when a part is missing, or as `dmdprof replay`.
pub fn command(args: &MergeArgs) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut slices = args.slices.iter().map(|path| open(path)).collect::<anyhow::Result<Vec<_>>>()?;
    slices.sort_by_key(|(name, ..)| name.first);
    let name = slices[0].0.clone();
    let output = &args.results.output;
    if output.extension().is_some_and(|extension| extension == "slice") {
        return join(slices, name, output);
    }
    check(&slices, 1..=name.parts)?;
    let (measure, results) = (of_words(&name.analysis), args.results.clone());
    let analysis = AnalysisArgs { measure, work: WorkArgs::default(), results, report: ReportArgs::default() };
    let options = analysis.options(Driver::Slice)?;
    analysis.check_output()?;
    let mut joined = Joined::new(&options);
    for slice in slices {
        let (path, summary) = read(slice)?;
        joined.add(summary).with_context(|| path.display().to_string())?;
    }
    let Replayed { measurement, end, cut_at, engine_peak } = joined.finish();
    warn_of_cut("the trace", cut_at);
    let origin = origin(name.command, end.as_ref(), cut_at);
    analysis.finish(measurement, origin, started, engine_peak)
}

/// Makes one slice of neighbours, which are in order.
fn join(slices: Vec<Slice>, name: Name, output: &Path) -> anyhow::Result<()> {
    let last = slices.iter().map(|slice| slice.0.last).max().unwrap_or(name.last);
    check(&slices, name.first..=last)?;
    let mut all: Option<Summary> = None;
    for slice in slices {
        let (path, summary) = read(slice)?;
        all = Some(match all {
            Some(all) => all.join(summary).with_context(|| path.display().to_string())?,
            None => summary,
        });
    }
    let (name, all) = (Name { last, ..name }, all.context("no slice was named")?);
    output_file::write_whole(output, |to| shard_files::write(to, &name, &all))
        .with_context(|| format!("cannot write {}", output.display()))
}

fn read((_, path, mut file): Slice) -> anyhow::Result<(PathBuf, Summary)> {
    let summary = read_summary(&mut file).with_context(|| path.display().to_string())?;
    Ok((path, summary))
}

/// Whose part a file is, and the rest of it.
fn open(path: &Path) -> anyhow::Result<Slice> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut file = BufReader::with_capacity(1 << 18, file);
    let name = read_name(&mut file).with_context(|| path.display().to_string())?;
    Ok((name, path.to_owned(), file))
}

/// Refuses what is not all of these parts of one trace, once each. They are in order.
fn check(slices: &[Slice], wanted: RangeInclusive<u32>) -> anyhow::Result<()> {
    let (first, path, _) = &slices[0];
    for (name, other, _) in slices {
        let (path, other) = (path.display(), other.display());
        if (name.trace, &name.command) != (first.trace, &first.command) {
            bail!("{path} and {other} are slices of different traces; merge the slices of one trace");
        }
        if name.parts != first.parts {
            bail!(
                "{path} is one of {} slices, and {other} one of {}; make all with one number",
                first.parts,
                name.parts
            );
        }
        if name.analysis != first.analysis {
            let options = |name: &Name| match name.analysis.join(" ") {
                none if none.is_empty() => "no options".to_owned(),
                options => options,
            };
            bail!("{path} was analysed with {}, and {other} with {}; make all alike", options(first), options(name));
        }
    }
    if let Some(two) = slices.windows(2).find(|two| two[1].0.first <= two[0].0.last) {
        let (one, other) = (two[0].1.display(), two[1].1.display());
        match two[0].0 == two[1].0 {
            true => bail!("{one} and {other} are the same slice; name one of them"),
            false => bail!("{one} and {other} both have part {}/{}; name one of them", two[1].0.first, first.parts),
        }
    }
    let gaps = slices.windows(2).map(|two| two[0].0.last + 1..two[1].0.first);
    let (before, last) = (*wanted.start()..first.first, slices[slices.len() - 1].0.last);
    let missing: Vec<u32> = std::iter::once(before).chain(gaps).flatten().chain(last + 1..=*wanted.end()).collect();
    let named: Vec<String> = missing.iter().take(8).map(|part| format!("{part}/{}", first.parts)).collect();
    let named = named.join(", ");
    match missing.len() {
        0 => Ok(()),
        1 => bail!("slice {named} is missing; make it with `dmdprof slice TRACE --part {named} -o FILE`"),
        count => bail!(
            "{count} slices are missing ({named}{}); make them with `dmdprof slice`",
            if count > 8 { ", ..." } else { "" }
        ),
    }
}
