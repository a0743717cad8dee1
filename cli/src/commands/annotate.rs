//! `dmdprof annotate`: source files with their costs.

use std::path::PathBuf;

use clap::Args;

use super::{
    print::{FormArgs, ToArgs},
    profile::{ProfileOption, read_with_clock},
};
use crate::{
    annotate::{self, Finder, Options},
    document::{Format, Look},
    report::{Inlined, parse_percent},
    shared::terminal::Terminal,
};

/// Show source files with what each line costs
///
/// Works on any machine that has the sources: each is taken where the compiler saw it, or below --source-dir or the
/// current directory. A file that changed since the profile was made is marked, one that is not there is listed, and so
/// is one that lies outside of --source-dir and the current directory with the repository around it: a profile of
/// somebody else may name any file.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct AnnotateArgs {
    /// Only this source file: its path, or the end of it [default: all with expensive lines]
    #[arg(value_name = "FILE")]
    pub file: Option<String>,

    #[command(flatten)]
    pub profile: ProfileOption,

    /// Lines to show around each expensive line
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub context: u32,

    /// Show whole files
    #[arg(long, conflicts_with = "context")]
    pub all: bool,

    /// Lines with a smaller share of the time, the cycles and ByteDMD are only shown around others
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, default_value = "0.5%")]
    pub threshold: f64,

    /// Also look for sources below DIR, and show those that the compiler saw there; may be repeated
    #[arg(long, value_name = "DIR")]
    pub source_dir: Vec<PathBuf>,

    /// Show code inlined from the standard library and system headers in its own files
    #[arg(long)]
    pub library: bool,

    #[command(flatten)]
    pub form: FormArgs,

    #[command(flatten)]
    pub to: ToArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof annotate                          the expensive lines of all files
  dmdprof annotate kernel.c --context 10    more around them, of one file
  dmdprof annotate --all kernel.c | less    all of it
  dmdprof annotate -p ci.data --source-dir ~/src/app";

/// Prints the files.
///
/// # Errors
/// A profile that cannot be read, or a file that it does not name.
pub fn command(args: &AnnotateArgs) -> anyhow::Result<()> {
    args.profile.check_subject(args.file.as_deref())?;
    let profile = read_with_clock(args.profile.path())?;
    // Files and pipes get whole lines, unless somebody says otherwise.
    let terminal = Terminal::stdout().width.filter(|_| args.to.output.is_none());
    let width = args.form.width.width.or(terminal).map(usize::from);
    let options = Options {
        file: args.file.clone(),
        context: (!args.all).then_some(args.context),
        threshold: args.threshold,
        inlined: if args.library { Inlined::All } else { Inlined::Own },
        width: if args.form.width.full_names { None } else { width },
    };
    let annotation = annotate::annotate(&profile, &Finder::new(&args.source_dir), &options)?;
    if args.form.format == Format::Table {
        return args.to.write(|mut out| annotate::write(&profile, &annotation, &options, &mut out));
    }
    let look = args.to.look(&args.form);
    let document = annotate::document(&profile, &annotation);
    args.to.write(|mut out| document.write(Look { width: None, ..look }, &mut out))
}
