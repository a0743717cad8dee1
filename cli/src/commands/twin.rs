//! The program without hooks that cores follow under the emulator and that a clock samples: of one with hooks its twin,
//! which is the same program without them.
//!
//! Takes the command line, gives that program, and the profile of a twin's run with cycles only. A source file is built
//! again, without hooks; of other programs with hooks it is the one that was built with them, or the user names it. A
//! twin gets the same arguments; standard input is a file's or empty, and what it prints is thrown away. Refuses
//! programs of which there is no twin. A clock and cycles that nobody asked for are wanted where there is a twin for
//! nothing, and never fail. A program without hooks is its own twin: it runs again by itself if the emulator has seen
//! that it does nothing that lasts.

use std::{
    ffi::OsString,
    io,
    os::fd::AsFd,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use dmdprof_runtime::abi::lasting::Effect;

use crate::{
    clock::{self, Clock, Effort, SampledProgram},
    cores::Cores,
    driver::{self, source::is_source},
    emulator,
    gate::runner::{self, Addresses, Job},
    launch,
    measure::{
        follow::{Followed, SourceArgs},
        program::Program,
    },
    profile::Profile,
    shared::printable,
};

/// What was typed of it.
#[derive(Clone, Copy)]
pub struct Typed<'a> {
    /// The program that is counted, and its arguments.
    pub command: &'a [OsString],
    pub native: Option<&'a Path>,
    pub source: &'a SourceArgs,
    pub clock: Wish,
}

/// Whether a clock is wanted, or cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    No,
    /// Nobody asked, and there is a twin for nothing.
    Unasked,
    /// Nobody asked, and there is no twin: if the program has no hooks, and the emulator sees that it does nothing that
    /// lasts.
    UnaskedIfHarmless,
    Asked,
}

impl Wish {
    /// Of a command that a twin goes with, of which none was asked for.
    #[must_use]
    pub fn unasked(command: &[OsString], source: &SourceArgs) -> Self {
        if is_only_asked_for() {
            return Self::No;
        }
        let say = |why| note("clock", why);
        let is_built = |found: anyhow::Result<Option<PathBuf>>| found.map_err(say).is_ok_and(|twin| twin.is_some());
        if is_source(command[0].as_ref()) || !source.binary && is_built(built_beside(&command[0])) {
            Self::Unasked
        } else {
            Self::UnaskedIfHarmless
        }
    }

    /// Whether nobody asked for what is wanted.
    #[must_use]
    pub fn is_unasked(self) -> bool {
        matches!(self, Self::Unasked | Self::UnaskedIfHarmless)
    }

    /// One that nobody asked for, when the program has been counted; says why a clock does not come by itself.
    #[must_use]
    pub fn after(self, command: &[OsString], followed: &Followed) -> Self {
        match self {
            Self::UnaskedIfHarmless if !(followed.is_emulated && is_plain(&command[0])) => Self::No,
            _ if self.is_unasked() && is_stream(io::stdin()) => {
                note("clock", "standard input is a pipe, which only one run can read (`< FILE` can be read by two)");
                Self::No
            }
            Self::No | Self::Asked | Self::Unasked => self,
            Self::UnaskedIfHarmless => followed.lasting.map_or(Self::Unasked, |call| {
                note("clock", lasts(call));
                Self::No
            }),
        }
    }
}

/// Whether there are no twins that nobody asks for.
#[must_use]
pub fn is_only_asked_for() -> bool {
    std::env::var_os("DMDPROF_TWIN").is_some_and(|by| by == "none")
}

/// Says why something is not there that nobody asked for.
pub fn note(what: &str, why: impl std::fmt::Display) {
    printable::say(format_args!("note: no {what}: {why}"));
}

/// Why a program that was counted in the emulator does not run again by itself, if its first system call with an effect
/// that lasts is this one.
fn lasts(call: u32) -> String {
    let effect = match Effect::from_number(call.into()) {
        Some(Effect::OpensToWrite) => "opens files to write to them",
        Some(Effect::Writes) => "writes to more than its standard output",
        Some(Effect::StartsProcesses) => "starts processes",
        Some(Effect::StartsPrograms) => "starts programs",
        Some(Effect::Talks) => "talks to other programs",
        None => &format!("has effects that may last (system call {call})"),
    };
    format!("the program {effect}, and would again; --clock runs it a second time")
}

/// Whether a command is a program without hooks that this machine can run.
fn is_plain(first: &OsString) -> bool {
    let program = Program::find(first, |_| bail!("no source file"));
    program.is_ok_and(|program| !program.has_hooks() && !emulator::is_foreign(&program.path))
}

/// Whether what was read once is gone.
fn is_stream(input: impl AsFd) -> bool {
    use rustix::fs::FileType;
    let kind = rustix::fs::fstat(input).map(|found| FileType::from_raw_mode(found.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket))
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
    pub fn find_or_build(typed: Typed, is_emulated: bool) -> anyhow::Result<Self> {
        let first = &typed.command[0];
        let of_path = |path: &OsString| Program::find(path, |_| bail!("--native names a program, not a source file"));
        let program = match typed.native {
            Some(native) => of_path(&native.into())?,
            None if is_source(first.as_ref()) => typed.source.build.level.twin(first)?,
            None if is_emulated => of_path(first)?,
            None => match built_beside(first)? {
                Some(twin) => of_path(&twin.into())?,
                None => bail!(has_hooks(first)),
            },
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
            options: ["--binary", "--cycles-only", "--no-lines", &cores.option()]
                .into_iter()
                .chain(typed.source.deterministic.deterministic.then_some("--deterministic"))
                .map(OsString::from)
                .collect(),
        };
        let run = runner::run(&job, Addresses::Fixed);
        let mut profile = run.context("cycles: the program without hooks could not be followed")?;
        if is_source(typed.command[0].as_ref()) && typed.native.is_none() {
            // The path of what was built is another in each run.
            let path = &self.program.path;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            profile.strings.iter_mut().filter(|text| Path::new(text) == path).for_each(|text| text.clone_from(&name));
        }
        Ok(profile)
    }

    /// Samples it as it runs, after a counted run of this time.
    ///
    /// # Errors
    /// When there are no samples.
    pub fn clock(&self, typed: Typed, counted: Duration) -> anyhow::Result<Clock> {
        let path = &self.program.path;
        let sampled = SampledProgram {
            program: path.clone(),
            name: if self.is_itself { typed.command[0].clone() } else { path.into() },
            arguments: typed.command[1..].to_vec(),
            stdin: standard_input(),
            is_twin: !self.is_itself,
        };
        match typed.clock {
            Wish::Asked => clock::measure(&sampled, Effort::ASKED).context("clock"),
            _ => clock::measure(&sampled, Effort::unasked(counted)),
        }
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
    let Ok(program) = Program::find(first, |_| bail!("no source file")) else { return Ok(()) };
    if typed.clock == Wish::Asked && emulator::is_foreign(&program.path) {
        bail!("--clock runs the program itself, and {} is for another processor; leave --clock out", first.display());
    }
    if program.has_hooks() && !typed.source.binary && driver::twin::beside(&program.path)?.is_none() {
        bail!(has_hooks(first));
    }
    Ok(())
}

/// The twin that a program was built with.
///
/// # Errors
/// When it is of another build.
fn built_beside(first: &OsString) -> anyhow::Result<Option<PathBuf>> {
    // Whoever starts the program says what it is if there is none.
    launch::find_program(first).map_or(Ok(None), |program| driver::twin::beside(&program))
}

fn has_hooks(program: &OsString) -> String {
    format!(
        "--cycles and --clock are about the program without hooks, and {} has some: build it with \
         --dmdprof-twin, name the same program built without them, as in --native PROGRAM, or run that one alone (dmdprof \
         run --cycles PROGRAM)",
        program.display()
    )
}

/// The file that standard input is, if it is one: both runs read it from its start.
fn standard_input() -> Option<PathBuf> {
    let path = std::fs::read_link("/proc/self/fd/0").ok()?;
    path.is_file().then_some(path)
}
