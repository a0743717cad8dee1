//! Which compilers made the code with hooks.
//!
//! The instrumentation leaves a line per translation unit in the section `.comment`, next to what compilers write there;
//! linkers keep each different line once. Code without hooks (the C library's start files, the hooks themselves) has none.

use std::path::Path;

use dmdprof_instrument::COMPILER_MARK;
use object::{Object, ObjectSection};

/// Compilers of a module, in no order; none if it cannot be read or has lost the section.
#[must_use]
pub fn of_module(path: &Path) -> Vec<String> {
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let comment = object::File::parse(&*bytes).ok().and_then(|f| {
        let section = f.section_by_name(".comment")?;
        section.uncompressed_data().ok().map(|data| data.into_owned())
    });
    let comment = comment.unwrap_or_default();
    let lines = comment.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    lines.filter_map(|line| line.strip_prefix(COMPILER_MARK).map(str::to_owned)).collect()
}
