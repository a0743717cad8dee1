//! Opens libLLVM while the program runs.
//!
//! Takes the candidates that [`super::find`] gives, gives a [`LoadedLlvm`]; refuses with the list of places it looked
//! at. LLVM [`OLDEST`] to [`NEWEST`] will do: what older ones lack of the C interface is made up for in
//! [`super::older`].

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::{
    find::{NEWEST, OLDEST, candidates},
    older,
};

include!(concat!(env!("OUT_DIR"), "/trampolines.rs"));

unsafe extern "C" {
    /// One pointer per name, defined beside the trampolines that jump through it.
    static mut dmdprof_llvm_slots: [*const (); NAMES.len()];
}

/// The library in use. There is one per process; it is never unloaded.
#[derive(Clone, Debug)]
pub struct LoadedLlvm {
    /// The file.
    pub path: PathBuf,
    /// The newest compiler whose bitcode it reads.
    pub major: u32,
    /// As far as it tells: `19.1.7`, or `14`.
    pub version: String,
}

/// No library can be used, with the places that were looked at.
#[derive(Clone, Debug, thiserror::Error)]
#[error(
    "no usable libLLVM was found.\n  {0}\nFor C and C++, install clang from the system's packages (apt install clang), \
     which brings one. For Rust, install a toolchain with rustup, whose own is used. Or set DMDPROF_LLVM to a libLLVM \
     of version {OLDEST} to {NEWEST} or its directory"
)]
pub struct NoLlvm(String);

static LOADED: OnceLock<Result<LoadedLlvm, NoLlvm>> = OnceLock::new();

/// Opens libLLVM on the first call; later calls return the same answer. Must come before any other use of LLVM.
///
/// # Errors
/// With what was tried.
pub fn load() -> Result<LoadedLlvm, NoLlvm> {
    LOADED.get_or_init(|| open_first().map_err(NoLlvm)).clone()
}

/// Major version of the LLVM in use, or of the one that would be, without opening it; that of the newest if there is
/// none.
#[must_use]
pub fn major() -> u32 {
    static BY_NAME: OnceLock<Option<u32>> = OnceLock::new();
    match LOADED.get() {
        Some(Ok(loaded)) => loaded.major,
        _ => BY_NAME.get_or_init(|| candidates(&mut Vec::new()).first()?.major).unwrap_or(NEWEST),
    }
}

fn open_first() -> Result<LoadedLlvm, String> {
    let mut tried = Vec::new();
    for candidate in candidates(&mut tried) {
        match open(&candidate.path) {
            Ok(loaded) => return Ok(loaded),
            Err(why) => tried.push(format!("{}: {why}", candidate.path.display())),
        }
    }
    Err(tried.join("\n  "))
}

fn open(path: &Path) -> Result<LoadedLlvm, String> {
    // SAFETY: libLLVM's initialisers have no preconditions; the handle is leaked below, so its symbols stay valid.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|e| e.to_string())?;
    let (major, version) = version_of(&library)?;
    if !(OLDEST..=NEWEST).contains(&major) {
        return Err(format!("is LLVM {version}, but only LLVM {OLDEST} to {NEWEST} can be used"));
    }
    for (slot, name) in NAMES.iter().enumerate() {
        let own = address_in(&library, name);
        let address = older::stand_in(name, major, own).or(own).unwrap_or(missing_function as *const ());
        // SAFETY: runs once (OnceLock) before any trampoline is used; the slot is within the array.
        unsafe { (&raw mut dmdprof_llvm_slots).cast::<*const ()>().add(slot).write(address) };
    }
    older::set_up(major);
    std::mem::forget(library);
    Ok(LoadedLlvm { path: path.to_path_buf(), major, version })
}

fn address_in(library: &Library, name: &str) -> Option<*const ()> {
    // SAFETY: the symbol is only stored as an address here; its type is the bindings' business.
    let symbol = unsafe { library.get::<*const ()>(name.as_bytes()) };
    symbol.ok().map(|symbol| symbol.into_raw().cast_const().cast())
}

fn version_of(library: &Library) -> Result<(u32, String), String> {
    type GetVersion = unsafe extern "C" fn(*mut u32, *mut u32, *mut u32);
    // SAFETY: LLVMGetVersion has had this signature since it was added in LLVM 16.
    if let Ok(get) = unsafe { library.get::<GetVersion>(b"LLVMGetVersion") } {
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: three valid pointers, as the function asks.
        unsafe { get(&raw mut major, &raw mut minor, &raw mut patch) };
        return Ok((major, format!("{major}.{minor}.{patch}")));
    }
    // Each of these functions came with the version beside it.
    let first = [(15, "LLVMPointerTypeInContext"), (14, "LLVMGetGEPSourceElementType"), (13, "LLVMContextCreate")];
    let found = first.into_iter().find(|(_, name)| address_in(library, name).is_some());
    match found {
        Some((13, _)) => Ok((13, "13 or older".into())),
        Some((major, _)) => Ok((major, major.to_string())),
        None => Err("has not the functions of a libLLVM".into()),
    }
}

extern "C" fn missing_function() {
    eprintln!(
        "dmdprof: the LLVM library in use lacks a function that is needed; please report this with `dmdprof doctor`'s output"
    );
    std::process::abort();
}
