//! `dmdprof cargo`: a Cargo command with hooks in all that it builds, and a profile of what it runs.
//!
//! Cargo builds, chooses and starts programs as always; the programs are started through [`super::cargo_runner`].
//! Refuses Cargo commands that neither build nor run, and options of ours among Cargo's.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, bail};
use clap::Args;
use dmdprof_instrument::llvm;

use super::{
    cargo_runner::{self, Left},
    run::BesideArgs,
    sampled, twin,
};
use crate::{
    driver::{
        Model,
        cargo::{Cargo, Words, refuse_to_ask_ourselves},
        execute,
        object_cache::Cache,
    },
    measure::{analysis::AnalysisArgs, follow::DeterministicArgs, typed::Typed},
    sample::args::RunSampleArgs,
    shared::signals,
};

/// Profile what Cargo runs (run, test, bench), or only build it
///
/// Builds as Cargo does, into a directory of its own (target/dmdprof), with hooks in the crate, its dependencies, the
/// standard library and the C that crates compile. Options for dmdprof come before Cargo's command, everything after it
/// is Cargo's.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CargoArgs {
    #[command(flatten)]
    pub run: Typed<EachRun>,

    /// Leave the standard library's own objects without hooks (what is inlined or generic has some all the same)
    #[arg(long)]
    pub no_std: bool,

    /// A Cargo command (run, test, bench or build) with its options and the program's arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "CARGO COMMAND")]
    pub words: Vec<OsString>,
}

/// Options of each run, which the runner takes too.
#[derive(Args, Debug)]
pub struct EachRun {
    #[command(flatten)]
    analysis: AnalysisArgs,

    #[command(flatten)]
    sample: RunSampleArgs,

    #[command(flatten)]
    deterministic: DeterministicArgs,

    #[command(flatten)]
    beside: BesideArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof cargo run --release -- input.txt          in place of cargo run --release -- input.txt
  dmdprof cargo --deterministic run --release       the same numbers each time for programs with random hash seeds
  dmdprof cargo --roi '*::parses_large*' test --release parses_large
                                                    only the body of one test
  dmdprof cargo --roi '*fib*' bench                 benches of criterion and divan run once each
  dmdprof cargo build --release                     then: dmdprof run target/dmdprof/.../PROGRAM
  dmdprof cargo --sample run --release              a long run: estimates with intervals
  dmdprof cargo --model values run                  kernels as they are written, with declared regions and inputs
  cargo dmdprof run --release                       the same as a Cargo command";

const NO_TWIN: &str = "--no-twin";

impl BesideArgs {
    /// Whether programs have twins. Tests and benches are many programs, and run once if nobody asks for more.
    fn has_twin(&self, command: Option<&str>) -> bool {
        let is_program = matches!(command, Some("build" | "b" | "run" | "r"));
        self.clock || is_program && !self.no_twin && !twin::is_only_asked_for()
    }
}

/// Runs the command and returns the exit code.
///
/// # Errors
/// When Cargo or LLVM is missing or does not fit, and whatever Cargo cannot do.
pub fn command(args: &CargoArgs) -> anyhow::Result<i32> {
    refuse_to_ask_ourselves()?;
    let words = Words::parse(&args.words)?;
    refuse_own_options(&words)?;
    let llvm = llvm::load()?;
    let EachRun { analysis, sample, beside, .. } = &args.run.args;
    analysis.check(sampled::driver(sample.are_given()));
    let model = if sample.are_given() { Model::Sampled } else { analysis.measure.stack.model.into() };
    let has_twin = model == Model::Memory && beside.has_twin(words.command.to_str());
    let cargo = Cargo::new(&words, args.no_std, has_twin, model, (&llvm.path, llvm.major))?;
    // The linker says nothing while it works, and a minute of silence asks for a reason.
    if !args.no_std
        && model != Model::Values
        && Cache::of_user()?.is_some_and(|cache| cache.contents().is_ok_and(|c| c.objects == 0))
    {
        eprintln!(
            "dmdprof: the first link takes longer: it puts hooks into the standard library, which the cache then keeps"
        );
    }
    match words.command.to_str() {
        Some("build" | "b") => build(&cargo, &words),
        Some("run" | "r") => run(args, &cargo, &words, 1),
        Some("test" | "t" | "bench") if words.has("--no-run") => build(&cargo, &words),
        Some("test" | "t" | "bench") => {
            let (code, programs) = build_and_list(&cargo, &words, &["--no-run"])?;
            if code == 0 { run(args, &cargo, &words, programs.len()) } else { Ok(code) }
        }
        _ => bail!(
            "dmdprof cargo does not know the command {}: it is for run, test, bench and build",
            words.command.display()
        ),
    }
}

/// A name of ours behind Cargo's command would be Cargo's to refuse, in words that do not help.
fn refuse_own_options(words: &Words) -> anyhow::Result<()> {
    // Which Cargo has too.
    const SHARED: [&str; 3] = ["quiet", "help", "version"];
    let own = CargoArgs::augment_args(clap::Command::new("cargo"));
    for word in &words.options {
        let Some(name) = word.to_str().and_then(|word| word.strip_prefix("--")) else { continue };
        let name = name.split('=').next().unwrap_or(name);
        if own.get_arguments().any(|argument| argument.get_long() == Some(name)) && !SHARED.contains(&name) {
            bail!(
                "--{name} is an option of dmdprof and comes before Cargo's command: dmdprof cargo --{name} ... {}",
                words.command.display()
            );
        }
    }
    Ok(())
}

fn build(cargo: &Cargo, words: &Words) -> anyhow::Result<i32> {
    if words.has("--message-format") {
        return execute::run(&mut cargo.command(words));
    }
    let (code, programs) = build_and_list(cargo, words, &[])?;
    if code != 0 {
        return Ok(code);
    }
    for program in &programs {
        eprintln!("dmdprof: with hooks: {}", program.display());
    }
    if programs.is_empty() {
        eprintln!("dmdprof: no program was built; Rust libraries get their hooks when a program is linked");
    }
    Ok(0)
}

/// Builds, and reads from Cargo's messages which programs came out; what it says to people goes through.
fn build_and_list(cargo: &Cargo, words: &Words, more: &[&str]) -> anyhow::Result<(i32, Vec<PathBuf>)> {
    #[derive(serde::Deserialize)]
    struct Message {
        executable: Option<PathBuf>,
        #[serde(default)]
        filenames: Vec<PathBuf>,
    }
    let mut command = cargo.command(words);
    command.args(more).arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot run cargo (install Rust from https://rustup.rs)")?;
    let mut programs = Vec::new();
    let output = child.stdout.take().context("cargo has no output")?;
    for line in BufReader::new(output).lines() {
        let line = line.context("cannot read what cargo says")?;
        match serde_json::from_str::<Message>(&line) {
            Ok(message) => {
                let is_library = |file: &PathBuf| file.extension().is_some_and(|e| e == "so" || e == "a");
                let libraries = message.filenames.into_iter().filter(is_library);
                programs.extend(message.executable.into_iter().chain(libraries).filter(|path| of_target(path, cargo)));
            }
            Err(_) => writeln!(std::io::stdout(), "{line}").unwrap_or(()),
        }
    }
    let status = child.wait().context("lost track of cargo")?;
    Ok((status.code().unwrap_or(1), programs))
}

/// Build scripts and procedural macros have no hooks and are not in the target's directory.
fn of_target(path: &Path, cargo: &Cargo) -> bool {
    path.iter().any(|part| part == cargo.target())
}

fn run(args: &CargoArgs, cargo: &Cargo, words: &Words, programs: usize) -> anyhow::Result<i32> {
    args.run.args.analysis.check_output()?;
    let left = tempfile::tempdir().context("cannot create a temporary directory (set TMPDIR)")?;
    let mut own = args.run.words.clone();
    // Said twice it would be refused.
    own.extend((!cargo.has_twin && !args.run.args.beside.no_twin).then(|| NO_TWIN.into()));
    let runner = cargo_runner::words(own, left.path(), programs > 1)?;
    let mut command = cargo.command(words);
    let setting = toml::Value::Array(runner.into_iter().map(toml::Value::String).collect());
    command.arg("--config").arg(format!("target.{}.runner={setting}", cargo.target().display()));
    command.args(&words.rest);
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let code = execute::run(&mut command)?;
    if signals::received().is_some() {
        wait_for_orphans();
    }
    summary(args, &cargo_runner::left_in(left.path())?, code)
}

/// What Cargo started may still write its profile. Where this is not allowed, there are none.
fn wait_for_orphans() {
    while rustix::process::wait(rustix::process::WaitOptions::empty()).is_ok() {}
}

/// What became of several programs, and whether the region of interest was in any.
fn summary(args: &CargoArgs, left: &[Left], code: i32) -> anyhow::Result<i32> {
    let missed = left.iter().filter(|one| one.without_region).count();
    let roi = args.run.args.analysis.measure.stack.roi.as_deref();
    if let Some(pattern) = roi.filter(|_| missed > 0 && missed == left.len()) {
        let messages: Vec<&str> = left.iter().map(|one| one.message.as_str()).collect();
        bail!("--roi {pattern} matched nothing in any program that ran\n{}", messages.join("\n"));
    }
    let profiles: Vec<_> = left.iter().filter(|one| !one.without_region).collect();
    if left.len() > 1 {
        for one in &profiles {
            eprintln!("dmdprof: {}: profile in {}", one.program, one.profile.display());
        }
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_options_come_first() {
        let words = |text: &str| Words::parse(&text.split(' ').map(OsString::from).collect::<Vec<_>>()).unwrap();
        assert!(refuse_own_options(&words("run --release --quiet -- --roi x")).is_ok());
        let message = refuse_own_options(&words("run --roi=x")).unwrap_err().to_string();
        assert_eq!(
            message,
            "--roi is an option of dmdprof and comes before Cargo's command: dmdprof cargo --roi ... run"
        );
    }
}
