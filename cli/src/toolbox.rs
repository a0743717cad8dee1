//! Gives the driver what it needs from the rest of the product: the instrumentation and the hooks.

use std::{
    ffi::OsString,
    fs::Permissions,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::Context;
use dmdprof_instrument::{Model, llvm};
use dmdprof_runtime::hooks_object::{HOOKS_OBJECT, HOOKS_SHARED};
use tempfile::TempPath;

use crate::driver::{self, Face, Instrumenter, Request, Toolbox, scratch};

/// Set to 0, loops get a record per iteration: slower, and nothing else changes.
const LOOPS_VARIABLE: &str = "DMDPROF_LOOP_RECORDS";

/// The instrumentation of this product.
struct Hooks;

impl Instrumenter for Hooks {
    fn instrument(&self, request: &Request) -> anyhow::Result<()> {
        let loop_records = request.loop_records && loop_records();
        dmdprof_instrument::instrument_file(&Request { loop_records, ..*request })?;
        Ok(())
    }

    fn compile(&self, ir: &Path, object: &Path, opt_level: u8) -> anyhow::Result<()> {
        Ok(dmdprof_instrument::compile_file(ir, object, opt_level)?)
    }
}

/// Whether loops of one block get one record for all iterations.
#[must_use]
pub fn loop_records() -> bool {
    std::env::var_os(LOOPS_VARIABLE).is_none_or(|value| value != "0")
}

/// Everything the driver needs, with IR dumps if wanted, for hooks of this model.
#[must_use]
pub fn toolbox(dump_ir: Option<&Path>, model: Model) -> Toolbox<'_> {
    Toolbox { instrumenter: &Hooks, model, hooks_object: HOOKS_OBJECT, llvm_major: llvm::major, dump_ir }
}

/// Directory for the IR before and after, for `dmdprof cc` and `c++`, whose arguments are all clang's.
const DUMP_VARIABLE: &str = "DMDPROF_DUMP_IR";

/// `dmdprof cc` and `dmdprof c++`.
///
/// # Errors
/// None of its own: the driver prints its errors and returns the exit code.
pub fn compile(face: Face, arguments: &[OsString]) -> anyhow::Result<i32> {
    let dump = std::env::var_os(DUMP_VARIABLE);
    Ok(driver::execute::compile(
        face,
        arguments,
        &toolbox(dump.as_deref().map(Path::new), driver::rust_link::requested_model()),
    ))
}

/// The C or C++ compiler of a crate's build script: with hooks if it compiles for the target, else clang alone.
///
/// # Errors
/// When there is no clang.
pub fn compile_for_crate(face: Face, arguments: &[OsString]) -> anyhow::Result<i32> {
    if driver::cargo::compiles_for_target() {
        let twin = driver::wrap_environment::makes_twins().then(|| OsString::from(driver::twin::OPTION));
        return compile(face, &[arguments, twin.as_slice()].concat());
    }
    driver::execute::run(driver::clang::find(face, llvm::major)?.command().args(arguments))
}

/// What Cargo calls in place of rustc.
#[must_use]
pub fn rustc_wrap(arguments: &[OsString]) -> i32 {
    driver::rustc_wrap::main(arguments, &toolbox(None, Model::Memory))
}

/// The linker that rustc calls.
#[must_use]
pub fn rust_link(arguments: &[OsString]) -> i32 {
    driver::rust_link::link(arguments, &toolbox(None, driver::rust_link::requested_model()))
}

/// Writes the hooks as a shared library, for programs without hooks that load libraries with hooks. Every user may load
/// it, because the program may start processes of others.
///
/// # Errors
/// When there is no temporary directory from which code may be loaded, or it cannot be written.
pub fn preload_library() -> anyhow::Result<TempPath> {
    library("dmdprof-hooks-", HOOKS_SHARED)
}

/// Writes a shared library that every user may load, to a file whose name begins so.
///
/// # Errors
/// As [`preload_library`].
pub fn library(prefix: &str, bytes: &[u8]) -> anyhow::Result<TempPath> {
    let directory = scratch::directory_for_programs().context(scratch::NO_PROGRAMS)?;
    let mut file = tempfile::Builder::new()
        .prefix(prefix)
        .suffix(".so")
        .permissions(Permissions::from_mode(0o755))
        .tempfile_in(std::path::absolute(directory)?)
        .context("cannot create a temporary file for the hooks")?;
    // Whatever the umask says.
    file.as_file().set_permissions(Permissions::from_mode(0o755))?;
    file.write_all(bytes).context("cannot write the hooks to a temporary file")?;
    Ok(file.into_temp_path())
}

/// Writes a shared library that every user may load, to a file that stays and has one name each time, as whoever is
/// told the name may look at each of its characters. If something else has that name, to one that goes.
///
/// # Errors
/// As [`preload_library`].
pub fn library_by_content(prefix: &str, bytes: &[u8]) -> anyhow::Result<Library> {
    use std::os::unix::fs::MetadataExt;
    let written = library(prefix, bytes)?;
    let name = format!("{prefix}{:08x}-{}.so", crc32fast::hash(bytes), rustix::process::geteuid().as_raw());
    let path = written.with_file_name(name);
    let is_it = || {
        let metadata = std::fs::symlink_metadata(&path).ok()?;
        let is_own = metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw();
        let is_safe = is_own && metadata.mode() & 0o777 == 0o755;
        (is_safe && std::fs::read(&path).ok()? == bytes).then_some(())
    };
    if is_it().is_some() {
        return Ok(Library { path, _written: None });
    }
    match written.persist_noclobber(&path) {
        Ok(()) => Ok(Library { path, _written: None }),
        // Another run may have been quicker.
        Err(_) if is_it().is_some() => Ok(Library { path, _written: None }),
        Err(error) => Ok(Library { path: error.path.to_path_buf(), _written: Some(error.path) }),
    }
}

/// A file with a library.
pub struct Library {
    /// Where it is.
    pub path: PathBuf,
    /// Until when, if it goes.
    _written: Option<TempPath>,
}
