//! One program in one place: its trees without and with hooks, and the commands that build and run it there.
//! Nothing here takes for ever: a script that runs longer than its limit is ended, with an error.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::manifest::Program;
use crate::tool::{clang, describe, dmdprof_path, in_tests};

/// With or without hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Both names are of the same length, so that paths in programs are, too.
    Native,
    Hooked,
}

impl Tree {
    const fn folder(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Hooked => "hooked",
        }
    }
}

/// Seconds for a build, and for one run of the workload in whatever way.
const BUILD_LIMIT: u32 = 1500;
const WORK_LIMIT: u32 = 600;

#[derive(Debug)]
pub struct Stage<'p> {
    program: &'p Program,
    sources: PathBuf,
    folder: PathBuf,
}

/// What a run of the workload left: its output and the files that it wrote.
#[derive(Debug)]
pub struct Ran {
    pub output: Output,
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    pub took: Duration,
}

impl<'p> Stage<'p> {
    pub fn new(program: &'p Program, sources: PathBuf, folder: PathBuf) -> std::io::Result<Self> {
        fs::create_dir_all(&folder)?;
        Ok(Self { program, sources, folder })
    }

    /// A file beside the trees.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where the built tree is while the workload runs: the same place with and without hooks.
    pub fn built(&self) -> PathBuf {
        self.file("b")
    }

    /// # Errors
    /// What the build printed, if it failed or took too long.
    pub fn build(&self, tree: Tree) -> Result<Duration, String> {
        let to = self.file(tree.folder());
        drop(fs::remove_dir_all(&to));
        let copied = Command::new("cp").arg("-a").arg(&self.sources).arg(&to).status();
        if !copied.is_ok_and(|status| status.success()) {
            return Err(format!("cannot copy {} to {}", self.sources.display(), to.display()));
        }
        let mut command = self.script("timeout".as_ref(), &[], BUILD_LIMIT, &self.program.build);
        command.current_dir(&to).env("CFLAGS", "-O2 -g -gdwarf-4").env("CXXFLAGS", "-O2 -g -gdwarf-4");
        let wrappers = self.file("compilers");
        match tree {
            Tree::Native => command.env("CC", clang(false)).env("CXX", clang(true)).env("CARGO_COMMAND", "cargo"),
            Tree::Hooked => {
                let cargo = wrapper(&wrappers, "cargo", "cargo")?;
                command.env("CC", wrapper(&wrappers, "cc", "cc")?).env("CXX", wrapper(&wrappers, "c++", "c++")?);
                command.env("CARGO_COMMAND", cargo)
            }
        };
        let started = Instant::now();
        let output = command.output().map_err(|e| e.to_string())?;
        let log = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        drop(fs::write(self.file(&format!("{}.log", tree.folder())), log));
        if output.status.success() { Ok(started.elapsed()) } else { Err(describe(&output)) }
    }

    /// Runs the workload below `command`, whose last words it becomes.
    ///
    /// # Errors
    /// That it took too long or could not be started.
    pub fn work(&self, tree: Tree, below: &[&str]) -> Result<Ran, String> {
        let run = self.file("run");
        drop(fs::remove_dir_all(&run));
        drop(fs::remove_file(self.built()));
        fs::create_dir_all(&run).map_err(|e| e.to_string())?;
        std::os::unix::fs::symlink(tree.folder(), self.built()).map_err(|e| e.to_string())?;
        let mut command = self.script("timeout".as_ref(), below, WORK_LIMIT, &self.program.work);
        command.current_dir(&run).env("B", self.built()).env("HOME", &run).env("LC_ALL", "C").env("TZ", "UTC");
        let started = Instant::now();
        let output = command.output().map_err(|e| e.to_string())?;
        let took = started.elapsed();
        if output.status.code() == Some(124) {
            return Err(format!("the workload took longer than {WORK_LIMIT} s"));
        }
        let mut files = BTreeMap::new();
        collect(&run, &run, &mut files).map_err(|e| e.to_string())?;
        Ok(Ran { output, files, took })
    }

    fn script(&self, timeout: &Path, below: &[&str], limit: u32, script: &str) -> Command {
        let mut command = Command::new(timeout);
        command.args(["--kill-after=10", &limit.to_string()]).args(below).args(["bash", "-e", "-c", script]);
        command.env("S", &self.sources).env("F", in_tests("farm")).stdin(Stdio::null());
        command.env_remove("DMDPROF_CHANNEL").env("NO_COLOR", "1");
        command
    }
}

/// Build systems want a compiler of one word.
fn wrapper(folder: &Path, name: &str, command: &str) -> Result<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join(name);
    let text = format!("#!/bin/sh\nexec {:?} {command} \"$@\"\n", dmdprof_path());
    fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    fs::write(&path, text).map_err(|e| e.to_string())?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(|e| e.to_string())?;
    Ok(path)
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else {
            files.insert(path.strip_prefix(root).unwrap_or(&path).to_owned(), fs::read(&path)?);
        }
    }
    Ok(())
}
