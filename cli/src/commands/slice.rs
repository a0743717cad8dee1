//! `dmdprof slice`: analyses a part of a trace on its own, for `dmdprof merge`.
//!
//! Takes a trace and which part of how many; writes a file. A part is what lies in its share of the trace's bytes, so
//! that parts need not know of each other. Makes the trace's index too, and uses one that is there; one that cannot be
//! used is named and left alone. Refuses options whose answer a part alone does not have, traces that cannot be
//! replayed, and files that cannot be written.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufReader, ErrorKind, Read},
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;
use dmdprof_runtime::{
    analysis::shard_files::{self, Identity, IndexError, IndexingError, Name, Point},
    trace::TraceReader,
};

use crate::{
    measure::{
        options::{MeasureArgs, WorkArgs},
        rules::{self, Driver},
        typed::Typed,
    },
    shared::output_file,
};

/// Analyse a part of a trace on its own, on any machine
///
/// Analyses part K of N of a trace of `dmdprof record` on its own, on any machine that has the trace and the recorded
/// program. `dmdprof merge` makes a profile of all parts: the same, byte for byte, as `dmdprof replay` of the trace.
/// What comes before the part is read and gone over, at a fraction of the time of an analysis; `--index` does that once
/// for all parts.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct SliceArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,

    /// Which part of how many, as in 3/64
    #[arg(long, value_name = "K/N", value_parser = parse_part, required_unless_present = "index")]
    pub part: Option<(u32, u32)>,

    /// File to write
    #[arg(short, long, value_name = "FILE", required_unless_present = "index")]
    pub output: Option<PathBuf>,

    /// Write TRACE.index, from which parts begin in the middle of the trace
    #[arg(long, conflicts_with_all = ["part", "output"])]
    pub index: bool,

    #[command(flatten)]
    pub measure: Typed<MeasureArgs>,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof slice app.trace --index                     once, so that no part has to go over those before it
  dmdprof slice app.trace --part 1/2 -o s1.slice      the first half
  dmdprof slice app.trace --part 2/2 -o s2.slice      the second, anywhere, at any time
  dmdprof merge s1.slice s2.slice -o app.data         both together";

/// Parts of a trace, at most.
const MOST_PARTS: u32 = 1 << 20;

fn parse_part(text: &str) -> Result<(u32, u32), String> {
    let numbers = text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    match numbers {
        Some((part, parts)) if (1..=parts).contains(&part) && parts <= MOST_PARTS => Ok((part, parts)),
        _ => Err(format!("must be K/N with K from 1 to N, and N at most {MOST_PARTS}; as in 3/64")),
    }
}

/// Runs the command.
///
/// # Errors
/// When the trace cannot be read or does not fit the programs that are there, or the file cannot be written.
pub fn command(args: &SliceArgs) -> anyhow::Result<()> {
    let name = args.trace.display().to_string();
    let identity = identity(&args.trace).with_context(|| format!("cannot read trace {name}"))?;
    let file = File::open(&args.trace).with_context(|| format!("cannot open trace {name}"))?;
    let mut reader = TraceReader::new(BufReader::with_capacity(1 << 18, file)).with_context(|| name.clone())?;
    let utf8 = |word: &OsString| word.to_str().map(str::to_owned).with_context(|| format!("{word:?} is not UTF-8"));
    let analysis: Vec<String> = args.measure.words.iter().map(utf8).collect::<anyhow::Result<_>>()?;
    let (Some((part, parts)), Some(output)) = (args.part, &args.output) else {
        if let Some(option) = analysis.first() {
            rules::refuse(&format!("{option} is about a part, and the index is of all parts; leave it out"));
        }
        return write_index(&mut reader, identity, &args.trace);
    };
    rules::check(&args.measure.args, Driver::Slice, None, None);
    let sizes = rules::line_sizes(&args.measure.args, Driver::Slice);
    let options = args.measure.args.options(sizes, &WorkArgs::default(), output)?;
    let command = reader.start().command.clone();
    let share = share(identity.1, part, parts);
    let point = point(&args.trace, identity, share.start, options.objects);
    let summary = shard_files::slice(&mut reader, &options, &share, point).with_context(|| name)?;
    let whose = Name { first: part, last: part, parts, trace: identity, command, analysis };
    output_file::write_whole(output, |to| shard_files::write(to, &whose, &summary))
        .with_context(|| format!("cannot write {}", output.display()))
}

/// Where the index of a trace is.
fn index_of(trace: &Path) -> PathBuf {
    let mut path = trace.as_os_str().to_owned();
    path.push(".index");
    path.into()
}

fn write_index(reader: &mut TraceReader<BufReader<File>>, identity: Identity, trace: &Path) -> anyhow::Result<()> {
    let path = index_of(trace);
    let mut failed = None;
    let written = output_file::write_whole(&path, |to| match shard_files::index(reader, identity, to) {
        Ok(_) => Ok(()),
        Err(IndexingError::Io(error)) => Err(error),
        Err(IndexingError::Replay(error)) => {
            failed = Some(error);
            Err(io::Error::other("the trace cannot be read"))
        }
    });
    match failed {
        Some(error) => Err(error).with_context(|| trace.display().to_string()),
        None => written.with_context(|| format!("cannot write {}", path.display())),
    }
}

/// The last point before a place, if there is an index that can be used.
fn point(trace: &Path, identity: Identity, place: u64, objects: bool) -> Option<Point> {
    let path = index_of(trace);
    let found = File::open(&path).map_err(IndexError::from);
    let found = found.and_then(|file| shard_files::find(&mut BufReader::new(file), identity, place, objects));
    found.unwrap_or_else(|error| {
        if !matches!(&error, IndexError::Io(error) if error.kind() == ErrorKind::NotFound) {
            let path = path.display();
            eprintln!("dmdprof: note: {path} is not used ({error}); `dmdprof slice --index` makes it again");
        }
        None
    })
}

/// Which bytes of a trace a part is.
fn share(bytes: u64, part: u32, parts: u32) -> Range<u64> {
    let end = |part: u32| (u128::from(bytes) * u128::from(part) / u128::from(parts)) as u64;
    end(part - 1)..if part == parts { u64::MAX } else { end(part) }
}

/// Checksum of a trace's first bytes, and its length.
fn identity(trace: &Path) -> io::Result<Identity> {
    let file = File::open(trace)?;
    let bytes = file.metadata()?.len();
    let mut first = Vec::new();
    file.take(1 << 16).read_to_end(&mut first)?;
    Ok((crc32fast::hash(&first), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_next_to_each_other() {
        for parts in [1, 2, 3, 64] {
            let shares: Vec<_> = (1..=parts).map(|part| share(1000, part, parts)).collect();
            assert_eq!((shares[0].start, shares[shares.len() - 1].end), (0, u64::MAX));
            assert!(shares.windows(2).all(|two| two[0].end == two[1].start), "{shares:?}");
        }
    }

    #[test]
    fn what_is_no_part_is_refused() {
        assert_eq!(parse_part("3/64"), Ok((3, 64)));
        for text in ["", "3", "0/4", "5/4", "1/0", "a/b", "1/2/3", "-1/2"] {
            assert!(parse_part(text).is_err(), "{text}");
        }
    }
}
