//! The twin of a program with hooks: the same program without them, which cores follow under the emulator.
//!
//! Takes the command line, gives the profile of the twin's run, with cycles only. A source file is built again, without
//! hooks; of other programs the user names the twin. The twin gets the same arguments; standard input is a file's or
//! empty, and what it prints is thrown away. Refuses programs of which there is no twin.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use crate::{
    cores::Cores,
    driver::source::is_source,
    gate::runner::{self, Addresses, Job},
    measure::program::{LevelArg, Program},
    profile::Profile,
};

/// Runs the twin of a command.
///
/// # Errors
/// When there is no twin, or it cannot be built or followed.
pub fn measure(
    command: &[OsString],
    native: Option<&Path>,
    level: &LevelArg,
    cores: &Cores,
) -> anyhow::Result<Profile> {
    let twin = match native {
        Some(native) => Program::of(&native.into(), |_| bail!("--native names a program, not a source file"))?,
        None if is_source(command[0].as_ref()) => level.plain(&command[0])?,
        None => bail!(
            "--cycles follows the program without hooks, and {0} has some: name the same program built without them, as in \
             --native PROGRAM, or run that one alone (dmdprof run --cycles PROGRAM)",
            command[0].display()
        ),
    };
    let job = Job {
        command: std::iter::once(twin.path.clone().into()).chain(command[1..].iter().cloned()).collect(),
        env: Default::default(),
        dir: std::env::current_dir().context("the current directory is not there")?,
        stdin: standard_input(),
        inputs: Vec::new(),
        options: ["--binary", "--cycles-only", "--no-lines", &cores.option()].map(OsString::from).into(),
    };
    runner::run(&job, Addresses::Fixed).context("cycles: the program without hooks could not be followed")
}

/// The file that standard input is, if it is one: both runs read it from its start.
fn standard_input() -> Option<PathBuf> {
    let path = std::fs::read_link("/proc/self/fd/0").ok()?;
    path.is_file().then_some(path)
}
