//! `dmdprof.h`, which programs include for regions, inputs and outputs, for compilers that find no installed one.
//!
//! The tool carries it, and gives clang a directory that has it, to be searched after all others. The directory stays,
//! beside the cache of objects, because files of dependencies name it; where there is none, a temporary one serves. For
//! programs without hooks it has the markers, which do nothing there.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context;
use sha2::{Digest, Sha256};

use super::{object_cache::Cache, scratch::Scratch};
use crate::shared::hash::hexadecimal;

const NAME: &str = "dmdprof.h";
const HEADER: &str = include_str!("dmdprof.h");

/// Markers that do nothing, for IR that was made for a build with hooks and calls them. Weak: the header's own come
/// first.
const INERT: &str = "\
    .weak dmdprof_begin, dmdprof_end, dmdprof_input, dmdprof_output
dmdprof_begin:
dmdprof_end:
dmdprof_input:
dmdprof_output:
    ret
    .section .note.GNU-stack,\"\",@progbits
";

/// Clang's words.
///
/// # Errors
/// When the header cannot be written anywhere.
pub fn words(scratch: &Scratch) -> anyhow::Result<[OsString; 2]> {
    if let Some(words) = lasting_words() {
        return Ok(words);
    }
    let directory = scratch.file("include");
    write(&directory).with_context(|| format!("cannot write {}", directory.display()))?;
    Ok(option(directory))
}

/// Clang's words for the header in the directory that stays; `None` where there is none.
#[must_use]
pub fn lasting_words() -> Option<[OsString; 2]> {
    let root = Cache::of_user().ok()??.root().to_path_buf();
    // Each version has its own, which may be in use.
    let version = hexadecimal(&Sha256::digest(HEADER)[..8]);
    let directory = root.join("include").join(version);
    write(&directory).ok()?;
    Some(option(directory))
}

/// A source with the markers that do nothing.
///
/// # Errors
/// When it cannot be written.
pub fn inert(scratch: &Scratch) -> anyhow::Result<PathBuf> {
    let markers = scratch.file("markers.s");
    fs::write(&markers, INERT).with_context(|| format!("cannot write {}", markers.display()))?;
    Ok(markers)
}

fn option(directory: PathBuf) -> [OsString; 2] {
    ["-idirafter".into(), directory.into()]
}

/// Writes it whole or not at all, unless it is there.
fn write(directory: &Path) -> io::Result<()> {
    let path = directory.join(NAME);
    if fs::read(&path).is_ok_and(|found| found == HEADER.as_bytes()) {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    let new = tempfile::NamedTempFile::new_in(directory)?;
    fs::write(new.path(), HEADER)?;
    fs::set_permissions(new.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    new.persist(path)?;
    Ok(())
}
