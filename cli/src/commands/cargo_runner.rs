//! What Cargo starts in place of a program: the program under profile.
//!
//! `dmdprof cargo` gives it to Cargo as the target's runner, with the options of the person's command line, and reads
//! afterwards what it has [`Left`]. A program without hooks (a documentation test) runs as usual. Where several
//! programs run, each has a profile with its name in it, and a region of interest need not be in all of them.

use std::{
    ffi::OsString,
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use dmdprof_runtime::sites::SiteTable;
use serde::{Deserialize, Serialize};

use super::run::{self, Ran, RunArgs};
use crate::{
    launch,
    measure::{analysis::NoRegion, program::Program},
    shared::names,
};

/// Command name.
pub const NAME: &str = "cargo-runner";

/// Run by Cargo in place of a program
#[derive(Args, Debug)]
pub struct RunnerArgs {
    #[command(flatten)]
    run: RunArgs,

    /// Where to leave what happened
    #[arg(long, value_name = "DIR")]
    left: PathBuf,

    /// Directory of the person
    #[arg(long, value_name = "DIR")]
    home: PathBuf,

    /// Other programs run too
    #[arg(long)]
    several: bool,
}

/// What a program has left, for the summary.
#[derive(Debug, Serialize, Deserialize)]
pub struct Left {
    pub program: String,
    pub profile: PathBuf,
    /// The region of interest was not in it, so there is no profile.
    pub without_region: bool,
    pub message: String,
}

/// The runner's command line for Cargo, which adds the program and its arguments.
///
/// # Errors
/// When there is no current directory, or words are not UTF-8, as Cargo's configuration must be.
pub fn words(own: Vec<OsString>, left: &Path, several: bool) -> anyhow::Result<Vec<String>> {
    let program = std::env::current_exe().context("cannot find the path of dmdprof itself")?;
    let home = std::env::current_dir().context("there is no current directory")?;
    let mut words: Vec<OsString> = vec![program.into(), NAME.into()];
    words.extend(own);
    words.extend(["--left".into(), left.into(), "--home".into(), home.into()]);
    if several {
        words.push("--several".into());
    }
    words.push("--".into());
    let utf8 = |word: OsString| word.into_string().map_err(|word| anyhow!("{} is not UTF-8", word.display()));
    words.into_iter().map(utf8).collect()
}

/// What the programs have left, in the order of their names.
///
/// # Errors
/// When it cannot be read.
pub fn left_in(directory: &Path) -> anyhow::Result<Vec<Left>> {
    let mut all: Vec<Left> = Vec::new();
    for entry in fs::read_dir(directory)? {
        all.push(serde_json::from_slice(&fs::read(entry?.path())?)?);
    }
    all.sort_by(|a, b| a.program.cmp(&b.program));
    Ok(all)
}

/// Runs the program and returns its exit code.
///
/// # Errors
/// As `dmdprof run`; a program that another version of dmdprof has built.
pub fn command(mut args: RunnerArgs) -> anyhow::Result<i32> {
    // Cargo does not pass on what ends it.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    let program = PathBuf::from(&args.run.command[0]);
    let table = Program::from_path(program.clone()).sites()?;
    let name = without_hash(&program);
    if table.functions.is_empty() {
        eprintln!("dmdprof: {name} has no hooks (a documentation test?) and runs without a profile");
        let error = launch::plain(&program).args(&args.run.command[1..]).exec();
        bail!("cannot run {}: {error}", program.display());
    }
    run_once(&mut args.run.command, &table);
    let output = if args.several {
        named(&args.run.analysis.results.output, &name)
    } else {
        args.run.analysis.results.output.clone()
    };
    // Where Cargo runs it there, the path is what the person would type.
    let is_there = std::env::current_dir().is_ok_and(|here| here == args.home);
    args.run.analysis.results.output = if is_there { output } else { args.home.join(output) };
    let Ran { code, result } = run::run(&args.run)?;
    let mut left = Left {
        program: name,
        profile: args.run.analysis.results.output.clone(),
        without_region: false,
        message: String::new(),
    };
    match result {
        Err(error) if error.is::<NoRegion>() => {
            left.without_region = true;
            left.message = format!("{error:#}");
        }
        other => left.profile = other?,
    }
    let file = args.left.join(std::process::id().to_string());
    fs::write(&file, serde_json::to_vec(&left)?).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(code)
}

/// Criterion and divan repeat a bench until the clock says enough, which no two runs do equally often; in their test
/// mode they run each once.
fn run_once(command: &mut Vec<OsString>, table: &SiteTable) {
    // Other modes, and the option itself.
    const MODES: [&str; 5] = ["--test", "--list", "--profile-time", "--help", "--version"];
    let is_bench = command.iter().any(|word| word == "--bench");
    let has_mode = command.iter().any(|word| MODES.iter().any(|mode| word.to_string_lossy().starts_with(mode)));
    if !is_bench || has_mode {
        return;
    }
    let of = |harness: &str| {
        let is_its = |name: &str| names::demangle(name).trim_start_matches('<').starts_with(&format!("{harness}::"));
        table.functions.iter().any(|f| table.strings.get(f.name as usize).is_some_and(|name| is_its(name)))
    };
    if let Some(harness) = ["criterion", "divan"].into_iter().find(|harness| of(harness)) {
        eprintln!(
            "dmdprof: note: each bench of {harness} runs once (--test), as the clock decides how often it does otherwise"
        );
        command.retain(|word| word != "--bench");
        command.push("--test".into());
    }
}

/// Cargo's names of tests and benches end with a hash.
fn without_hash(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match name.rsplit_once('-') {
        Some((stem, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => stem.to_owned(),
        _ => name,
    }
}

/// `dmdprof.data` of the program `solve` is `dmdprof.solve.data`.
fn named(output: &Path, program: &str) -> PathBuf {
    let stem = output.file_stem().unwrap_or_default().to_string_lossy();
    let extension = output.extension().map_or_else(String::new, |e| format!(".{}", e.to_string_lossy()));
    output.with_file_name(format!("{stem}.{program}{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_have_the_programs_name() {
        assert_eq!(without_hash(Path::new("/t/deps/solve-0123456789abcdef")), "solve");
        assert_eq!(without_hash(Path::new("/t/solve-it")), "solve-it");
        assert_eq!(named(Path::new("a/dmdprof.data"), "solve"), Path::new("a/dmdprof.solve.data"));
        assert_eq!(named(Path::new("out"), "solve"), Path::new("out.solve"));
    }

    #[test]
    fn only_clockwork_benches_run_once() {
        let mut table = SiteTable::default();
        table.strings.push("_RNvCs1234_9criterion3foo".into());
        let mut words: Vec<OsString> = vec!["b".into(), "--bench".into()];
        run_once(&mut words, &table);
        assert_eq!(words, ["b", "--bench"], "no function of criterion");
    }
}
