//! The format of Callgrind, for KCachegrind, QCachegrind and `callgrind_annotate`.
//!
//! Takes stacks, gives functions with the cost of each of their lines, and calls with what they and all below them
//! cost. The format knows callers and callees, not whole calling contexts. Inlined functions are functions here, called
//! once per line, since nobody counts how often inlined code is entered. Format: Valgrind's manual, chapter "Callgrind
//! Format Specification".

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use super::columns::{Columns, title};
use super::stacks::{Edge, FunctionIndex, Stacks};
use crate::shared::printable;

/// A line in a file; the file is `???` where it is not known, as in Callgrind's own output.
type FileLine<'s> = (&'s str, u32);

const UNKNOWN_FILE: &str = "???";

/// What is charged to one function.
#[derive(Default)]
struct Node<'s> {
    lines: BTreeMap<FileLine<'s>, Vec<u128>>,
    /// By the line that calls and the callee.
    calls: BTreeMap<(FileLine<'s>, FunctionIndex), Vec<u128>>,
}

pub fn write(stacks: &Stacks, out: &mut impl Write) -> io::Result<()> {
    let columns = Columns::for_stacks(stacks);
    head(stacks, &columns, out)?;
    for (function, node) in nodes(stacks) {
        write_node(stacks, &columns, function, &node, out)?;
    }
    writeln!(out, "\ntotals: {}", numbers(&columns.values(&stacks.totals)))
}

fn head(stacks: &Stacks, columns: &Columns, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# callgrind format\nversion: 1\ncreator: dmdprof {}", stacks.profile.meta.tool_version)?;
    writeln!(out, "cmd: {}", printable::name(&stacks.profile.meta.command.join(" ")))?;
    writeln!(out, "desc: {}", printable::name(&title(stacks.profile)))?;
    writeln!(out, "positions: line")?;
    let events: Vec<String> = columns.names.iter().map(|name| event(name)).collect();
    for (metric, event) in stacks.metrics.iter().zip(&events) {
        writeln!(out, "event: {event} : {}", metric.title())?;
    }
    writeln!(out, "events: {}", events.join(" "))?;
    writeln!(out, "summary: {}", numbers(&columns.values(&stacks.totals)))
}

/// Events are words: `Q(32KiB)` becomes `Q_32KiB`.
fn event(name: &str) -> String {
    name.replace('(', "_").replace(')', "")
}

fn nodes<'s>(stacks: &'s Stacks) -> BTreeMap<FunctionIndex, Node<'s>> {
    let mut nodes: BTreeMap<FunctionIndex, Node> = BTreeMap::new();
    for stack in &stacks.list {
        let place = |at: usize| {
            let frame = &stack.frames[at];
            (stacks.file(frame).unwrap_or(UNKNOWN_FILE), stacks.line(frame))
        };
        let last = stack.frames.len() - 1;
        let lines = &mut nodes.entry(stack.frames[last].function).or_default().lines;
        add(lines.entry(place(last)).or_default(), &stack.values);
        // A call that is on the stack several times, by recursion, includes what is below it once.
        let mut counted = HashSet::new();
        for at in 0..last {
            let callee = stack.frames[at + 1].function;
            let calls = &mut nodes.entry(stack.frames[at].function).or_default().calls;
            if counted.insert((stack.frames[at].function, place(at), callee)) {
                add(calls.entry((place(at), callee)).or_default(), &stack.values);
            }
        }
    }
    nodes
}

fn add(sums: &mut Vec<u128>, values: &[u128]) {
    sums.resize(values.len(), 0);
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

fn write_node(
    stacks: &Stacks,
    columns: &Columns,
    function: FunctionIndex,
    node: &Node,
    out: &mut impl Write,
) -> io::Result<()> {
    let own_file = file_of(stacks, function);
    writeln!(out, "\nfl={}\nfn={}", printable::name(own_file), printable::name(&stacks.functions[function].name))?;
    let mut at = own_file;
    for ((file, line), values) in &node.lines {
        change_file(&mut at, file, own_file, out)?;
        writeln!(out, "{line} {}", numbers(&columns.values(values)))?;
    }
    // Several lines may call the same function; how often each did is not known, so the first has the count.
    let mut counted = HashSet::new();
    for (((file, line), callee), values) in &node.calls {
        change_file(&mut at, file, own_file, out)?;
        let known = stacks.calls.get(&Edge { caller: function, callee: *callee }).copied();
        let calls = if counted.insert(*callee) { known.unwrap_or(1).max(1) } else { 1 };
        let target = &stacks.functions[*callee];
        writeln!(out, "cfi={}\ncfn={}", printable::name(file_of(stacks, *callee)), printable::name(&target.name))?;
        writeln!(out, "calls={calls} {}\n{line} {}", target.line, numbers(&columns.values(values)))?;
    }
    Ok(())
}

/// Says where the next lines are, unless that was said.
fn change_file<'s>(at: &mut &'s str, file: &'s str, own: &str, out: &mut impl Write) -> io::Result<()> {
    if *at == file {
        return Ok(());
    }
    *at = file;
    writeln!(out, "{}={}", if file == own { "fe" } else { "fi" }, printable::name(file))
}

fn file_of<'s>(stacks: &'s Stacks, function: FunctionIndex) -> &'s str {
    stacks.functions[function].file.as_deref().unwrap_or(UNKNOWN_FILE)
}

fn numbers(values: &[u64]) -> String {
    values.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}
