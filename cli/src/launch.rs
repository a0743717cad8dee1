//! Starts the program under profile and waits for it and all its descendants.
//!
//! Takes a command line, gives the program's [`Ending`]. The program keeps its standard streams, working directory and
//! environment; only the channel's variable and its descriptor are added, and address randomisation is switched off so
//! that programs whose behaviour depends on addresses repeat themselves.

mod stack_start;
pub mod surroundings;

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    os::{
        fd::RawFd,
        unix::{fs::PermissionsExt, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::Command,
};

use object::{Object, ReadCache};
use rustix::process::{Pid, WaitOptions, WaitStatus};

use crate::{
    driver,
    profile::model::Outcome,
    shared::signals::{self, Kind, Watched},
};

/// Leaves address randomisation on if it is set: `dmdprof check --twice` looks for what depends on addresses.
pub const RANDOMISE_VARIABLE: &str = "DMDPROF_RANDOM_ADDRESSES";

/// Why a program cannot be started; the shell's exit codes 127 and 126.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{program}: not found{hint}")]
    NotFound { program: String, hint: String },
    #[error("{program}: {why}")]
    NotExecutable { program: String, why: String },
}

impl StartError {
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. } => 126,
        }
    }
}

/// Finds the file that a command name means, as a shell would.
///
/// # Errors
/// [`StartError`] with a hint when a file of that name lies in the current directory.
pub fn find_program(name: &OsString) -> Result<PathBuf, StartError> {
    let program = name.to_string_lossy().into_owned();
    let path = Path::new(name);
    if program.contains('/') {
        return check(path, &program).map(|()| path.to_path_buf());
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&search).map(|d| d.join(path)).find(|p| p.is_file() && is_executable(p));
    if let Some(found) = in_path {
        return Ok(found);
    }
    let hint = match interpreter(path).filter(|name| !is_shell(name)) {
        Some(interpreter) => format!(" in PATH; the file here is {}", a_script(&interpreter)),
        None if path.is_file() => format!(" in PATH; for the file here say ./{program}"),
        None => String::new(),
    };
    Err(StartError::NotFound { program, hint })
}

fn check(path: &Path, program: &str) -> Result<(), StartError> {
    let program = program.to_owned();
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(StartError::NotFound { program, hint: String::new() }),
        Err(e) => Err(StartError::NotExecutable { program, why: e.to_string() }),
        Ok(m) if m.is_dir() => Err(StartError::NotExecutable { program, why: "is a directory".into() }),
        Ok(_) if !is_executable(path) => {
            let why = match interpreter(path).filter(|name| !is_shell(name)) {
                Some(interpreter) => format!("is {}", a_script(&interpreter)),
                None => "is not executable (chmod +x would make it so)".into(),
            };
            Err(StartError::NotExecutable { program, why })
        }
        // What the system refuses, execvp would hand to the shell as a script.
        Ok(_) if is_broken_executable(path) => Err(StartError::NotExecutable {
            program,
            why: "has the head of an executable but is damaged or of another kind of machine".into(),
        }),
        Ok(_) => Ok(()),
    }
}

/// What a script names after `#!`, else what its name says that it is for: `python3` for `#!/usr/bin/env python3`.
#[must_use]
pub fn interpreter(path: &Path) -> Option<String> {
    const BY_NAME: [(&str, &str); 7] = [
        ("py", "python3"),
        ("pl", "perl"),
        ("rb", "ruby"),
        ("js", "node"),
        ("lua", "lua"),
        ("R", "R"),
        ("jl", "julia"),
    ];
    let mut head = Vec::new();
    File::open(path).ok()?.take(256).read_to_end(&mut head).ok()?;
    let Some(line) = head.strip_prefix(b"#!").and_then(|rest| rest.split(|byte| *byte == b'\n').next()) else {
        let extension = path.extension()?.to_str()?;
        let is_text = !head.contains(&0);
        return BY_NAME.iter().find(|(known, _)| *known == extension && is_text).map(|(_, name)| (*name).into());
    };
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let program = words.next()?;
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    match name(program).as_str() {
        // Options and variables of env come before the program.
        "env" => words.find(|word| !word.starts_with('-') && !word.contains('=')).map(name),
        name => Some(name.into()),
    }
}

/// Whether an interpreter's scripts are there to start programs, which may have hooks.
#[must_use]
pub fn is_shell(interpreter: &str) -> bool {
    matches!(interpreter, "sh" | "ash" | "bash" | "csh" | "dash" | "fish" | "ksh" | "make" | "tcsh" | "zsh")
}

/// Whether a program of this name is there to start others, which may have hooks.
#[must_use]
pub fn starts_others(name: &str) -> bool {
    #[rustfmt::skip]
    const STARTERS: [&str; 27] = [
        "bwrap", "chroot", "chrt", "doas", "env", "faketime", "flock", "i386", "ionice", "linux32", "linux64", "nice",
        "nohup", "nsenter", "numactl", "prlimit", "runuser", "setarch", "setpriv", "setsid", "stdbuf", "sudo", "taskset",
        "time", "timeout", "unshare", "xargs",
    ];
    is_shell(name) || STARTERS.contains(&name)
}

/// What a script of such an interpreter is, and how it is profiled.
#[must_use]
pub fn a_script(interpreter: &str) -> String {
    format!(
        "a script for {interpreter}, and what moves its data is {interpreter} itself: build that with hooks \
         (CC='dmdprof cc' ./configure && make), and run it with the script as its argument"
    )
}

/// An ELF file that this machine cannot run.
fn is_broken_executable(path: &Path) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let mut magic = [0; 4];
    if file.read_exact(&mut magic).is_err() || magic != object::elf::ELFMAG {
        return false;
    }
    // Of a large file, the heads only.
    let parts = ReadCache::new(file);
    match object::File::parse(&parts) {
        // The latter are emulated.
        Ok(file) => !matches!(
            file.architecture(),
            object::Architecture::X86_64
                | object::Architecture::I386
                | object::Architecture::Aarch64
                | object::Architecture::Riscv64
        ),
        Err(_) => true,
    }
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o111 != 0)
}

/// A started program.
pub struct Running {
    main: Pid,
    watched: Watched,
}

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl Ending {
    /// What a shell would report: the code, or 128 + the signal.
    #[must_use]
    pub fn exit_code(self) -> i32 {
        self.code.unwrap_or_else(|| 128 + self.signal.unwrap_or(0))
    }

    #[must_use]
    pub fn outcome(self) -> Outcome {
        match self.signal {
            Some(signal) => Outcome::Signaled(signal),
            None => Outcome::Exited(self.code.unwrap_or(0)),
        }
    }
}

/// A program as if dmdprof did not start it: without what it tells its own compilers, and with the signals as they
/// were.
#[must_use]
pub fn plain(program: &Path) -> Command {
    let mut command = Command::new(program);
    driver::cargo::plain_environment(&mut command);
    signals::as_inherited(&mut command);
    command
}

/// What `LD_PRELOAD` has to be for a library to be loaded before those that the user names there.
#[must_use]
pub fn preload(library: &Path) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

/// Starts the program, which inherits a descriptor beside its standard streams. Variables without a value are taken
/// from its environment.
///
/// # Errors
/// As [`find_program`], or what the system says about the file.
pub fn start(
    program: &Path,
    arguments: &[OsString],
    environment: &[(OsString, Option<OsString>)],
    inherited: Option<RawFd>,
) -> Result<Running, StartError> {
    // Orphaned descendants become our children, so that waiting for all children waits for everything the program
    // started. Where that is not allowed, only direct children are waited for.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let mut command = plain(program);
    command.args(arguments);
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let randomise = std::env::var_os(RANDOMISE_VARIABLE).is_some();
    let fixed = std::env::var_os(surroundings::FIXED_VARIABLE).is_some();
    command.env_remove(RANDOMISE_VARIABLE).env_remove(surroundings::FIXED_VARIABLE);
    if fixed || randomise {
        surroundings::fix(&mut command);
    }
    let is_random = fixed && !randomise && stack_start::is_random(program);
    // SAFETY: the closure only makes raw system calls, which are async-signal-safe, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            if let Some(descriptor) = inherited {
                // Not close-on-exec. Where that fails, programs find the channel by its path.
                libc::fcntl(descriptor, libc::F_SETFD, 0);
            }
            // Refused in some containers; addresses then vary, which no depth depends on.
            libc::personality(if randomise { 0 } else { libc::ADDR_NO_RANDOMIZE as libc::c_ulong });
            if is_random {
                stack_start::stop_at_start();
            }
            Ok(())
        });
    }
    let name = || program.display().to_string();
    let watched = Watched::expected(Kind::Program);
    match if is_random { stack_start::spawn(&mut command) } else { command.spawn() } {
        Ok(child) => {
            let main = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a child has a positive id");
            watched.started(child.id());
            Ok(Running { main, watched })
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Err(StartError::NotFound { program: name(), hint: " (or its interpreter is missing)".into() })
        }
        Err(e) => Err(StartError::NotExecutable { program: name(), why: e.to_string() }),
    }
}

impl Running {
    /// Waits for the program and every process that it started; SIGTERM and SIGHUP are passed on to it. `main_ended` is
    /// called when the program itself is gone and others may still run; `give_up` is asked whenever waiting is
    /// interrupted.
    ///
    /// # Errors
    /// What the system says when waiting fails.
    pub fn wait(self, main_ended: impl Fn(), give_up: impl Fn() -> bool) -> io::Result<Ending> {
        let mut ending = None;
        loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == self.main => {
                    if let Some(ended) = ending_of(status) {
                        ending = Some(ended);
                        self.watched.ended();
                        main_ended();
                    }
                }
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => {
                    if (give_up() || signals::received().is_some()) && ending.is_some() {
                        break;
                    }
                }
                Err(rustix::io::Errno::CHILD) => break,
                Err(e) => return Err(e.into()),
            }
        }
        // Until the results are written, which is the end of this process.
        std::mem::forget(self.watched);
        ending.ok_or_else(|| io::Error::other("the program's end was not seen"))
    }
}

fn ending_of(status: WaitStatus) -> Option<Ending> {
    if let Some(code) = status.exit_status() {
        return Some(Ending { code: Some(code), signal: None });
    }
    status.terminating_signal().map(|signal| Ending { code: None, signal: Some(signal) })
}
