//! `dmdprof import`: accesses that another tool has written down, as a trace.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal, Read},
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;
use dmdprof_runtime::{
    imported::{Importer, Program},
    trace::End,
};
use flate2::bufread::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressBarIter, ProgressFinish, ProgressStyle};

use super::record::DEFAULT_TRACE;
use crate::{measure::trace_file::TraceFile, shared::human};

/// Make a trace of accesses that another tool has written down
///
/// One access per line: R, W or M (reads, then writes), its address and size, and if known the address of its
/// instruction and its thread; or the output of Valgrind's lackey. gzip and zstd are unpacked. `dmdprof replay`
/// analyses the trace as one of its own. See docs/import.md.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    /// The text; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub input: PathBuf,

    /// Trace file to write
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT_TRACE)]
    pub output: PathBuf,

    /// A program or library that the instructions are of, and what was added to its addresses when it was loaded; gives
    /// functions, files and lines. May be repeated
    #[arg(long, value_name = "FILE[@ADDRESS]", value_parser = program)]
    pub program: Vec<Program>,
}

const EXAMPLES: &str = "\
Examples:
  printf 'W 0x1000 8\\nR 0x1000 8\\n' | dmdprof import && dmdprof replay
  dmdprof import accesses.txt.zst -o app.trace --program ./app@0x555555554000
  valgrind --tool=lackey --trace-mem=yes ./app 2>&1 | dmdprof import --program ./app@0x108000";

/// Longest line. Those of all known tools are shorter.
const MOST_BYTES: u64 = 4096;

fn program(text: &str) -> Result<Program, String> {
    let (path, bias) = match text.rsplit_once('@') {
        Some((path, address)) => {
            let digits =
                address.strip_prefix("0x").ok_or("after @ comes a hexadecimal address, as in ./app@0x108000")?;
            (path, u64::from_str_radix(digits, 16).map_err(|_| format!("{address} is no hexadecimal address"))?)
        }
        None => (text, 0),
    };
    if !Path::new(path).is_file() {
        return Err(format!("{path}: there is no such file"));
    }
    Ok(Program { path: path.into(), bias })
}

/// Runs the command.
///
/// # Errors
/// When the text cannot be read or has a line that is none, or the trace cannot be written; then there is no trace.
pub fn command(args: &ImportArgs) -> anyhow::Result<()> {
    let (name, input) = open(&args.input)?;
    let trace = TraceFile::create(&args.output, &[OsString::from(&name)])?;
    let imported = lines(&name, input, Importer::new(trace.sink(), &args.program)).and_then(|imported| {
        anyhow::ensure!(imported.accesses > 0, "{name}: there is no access in it");
        trace.end(&End { code: Some(0), ..End::default() }).map(|()| imported)
    });
    let Ok(imported) = imported else {
        let _ = std::fs::remove_file(&args.output);
        return imported.map(drop);
    };
    let accesses = human::plural(imported.accesses, "access");
    let threads = human::plural(imported.threads as u64, "thread");
    let (size, path) = (human::bytes(trace.bytes().into()), args.output.display());
    eprintln!("dmdprof: {accesses} of {threads} in {path} ({size}); `dmdprof replay {path}` analyses it");
    Ok(())
}

/// The text, unpacked, and what it is called.
fn open(path: &Path) -> anyhow::Result<(String, Box<dyn BufRead>)> {
    let name = path.display().to_string();
    let length;
    let (name, read): (String, Box<dyn Read>) = if name == "-" {
        anyhow::ensure!(
            !io::stdin().is_terminal(),
            "standard input is a terminal; name a file with accesses, or pipe them in (dmdprof import --help)"
        );
        length = None;
        ("standard input".into(), Box::new(io::stdin()))
    } else {
        let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
        length = file.metadata().ok().map(|about| about.len());
        (name, Box::new(file))
    };
    let mut plain = BufReader::with_capacity(1 << 16, with_progress(read, length));
    let start = plain.fill_buf().with_context(|| format!("cannot read {name}"))?;
    let unpacked: Box<dyn BufRead> = match start {
        [0x1f, 0x8b, ..] => Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(plain))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(BufReader::with_capacity(1 << 16, zstd::Decoder::with_buffer(plain)?)),
        _ => Box::new(plain),
    };
    Ok((name, unpacked))
}

/// Shows how much of something was read.
pub fn with_progress<R: Read>(read: R, length: Option<u64>) -> ProgressBarIter<R> {
    let bar = ProgressBar::new_spinner().with_finish(ProgressFinish::AndClear);
    bar.set_length(length.unwrap_or(0));
    let style = ProgressStyle::with_template("{spinner} {bytes} of {total_bytes} read, {bytes_per_sec}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.wrap_read(read)
}

/// Takes all lines.
fn lines(
    name: &str,
    mut input: Box<dyn BufRead>,
    mut importer: Importer,
) -> anyhow::Result<dmdprof_runtime::imported::Imported> {
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let read = input.by_ref().take(MOST_BYTES).read_until(b'\n', &mut line);
        let read = read.with_context(|| format!("{name}:{number}: cannot be read"))?;
        if read == 0 {
            break;
        }
        anyhow::ensure!(read < MOST_BYTES as usize, "{name}:{number}: a line of {MOST_BYTES} bytes or more");
        importer.line(&line).with_context(|| format!("{name}:{number}"))?;
    }
    Ok(importer.finish())
}
