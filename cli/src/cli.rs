//! The command line: what there is to type, and which command it means.

use std::{ffi::OsString, io::Write, panic, path::PathBuf, process::ExitCode};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use dmdprof_runtime::engine::AllocationFailure;

use crate::{
    commands, driver, help,
    shared::{printable, signals},
    toolbox,
};

/// Deterministic data-movement profiler for compiled programs
///
/// Measures for every byte read how deep it lies in an LRU stack of bytes, prices it (ByteDMD: the sum of
/// ceil(sqrt(depth))), and reports per function. The numbers depend on the program and its input, not on the machine,
/// the clock or the heap.
#[derive(Parser, Debug)]
#[command(name = "dmdprof", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof run kernel.c                      build one file, run it, report
  dmdprof cargo run --release               the same for a Cargo project
  dmdprof cc -O2 -g app.c -o app            a drop-in for clang that leaves hooks
  dmdprof run ./app input.txt               profile it
  CC='dmdprof cc' ./configure && make       the same for a whole project
  dmdprof record ./app && dmdprof replay    record now, analyse later
  dmdprof report --lines --sort read        look at the profile again
  dmdprof view --open                       the profile as a page in the browser
  dmdprof annotate kernel.c                 the source with the cost of each line
  dmdprof why solve                         who touched its bytes last, and what would help
  dmdprof diff                              what changed since the run before
  dmdprof roofline --machine skx-6148-core  what binds each function on a machine
  dmdprof motion kernel.c                   what each loop brings in again, and the buffer that would end it
  dmdprof rank a.c b.c                      which one does the same for less
  dmdprof plan scaling --help               how many devices are worth it; also queues, checkpoints, cost, ...
  dmdprof check                             fail if data movement got worse than in the baselines";

#[derive(Subcommand, Debug)]
enum Command {
    Run(commands::run::RunArgs),
    Record(commands::record::RecordArgs),
    Import(commands::import::ImportArgs),
    Replay(commands::replay::ReplayArgs),
    Slice(commands::slice::SliceArgs),
    Merge(commands::merge::MergeArgs),
    Report(commands::report::ReportCommand),
    Annotate(commands::annotate::AnnotateArgs),
    Why(commands::why::WhyArgs),
    Waste(commands::waste::WasteArgs),
    Diff(commands::diff::DiffArgs),
    Check(commands::check::CheckArgs),
    Bisect(commands::bisect::BisectArgs),
    History(commands::history::HistoryArgs),
    Export(commands::export::ExportArgs),
    View(commands::view::ViewArgs),
    Roofline(commands::roofline::RooflineArgs),
    Curve(commands::curve::CurveArgs),
    Balance(commands::balance::BalanceArgs),
    Fuse(commands::fuse::FuseArgs),
    Motion(commands::motion::MotionArgs),
    Place(commands::place::PlaceArgs),
    Plan(commands::plan::PlanArgs),
    Rank(commands::rank::RankArgs),
    Time(commands::time::TimeArgs),
    /// Compile and link C with hooks; takes clang's arguments
    #[command(disable_help_flag = true)]
    Cc(Rest),
    /// Compile and link C++ with hooks; takes clang++'s arguments
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(Rest),
    Cargo(commands::cargo::CargoArgs),
    #[command(name = commands::cargo_runner::NAME, hide = true)]
    CargoRunner(commands::cargo_runner::RunnerArgs),
    Build(commands::build::BuildArgs),
    Ir(commands::ir::IrArgs),
    Instrument(commands::instrument::InstrumentArgs),
    Machine(commands::machine::MachineArgs),
    Cache(commands::cache::CacheArgs),
    Doctor(commands::doctor::DoctorArgs),
    Mcp(commands::mcp::McpArgs),
    #[command(hide = true)]
    Manual(commands::manual::ManualArgs),
    /// Print a completion script for a shell
    Completions {
        shell: clap_complete::Shell,
    },
}

/// Everything after the command, for another program's parser.
#[derive(clap::Args, Debug)]
struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs the process's command line.
#[must_use]
pub fn main() -> ExitCode {
    signals::keep_children();
    signals::survive_file_limit();
    // Compilers and linkers are called with any argument whatever, `--version` and `--help` included, so these bypass
    // the parser.
    let mut words = std::env::args_os();
    let called = words.next().map(PathBuf::from).unwrap_or_default();
    let words: Vec<OsString> = words.collect();
    let outcome = match words.first().and_then(|w| w.to_str()) {
        _ if called.ends_with(driver::rustc_wrap::NAME) => Ok(toolbox::rustc_wrap(&words)),
        _ if called.ends_with(driver::cargo::C_COMPILER) => toolbox::compile_for_crate(driver::Face::C, &words),
        _ if called.ends_with(driver::cargo::CXX_COMPILER) => toolbox::compile_for_crate(driver::Face::Cxx, &words),
        _ if driver::rust_link::requested() => Ok(toolbox::rust_link(&words)),
        Some("cc") => toolbox::compile(driver::Face::C, &words[1..]),
        Some("c++") => toolbox::compile(driver::Face::Cxx, &words[1..]),
        _ => clearly_refused(|| dispatch(parsed().command)),
    };
    match outcome {
        Ok(code) => ExitCode::from(code as u8),
        Err(error) => {
            printable::say(format_args!("{error:#}"));
            // As a shell would tell it.
            ExitCode::from(signals::received().map_or(1, |signal| 128 + signal as u8))
        }
    }
}

/// The command line; ends the process where it asks for help or is wrong.
fn parsed() -> Cli {
    let matches = help::grouped(Cli::command()).get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Makes an error of what the system refused to an analysis, on whatever thread that was.
fn clearly_refused(run: impl FnOnce() -> anyhow::Result<i32>) -> anyhow::Result<i32> {
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<AllocationFailure>() {
            others(info);
        }
    }));
    AllocationFailure::catch(run).unwrap_or_else(|refused| Err(anyhow::Error::msg(refused.0)))
}

fn dispatch(command: Command) -> anyhow::Result<i32> {
    match command {
        Command::Run(args) => commands::run::command(&args),
        Command::Record(args) => commands::record::command(&args),
        Command::Import(args) => commands::import::command(&args).map(|()| 0),
        Command::Replay(args) => commands::replay::command(&args).map(|()| 0),
        Command::Slice(args) => commands::slice::command(&args).map(|()| 0),
        Command::Merge(args) => commands::merge::command(&args).map(|()| 0),
        Command::Report(args) => commands::report::command(&args).map(|()| 0),
        Command::Annotate(args) => commands::annotate::command(&args).map(|()| 0),
        Command::Why(args) => commands::why::command(&args).map(|()| 0),
        Command::Waste(args) => commands::waste::command(&args).map(|()| 0),
        Command::Diff(args) => commands::diff::command(&args).map(|()| 0),
        Command::Check(args) => commands::check::command(&args),
        Command::Bisect(args) => commands::bisect::command(&args),
        Command::History(args) => commands::history::command(&args).map(|()| 0),
        Command::Export(args) => commands::export::command(&args).map(|()| 0),
        Command::View(args) => commands::view::command(&args).map(|()| 0),
        Command::Roofline(args) => commands::roofline::command(&args).map(|()| 0),
        Command::Curve(args) => commands::curve::command(&args).map(|()| 0),
        Command::Balance(args) => commands::balance::command(&args).map(|()| 0),
        Command::Fuse(args) => commands::fuse::command(&args).map(|()| 0),
        Command::Motion(args) => commands::motion::command(&args),
        Command::Place(args) => commands::place::command(&args).map(|()| 0),
        Command::Plan(args) => commands::plan::command(&args).map(|()| 0),
        Command::Rank(args) => commands::rank::command(&args).map(|()| 0),
        Command::Time(args) => commands::time::command(&args).map(|()| 0),
        Command::Cargo(args) => commands::cargo::command(&args),
        Command::CargoRunner(args) => commands::cargo_runner::command(args),
        Command::Cache(args) => commands::cache::command(&args).map(|()| 0),
        Command::Build(args) => commands::build::command(&args).map(|()| 0),
        Command::Ir(args) => commands::ir::command(&args),
        Command::Instrument(args) => commands::instrument::command(&args).map(|()| 0),
        Command::Machine(args) => commands::machine::command(&args),
        Command::Mcp(args) => commands::mcp::command(&args).map(|()| 0),
        Command::Doctor(args) => commands::doctor::command(&args),
        Command::Manual(args) => commands::manual::command(&args, Cli::command()).map(|()| 0),
        Command::Completions { shell } => {
            // Written at once: the generator panics when a reader goes away.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "dmdprof", &mut script);
            match std::io::stdout().write_all(&script) {
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
                result => Ok(result.map(|()| 0)?),
            }
        }
        Command::Cc(rest) => toolbox::compile(driver::Face::C, &rest.arguments),
        Command::Cxx(rest) => toolbox::compile(driver::Face::Cxx, &rest.arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Formats, widths and files: alike wherever tables are printed, and two commands whose `-o` is what they make.
    #[test]
    fn commands_that_print_tables_have_the_same_options() {
        let mut root = Cli::command();
        root.build();
        let paths = [
            "report",
            "annotate",
            "why",
            "waste",
            "diff",
            "roofline",
            "curve",
            "balance",
            "fuse",
            "motion",
            "place",
            "rank",
            "time",
            "run",
            "replay",
            "check",
            "bisect",
            "history",
            "machine list",
            "machine show",
            "plan scaling",
            "plan queue",
        ];
        let all: &[&str] = &["format", "width", "full-names", "output"];
        // A table of checks has no names to shorten, and the cache is one line.
        let few: [(_, &[&str]); 2] = [("doctor", &["format", "width", "output"]), ("cache", &["format", "output"])];
        for (path, options) in paths.into_iter().map(|path| (path, all)).chain(few) {
            let command = path.split(' ').fold(&root, |command, name| {
                command.find_subcommand(name).unwrap_or_else(|| panic!("no command {path}"))
            });
            for option in options {
                let argument = command.get_arguments().find(|argument| argument.get_long() == Some(*option));
                let argument = argument.unwrap_or_else(|| panic!("{path} has no --{option}"));
                assert_eq!(argument.get_short(), (*option == "output").then_some('o'), "{path} --{option}");
            }
        }
    }

    #[test]
    fn everything_after_the_program_belongs_to_it() {
        let cli = Cli::try_parse_from(["dmdprof", "run", "-q", "./prog", "--roi", "x", "-o", "y"]).expect("valid");
        let Command::Run(run) = cli.command else { panic!("not run") };
        assert!(run.analysis.results.quiet && run.analysis.measure.stack.roi.is_none());
        assert_eq!(run.command, ["./prog", "--roi", "x", "-o", "y"]);
        let cli = Cli::try_parse_from(["dmdprof", "run", "-O1", "prog.c", "-O3"]).expect("valid");
        let Command::Run(run) = cli.command else { panic!("not run") };
        assert_eq!(
            (run.source.build.level.opt.as_deref(), run.command),
            (Some("1"), vec!["prog.c".into(), "-O3".into()])
        );
        assert!(Cli::try_parse_from(["dmdprof", "run", "--no-such-option", "prog.c"]).is_err());
        let cli = Cli::try_parse_from(["dmdprof", "run", "--", "--odd-name", "--help"]).expect("valid");
        let Command::Run(run) = cli.command else { panic!("not run") };
        assert_eq!(run.command, ["--odd-name", "--help"]);
    }
}
