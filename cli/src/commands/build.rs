//! `dmdprof build`: one source file in, a program with hooks out, to be profiled any number of times.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;

use crate::{
    driver::Model,
    measure::{program::CompileArgs, values::ModelArg},
};

/// Build one source file with hooks, and keep the program
///
/// Build one source file with hooks, as `dmdprof run FILE` does, and keep the program.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct BuildArgs {
    /// The source file (.c .cc .cpp .cxx .rs .ll .bc)
    pub source: PathBuf,

    /// The program to write [default: the source's name without its extension, here]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// What the hooks are for
    #[arg(long, value_enum, default_value_t = ModelArg::Memory, value_name = "MODEL")]
    pub model: ModelArg,

    /// Mark where iterations of loops begin, for `dmdprof motion`
    #[arg(long)]
    pub loops: bool,

    /// Build a program that can draw a sample while it runs, for `dmdprof run --sample`
    #[arg(long, conflicts_with = "loops")]
    pub sample: bool,

    #[command(flatten)]
    pub build: CompileArgs,

    /// Further words for the compiler
    #[arg(last = true, value_name = "COMPILER OPTIONS")]
    pub extra: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof build kernel.rs && dmdprof run ./kernel 500
  dmdprof build --model values dot.c -o dot -- -DN=100
  dmdprof build --loops kernel.c && dmdprof motion ./kernel
  dmdprof build --sample kernel.c && dmdprof run --sample ./kernel
  dmdprof cc -O2 -g a.c b.c -o program          for more than one file of C";

/// Runs the command.
///
/// # Errors
/// When the source cannot be built or the program cannot be written.
pub fn command(args: &BuildArgs) -> anyhow::Result<()> {
    for (is_given, option) in [(args.loops, "--loops"), (args.sample, "--sample")] {
        anyhow::ensure!(
            !is_given || args.model == ModelArg::Memory,
            "{option} is about the memory model; it cannot be combined with --model values"
        );
    }
    let model = match (args.loops, args.sample) {
        (true, _) => Model::Loops,
        (_, true) => Model::Sampled,
        _ => args.model.into(),
    };
    let stem = args.source.file_stem().map_or_else(|| "program".into(), OsString::from);
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(stem));
    anyhow::ensure!(!same_file(&output, &args.source), "the program would overwrite its source; name another with -o");
    let built = args.build.build(&args.source, &args.extra, model)?;
    // A running program of that name keeps its old content.
    if output.is_file() || output.is_symlink() {
        fs::remove_file(&output).with_context(|| format!("cannot replace {}", output.display()))?;
    }
    fs::copy(&built.program, &output).map(drop).with_context(|| format!("cannot write {}", output.display()))
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
