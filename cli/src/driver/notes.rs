//! What a program says of how it was linked: names of what has no hooks, and its twin.
//!
//! Takes lines, gives an object that has them in the section from which they are read.

use std::{fs, path::PathBuf};

use anyhow::Context;
use object::write::{Object, StandardSegment};

use super::scratch::Scratch;

/// The line of something without hooks.
#[must_use]
pub fn line(name: &str) -> String {
    format!("{}{name}", dmdprof_runtime::abi::WITHOUT_HOOKS_MARK)
}

/// An object with the lines, for the link; `None` if there are none.
///
/// # Errors
/// When it cannot be written.
pub fn noted(scratch: &Scratch, lines: &[String]) -> anyhow::Result<Option<PathBuf>> {
    if lines.is_empty() {
        return Ok(None);
    }
    let mut object = Object::new(object::BinaryFormat::Elf, object::Architecture::X86_64, object::Endianness::Little);
    let segment = object.segment_name(StandardSegment::Data).to_vec();
    let section = object.add_section(segment, b".comment".to_vec(), object::SectionKind::OtherString);
    // Else the linker takes it for one that needs a stack with code.
    object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), object::SectionKind::Other);
    for line in lines {
        object.append_section_data(section, format!("{line}\0").as_bytes(), 1);
    }
    let path = scratch.file("notes.o");
    let bytes = object.write().context("cannot make an object")?;
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Some(path))
}
