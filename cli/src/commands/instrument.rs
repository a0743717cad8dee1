//! `dmdprof instrument`: one bitcode file in, one instrumented object out.
//!
//! LLVM reads the file in a process of its own: it takes bitcode for what it says that it is, and damaged files can
//! bring it down.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{self, Command};

use anyhow::{Context, bail};
use clap::Args;

use crate::measure::values::ModelArg;
use crate::shared::signals::{self, Kind};

/// Instrument a bitcode or IR file
///
/// This is the step below `dmdprof cc`; link the object with `dmdprof cc OBJECT -o PROGRAM`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  clang -O2 -g -emit-llvm -c kernel.c -o kernel.bc\n  dmdprof instrument kernel.bc -o kernel.o\n  dmdprof cc kernel.o -o kernel\n  dmdprof run ./kernel"
)]
pub struct InstrumentArgs {
    /// Bitcode (.bc) or textual IR (.ll), after the front end's optimisation
    pub input: PathBuf,

    /// Object file to write [default: the input's name with .o]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// The model that the hooks are for; for `values` the bitcode must not be optimised (clang -O1 -Xclang
    /// -disable-llvm-passes)
    #[arg(long, value_enum, default_value_t = ModelArg::Memory, value_name = "MODEL")]
    pub model: ModelArg,

    /// Code generation effort, 0 to 3
    #[arg(short = 'O', long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub opt_level: u8,

    /// Put each function into a section of its own
    #[arg(long)]
    pub function_sections: bool,

    /// Write the IR before and after into this directory
    #[arg(long, value_name = "DIR")]
    pub dump_ir: Option<PathBuf>,
}

/// Set in the process that reads the file.
const HERE: &str = "DMDPROF_INSTRUMENT_HERE";

/// Runs the command.
///
/// # Errors
/// Whatever the instrumentation refuses, and a file that brings LLVM down.
pub fn command(args: &InstrumentArgs) -> anyhow::Result<()> {
    if env::var_os(HERE).is_some() {
        return instrument(args);
    }
    let program = env::current_exe().context("the place of this program is not known")?;
    let mut command = Command::new(program);
    command.args(env::args_os().skip(1)).env(HERE, "1");
    let status =
        signals::status(&mut command, Kind::Program).context("cannot start the process that reads the file")?;
    match (status.code(), signals::received()) {
        (Some(0), _) => Ok(()),
        // It has said why.
        (Some(code), _) => process::exit(code),
        (None, Some(signal)) => process::exit(128 + signal),
        (None, None) => bail!(
            "{}: LLVM broke down on this file (signal {}): it is damaged, or of a newer LLVM",
            args.input.display(),
            status.signal().unwrap_or_default()
        ),
    }
}

fn instrument(args: &InstrumentArgs) -> anyhow::Result<()> {
    let object = args.output.clone().unwrap_or_else(|| args.input.with_extension("o"));
    anyhow::ensure!(object != args.input, "the output would overwrite the input; name another with -o");
    let summary = dmdprof_instrument::instrument_file(&dmdprof_instrument::Request {
        input: &args.input,
        object: &object,
        model: args.model.into(),
        loop_records: crate::toolbox::loop_records(),
        append: dmdprof_instrument::Append::InPlace,
        opt_level: args.opt_level,
        function_sections: args.function_sections,
        flags: "",
        dump_ir: args.dump_ir.as_deref(),
    })?;
    eprintln!(
        "dmdprof: {}: {} functions, {} accesses in {} segments{}",
        object.display(),
        summary.functions,
        summary.accesses,
        summary.segments,
        if summary.skipped_functions > 0 {
            format!(", {} functions skipped", summary.skipped_functions)
        } else {
            String::new()
        }
    );
    Ok(())
}
