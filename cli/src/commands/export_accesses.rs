//! `dmdprof export --to accesses`: the accesses of a trace as the text that `dmdprof import` takes.
//!
//! Takes a trace and which of its accesses, writes a line for each, and says what of the trace has no line. Refuses
//! windows in which there is nothing, and what a replay refuses; then there is no file.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, BufReader, BufWriter, IntoInnerError, Read, Write},
    path::Path,
    str::FromStr,
};

use anyhow::{Context, ensure};
use dmdprof_runtime::{
    analysis::accesses::{LeftOut, accesses},
    trace::TraceReader,
};
use flate2::{Compression, write::GzEncoder};

use super::{import::with_progress, replay::warn_of_cut};
use crate::shared::{human, output_file, standard::is_closed_pipe};

/// The file that is written if nobody names one.
pub const DEFAULT_FILE: &str = "dmdprof.accesses.zst";
/// Compression that takes less time than making the text.
const LEVEL: i32 = 1;

/// Which accesses, by their number in the text that a whole trace would give, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    first: u64,
    last: u64,
}

impl Window {
    const WHOLE: Self = Self { first: 1, last: u64::MAX };
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str, left_out: u64| if text.is_empty() { Some(left_out) } else { text.parse().ok() };
        let window = text.split_once("..").and_then(|(first, last)| {
            Some(Self { first: number(first, Self::WHOLE.first)?, last: number(last, Self::WHOLE.last)? })
        });
        let advice = "must be FIRST..LAST, as in 1000001..2000000, or without one of both";
        window.filter(|window| (1..=window.last).contains(&window.first)).ok_or_else(|| advice.into())
    }
}

/// Writes the accesses of a trace.
///
/// # Errors
/// When the trace cannot be read or does not fit the programs that are there, or the text cannot be written.
pub fn command(trace: &Path, window: Option<Window>, output: Option<&Path>) -> anyhow::Result<()> {
    let output = output.unwrap_or(Path::new(DEFAULT_FILE));
    if output == Path::new("-") {
        return match text(trace, window, false, &mut BufWriter::with_capacity(1 << 16, io::stdout().lock())) {
            Err(error) if is_closed_pipe(&error) => Ok(()),
            result => result.map(|written| written.tell(None)),
        };
    }
    let failed = || format!("cannot write {}", output.display());
    let file = output_file::create(output).with_context(failed)?;
    let written = packed(output, file, |to| text(trace, window, true, to));
    if written.is_err() && fs::symlink_metadata(output).is_ok_and(|found| found.is_file()) {
        let _ = fs::remove_file(output);
    }
    written.map(|written| written.tell(Some(output)))
}

/// Has `fill` write a file, which is packed as its name says.
fn packed<T>(path: &Path, file: File, fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>) -> anyhow::Result<T> {
    const ROOM: usize = 1 << 16;
    match path.extension().and_then(OsStr::to_str) {
        Some("gz") => {
            let mut to = BufWriter::with_capacity(ROOM, GzEncoder::new(file, Compression::fast()));
            let done = fill(&mut to)?;
            to.into_inner().map_err(IntoInnerError::into_error)?.finish()?;
            Ok(done)
        }
        Some("zst") => {
            let mut to = BufWriter::with_capacity(ROOM, zstd::Encoder::new(file, LEVEL)?);
            let done = fill(&mut to)?;
            to.into_inner().map_err(IntoInnerError::into_error)?.finish()?;
            Ok(done)
        }
        _ => {
            let mut to = BufWriter::with_capacity(ROOM, file);
            let done = fill(&mut to)?;
            to.flush()?;
            Ok(done)
        }
    }
}

/// What was written.
struct Written {
    accesses: u64,
    left_out: LeftOut,
}

/// Writes the lines.
fn text(trace: &Path, window: Option<Window>, shows: bool, to: &mut dyn Write) -> anyhow::Result<Written> {
    let name = trace.display();
    let file = File::open(trace).with_context(|| {
        format!("cannot open trace {name}; make one with `dmdprof record PROGRAM`, or name the file")
    })?;
    let bytes = file.metadata().map_or(0, |about| about.len());
    let read: Box<dyn Read> = if shows { Box::new(with_progress(file, Some(bytes))) } else { Box::new(file) };
    let mut reader = TraceReader::new(BufReader::with_capacity(1 << 18, read)).with_context(|| name.to_string())?;
    let Window { first, last } = window.unwrap_or(Window::WHOLE);
    let (mut number, mut failed) = (0, None);
    let listed = accesses(&mut reader, |access| {
        number += 1;
        if number >= first {
            failed = access.write(&mut &mut *to).err();
        }
        failed.is_none() && number < last
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    let listed = listed.with_context(|| name.to_string())?;
    warn_of_cut(&name.to_string(), listed.cut_at);
    ensure!(number > 0, "{name}: there is no access in it");
    ensure!(number >= first, "{name}: it has {} only; name a --window among them", human::plural(number, "access"));
    to.flush()?;
    Ok(Written { accesses: number + 1 - first, left_out: listed.left_out })
}

impl Written {
    /// Says so.
    fn tell(&self, output: Option<&Path>) {
        if let Some(output) = output {
            eprintln!("dmdprof: wrote {} to {}", human::plural(self.accesses, "access"), output.display());
        }
        let LeftOut { lives, moves, declared, regions, waits, beyond, lost_words } = self.left_out;
        let kinds = [
            (lives, "beginning or end of memory", "beginnings and ends of memory"),
            (moves, "moved block", "moved blocks"),
            (declared, "declared input or output", "declared inputs and outputs"),
            (regions, "mark of a region", "marks of regions"),
            (waits, "start, end or wait of a thread", "starts, ends and waits of threads"),
            (beyond, "access above 2^48", "accesses above 2^48"),
            (lost_words, "word that cannot be decoded", "words that cannot be decoded"),
        ];
        let told = |(count, one, many): (u64, &str, &str)| {
            format!("{} {}", human::grouped(count.into()), if count == 1 { one } else { many })
        };
        let left_out: Vec<String> = kinds.into_iter().filter(|(count, ..)| *count > 0).map(told).collect();
        if !left_out.is_empty() {
            eprintln!("dmdprof: left out, as lines are of accesses only: {}", left_out.join(", "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read() {
        for (text, first, last) in
            [("1..1", 1, 1), ("5..9", 5, 9), ("5..", 5, u64::MAX), ("..9", 1, 9), ("..", 1, u64::MAX)]
        {
            assert_eq!(text.parse(), Ok(Window { first, last }), "{text}");
        }
        for text in ["", "5", "0..3", "9..5", "a..b", "1..2..3", "-1..2"] {
            assert!(text.parse::<Window>().is_err(), "{text}");
        }
    }
}
