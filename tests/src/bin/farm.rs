//! `farm [PROGRAM...]`: builds and runs real programs without and with hooks, and prints a table. See `docs/farm.md`.
//! Exit code 1 if a program does anything that the list does not explain.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use dmdprof_tests::farm::{HEAD, Manifest, examine, note, row};
use dmdprof_tests::tool::dmdprof_path;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let programs = match Manifest::read().select(&names) {
        Ok(programs) => programs,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    if std::env::var_os("DMDPROF_TEST_BINARY").is_none() {
        eprintln!("DMDPROF_TEST_BINARY does not say which dmdprof to use; .ci/farm does");
        return ExitCode::from(2);
    }
    let cache = dmdprof_path().ancestors().nth(2).expect("the binary is in a target directory").join("farm");
    std::fs::create_dir_all(&cache).expect("a folder for the sources");
    println!("{HEAD}");
    let mut outcomes = Vec::new();
    for (at, program) in programs.iter().enumerate() {
        eprintln!("[{}/{}] {}", at + 1, programs.len(), program.name);
        let outcome = examine(program, &cache);
        for fault in &outcome.faults {
            eprintln!("  {}: {fault}", program.name);
        }
        println!("{}", row(&outcome));
        outcomes.push(outcome);
    }
    println!();
    outcomes.iter().filter_map(note).for_each(|note| println!("{note}"));
    let good = outcomes.iter().filter(|outcome| outcome.faults.is_empty()).count();
    eprintln!("{good} of {} programs as they should be", outcomes.len());
    if good == outcomes.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
