//! Stacks as CSV: one row per call stack and line, with all metrics as exact integers.
//!
//! The column `stack` holds the functions from the thread's start, joined by ` > `.

use std::io::{self, Write};

use super::stacks::Stacks;
use crate::shared::printable::csv_cell;

pub fn write(stacks: &Stacks, out: &mut impl Write) -> io::Result<()> {
    // The crate's own conversion hides which error it was.
    records(stacks, out).map_err(|error| match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    })
}

fn text(name: &str) -> String {
    csv_cell(name).into_owned()
}

fn records(stacks: &Stacks, out: &mut impl Write) -> csv::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let mut head: Vec<String> = ["stack", "function", "symbol", "file", "line"].map(str::to_string).to_vec();
    head.extend(stacks.metrics.iter().map(ToString::to_string));
    csv.write_record(head)?;
    for stack in &stacks.list {
        let names: Vec<&str> =
            stack.frames.iter().map(|frame| stacks.functions[frame.function].name.as_str()).collect();
        let Some(innermost) = stack.frames.last() else { continue };
        let line = if innermost.line == 0 { String::new() } else { innermost.line.to_string() };
        let mut record = vec![
            text(&names.join(" > ")),
            text(names[names.len() - 1]),
            text(&stacks.functions[innermost.function].symbol),
            text(stacks.file(innermost).unwrap_or_default()),
            line,
        ];
        record.extend(stack.values.iter().map(u128::to_string));
        csv.write_record(record)?;
    }
    Ok(csv.flush()?)
}
