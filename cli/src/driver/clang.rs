//! Finds the clang to work with.
//!
//! `$DMDPROF_CLANG`, then `clang` in `PATH`, then `clang-NN`, newest first. A clang newer than the LLVM that
//! instruments writes bitcode which that LLVM cannot read: it is passed over, and an error if it was asked for by name
//! or nothing else is there.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use dmdprof_instrument::llvm::OLDEST;

use super::Face;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clang {
    pub program: PathBuf,
    /// Words before the user's, when there is no separate `clang++`.
    pub prefix: Vec<OsString>,
    pub major: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClangError {
    #[error(
        "no clang found (looked at DMDPROF_CLANG, then for clang and clang-NN in PATH); C and C++ need one, and gcc cannot \
         take its place: install clang from the system's packages, or set DMDPROF_CLANG to one"
    )]
    Missing,
    #[error("DMDPROF_CLANG={0}: no such program; set it to the path of clang")]
    NotThere(String),
    #[error("{0} does not answer `--version` as clang does; set DMDPROF_CLANG to a clang")]
    NotClang(String),
    #[error(
        "{program} is version {found}, but the LLVM in use is {llvm} and cannot read its bitcode: install the libLLVM of that clang (libllvm{found} on \
         Debian), or clang {llvm} or older (DMDPROF_CLANG chooses one)"
    )]
    TooNew { program: String, found: u32, llvm: u32 },
}

impl Clang {
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.prefix);
        command
    }
}

/// # Errors
/// When there is no clang, or only one that is too new for LLVM `llvm_major`.
pub fn find(face: Face, llvm_major: fn() -> u32) -> Result<Clang, ClangError> {
    let chosen = match env::var_os("DMDPROF_CLANG").filter(|given| !given.is_empty()) {
        Some(given) => {
            let program = resolve(&given).ok_or_else(|| ClangError::NotThere(given.to_string_lossy().into_owned()))?;
            usable(program, llvm_major)?
        }
        None => first_usable(candidates(), llvm_major)?,
    };
    Ok(turn(chosen, face))
}

/// Every clang in `PATH`, in the order of preference, with its major version if it has one.
#[must_use]
pub fn all(llvm_major: u32) -> Vec<(PathBuf, Option<u32>)> {
    let mut found: Vec<PathBuf> = candidates();
    if let Some(given) = env::var_os("DMDPROF_CLANG").and_then(|given| resolve(&given)) {
        found.insert(0, given);
    }
    let mut all: Vec<_> = found
        .into_iter()
        .map(|p| {
            let major = major_of(&p);
            (p, major)
        })
        .collect();
    all.sort_by_key(|(_, major)| major.is_none_or(|m| m > llvm_major));
    all
}

fn first_usable(candidates: Vec<PathBuf>, llvm_major: fn() -> u32) -> Result<(PathBuf, u32), ClangError> {
    let mut first_problem = None;
    for program in candidates {
        match usable(program, llvm_major) {
            Ok(found) => return Ok(found),
            Err(problem) => first_problem = first_problem.or(Some(problem)),
        }
    }
    Err(first_problem.unwrap_or(ClangError::Missing))
}

fn usable(program: PathBuf, llvm_major: fn() -> u32) -> Result<(PathBuf, u32), ClangError> {
    match major_of(&program) {
        None => Err(ClangError::NotClang(program.display().to_string())),
        // Every LLVM that can be used reads the bitcode of the oldest.
        Some(found) if found > OLDEST && found > llvm_major() => {
            Err(ClangError::TooNew { program: program.display().to_string(), found, llvm: llvm_major() })
        }
        Some(found) => Ok((program, found)),
    }
}

/// `clang`, then `clang-NN`, newest first.
fn candidates() -> Vec<PathBuf> {
    let mut versioned: Vec<(u32, PathBuf)> = Vec::new();
    for dir in path_dirs() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let major = name.to_str().and_then(|n| n.strip_prefix("clang-")).and_then(|n| n.parse().ok());
            if let Some(major) = major
                && is_program(&entry.path())
                && !versioned.iter().any(|(m, _)| *m == major)
            {
                versioned.push((major, entry.path()));
            }
        }
    }
    versioned.sort_by_key(|found| std::cmp::Reverse(found.0));
    resolve(OsStr::new("clang")).into_iter().chain(versioned.into_iter().map(|(_, path)| path)).collect()
}

fn path_dirs() -> Vec<PathBuf> {
    env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
}

/// A program by path or by its name in `PATH`.
#[must_use]
pub fn resolve(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return is_program(path).then(|| path.to_path_buf());
    }
    path_dirs().into_iter().map(|dir| dir.join(path)).find(|candidate| is_program(candidate))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// From the installation's name (`/usr/lib/llvm-14/bin/clang`, `clang-14`), because asking costs as much as a small
/// compilation; if that says nothing, from `--version`.
fn major_of(program: &Path) -> Option<u32> {
    from_name(&fs::canonicalize(program).ok()?).or_else(|| from_version(program))
}

fn from_name(real: &Path) -> Option<u32> {
    if let Some(major) = real.file_name()?.to_str()?.strip_prefix("clang-") {
        return major.parse().ok();
    }
    let installation = real.parent()?.parent()?.file_name()?.to_str()?;
    (real.file_name()? == "clang").then(|| installation.strip_prefix("llvm-")?.parse().ok()).flatten()
}

fn from_version(program: &Path) -> Option<u32> {
    let out = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout);
    let (_, version) = text.split_once("clang version ")?;
    version.split('.').next()?.trim().parse().ok()
}

/// `clang` -> `clang++` where both are installed side by side.
fn turn((program, major): (PathBuf, u32), face: Face) -> Clang {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default().to_owned();
    if face == Face::C || name.starts_with("clang++") {
        return Clang { program, prefix: Vec::new(), major };
    }
    let sibling = program.with_file_name(name.replacen("clang", "clang++", 1));
    if name.starts_with("clang") && is_program(&sibling) {
        return Clang { program: sibling, prefix: Vec::new(), major };
    }
    Clang { program, prefix: vec!["--driver-mode=g++".into()], major }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_from_the_installation() {
        assert_eq!(from_name(Path::new("/usr/lib/llvm-14/bin/clang")), Some(14));
        assert_eq!(from_name(Path::new("/usr/bin/clang-19")), Some(19));
        assert_eq!(from_name(Path::new("/opt/rocm/llvm/bin/clang")), None);
        assert_eq!(from_name(Path::new("/usr/bin/ccache")), None);
        assert_eq!(from_name(Path::new("/usr/lib/llvm-14/bin/ccache")), None);
    }
}
