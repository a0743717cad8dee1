//! SARIF 2.1.0: the lines that cost most, as notes that code scanning and editors show at the line.
//!
//! Takes stacks of one metric, gives one result per source line, largest first, at most as many as asked for. Lines are
//! those of the innermost frames. Paths below the repository are relative to it, as code scanning wants them; other
//! absolute paths become `file://` addresses.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::columns::{title, uri};
use super::stacks::Stacks;
use super::target::Options;
use crate::shared::human;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const RULE: &str = "data-movement";

/// What a line is charged with.
struct Charge<'s> {
    file: &'s str,
    line: u32,
    function: &'s str,
    value: u128,
}

pub fn write(stacks: &Stacks, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let results: Vec<Value> =
        charges(stacks).iter().take(options.top).map(|charge| result(stacks, options, charge)).collect();
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "dmdprof",
                "version": stacks.profile.meta.tool_version,
                "rules": [{
                    "id": RULE,
                    "name": "DataMovement",
                    "shortDescription": { "text": "A line that moves much data" },
                    "fullDescription": { "text": format!("{} of the program at this line", stacks.metrics[0].title()) },
                    "defaultConfiguration": { "level": "note" },
                }],
            } },
            "automationDetails": { "description": { "text": title(stacks.profile) } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// Lines, largest first; those of equal value by file and line. Code without a line is left out.
fn charges<'s>(stacks: &'s Stacks) -> Vec<Charge<'s>> {
    let mut by_line: BTreeMap<(&str, u32), (usize, u128)> = BTreeMap::new();
    for stack in &stacks.list {
        let Some(innermost) = stack.frames.last().filter(|frame| frame.line > 0) else { continue };
        let Some(file) = stacks.file(innermost) else { continue };
        let (_, sum) = by_line.entry((file, innermost.line)).or_insert((innermost.function, 0));
        *sum += stack.values[0];
    }
    let charge = |((file, line), (function, value)): ((&'s str, u32), (usize, u128))| Charge {
        file,
        line,
        function: &stacks.functions[function].name,
        value,
    };
    let mut charges: Vec<Charge> = by_line.into_iter().map(charge).filter(|charge| charge.value > 0).collect();
    charges.sort_by_key(|charge| std::cmp::Reverse(charge.value));
    charges
}

fn result(stacks: &Stacks, options: &Options, charge: &Charge) -> Value {
    let metric = stacks.metrics[0];
    let amount = if metric.is_bytes() { human::bytes(charge.value) } else { human::count(charge.value) };
    let share = human::percent(charge.value, stacks.totals[0]);
    json!({
        "ruleId": RULE,
        "ruleIndex": 0,
        "level": "note",
        "message": { "text": format!("{} {amount}, {share} of the program, in {}", metric.title(), charge.function) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(relative(charge.file, options.root.as_deref())) },
                "region": { "startLine": charge.line },
            },
            "logicalLocations": [{ "fullyQualifiedName": charge.function, "kind": "function" }],
        }],
        "properties": { "metric": metric.to_string(), "value": charge.value.to_string() },
    })
}

fn relative<'p>(path: &'p str, root: Option<&Path>) -> &'p str {
    root.and_then(|root| Path::new(path).strip_prefix(root).ok()?.to_str()).unwrap_or(path)
}
