//! Where libLLVMs are, and which major version each is by its name. Opens none of them.
//!
//! Takes nothing but the environment, gives [`Candidate`]s, best first; refuses nothing: what was looked at in vain is
//! listed. `$DMDPROF_LLVM` (a file or a directory) alone decides if it is set. Else the newest is best, as each libLLVM
//! reads the bitcode of older compilers; of several of a version, the one of the `rustc` in `PATH` (or `$RUSTC`), then
//! those of rustup's toolchains, then the distribution's.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The oldest major version that can be used.
pub const OLDEST: u32 = 14;
/// The newest, whose C interface the bindings were generated for.
pub const NEWEST: u32 = 22;

/// A file that should be a libLLVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub path: PathBuf,
    /// By its name or the name of the file that it leads to.
    pub major: Option<u32>,
}

/// Where distributions put shared libraries; under some, directories of that prefix have a `lib` or `lib64` each.
const SYSTEM_DIRECTORIES: [&str; 5] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", "/lib/x86_64-linux-gnu"];
const VERSIONED_DIRECTORIES: [(&str, &str); 4] =
    [("/usr/lib", "llvm-"), ("/usr/lib", "llvm"), ("/usr/lib64", "llvm"), ("/usr/lib/llvm", "")];

/// What there is, best first. Places that have none are added to `tried`.
pub fn candidates(tried: &mut Vec<String>) -> Vec<Candidate> {
    if let Some(given) = env::var_os("DMDPROF_LLVM").filter(|given| !given.is_empty()) {
        let given = PathBuf::from(given);
        let found = if given.is_dir() { libraries_in(&given) } else { vec![given.clone()] };
        if found.is_empty() {
            tried.push(format!("DMDPROF_LLVM={}: no libLLVM in that directory", given.display()));
        }
        return newest_first(found);
    }
    let mut found = Vec::new();
    match sysroot() {
        Ok(root) => {
            let here = libraries_in(&root.join("lib"));
            if here.is_empty() {
                tried.push(format!(
                    "{}: no libLLVM (a distribution's rustc links LLVM from elsewhere)",
                    root.join("lib").display()
                ));
            }
            found.extend(here);
        }
        Err(why) => tried.push(why),
    }
    for toolchain in rustup_toolchains() {
        found.extend(libraries_in(&toolchain.join("lib")));
    }
    for (parent, prefix) in VERSIONED_DIRECTORIES {
        for directory in sorted_dirs(Path::new(parent), prefix) {
            found.extend(["lib", "lib64"].iter().flat_map(|lib| libraries_in(&directory.join(lib))));
        }
    }
    let system: Vec<PathBuf> = SYSTEM_DIRECTORIES.iter().flat_map(|dir| libraries_in(Path::new(dir))).collect();
    if system.is_empty() {
        tried.push(format!("{}: no libLLVM", SYSTEM_DIRECTORIES.join(", ")));
    }
    found.extend(system);
    newest_first(found)
}

fn newest_first(paths: Vec<PathBuf>) -> Vec<Candidate> {
    let mut seen = Vec::new();
    let mut found: Vec<Candidate> = Vec::new();
    for path in paths {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if !seen.contains(&real) {
            let major = major_in_name(&path).or_else(|| major_in_name(&real));
            found.push(Candidate { path, major });
            seen.push(real);
        }
    }
    // Those that cannot be used come last, so that an error names them.
    let usable = |c: &Candidate| c.major.filter(|major| (OLDEST..=NEWEST).contains(major));
    found.sort_by_key(|candidate| std::cmp::Reverse(usable(candidate)));
    found
}

/// `libLLVM-14.so.1`, `libLLVM-14.0.6.so.1`, `libLLVM.so.19.1`, `libLLVM.so.22.1-rust-1.95.0-stable`,
/// `libLLVM-20-rust-1.90.0-stable.so`.
fn major_in_name(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.strip_prefix("libLLVM")?;
    let number = name.strip_prefix(".so.").or_else(|| name.strip_prefix('-'))?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn sysroot() -> Result<PathBuf, String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let out = Command::new(&rustc)
        .args(["--print", "sysroot"])
        .output()
        .map_err(|e| format!("{} --print sysroot: {e}", Path::new(&rustc).display()))?;
    if !out.status.success() {
        return Err(format!("{} --print sysroot: {}", Path::new(&rustc).display(), out.status));
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&out.stdout).trim()))
}

fn rustup_toolchains() -> Vec<PathBuf> {
    let home = env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|h| PathBuf::from(h).join(".rustup")));
    home.map(|h| sorted_dirs(&h.join("toolchains"), "")).unwrap_or_default()
}

fn sorted_dirs(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with(prefix))
        .map(|e| e.path())
        .collect();
    dirs.sort();
    dirs.reverse();
    dirs
}

/// Shared libraries named like libLLVM, real ELF files only (toolchains also carry a linker script of that name).
fn libraries_in(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|e| is_library_name(&e.file_name().to_string_lossy()))
        .map(|e| e.path())
        .filter(|p| starts_with_elf_magic(p))
        .collect();
    found.sort();
    found
}

/// Other libraries begin with the same letters, such as that of SPIR-V.
fn is_library_name(name: &str) -> bool {
    name.strip_prefix("libLLVM").is_some_and(|rest| rest.starts_with(['-', '.']) && rest.contains(".so"))
}

fn starts_with_elf_magic(path: &Path) -> bool {
    use std::io::Read;
    let mut magic = [0; 4];
    fs::File::open(path).and_then(|mut f| f.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_versions() {
        for (name, major) in [
            ("libLLVM-14.so.1", Some(14)),
            ("libLLVM-14.0.6.so.1", Some(14)),
            ("libLLVM.so.19.1", Some(19)),
            ("libLLVM.so.22.1-rust-1.95.0-stable", Some(22)),
            ("libLLVM-20-rust-1.90.0-stable.so", Some(20)),
            ("libLLVM.so", None),
        ] {
            assert!(is_library_name(name), "{name}");
            assert_eq!(major_in_name(Path::new(name)), major, "{name}");
        }
        assert!(!is_library_name("libLLVMSPIRVLib.so.14"));
        assert!(!is_library_name("libLLVMCore.a"));
    }

    #[test]
    fn the_newest_that_can_be_used_comes_first() {
        let paths =
            ["a/libLLVM-14.so", "b/libLLVM.so.23.1", "c/libLLVM.so.22.1", "d/libLLVM.so.22.1", "e/libLLVM-13.so"];
        let found = newest_first(paths.iter().map(PathBuf::from).collect());
        let order: Vec<_> = found.iter().map(|c| c.path.to_str().unwrap()).collect();
        assert_eq!(order[..3], ["c/libLLVM.so.22.1", "d/libLLVM.so.22.1", "a/libLLVM-14.so"]);
        assert_eq!(order.len(), 5);
    }
}
