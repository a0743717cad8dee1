//! `dmdprof ir`: the event listing of a small kernel.

use std::{
    ffi::OsString,
    io::{self, BufRead, Read, Seek, Write},
    path::PathBuf,
    sync::Arc,
};

use anyhow::Context;
use clap::Args;
use dmdprof_runtime::{
    abi::channel_mode,
    analysis::Options,
    values::{
        ValueOptions,
        listing::{Listing, PlaceOf},
    },
};

use crate::convert;
use crate::measure::follow::{Followed, SourceArgs, command_text, follow};
use crate::measure::progress::PriorRun;
use crate::measure::values::{self, ModelArg};
use crate::shared::printable;
use crate::view::{Content, page_file};

/// List every event of a kernel on the reference machine
///
/// List every event of a kernel on the reference machine: pushes, reads with depth and cost, instructions. Values are
/// v1, v2, ... in the order in which they come onto the stack; a read's depth counts bytes from the top. The listing
/// comes after the program's own output. It has a line per event, so that it is for small kernels only.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct IrArgs {
    /// Show the stack after every event
    #[arg(long)]
    pub stack: bool,

    /// Name the source line of each event: ` at FILE:LINE` at the end
    #[arg(long)]
    pub places: bool,

    /// Write the listing here instead of to standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Also write a page for the browser that plays the events on the stack (see `dmdprof view`)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    #[command(flatten)]
    pub values: values::ValuesArgs,

    /// The program and its arguments, or a source file (.c .cc .cpp .cxx .rs .ll .bc) and the program's arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof ir --bytes-per-element 1 dot.c       the listing of the kernel that dot.c declares
  dmdprof ir --html dot.html dot.c n=4         a page that plays them on the stack
  dmdprof ir --stack ./matvec n=2              a program compiled with dmdprof cc --dmdprof-model=values";

/// Runs the command and returns the program's exit code.
///
/// # Errors
/// When the program cannot be built or followed, or its declarations are wrong.
pub fn command(args: &IrArgs) -> anyhow::Result<i32> {
    args.html.as_deref().map_or(Ok(()), page_file::check_output)?;
    // The listing must not get between the lines of the program's output.
    let mut collected = tempfile::tempfile().context("cannot create a temporary file for the listing")?;
    let mut output = match &args.output {
        Some(path) => Some(
            crate::shared::output_file::create(path)
                .with_context(|| format!("cannot write the listing to {}", path.display()))?,
        ),
        None => None,
    };
    let to = Box::new(io::BufWriter::new(collected.try_clone().context("cannot write to a temporary file")?));
    // A page shows the line beside each event.
    let place: Option<Box<PlaceOf>> = (args.places || args.html.is_some()).then(|| Box::new(convert::place) as _);
    let listing = Arc::new(Listing::new(to, args.stack, place));
    let options = Options {
        workers: 1,
        analyse: true,
        values: Some(ValueOptions { listing: Some(listing.clone()), ..args.values.options() }),
        ..Options::default()
    };
    let followed = follow(
        &args.command,
        &SourceArgs::default(),
        channel_mode::ANALYSE,
        &options,
        ModelArg::Values.into(),
        &PriorRun::default(),
    )?;
    let Followed { ending, measurement, missing, .. } = match followed {
        Ok(followed) => followed,
        Err(error) => {
            printable::say(&error);
            return Ok(error.exit_code());
        }
    };
    if let Some(missing) = missing {
        printable::say(format_args!("INCOMPLETE: {missing}"));
    }
    listing.finish().context("cannot write the listing")?;
    let text = || -> io::Result<io::BufReader<&std::fs::File>> {
        (&collected).rewind()?;
        Ok(io::BufReader::new(&collected))
    };
    let listed = text().and_then(|text| match &mut output {
        Some(file) => copy(text, file, args.places),
        None => copy(text, &mut io::stdout().lock(), args.places),
    });
    match listed {
        Err(error) if output.is_some() || error.kind() != io::ErrorKind::BrokenPipe => {
            return Err(error).context("cannot write the listing");
        }
        _ => {}
    }
    values::check_measurement(&measurement, ModelArg::Values)?;
    if let Some(path) = &args.html {
        let mut text = String::new();
        collected
            .rewind()
            .and_then(|()| collected.read_to_string(&mut text))
            .context("cannot read the listing back")?;
        let names = [String::new(), command_text(&args.command).join(" ")];
        let content = Content { listing: Some(text), names, ..Content::default() };
        page_file::write_page(path, &content, &page_file::PageArgs::default().options(Some("walk"))?)?;
    }
    Ok(ending.exit_code())
}

/// Copies a listing, with or without the places at the ends of its lines.
fn copy(from: impl BufRead, to: &mut impl Write, places: bool) -> io::Result<()> {
    let mut to = io::BufWriter::new(to);
    for line in from.lines() {
        let line = line?;
        let is_event = ["push ", "read ", "instr "].iter().any(|word| line.starts_with(word));
        let shown = line.split_once(" at ").filter(|_| is_event && !places).map_or(line.as_str(), |(event, _)| event);
        writeln!(to, "{shown}")?;
    }
    to.flush()
}
