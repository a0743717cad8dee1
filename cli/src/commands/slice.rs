//! `dmdprof slice`: analyses a part of a trace on its own, for `dmdprof merge`.
//!
//! Takes a trace and which part of how many; writes a file. A part is what lies in its share of the trace's bytes, so
//! that parts need not know of each other. Refuses traces that cannot be replayed, and files that cannot be written.

use std::{
    fs::File,
    io::{BufReader, Read},
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;
use dmdprof_runtime::{
    session::shares::{self, Name},
    trace::TraceReader,
};

use crate::{
    measure::analysis::{AnalysisArgs, parse_line},
    shared::output_file,
};

/// Analyse a part of a trace on its own, on any machine
///
/// Analyses part K of N of a trace of `dmdprof record` on its own, on any machine that has the trace and the recorded
/// program. `dmdprof merge` makes a profile of all parts: the same, byte for byte, as `dmdprof replay` of the trace.
/// What comes before the part is read and gone over, at a fraction of the time of an analysis.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct SliceArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,

    /// Which part of how many, as in 3/64
    #[arg(long, value_name = "K/N", value_parser = parse_part)]
    pub part: (u32, u32),

    /// File to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// When bytes leave the stack
    #[arg(long, value_name = "KIND", value_parser = ["none", "hints"], default_value = "hints")]
    pub liveness: String,

    /// Use a stack of lines of N bytes, see `dmdprof replay`
    #[arg(long, value_name = "N", value_parser = parse_line)]
    pub line: Option<u32>,

    /// Count only while a function matching GLOB is on the stack, or a region of that name is open
    #[arg(long, value_name = "GLOB")]
    pub roi: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
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

impl SliceArgs {
    /// The options of the analysis, as `dmdprof replay` takes them.
    fn analysis(&self) -> Vec<String> {
        let mut words = vec!["--liveness".to_owned(), self.liveness.clone()];
        words.extend(self.line.iter().flat_map(|line| ["--line".to_owned(), line.to_string()]));
        words.extend(self.roi.iter().map(|roi| format!("--roi={roi}")));
        words
    }
}

/// Runs the command.
///
/// # Errors
/// When the trace cannot be read or does not fit the programs that are there, or the file cannot be written.
pub fn command(args: &SliceArgs) -> anyhow::Result<()> {
    let name = args.trace.display().to_string();
    let analysis = args.analysis();
    let options = AnalysisArgs::of(&analysis).options()?;
    let (bytes, checksum) = identity(&args.trace).with_context(|| format!("cannot read trace {name}"))?;
    let file = File::open(&args.trace).with_context(|| format!("cannot open trace {name}"))?;
    let mut reader = TraceReader::new(BufReader::with_capacity(1 << 18, file)).with_context(|| name.clone())?;
    let (part, parts) = args.part;
    let command = reader.start().command.clone();
    let summary = shares::slice(&mut reader, &options, &share(bytes, part, parts)).with_context(|| name)?;
    let whose = Name { part, parts, trace: (checksum, bytes), command, analysis };
    output_file::write_whole(&args.output, |to| shares::write(to, &whose, &summary))
        .with_context(|| format!("cannot write {}", args.output.display()))
}

/// Which bytes of a trace a part is.
fn share(bytes: u64, part: u32, parts: u32) -> Range<u64> {
    let end = |part: u32| (u128::from(bytes) * u128::from(part) / u128::from(parts)) as u64;
    end(part - 1)..if part == parts { u64::MAX } else { end(part) }
}

/// Length of a trace, and checksum of its first bytes.
fn identity(trace: &Path) -> std::io::Result<(u64, u32)> {
    let file = File::open(trace)?;
    let bytes = file.metadata()?.len();
    let mut first = Vec::new();
    file.take(1 << 16).read_to_end(&mut first)?;
    Ok((bytes, crc32fast::hash(&first)))
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
