//! `farm [PROGRAM...]`: builds and runs real programs without and with hooks, and prints a table; with `--installed`,
//! programs of the distribution as they are. See `docs/farm.md`.
//! Exit code 1 if a program does anything that the list does not explain.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use clap::Parser;
use dmdprof_tests::farm::{
    BEGIN, BEGIN_INSTALLED, Installed, Manifest, Outcome, Program, Seen, document, examine, installed, keep, kept, see,
    table, table_of_installed,
};
use dmdprof_tests::tool::{dmdprof_path, repository};

/// Builds and runs real programs without and with hooks, compares, and prints a table.
#[derive(Parser)]
struct Options {
    /// Programs of tests/farm/programs.toml, or of tests/farm/installed.toml; all if there are none
    names: Vec<String>,
    /// Programs at a time
    #[arg(short, long, default_value_t = 1)]
    jobs: usize,
    /// Programs that are installed, without hooks, one at a time
    #[arg(long, conflicts_with = "jobs")]
    installed: bool,
    /// With --installed: rounds, of which times are medians
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..), requires = "installed")]
    rounds: u8,
    /// Run nothing: write what the last runs of all programs measured to docs/farm.md
    #[arg(long, conflicts_with_all = ["names", "jobs"])]
    document: bool,
}

fn main() -> ExitCode {
    match farm(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Whether all programs did what they should.
fn farm(options: &Options) -> Result<bool, String> {
    if std::env::var_os("DMDPROF_TEST_BINARY").is_none() {
        return Err("DMDPROF_TEST_BINARY does not say which dmdprof to use; .ci/farm does".to_owned());
    }
    let cache = dmdprof_path().ancestors().nth(2).expect("the binary is in a target directory").join("farm");
    if options.installed {
        return as_they_are(options, &cache.join("as-they-are"));
    }
    let manifest = Manifest::read();
    if options.document {
        let list = manifest.select(&[])?;
        let outcomes: Vec<Outcome> = kept(list.iter().map(|program| program.name.as_str()), &cache)?;
        return write(BEGIN, &table(&outcomes, &list)).map(|()| true);
    }
    let programs = manifest.select(&options.names)?;
    std::fs::create_dir_all(&cache).map_err(|e| format!("{}: {e}", cache.display()))?;
    let outcomes = run(&programs, options.jobs, &cache);
    print!("{}", table(&outcomes, &programs));
    let good = outcomes.iter().filter(|outcome| outcome.faults.is_empty()).count();
    eprintln!("{good} of {} programs as they should be", outcomes.len());
    Ok(good == outcomes.len())
}

/// The same for programs that are installed.
fn as_they_are(options: &Options, cache: &Path) -> Result<bool, String> {
    let list = installed();
    let is_named = |program: &&Installed| options.names.is_empty() || options.names.contains(&program.name);
    let chosen: Vec<&Installed> = list.iter().filter(is_named).collect();
    let names: Vec<&str> = chosen.iter().map(|program| program.name.as_str()).collect();
    if let Some(unknown) = options.names.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("there is no program {unknown:?} in tests/farm/installed.toml"));
    }
    if options.document {
        let seen: Vec<Seen> = kept(names.iter().copied(), cache)?;
        return write(BEGIN_INSTALLED, &table_of_installed(&seen, &names)).map(|()| true);
    }
    let mut seen = Vec::new();
    for program in chosen {
        eprintln!("{} ...", program.name);
        let one = see(program, options.rounds.into(), cache);
        one.faults.iter().for_each(|fault| eprintln!("  {}: {fault}", one.name));
        keep(&one.name, &one, cache)?;
        seen.push(one);
    }
    print!("{}", table_of_installed(&seen, &names));
    Ok(seen.iter().all(|one| one.faults.is_empty()))
}

/// Writes a table to its place in the document.
fn write(begin: &str, table: &str) -> Result<(), String> {
    let path = repository().join("docs/farm.md");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    std::fs::write(&path, document(&text, begin, table)?).map_err(|e| format!("{}: {e}", path.display()))
}

/// Runs programs, some at a time, and keeps what came out; in the order of the list.
fn run(programs: &[&Program], jobs: usize, cache: &Path) -> Vec<Outcome> {
    // Programs of the same sources share trees, so they come one after the other.
    let mut groups: Vec<Vec<&Program>> = Vec::new();
    for program in programs {
        match groups.iter_mut().find(|group| group[0].source == program.source) {
            Some(group) => group.push(program),
            None => groups.push(vec![program]),
        }
    }
    let (waiting, done) = (Mutex::new(groups.into_iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(group) = { waiting.lock().expect("no panic").next() } {
                    for program in group {
                        eprintln!("{} ...", program.name);
                        let outcome = examine(program, cache);
                        report(&outcome, cache);
                        done.lock().expect("no panic").push(outcome);
                    }
                }
            });
        }
    });
    let mut outcomes = done.into_inner().expect("no panic");
    outcomes.sort_by_key(|outcome| programs.iter().position(|program| program.name == outcome.name));
    outcomes
}

fn report(outcome: &Outcome, cache: &Path) {
    let verdict = if outcome.faults.is_empty() { "as it should be" } else { "NOT as it should be" };
    eprintln!("{}: {verdict}", outcome.name);
    outcome.faults.iter().for_each(|fault| eprintln!("  {}: {fault}", outcome.name));
    if let Err(error) = keep(&outcome.name, outcome, cache) {
        eprintln!("  {}: what was measured is not kept: {error}", outcome.name);
    }
}
