//! `dmdprof fuse`: which function's bytes which function reads next, and what it would save if both were one.
//!
//! Takes a profile with flows. A pair is (producer, consumer): bytes that the producer wrote, that nobody else read
//! since, and that the consumer reads. Formula of the saving: `dmdprof_models::fusion`, on every link of the machine
//! with the intermediate bytes that come from beyond the level; they are saved twice, when the producer writes them out
//! and when the consumer fetches them.

use std::collections::{BTreeMap, HashMap};

use anyhow::bail;
use dmdprof_models::fusion;

use super::view::{Choice, View, ViewLink};
use super::workload::{Work, Workloads, did_you_mean, short};
use crate::document::{Cell, Column, Document, Sheet, Value};
use crate::machine::Machine;
use crate::profile::Profile;
use crate::profile::model::{Flow, SiteId};
use crate::report::depths::{Depths, QuantileReader};
use crate::report::{Analysis, Grouping};
use crate::report::{disagreement::disagreement, lines::Moved};

/// What to show.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub choice: Choice,
    pub work: Option<Work>,
    pub top: Option<usize>,
    /// Only pairs with one of these functions.
    pub only: Option<Vec<String>>,
}

/// Flows between two functions, by their numbers among the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pair {
    bytes: u64,
    cost: u128,
    depths: Depths,
}

impl Pair {
    fn add(&mut self, flow: &Flow) {
        self.bytes += flow.bytes;
        self.cost += flow.cost;
        self.depths.add(&flow.histogram);
    }
}

type Pairs = BTreeMap<(usize, usize), Pair>;

/// Flows between functions.
#[derive(Debug, Default)]
struct Between {
    /// (producer, consumer): written by one, read next by another.
    produced: Pairs,
    /// (first reader, second reader): read by one, then by another, neither of which wrote it last.
    shared: Pairs,
    /// By (producer, consumer): what somebody reads again after the consumer, so that it must be written out all the
    /// same.
    later: BTreeMap<(usize, usize), Depths>,
}

/// The whole answer.
///
/// # Errors
/// A profile without flows, or a machine that lacks what is needed.
pub fn document(
    profile: &Profile,
    grouping: Grouping,
    machines: &[Machine],
    options: &Options,
) -> anyhow::Result<Document> {
    let Some(flows) = &profile.flows else {
        bail!("the profile has no flows between functions; they are measured by: dmdprof run --flows");
    };
    let analysis = Analysis::new(profile, grouping);
    let names: Vec<String> = analysis.rows.iter().map(|row| row.name().to_owned()).collect();
    let mut between = between(flows, &analysis);
    if let Some(only) = &options.only {
        let is_wanted = |(a, b): &(usize, usize)| only.contains(&names[*a]) || only.contains(&names[*b]);
        between.produced.retain(|key, _| is_wanted(key));
        between.shared.retain(|key, _| is_wanted(key));
    }
    let choice = options.choice.of_program(profile);
    let (views, left_out) = super::usable(machines, |machine| View::new(machine, choice))?;
    let workloads = Workloads::from_profile(profile, grouping, false);
    let work = options.work.unwrap_or(if workloads.program.work(Work::Flops) > 0 { Work::Flops } else { Work::Ops });
    let savings = views.iter().map(|v| savings(v, &between, &analysis, work)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut document = Document {
        kind: "fuse",
        source: super::source(&profile.meta),
        heading: super::heading(profile),
        ..Document::default()
    };
    document.sheets.push(pairs_sheet(&between.produced, &names, &analysis, &views, &savings, options));
    document.sheets.push(shared_sheet(&between.shared, &names, &analysis, options));
    document.notes = notes(&views);
    document.notes.extend(left_out);
    document.notes.extend(super::unknown_traffic(profile));
    document.notes.extend(disagreement(profile));
    Ok(document)
}

fn between(flows: &[Flow], analysis: &Analysis) -> Between {
    let mut row_of: HashMap<SiteId, usize> = HashMap::new();
    for (row, sites) in analysis.rows.iter().map(|row| &row.sites).enumerate() {
        row_of.extend(sites.iter().map(|site| (*site, row)));
    }
    let row = |site: Option<SiteId>| site.and_then(|site| row_of.get(&site).copied());
    let mut between = Between::default();
    for flow in flows {
        let (writer, toucher, reader) = (row(flow.writer), row(flow.toucher), row(Some(flow.reader)));
        let (Some(toucher), Some(reader)) = (toucher, reader) else { continue };
        if let Some(writer) = writer.filter(|writer| *writer != toucher) {
            between.later.entry((writer, toucher)).or_default().add(&flow.histogram);
        }
        if toucher == reader {
            continue;
        }
        // The writer's own reads in between do not use the bytes up for others.
        let pairs = if writer == Some(toucher) { &mut between.produced } else { &mut between.shared };
        pairs.entry((toucher, reader)).or_default().add(flow);
    }
    between
}

/// What fusing a pair saves on a machine.
#[derive(Clone, Copy, Debug)]
struct Saving {
    seconds: f64,
    speedup: Option<f64>,
    /// Intermediate bytes from beyond the last level.
    beyond: u64,
}

fn savings(view: &View, between: &Between, analysis: &Analysis, work: Work) -> anyhow::Result<Vec<Saving>> {
    let bandwidths: Vec<f64> = view.links.iter().map(|l| l.link.bandwidth).collect();
    let calls = |row: usize| analysis.rows[row].calls.linked.unwrap_or(0) as f64;
    let work_of = |row: usize| {
        let sums = &analysis.rows[row].own;
        (if work == Work::Flops { sums.flops() } else { sums.all_ops() }) as f64
    };
    let beyond =
        |depths: &Depths| -> Vec<f64> { view.links.iter().map(|l| depths.traffic(l.link.capacity) as f64).collect() };
    let size = analysis.profile.line_size();
    let lines = |row: usize| -> Option<Vec<f64>> {
        let size = size?;
        let moved =
            |link: &ViewLink| Moved::from_sums(analysis.rows[row].own.lines(), size, link.link.capacity).all() as f64;
        Some(view.links.iter().map(moved).collect())
    };
    // Never less than what passes between the two.
    let at_least = |moved: Vec<f64>, internal: &[f64]| -> Vec<f64> {
        moved.iter().zip(internal).map(|(moved, internal)| moved.max(*internal)).collect()
    };
    between
        .produced
        .iter()
        .map(|(&(producer, consumer), pair)| {
            let passed = beyond(&pair.depths);
            let later = between.later.get(&(producer, consumer)).map_or_else(|| vec![0.0; passed.len()], beyond);
            // The model removes internal bytes twice, where they are written and where they are read; of what is
            // read again later, only the consumer's first read goes.
            let internal: Vec<f64> =
                passed.iter().zip(&later).map(|(passed, later)| passed - later.min(*passed) / 2.0).collect();
            // What the consumer fetches from beyond a level was written out there by the producer.
            // Lines that are measured have its stores in them.
            let bytes = match lines(producer) {
                Some(moved) => at_least(moved, &internal),
                None => beyond(&analysis.rows[producer].own.depths).iter().zip(&passed).map(|(r, w)| r + w).collect(),
            };
            let nothing = vec![0.0; passed.len()];
            let first = fusion::Tiered { work: work_of(producer), bytes, internal: internal.clone() };
            let bytes = lines(consumer)
                .map_or_else(|| beyond(&analysis.rows[consumer].own.depths), |moved| at_least(moved, &internal));
            let second = fusion::Tiered { work: work_of(consumer), bytes, internal: nothing };
            let found = fusion::hierarchical(view.rate(), &bandwidths, 0.0, &[first, second])?;
            let floor = view.floor.0;
            let unfused = found.unfused + floor * (calls(producer) + calls(consumer));
            let fused = found.fused + floor * calls(producer).max(calls(consumer));
            let beyond = pair.depths.traffic(view.last().link.capacity);
            Ok(Saving { seconds: unfused - fused, speedup: (fused > 0.0).then(|| unfused / fused), beyond })
        })
        .collect()
}

/// A chain of functions as regions on the link from memory, for a memory behind `capacity` bytes: internal bytes are
/// those that a function writes and a later one of the chain reads next.
///
/// # Errors
/// A profile without flows, or functions that are not in it.
pub fn chain(
    profile: &Profile,
    capacity: u64,
    functions: &[&str],
    work: Option<Work>,
) -> anyhow::Result<Vec<fusion::Region>> {
    let Some(flows) = &profile.flows else {
        bail!("the profile has no flows between functions; they are measured by: dmdprof run --flows");
    };
    let analysis = Analysis::new(profile, Grouping::Functions);
    let between = between(flows, &analysis);
    let row = |name: &&str| {
        let found = analysis.rows.iter().position(|row| row.name() == *name || short(row.name()) == *name);
        let near = || did_you_mean(name, analysis.rows.iter().map(|row| row.name()));
        found.ok_or_else(|| anyhow::anyhow!("no function is called {name}{}", near()))
    };
    let rows = functions.iter().map(row).collect::<anyhow::Result<Vec<_>>>()?;
    let any_flops = rows.iter().any(|row| analysis.rows[*row].own.flops() > 0);
    let work = work.unwrap_or(if any_flops { Work::Flops } else { Work::Ops });
    let beyond = |depths: &Depths| depths.traffic(capacity) as f64;
    let region = |(place, producer): (usize, &usize)| {
        let own = &analysis.rows[*producer].own;
        let (mut written, mut internal) = (0.0, 0.0);
        for consumer in &rows[place + 1..] {
            let Some(pair) = between.produced.get(&(*producer, *consumer)) else { continue };
            let passed = beyond(&pair.depths);
            let later = between.later.get(&(*producer, *consumer)).map_or(0.0, beyond);
            written += passed;
            internal += passed - later.min(passed) / 2.0;
        }
        let operations = if work == Work::Flops { own.flops() } else { own.all_ops() };
        fusion::Region { work: operations as f64, bytes: beyond(&own.depths) + written, internal }
    };
    Ok(rows.iter().enumerate().map(region).collect())
}

fn pairs_sheet(
    pairs: &Pairs,
    names: &[String],
    analysis: &Analysis,
    views: &[View],
    savings: &[Vec<Saving>],
    options: &Options,
) -> Sheet {
    let mut columns = flow_columns();
    for view in views {
        let name = &view.machine.name;
        columns.push(Column::new(format!("{name}.beyond"), [name, "beyond"], 1));
        columns.push(Column::new(format!("{name}.saving"), ["fused", "saves"], 0));
        columns.push(Column::new(format!("{name}.speedup"), ["of both", "times"], 0));
    }
    columns.push(Column::new("producer", ["", "written by"], 0));
    columns.push(Column::new("consumer", ["", "next read by"], 0));
    let mut sheet =
        Sheet::new("pairs", "Written by one function, next read by another: candidates for fusion", columns);
    let mut order: Vec<(usize, (usize, usize), &Pair)> =
        pairs.iter().enumerate().map(|(number, (key, pair))| (number, *key, pair)).collect();
    let saving = |number: usize| savings.first().map_or(0.0, |s| s[number].seconds);
    order.sort_by(|a, b| {
        let cost = b.2.cost.cmp(&a.2.cost).then(b.2.bytes.cmp(&a.2.bytes));
        saving(b.0).total_cmp(&saving(a.0)).then(cost).then(names[a.1.0].cmp(&names[b.1.0])).then(a.1.cmp(&b.1))
    });
    let mut reader = QuantileReader::new(analysis.profile.totals.peak_live);
    for (number, (producer, consumer), pair) in sheet.first(&order, options.top) {
        let mut cells = flow_cells(pair, analysis, &mut reader);
        for (view, savings) in views.iter().zip(savings) {
            let guess = view.last().guess || view.compute_guess;
            let saving = savings[*number];
            cells.push(Value::Bytes(saving.beyond.into()).guessed(view.last().guess));
            cells.push(Value::Seconds(saving.seconds).guessed(guess));
            cells.push(Value::or_empty(saving.speedup, Value::Ratio).guessed(guess));
        }
        cells.push(Value::Name(names[*producer].clone()).into());
        cells.push(Value::Name(names[*consumer].clone()).into());
        sheet.row(cells);
    }
    if order.is_empty() {
        sheet.remarks.push("No function reads what another wrote.".into());
    }
    sheet
}

fn flow_columns() -> Vec<Column> {
    vec![
        Column::new("bytes", ["", "bytes"], 0),
        Column::new("read_share", ["of all", "reads"], 1),
        Column::new("cost", ["", "ByteDMD"], 0),
        Column::new("cost_share", ["of all", "cost"], 0),
        Column::new("depth_p50", ["depth", "p50"], 2),
        Column::new("depth_p90", ["depth", "p90"], 1),
    ]
}

/// Values of [`flow_columns`].
fn flow_cells(pair: &Pair, analysis: &Analysis, reader: &mut QuantileReader) -> Vec<Cell> {
    let quantiles = reader.read(&pair.depths);
    vec![
        Value::Bytes(pair.bytes.into()).into(),
        Value::part(pair.bytes as f64, analysis.total.read as f64).into(),
        Value::Count(pair.cost).into(),
        Value::part(pair.cost as f64, analysis.total.cost as f64).into(),
        Value::Bytes(quantiles.p50.into()).into(),
        Value::Bytes(quantiles.p90.into()).into(),
    ]
}

fn shared_sheet(pairs: &Pairs, names: &[String], analysis: &Analysis, options: &Options) -> Sheet {
    let mut columns = flow_columns();
    columns.push(Column::new("first", ["", "read by"], 0));
    columns.push(Column::new("second", ["", "then read by"], 0));
    let title = "Read by one function, then by another: fused, the second read would be near";
    let mut sheet = Sheet::new("shared", title, columns);
    let mut order: Vec<(&(usize, usize), &Pair)> = pairs.iter().collect();
    order.sort_by(|a, b| b.1.cost.cmp(&a.1.cost).then_with(|| a.0.cmp(b.0)));
    let mut reader = QuantileReader::new(analysis.profile.totals.peak_live);
    for ((first, second), pair) in sheet.first(&order, options.top) {
        let mut cells = flow_cells(pair, analysis, &mut reader);
        cells.push(Value::Name(names[*first].clone()).into());
        cells.push(Value::Name(names[*second].clone()).into());
        sheet.row(cells);
    }
    if order.is_empty() {
        sheet.remarks.push("No function reads what another has read.".into());
    }
    sheet
}

fn notes(views: &[View]) -> Vec<String> {
    let mut notes = vec![
        "Each thread has a stack of its own: bytes that pass from one thread to another are not in the tables. Values that pass in \
         registers (arguments, results) are not memory. Whether the order of the loops allows it, the numbers do not say."
            .into(),
    ];
    if views.is_empty() {
        notes.push("Ordered by cost, which fusing would save at most. --machine NAME estimates the time saved.".into());
    } else {
        notes.push(
            "fused saves: time of both functions (compute or the slowest link, whichever is longer) less that of both as one, \
             without the intermediate bytes on each link, which are written out (unless they are read again later) and fetched; with a dispatch floor, also one \
             floor per call saved."
                .into(),
        );
    }
    notes.extend(views.iter().filter_map(|v| v.guesses.sentence(&v.machine.name)));
    notes
}
