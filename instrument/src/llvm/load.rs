//! Finds and opens libLLVM while the program runs.
//!
//! Takes nothing but the environment, gives a [`LoadedLlvm`]; refuses with the list of places it looked at. The search order
//! is `$DMDPROF_LLVM` (a file or a directory), the sysroot of the `rustc` in `PATH` (or `$RUSTC`), the rustup toolchains,
//! then `/usr/lib/llvm-*/lib`. Only LLVM [`REQUIRED_MAJOR`] has the interface that the bindings were generated for.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::Error;

include!(concat!(env!("OUT_DIR"), "/trampolines.rs"));

#[cfg(not(any(feature = "llvm20", feature = "llvm21", feature = "llvm22")))]
compile_error!("choose an LLVM with one of the features llvm20, llvm21 and llvm22");

/// Major versions of LLVM for which dmdprof can be built; each has a feature, `llvm22` for example.
pub const MAJORS: [u32; 3] = [20, 21, 22];

/// Major version of LLVM that the C interface in use belongs to.
pub const REQUIRED_MAJOR: u32 = if cfg!(feature = "llvm20") {
    20
} else if cfg!(feature = "llvm21") {
    21
} else {
    22
};

unsafe extern "C" {
    /// One pointer per name, defined beside the trampolines that jump through it.
    static mut dmdprof_llvm_slots: [*const (); NAMES.len()];
}

/// The library in use. There is one per process; it is never unloaded.
#[derive(Clone, Debug)]
pub struct LoadedLlvm {
    pub path: PathBuf,
    pub version: (u32, u32, u32),
}

static LOADED: OnceLock<Result<LoadedLlvm, String>> = OnceLock::new();

/// Opens libLLVM on the first call; later calls return the same answer. Must come before any other use of LLVM.
///
/// # Errors
/// [`Error::NoLlvm`] with what was tried.
pub fn load() -> Result<LoadedLlvm, Error> {
    LOADED.get_or_init(open_first).clone().map_err(Error::NoLlvm)
}

fn open_first() -> Result<LoadedLlvm, String> {
    let mut tried = Vec::new();
    for candidate in candidates(&mut tried) {
        match open(&candidate) {
            Ok(loaded) => return Ok(loaded),
            Err(why) => tried.push(format!("{}: {why}", candidate.display())),
        }
    }
    Err(tried.join("\n  "))
}

fn candidates(tried: &mut Vec<String>) -> Vec<PathBuf> {
    if let Some(given) = env::var_os("DMDPROF_LLVM") {
        let given = PathBuf::from(given);
        let found = if given.is_dir() { libraries_in(&given) } else { vec![given.clone()] };
        if found.is_empty() {
            tried.push(format!("DMDPROF_LLVM={}: no libLLVM in that directory", given.display()));
        }
        return found;
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
    for toolchains in rustup_toolchains() {
        found.extend(libraries_in(&toolchains.join("lib")));
    }
    for dir in sorted_dirs(Path::new("/usr/lib"), "llvm-") {
        found.extend(libraries_in(&dir.join("lib")));
    }
    found
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
        .filter(|e| {
            let name = e.file_name().to_string_lossy().into_owned();
            name.starts_with("libLLVM") && name.contains(".so")
        })
        .map(|e| e.path())
        .filter(|p| starts_with_elf_magic(p))
        .collect();
    found.sort();
    found
}

fn starts_with_elf_magic(path: &Path) -> bool {
    use std::io::Read;
    let mut magic = [0; 4];
    fs::File::open(path).and_then(|mut f| f.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

fn open(path: &Path) -> Result<LoadedLlvm, String> {
    // SAFETY: libLLVM's initialisers have no preconditions; the handle is leaked below, so its symbols stay valid.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|e| e.to_string())?;
    let version = version_of(&library)?;
    if version.0 != REQUIRED_MAJOR {
        let (major, minor, patch) = version;
        return Err(format!(
            "is LLVM {major}.{minor}.{patch}, but LLVM {REQUIRED_MAJOR} is needed{}",
            how_to_use(major)
        ));
    }
    for (slot, name) in NAMES.iter().enumerate() {
        // SAFETY: the symbol is only stored as an address here; its type is the bindings' business.
        let address = unsafe { library.get::<*const ()>(name.as_bytes()) }
            .map_or(missing_function as *const (), |symbol| symbol.into_raw().cast_const().cast());
        // SAFETY: runs once (OnceLock) before any trampoline is used; the slot is within the array.
        unsafe { (&raw mut dmdprof_llvm_slots).cast::<*const ()>().add(slot).write(address) };
    }
    std::mem::forget(library);
    Ok(LoadedLlvm { path: path.to_path_buf(), version })
}

/// How to have a dmdprof for another LLVM, to follow a statement about it.
#[must_use]
pub fn how_to_use(major: u32) -> String {
    if MAJORS.contains(&major) && major != REQUIRED_MAJOR {
        format!(
            " (for LLVM {major}, install dmdprof with: cargo install --path cli --no-default-features --features llvm{major})"
        )
    } else {
        String::new()
    }
}

fn version_of(library: &Library) -> Result<(u32, u32, u32), String> {
    type GetVersion = unsafe extern "C" fn(*mut u32, *mut u32, *mut u32);
    // SAFETY: LLVMGetVersion has had this signature since it was added in LLVM 16.
    let get =
        unsafe { library.get::<GetVersion>(b"LLVMGetVersion") }.map_err(|e| format!("not a usable libLLVM: {e}"))?;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three valid pointers, as the function asks.
    unsafe { get(&raw mut major, &raw mut minor, &raw mut patch) };
    Ok((major, minor, patch))
}

extern "C" fn missing_function() {
    eprintln!(
        "dmdprof: the LLVM library in use lacks a function that is needed; please report this with `dmdprof doctor`'s output"
    );
    std::process::abort();
}
