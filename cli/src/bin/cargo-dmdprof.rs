//! `cargo dmdprof ...` is `dmdprof cargo ...`: Cargo looks for a program of this name.

use std::{
    env,
    ffi::OsString,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::Command,
};

fn main() {
    // Cargo passes the name of the subcommand first.
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    let words = if words.first().is_some_and(|word| word == "dmdprof") { &words[1..] } else { &words[..] };
    let beside = env::current_exe().ok().map(|own| own.with_file_name("dmdprof")).filter(|path| path.is_file());
    let program = beside.unwrap_or_else(|| PathBuf::from("dmdprof"));
    let error = Command::new(&program).arg("cargo").args(words).exec();
    // Whoever closed standard error does not want to know.
    let _ = writeln!(io::stderr(), "cargo-dmdprof: cannot run {}: {error}", program.display());
    std::process::exit(127);
}
