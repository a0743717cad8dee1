//! Programs without hooks, under QEMU's user emulator with a plugin that tells each access.
//!
//! Takes a program, gives the [`Start`] that runs it: the emulator of its processor, with the plugin and, for x86-64,
//! the library that tells what is allocated. Refuses processors that the plugin does not know, and emulators that are
//! missing, too old or built without plugins.

use std::{
    ffi::OsString,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::Context;
use dmdprof_runtime::emulator_objects::{ALLOCATIONS, ALLOCATIONS_PREFIX, PLUGIN};
use dmdprof_runtime::{
    abi::emulated::{NO_LIVES, ToldInstructions},
    cycles::Windows,
};
use object::{
    Object, ObjectSection, ReadCache,
    elf::{EM_AARCH64, EM_RISCV, EM_X86_64, Machine},
};
use tempfile::TempPath;

use crate::{
    launch,
    toolbox::{Library, library, library_by_content},
};

/// The oldest emulator with plugins.
const OLDEST: (u32, u32) = (4, 2);

/// A processor whose programs can be emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// As the emulator's name has it.
    pub name: &'static str,
    machine: Machine,
    /// Options of the emulator.
    options: &'static [&'static str],
    /// Where its libraries are, if not where those of this machine are, and the package that has them.
    libraries: Option<(&'static str, &'static str)>,
}

const PROCESSORS: [Processor; 3] = [
    Processor {
        name: "x86_64",
        machine: EM_X86_64,
        // String instructions as the C library would use vectors for: one access per byte would be no machine's.
        options: &["-cpu", "max,-erms,-fsrm"],
        libraries: None,
    },
    Processor {
        name: "aarch64",
        machine: EM_AARCH64,
        options: &[],
        libraries: Some(("/usr/aarch64-linux-gnu", "libc6-arm64-cross")),
    },
    Processor {
        name: "riscv64",
        machine: EM_RISCV,
        options: &[],
        libraries: Some(("/usr/riscv64-linux-gnu", "libc6-riscv64-cross")),
    },
];

/// Why a program cannot be emulated.
#[derive(Debug, thiserror::Error)]
pub enum NoEmulator {
    #[error(
        "qemu-{0} is not installed: dmdprof profiles programs without hooks under it (`apt install qemu-user`, or your \
         distribution's package of QEMU's user emulators)"
    )]
    Missing(&'static str),
    #[error("{path} is QEMU {found}; programs without hooks need {major}.{minor} or newer, as `apt install qemu-user` has", major = OLDEST.0, minor = OLDEST.1)]
    TooOld { path: String, found: String },
    #[error(
        "{path} cannot load plugins: it was built without them, as Debian 13's is; one built from QEMU's sources with \
         `./configure --target-list={processor}-linux-user --enable-plugins`, on the PATH before it, can"
    )]
    WithoutPlugins { path: String, processor: &'static str },
    #[error(
        "{program} needs {interpreter} of {processor}, which is not installed: `apt install {package}` has it, with the C \
         library; programs that are linked with `-static` need none"
    )]
    WithoutLibraries { program: String, interpreter: String, processor: &'static str, package: &'static str },
    #[error(
        "{0} is for a processor that dmdprof cannot emulate: it knows 64-bit programs of x86-64, aarch64 and riscv64"
    )]
    Processor(String),
    #[error("{0} is no program that the system can start")]
    NoProgram(String),
}

/// An emulator that can load the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulator {
    path: PathBuf,
    processor: Processor,
    /// Its version, as it says it.
    pub version: String,
}

impl Emulator {
    /// That of a processor.
    ///
    /// # Errors
    /// [`NoEmulator`].
    pub fn find(processor: Processor) -> Result<Self, NoEmulator> {
        let path = launch::find_program(&format!("qemu-{}", processor.name).into())
            .map_err(|_| NoEmulator::Missing(processor.name))?;
        let name = || path.display().to_string();
        let said = |word: &str| {
            let output = Command::new(&path).arg(word).stdin(Stdio::null()).output();
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
        };
        // "qemu-x86_64 version 7.2.22 (Debian ...)".
        let text = said("--version");
        let version = text.split_whitespace().nth(2).unwrap_or("of an unknown version").to_owned();
        let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if found < OLDEST {
            return Err(NoEmulator::TooOld { path: name(), found: version });
        }
        if !said("--help").contains("-plugin") {
            return Err(NoEmulator::WithoutPlugins { path: name(), processor: processor.name });
        }
        Ok(Self { path, processor, version })
    }

    /// That of this machine's processor, for whoever says what there is.
    ///
    /// # Errors
    /// [`NoEmulator`].
    pub fn of_this_machine() -> Result<Self, NoEmulator> {
        Self::find(PROCESSORS[0])
    }
}

/// Variables of this process that the emulator would take for its own options: its messages would come between what the
/// program prints.
pub fn own_variables() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| name.to_string_lossy().starts_with("QEMU_"))
}

/// How an emulated program is started.
pub struct Start {
    /// The emulator's file.
    pub program: PathBuf,
    /// Its options, the program and the words that come before the program's own arguments.
    pub arguments: Vec<OsString>,
    /// The plugin and the library, as long as the program runs.
    _plugin: TempPath,
    _library: Option<Library>,
}

/// The executable of a program, which may be a script, and what comes before its arguments.
fn executable(program: &Path) -> Result<(PathBuf, Vec<OsString>), NoEmulator> {
    let no_program = || NoEmulator::NoProgram(program.display().to_string());
    let mut head = Vec::new();
    File::open(program).and_then(|file| file.take(256).read_to_end(&mut head)).map_err(|_| no_program())?;
    let Some(line) = head.strip_prefix(b"#!") else { return Ok((program.to_path_buf(), Vec::new())) };
    let line = String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
    let (interpreter, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    let rest = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(OsString::from);
    let words = rest.into_iter().chain([program.as_os_str().to_owned()]).collect();
    Ok((PathBuf::from(interpreter), words))
}

/// The processor of an executable.
fn processor(program: &Path) -> Result<Processor, NoEmulator> {
    const CLASS_64: u8 = 2;
    let mut head = [0; 20];
    let read = File::open(program).and_then(|mut file| file.read_exact(&mut head));
    let name = || program.display().to_string();
    if read.is_err() || !head.starts_with(&object::elf::ELFMAG) {
        return Err(NoEmulator::NoProgram(name()));
    }
    let machine = Machine(u16::from_le_bytes([head[18], head[19]]));
    let known = PROCESSORS.into_iter().find(|processor| processor.machine == machine && head[4] == CLASS_64);
    known.ok_or_else(|| NoEmulator::Processor(name()))
}

/// Refuses a program of another processor whose dynamic linker is not there.
fn has_libraries(program: &Path, processor: Processor) -> Result<(), NoEmulator> {
    let Some((directory, package)) = processor.libraries else { return Ok(()) };
    let Some(interpreter) = interpreter(program) else { return Ok(()) };
    let prefixed = Path::new(directory).join(interpreter.trim_start_matches('/'));
    let is_there = |path: &Path| self::processor(path).is_ok_and(|found| found == processor);
    if is_there(&prefixed) || is_there(Path::new(&interpreter)) {
        return Ok(());
    }
    let (program, processor) = (program.display().to_string(), processor.name);
    Err(NoEmulator::WithoutLibraries { program, interpreter, processor, package })
}

/// The dynamic linker that an executable names. Of a large file, the heads only are read.
pub fn interpreter(program: &Path) -> Option<String> {
    let parts = ReadCache::new(File::open(program).ok()?);
    let file = object::File::parse(&parts).ok()?;
    let name = file.section_by_name(".interp")?.data().ok()?;
    Some(String::from_utf8_lossy(name.strip_suffix(b"\0").unwrap_or(name)).into_owned())
}

/// Whether this machine runs a program by itself.
#[must_use]
pub fn is_foreign(program: &Path) -> bool {
    processor(program).is_ok_and(|processor| processor.machine != EM_X86_64)
}

/// What the plugin is to tell besides accesses.
#[derive(Clone, Copy, Debug)]
pub struct Tells {
    /// Which code runs.
    pub code: bool,
    /// Which blocks live. Without that the program runs without a library of ours.
    pub lives: bool,
}

/// How to start a program, called by its name as given.
///
/// # Errors
/// [`NoEmulator`], or when the plugin cannot be written.
pub fn start(program: &Path, name: &OsString, tells: Tells) -> anyhow::Result<Start> {
    let (file, words) = executable(program)?;
    let emulator = Emulator::find(processor(&file)?)?;
    has_libraries(&file, emulator.processor)?;
    let plugin = library("dmdprof-emulator-", PLUGIN).context("cannot write the emulator's plugin")?;
    // What the program gets from the system as random bytes when it starts is the same each time.
    let mut library = None;
    let mut arguments: Vec<OsString> = ["-seed", "1"].map(OsString::from).into();
    arguments.extend(emulator.processor.options.iter().map(OsString::from));
    arguments
        .extend(emulator.processor.libraries.iter().flat_map(|(directory, _)| ["-L", directory]).map(OsString::from));
    let mut loaded = plugin.as_os_str().to_owned();
    if tells.code {
        let Windows { whole, window, period, near, .. } = Windows::DEFAULT;
        loaded.push(format!(",{}", ToldInstructions { whole, period, first: window, last: near }));
    }
    if !tells.lives {
        loaded.push(format!(",{NO_LIVES}"));
    }
    arguments.extend(["-plugin".into(), loaded]);
    if tells.lives && emulator.processor.machine == EM_X86_64 {
        let allocations = library_by_content(ALLOCATIONS_PREFIX, ALLOCATIONS).context("cannot write the library")?;
        let mut variable = OsString::from("LD_PRELOAD=");
        variable.push(launch::preload(&allocations.path));
        arguments.extend(["-E".into(), variable]);
        library = Some(allocations);
    }
    let called = if words.is_empty() { name.clone() } else { file.as_os_str().to_owned() };
    arguments.extend(["-0".into(), called, file.into_os_string()]);
    arguments.extend(words);
    Ok(Start { program: emulator.path, arguments, _plugin: plugin, _library: library })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_programs_of_their_interpreters() {
        let directory = tempfile::tempdir().expect("a directory");
        let script = directory.path().join("script");
        let of = |text: &str| {
            std::fs::write(&script, text).expect("it can be written");
            executable(&script).expect("it can be read")
        };
        assert_eq!(
            of("#! /usr/bin/env  -S python3 -u \nx"),
            ("/usr/bin/env".into(), vec!["-S python3 -u".into(), script.clone().into()])
        );
        assert_eq!(of("#!/bin/sh\n"), ("/bin/sh".into(), vec![script.clone().into()]));
        assert!(matches!(processor(&script), Err(NoEmulator::NoProgram(_))));
    }

    #[test]
    fn other_processors_are_refused_by_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let program = directory.path().join("old");
        let mut head = [0u8; 64];
        head[..6].copy_from_slice(b"\x7fELF\x01\x01");
        head[18] = 3;
        std::fs::write(&program, head).expect("it can be written");
        assert!(matches!(processor(&program), Err(NoEmulator::Processor(_))));
        (head[4], head[18]) = (2, 183);
        std::fs::write(&program, head).expect("it can be written");
        assert!(is_foreign(&program));
    }
}
