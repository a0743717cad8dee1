//! One program in one place: its trees without and with hooks, and the commands that build and run it there. Takes a
//! program and its sources; gives how builds and runs went, with the processor time that they took. A tree is kept for
//! as long as what built it stays the same, and programs that are built alike share it. Nothing here takes for ever: a
//! script that runs longer than its limit is ended, with an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::manifest::Program;
use super::ran::{Ran, copy, limited, timed};
use crate::tool::{clang, describe, dmdprof_path};

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
const WORK_LIMIT: u32 = 900;
/// For programs and their libraries alike.
const FLAGS: &str = "-O2 -g -gdwarf-4";

#[derive(Debug)]
pub struct Stage<'p> {
    program: &'p Program,
    sources: PathBuf,
    /// What runs leave.
    folder: PathBuf,
    /// The trees.
    trees: PathBuf,
}

impl<'p> Stage<'p> {
    /// Below `cache`.
    pub fn new(program: &'p Program, sources: PathBuf, cache: &Path) -> std::io::Result<Self> {
        let folder = cache.join("work").join(&program.name);
        let kind = digest(&[sources.as_os_str().as_encoded_bytes(), program.build.as_bytes(), FLAGS.as_bytes()]);
        let trees = cache.join("trees").join(&kind[..16]);
        fs::create_dir_all(&folder)?;
        fs::create_dir_all(&trees)?;
        Ok(Self { program, sources, folder, trees })
    }

    /// A file of this program's runs.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where the built tree is while the workload runs: the same place with and without hooks.
    pub fn built(&self) -> PathBuf {
        self.file("b")
    }

    /// Gives the processor time that the build took, now or when it was made.
    ///
    /// # Errors
    /// What the build printed, if it failed or took too long.
    pub fn build(&self, tree: Tree) -> Result<Duration, String> {
        let (to, stamp) = (self.trees.join(tree.folder()), self.trees.join(format!("{}.built", tree.folder())));
        let by = match tree {
            Tree::Native => "the native compilers",
            Tree::Hooked => dmdprof_digest(),
        };
        let made = fs::read_to_string(&stamp).ok();
        if let Some(millis) = made.as_deref().and_then(|text| text.strip_prefix(by)?.trim().parse().ok()) {
            return Ok(Duration::from_millis(millis));
        }
        drop(fs::remove_file(&stamp));
        drop(fs::remove_dir_all(&to));
        copy(&self.sources, &to)?;
        let mut command = self.script(&[], BUILD_LIMIT, &self.program.build);
        command.current_dir(&to).env("CFLAGS", FLAGS).env("CXXFLAGS", FLAGS);
        // What these make comes with the sources, but looks older than what Debian's patches have touched.
        for tool in ["ACLOCAL", "AUTOCONF", "AUTOHEADER", "AUTOMAKE", "MAKEINFO"] {
            command.env(tool, "true");
        }
        let wrappers = self.trees.join("compilers");
        match tree {
            Tree::Native => command.env("CC", clang(false)).env("CXX", clang(true)).env("CARGO_COMMAND", "cargo"),
            Tree::Hooked => {
                let cargo = wrapper(&wrappers, "cargo", "cargo")?;
                command.env("CC", wrapper(&wrappers, "cc", "cc")?).env("CXX", wrapper(&wrappers, "c++", "c++")?);
                command.env("CARGO_COMMAND", cargo)
            }
        };
        let (output, spent) = timed(&mut command, &self.folder)?;
        let took = spent.processor;
        let log = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        drop(fs::write(self.trees.join(format!("{}.log", tree.folder())), log));
        if !output.status.success() {
            return Err(describe(&output));
        }
        fs::write(&stamp, format!("{by} {}", took.as_millis())).map_err(|e| e.to_string())?;
        Ok(took)
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
        std::os::unix::fs::symlink(self.trees.join(tree.folder()), self.built()).map_err(|e| e.to_string())?;
        let mut command = self.script(below, WORK_LIMIT, &self.program.work);
        command.current_dir(&run).env("B", self.built()).env("HOME", &run).env("LC_ALL", "C").env("TZ", "UTC");
        Ran::run_limited(&mut command, &self.folder, &run)
    }

    fn script(&self, below: &[&str], limit: u32, script: &str) -> Command {
        let mut command = limited(limit, below);
        command.args(["bash", "-e", "-c", script]).env("S", &self.sources);
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

fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Which `dmdprof` built a tree: another one may put other hooks into it.
fn dmdprof_digest() -> &'static str {
    static DIGEST: OnceLock<String> = OnceLock::new();
    DIGEST.get_or_init(|| digest(&[&fs::read(dmdprof_path()).expect("dmdprof can be read")]))
}
