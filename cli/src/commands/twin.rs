//! The program without hooks that cores follow under the emulator and that a clock samples: of one with hooks its twin,
//! which is the same program without them.
//!
//! Takes the command line, gives that program, and the profile of a twin's run with cycles only. A source file is built
//! again, without hooks; of other programs with hooks the user names the twin. A twin gets the same arguments; standard
//! input is a file's or empty, and what it prints is thrown away. Refuses programs of which there is no twin.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use crate::{
    clock::{self, Clock, Subject},
    cores::Cores,
    driver::source::is_source,
    emulator,
    gate::runner::{self, Addresses, Job},
    measure::{follow::SourceArgs, program::Program},
    profile::Profile,
};

/// What was typed of it.
#[derive(Clone, Copy)]
pub struct Typed<'a> {
    /// The program that is counted, and its arguments.
    pub command: &'a [OsString],
    pub native: Option<&'a Path>,
    pub source: &'a SourceArgs,
    /// It runs by itself, too.
    pub has_clock: bool,
}

/// The program without hooks.
pub struct Twin {
    program: Program,
    /// It is the one that was counted.
    is_itself: bool,
}

impl Twin {
    /// Of a command, which was counted in the emulator or has hooks.
    ///
    /// # Errors
    /// When there is none, or it cannot be built.
    pub fn of(typed: Typed, is_emulated: bool) -> anyhow::Result<Self> {
        let first = &typed.command[0];
        let of_path = |path: &OsString| Program::of(path, |_| bail!("--native names a program, not a source file"));
        let program = match typed.native {
            Some(native) => of_path(&native.into())?,
            None if is_source(first.as_ref()) => typed.source.build.level.plain(first)?,
            None if is_emulated => of_path(first)?,
            None => bail!(has_hooks(first)),
        };
        Ok(Self { program, is_itself: is_emulated && typed.native.is_none() })
    }

    /// Follows it on cores.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn cycles(&self, typed: Typed, cores: &Cores) -> anyhow::Result<Profile> {
        let job = Job {
            command: std::iter::once(self.program.path.clone().into())
                .chain(typed.command[1..].iter().cloned())
                .collect(),
            env: Default::default(),
            dir: std::env::current_dir().context("the current directory is not there")?,
            stdin: standard_input(),
            inputs: Vec::new(),
            options: ["--binary", "--cycles-only", "--no-lines", &cores.option()].map(OsString::from).into(),
        };
        runner::run(&job, Addresses::Fixed).context("cycles: the program without hooks could not be followed")
    }

    /// Samples it as it runs.
    ///
    /// # Errors
    /// When there are no samples.
    pub fn clock(&self, typed: Typed) -> anyhow::Result<Clock> {
        let path = &self.program.path;
        clock::measure(&Subject {
            program: path.clone(),
            name: if self.is_itself { typed.command[0].clone() } else { path.into() },
            arguments: typed.command[1..].to_vec(),
            stdin: standard_input(),
            is_twin: !self.is_itself,
        })
    }
}

/// Whether there will be a program without hooks, as far as that is known before the one that is counted has run.
///
/// # Errors
/// Why not.
pub fn check(typed: Typed) -> anyhow::Result<()> {
    let first = &typed.command[0];
    if typed.native.is_some() || is_source(first.as_ref()) {
        return Ok(());
    }
    // Whoever starts the program says what it is if there is none.
    let Ok(program) = Program::of(first, |_| bail!("no source file")) else { return Ok(()) };
    if typed.has_clock && emulator::is_foreign(&program.path) {
        bail!("--clock runs the program itself, and {} is for another processor; leave --clock out", first.display());
    }
    if program.has_hooks() && !typed.source.binary {
        bail!(has_hooks(first));
    }
    Ok(())
}

fn has_hooks(program: &OsString) -> String {
    format!(
        "--cycles and --clock are about the program without hooks, and {} has some: name the same program built without \
         them, as in --native PROGRAM, or run that one alone (dmdprof run --cycles PROGRAM)",
        program.display()
    )
}

/// The file that standard input is, if it is one: both runs read it from its start.
fn standard_input() -> Option<PathBuf> {
    let path = std::fs::read_link("/proc/self/fd/0").ok()?;
    path.is_file().then_some(path)
}
