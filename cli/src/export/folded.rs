//! Folded stacks: one line per call stack, `outer;inner;innermost 123`, for flamegraph.pl, inferno and many others.
//!
//! Takes stacks of one metric. Lines of the source are left out, since the format has no place for them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::stacks::Stacks;
use crate::shared::printable;

pub fn write(stacks: &Stacks, out: &mut impl Write) -> io::Result<()> {
    let names: Vec<String> = stacks.functions.iter().map(|function| frame(&function.name)).collect();
    let mut lines: BTreeMap<String, u128> = BTreeMap::new();
    for stack in stacks.list.iter().filter(|stack| stack.values[0] > 0) {
        let path: Vec<&str> = stack.frames.iter().map(|frame| names[frame.function].as_str()).collect();
        *lines.entry(path.join(";")).or_insert(0) += stack.values[0];
    }
    for (path, value) in lines {
        writeln!(out, "{path} {value}")?;
    }
    Ok(())
}

/// `;` separates frames, so a name's own becomes a colon, as other writers of the format do.
fn frame(name: &str) -> String {
    printable::name(name).replace(';', ":")
}
