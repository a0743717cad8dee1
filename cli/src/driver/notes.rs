//! Names of what a program was linked with and has no hooks, kept in the program.
//!
//! Takes the names, gives an object that has them in the section from which reports read them.

use std::{fs, path::PathBuf};

use anyhow::Context;
use object::write::{Object, StandardSegment};

use super::scratch::Scratch;

/// An object with the names, for the link; `None` if there are none.
///
/// # Errors
/// When it cannot be written.
pub fn named(scratch: &Scratch, names: &[String]) -> anyhow::Result<Option<PathBuf>> {
    if names.is_empty() {
        return Ok(None);
    }
    let mut object = Object::new(object::BinaryFormat::Elf, object::Architecture::X86_64, object::Endianness::Little);
    let segment = object.segment_name(StandardSegment::Data).to_vec();
    let section = object.add_section(segment, b".comment".to_vec(), object::SectionKind::OtherString);
    for name in names {
        let line = format!("{}{name}\0", dmdprof_runtime::abi::WITHOUT_HOOKS_MARK);
        object.append_section_data(section, line.as_bytes(), 1);
    }
    let path = scratch.file("without-hooks.o");
    let bytes = object.write().context("cannot make an object")?;
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Some(path))
}
