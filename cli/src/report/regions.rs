//! Declared regions: what each read, computed and kept alive, as a table and as JSON. Of the values model.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell};
use dmdprof_runtime::histogram::bounds;
use serde::Serialize;

use super::analysis::OP_NAMES;
use super::style::{Style, left, plain_table, print, right};
use crate::profile::model::{Histogram, Profile, Region, ValuesMeta};
use crate::shared::human;

/// A region in the JSON report.
#[derive(Serialize)]
pub struct JsonRegion<'a> {
    name: &'a str,
    times: u64,
    reads: u64,
    bytes_read: u64,
    escapes: u64,
    cost: u128,
    instructions: u64,
    ops: serde_json::Map<String, serde_json::Value>,
    span: u64,
    span_outputs: u64,
    peak_live: u64,
    input_bytes: u64,
    inputs: &'static str,
    unfinished: u64,
    unread_inputs: u64,
    unread_bytes: u64,
    early_reads: u64,
    /// Bytes read deeper than each power of two, up to the deepest read.
    deeper: Vec<JsonDeeper>,
    /// [smallest depth, largest depth, bytes read].
    histogram: Vec<[u64; 3]>,
}

#[derive(Serialize)]
struct JsonDeeper {
    capacity: u64,
    bytes: u64,
}

#[must_use]
pub fn json(region: &Region) -> JsonRegion<'_> {
    JsonRegion {
        name: &region.name,
        times: region.times,
        reads: region.reads,
        bytes_read: region.bytes_read,
        escapes: region.escapes,
        cost: region.cost,
        instructions: region.instructions,
        ops: OP_NAMES.iter().zip(region.ops).map(|(name, n)| ((*name).to_owned(), n.into())).collect(),
        span: region.span,
        span_outputs: region.span_outputs,
        peak_live: region.peak_live,
        input_bytes: region.input_bytes,
        inputs: if region.first_use_inputs { "first use" } else { "declared" },
        unfinished: region.unfinished,
        unread_inputs: region.unread_inputs,
        unread_bytes: region.unread_bytes,
        early_reads: region.early_reads,
        deeper: deeper(&region.depths).map(|(capacity, bytes)| JsonDeeper { capacity, bytes }).collect(),
        histogram: region
            .depths
            .depths
            .iter()
            .map(|&(bucket, bytes)| {
                let (low, high) = bounds(bucket);
                [low, high, bytes]
            })
            .collect(),
    }
}

/// Bytes read deeper than Z, at Z = 0, 1, 2, 4, ... up to where there are none.
fn deeper(histogram: &Histogram) -> impl Iterator<Item = (u64, u64)> + '_ {
    let beyond = |capacity: u64| -> u64 {
        histogram.depths.iter().filter(|(bucket, _)| bounds(*bucket).0 > capacity).map(|(_, bytes)| bytes).sum()
    };
    let capacities = std::iter::once(0).chain((0..64).map(|k| 1u64 << k));
    let mut last = u64::MAX;
    capacities.map(move |z| (z, beyond(z))).take_while(move |(_, bytes)| std::mem::replace(&mut last, *bytes) > 0)
}

/// How values were sized and priced.
#[must_use]
pub fn sizes(values: &ValuesMeta) -> String {
    let size = values
        .bytes_per_element
        .map_or_else(|| "each value of its type's size".into(), |n| human::plural(u64::from(n), "byte") + " per value");
    let fma = if values.fma_is_one { "one instruction" } else { "two instructions" };
    format!(" ({size}, fma {fma})")
}

/// Orders `n=4` before `n=16`: runs of digits by their number, the rest as text.
fn natural(name: &str) -> Vec<(String, u128)> {
    let pieces = name.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let piece = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.parse().map_or((text, 0), |number| (String::new(), number))
    };
    pieces.map(piece).collect()
}

/// The table of regions; nothing if there are none.
pub fn write(profile: &Profile, style: &Style, out: &mut impl Write) -> io::Result<()> {
    if profile.regions.is_empty() {
        return Ok(());
    }
    let mut table = plain_table(style);
    let header = ["ByteDMD", "reads", "escapes", "instructions", "span", "peak live", "inputs", "times"].map(right);
    let header = header.into_iter().chain([left("region")]);
    table.set_header(header.map(|cell| cell.add_attribute(Attribute::Bold)).collect::<Vec<Cell>>());
    let mut regions: Vec<&Region> = profile.regions.iter().collect();
    regions.sort_by_cached_key(|region| natural(&region.name));
    for region in regions {
        let n = |n: u64| right(&human::grouped(u128::from(n)));
        table.add_row(vec![
            right(&human::grouped(region.cost)),
            n(region.reads),
            n(region.escapes),
            n(region.instructions),
            n(region.span),
            right(&human::bytes(u128::from(region.peak_live))),
            right(&human::bytes(u128::from(region.input_bytes))),
            n(region.times),
            left(&region.name),
        ]);
    }
    writeln!(out, "\n{}", style.heading("Regions"))?;
    print(&table, "", out)?;
    for region in &profile.regions {
        for note in notes(region) {
            writeln!(out, "{}: {note}", region.name)?;
        }
    }
    Ok(())
}

/// What a reader of the numbers must know.
fn notes(region: &Region) -> Vec<String> {
    let mut notes = Vec::new();
    if region.first_use_inputs {
        notes.push(
            "no inputs were declared (dmdprof_input), so that they entered at the bottom of the stack in order of first use"
                .to_owned(),
        );
    }
    if region.unfinished > 0 {
        notes.push("did not end before the program did; priced up to there".to_owned());
    }
    if region.reads == 0 {
        notes.push(
            "nothing was read: all that it computes derives from constants, and memory that no dmdprof_input declares holds \
             constants if the program wrote it; declare inputs between writing them and dmdprof_begin"
                .to_owned(),
        );
    }
    if region.unread_inputs > 0 {
        notes.push(format!(
            "{} of {} in all never read; wrong address or length?",
            human::plural(region.unread_inputs, "declared input"),
            human::bytes(u128::from(region.unread_bytes)),
        ));
    }
    if region.early_reads > 0 {
        notes.push(format!(
            "{} of what had been loaded from an input before dmdprof_begin, and so counted as a constant; load it in the region",
            human::plural(region.early_reads, "read"),
        ));
    }
    notes
}
