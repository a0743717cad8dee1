//! `dmdprof place`: on which of several machines each call of a measured sequence should run.
//!
//! Takes a profile with a call sequence and machines that state what launching and moving in cost. Formula:
//! `dmdprof_models::placement`. Work and bytes of a call are the averages over all calls of the callee by the function
//! whose sequence it is, with all that they call.

use std::collections::BTreeMap;
use std::str::FromStr;

use anyhow::bail;
use dmdprof_models::placement::{Allowed, BACKENDS, Backend, Operation, place};

use super::guesses::Guesses;
use super::view::Choice;
use super::workload::{Work, did_you_mean, short};
use crate::document::{Cell, Column, Document, Sheet, Value};
use crate::machine::Machine;
use crate::profile::Profile;
use crate::profile::model::{ContextId, FunctionId, Merge, Sequence};
use crate::report::depths::Depths;
use crate::report::{
    disagreement::disagreement,
    lines::{LineSums, Moved},
};
use crate::shared::{human, names};

/// `FUNCTION=MACHINE[,MACHINE...]`: where a function may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    pub function: String,
    pub machines: Vec<String>,
}

impl FromStr for Allow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (function, machines) =
            text.rsplit_once('=').ok_or_else(|| format!("{text}: write FUNCTION=MACHINE[,MACHINE...]"))?;
        Ok(Allow { function: function.into(), machines: machines.split(',').map(Into::into).collect() })
    }
}

/// What to show.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub choice: Choice,
    pub work: Option<Work>,
    pub top: Option<usize>,
    /// Whose sequence; else the only one.
    pub sequence: Option<String>,
    pub allow: Vec<Allow>,
}

/// Calls that are placed at most; their choices are kept in memory.
const MOST_CALLS: u64 = 1 << 24;

/// What is known of a callee.
#[derive(Clone, Debug, Default)]
struct Callee {
    name: String,
    calls: u64,
    work: u128,
    depths: Depths,
    /// Lines moved, and the bytes of one, if they were measured.
    lines: LineSums,
    line: Option<u32>,
}

/// The whole answer.
///
/// # Errors
/// No sequence in the profile, machines that lack what is needed, names that are not there, too long a sequence.
pub fn document(profile: &Profile, machines: &[Machine], options: &Options) -> anyhow::Result<Document> {
    let sequence = choose(profile, options.sequence.as_deref())?;
    let total: u64 = sequence.calls.iter().map(|(_, n)| n).sum();
    if total == 0 {
        bail!("{} made no calls of functions with hooks", name(profile, sequence.function));
    }
    if total > MOST_CALLS {
        bail!(
            "the sequence has {} calls; at most {} can be placed",
            human::grouped(total.into()),
            human::grouped(MOST_CALLS.into())
        );
    }
    let callees = callees(profile, sequence, options.work);
    let mut guesses = Guesses::default();
    let backends = backends(machines, options.choice.of_program(profile), &mut guesses)?;
    let capacity = capacity(machines, options.choice, &mut guesses)?;
    let operations = operations(sequence, &callees, capacity, machines, &options.allow)?;
    let placement = place(&backends, &operations)?;

    let mut document = Document {
        kind: "place",
        source: super::source(&profile.meta),
        heading: super::heading(profile),
        ..Document::default()
    };
    let chosen = chosen(sequence, &placement.assignment);
    document.sheets.push(functions_sheet(&callees, &chosen, &backends, machines, capacity, options));
    document.sheets.push(whole_sheet(&placement.forced, placement.cost, machines, sequence, profile));
    document.sheets.push(stretches_sheet(&placement, sequence, &callees, machines, options));
    document.notes = vec![format!(
        "Each call is the average over all calls of its function here: work, and {} {} of fast memory. A ranking, not a forecast: {}.",
        if profile.line_size().is_some() { "lines fetched and written back by" } else { "bytes from beyond" },
        human::bytes(capacity.into()),
        "the rates are peaks, and launching and moving in cost the same whatever is moved"
    )];
    if sequence.omitted > 0 {
        document
            .notes
            .push(format!("{} calls after the recorded ones are not in it.", human::grouped(sequence.omitted.into())));
    }
    document.notes.extend(super::unknown_traffic(profile));
    document.notes.extend(disagreement(profile));
    document.notes.extend(guesses.sentence("these machines"));
    Ok(document)
}

fn name(profile: &Profile, function: FunctionId) -> String {
    names::demangle(profile.symbol(function))
}

fn choose<'p>(profile: &'p Profile, wanted: Option<&str>) -> anyhow::Result<&'p Sequence> {
    if profile.sequences.is_empty() {
        bail!("the profile has no call sequence; one is measured by: dmdprof run --sequence FUNCTION");
    }
    let all: Vec<(String, &Sequence)> = profile.sequences.iter().map(|s| (name(profile, s.function), s)).collect();
    let known = || all.iter().map(|(name, _)| name.as_str());
    let found: Vec<&(String, &Sequence)> = match wanted {
        None => all.iter().collect(),
        Some(wanted) => all.iter().filter(|(name, _)| name == wanted || short(name) == wanted).collect(),
    };
    match found[..] {
        [] => bail!(
            "the profile has no sequence of {}{}",
            wanted.unwrap_or_default(),
            did_you_mean(wanted.unwrap_or_default(), known())
        ),
        // Sequences of other threads are of the same function or named by the user; the longest says most.
        _ if wanted.is_some() || found.len() == 1 => {
            let longest = found.iter().max_by_key(|(_, s)| s.calls.iter().map(|(_, n)| n).sum::<u64>());
            Ok(longest.expect("not empty").1)
        }
        _ => bail!("the profile has several sequences; --sequence can be {}", known().collect::<Vec<_>>().join(", ")),
    }
}

/// Work and depths of the callees of a function, with all that they call.
fn callees(profile: &Profile, sequence: &Sequence, work: Option<Work>) -> BTreeMap<FunctionId, Callee> {
    let mut callees: BTreeMap<FunctionId, Callee> = BTreeMap::new();
    for (function, calls) in &sequence.calls {
        let callee =
            callees.entry(*function).or_insert_with(|| Callee { name: name(profile, *function), ..Callee::default() });
        callee.calls += calls;
    }
    let owner = owners(profile, sequence.function);
    let mut lines: BTreeMap<FunctionId, LineSums> = BTreeMap::new();
    let mut measured: BTreeMap<FunctionId, (u64, u128, u128, Depths)> = BTreeMap::new();
    for (i, context) in profile.contexts.iter().enumerate() {
        let is_call = context.parent.is_some_and(|p| profile.contexts[p.index()].function == Some(sequence.function));
        if let (true, Some(function)) = (is_call, owner[i]) {
            measured.entry(function).or_default().0 += context.calls;
        }
    }
    for cell in &profile.cells {
        if let Some(function) = owner[cell.context.index()] {
            measured.entry(function).or_default().3.add(&cell.depths);
            let moved = cell.lines.iter().flat_map(|lines| lines.first());
            moved.for_each(|moved| lines.entry(function).or_default().merge(moved));
        }
    }
    for count in &profile.block_counts {
        let Some(function) = owner[count.context.index()] else { continue };
        let sums = measured.entry(function).or_default();
        for (_, ops) in &profile.blocks[count.block.index()].ops {
            let mut of_block = crate::report::Sums::default();
            of_block.add_ops(count.executions, ops);
            sums.1 += of_block.flops();
            sums.2 += of_block.all_ops();
        }
    }
    let any_flops = measured.values().any(|m| m.1 > 0);
    let work = work.unwrap_or(if any_flops { Work::Flops } else { Work::Ops });
    for (function, callee) in &mut callees {
        let (calls, flops, ops, depths) = measured.remove(function).unwrap_or_default();
        callee.work = if work == Work::Flops { flops } else { ops };
        callee.depths = depths;
        callee.lines = lines.remove(function).unwrap_or_default();
        callee.line = profile.line_size();
        // Calls of other threads are in the profile's sums too, and so must be in the number they are divided by.
        callee.calls = calls.max(1);
    }
    callees
}

/// For each context the callee that its numbers are part of: the innermost call by `function` on its path.
fn owners(profile: &Profile, function: FunctionId) -> Vec<Option<FunctionId>> {
    let mut owner: Vec<Option<FunctionId>> = Vec::with_capacity(profile.contexts.len());
    for context in &profile.contexts {
        let parent = context.parent.map(ContextId::index);
        owner.push(match parent {
            Some(p) if profile.contexts[p].function == Some(function) => context.function,
            Some(p) => owner[p],
            None => None,
        });
    }
    owner
}

fn backends(machines: &[Machine], choice: Choice, guesses: &mut Guesses) -> anyhow::Result<Vec<Backend>> {
    let model = "the placement";
    if machines.len() > BACKENDS {
        bail!("at most {BACKENDS} machines can be compared");
    }
    let of = |machine: &Machine| -> anyhow::Result<Backend> {
        let kind = choice.kind_on(machine, guesses);
        let peak = machine.peak_of(kind, model)?;
        let (efficiency, _) = choice.efficiency_on(machine, guesses);
        let bandwidth = machine.need(&machine.memory.bandwidth, "memory.bandwidth", model)?;
        let launch = machine.need(&machine.launch, "placement.launch", model)?;
        let transfer_in = machine.need(&machine.transfer_in, "placement.transfer_in", model)?;
        for (what, figure) in
            [("peak", peak), ("bandwidth", bandwidth), ("launch", launch), ("transfer in", transfer_in)]
        {
            guesses.note(&format!("{what} of {}", machine.name), figure);
        }
        Ok(Backend {
            peak: peak.value * efficiency,
            bandwidth: bandwidth.value,
            launch: launch.value,
            transfer_in: transfer_in.value,
        })
    };
    machines.iter().map(of).collect()
}

/// Fast memory beyond which bytes are moved: the smallest last level of the machines, or what the user said.
fn capacity(machines: &[Machine], choice: Choice, guesses: &mut Guesses) -> anyhow::Result<u64> {
    if let Some(capacity) = choice.capacity {
        guesses.assumed(format!("{capacity} B of fast memory"));
        return Ok(capacity);
    }
    let smallest = machines.iter().filter_map(|m| m.levels.last()).map(|l| l.capacity.value as u64).min();
    match smallest {
        Some(capacity) => Ok(capacity),
        None => bail!(
            "none of the machines states a level with a capacity, so how much a call has to fetch from memory cannot be told; \
             --assume-capacity SIZE says how much fast memory to assume"
        ),
    }
}

fn operations(
    sequence: &Sequence,
    callees: &BTreeMap<FunctionId, Callee>,
    capacity: u64,
    machines: &[Machine],
    allow: &[Allow],
) -> anyhow::Result<Vec<Operation>> {
    for rule in allow {
        let known = || callees.values().map(|c| c.name.as_str());
        if !known().any(|name| name == rule.function || short(name) == rule.function) {
            bail!(
                "--allow {}: it is not called in the sequence{}",
                rule.function,
                did_you_mean(&rule.function, known())
            );
        }
        if let Some(name) = rule.machines.iter().find(|name| !machines.iter().any(|m| m.name == **name)) {
            bail!("--allow {}: {name} is not one of the machines", rule.function);
        }
    }
    let allowed = |callee: &Callee| {
        let rule = allow.iter().rfind(|r| callee.name == r.function || short(&callee.name) == r.function);
        rule.map_or(Allowed::ALL, |rule| {
            let wanted = |m: &Machine| rule.machines.contains(&m.name);
            let numbers = machines.iter().enumerate().filter(|(_, m)| wanted(m)).map(|(i, _)| i);
            numbers.fold(Allowed::NONE, Allowed::with_backend)
        })
    };
    let mut operations = Vec::new();
    for (function, times) in &sequence.calls {
        let callee = &callees[function];
        let operation = Operation {
            work: callee.work_per_call(),
            bytes: callee.bytes_per_call(capacity),
            allowed: allowed(callee),
        };
        operations.extend(std::iter::repeat_n(operation, *times as usize));
    }
    Ok(operations)
}

impl Callee {
    fn work_per_call(&self) -> f64 {
        self.work as f64 / self.calls as f64
    }

    fn bytes_per_call(&self, capacity: u64) -> f64 {
        let bytes = match self.line {
            Some(size) => Moved::from_sums(&self.lines, size, capacity).all(),
            None => self.depths.traffic(capacity),
        };
        bytes as f64 / self.calls as f64
    }
}

/// How many calls of each function go to each machine.
fn chosen(sequence: &Sequence, assignment: &[u8]) -> BTreeMap<FunctionId, BTreeMap<u8, u64>> {
    let mut chosen: BTreeMap<FunctionId, BTreeMap<u8, u64>> = BTreeMap::new();
    let mut rest = assignment;
    for (function, times) in &sequence.calls {
        let (run, after) = rest.split_at(*times as usize);
        rest = after;
        let of = chosen.entry(*function).or_default();
        run.iter().for_each(|backend| *of.entry(*backend).or_default() += 1);
    }
    chosen
}

fn functions_sheet(
    callees: &BTreeMap<FunctionId, Callee>,
    chosen: &BTreeMap<FunctionId, BTreeMap<u8, u64>>,
    backends: &[Backend],
    machines: &[Machine],
    capacity: u64,
    options: &Options,
) -> Sheet {
    let mut columns = vec![
        Column::new("calls", ["", "calls"], 0),
        Column::new("work", ["work", "per call"], 0),
        Column::new("bytes", ["bytes", "per call"], 0),
    ];
    columns.extend(machines.iter().map(|m| Column::new(format!("seconds.{}", m.name), ["time on", &m.name], 1)));
    columns.push(Column::new("target", ["", "best on"], 0));
    columns.push(Column::new("name", ["", "function"], 0));
    let mut sheet = Sheet::new("functions", "Best machine of each function in the sequence", columns);
    let mut rows: Vec<(u64, Vec<Cell>)> = Vec::new();
    for (function, targets) in chosen {
        let callee = &callees[function];
        let calls: u64 = targets.values().sum();
        let (work, bytes) = (callee.work_per_call(), callee.bytes_per_call(capacity));
        let mut cells: Vec<Cell> = vec![
            Value::Count(calls.into()).into(),
            Value::Count(work as u128).into(),
            Value::Bytes(bytes as u128).into(),
        ];
        cells.extend(backends.iter().map(|b| Value::Seconds((work / b.peak).max(bytes / b.bandwidth)).guessed(true)));
        let mut best: Vec<(&u8, &u64)> = targets.iter().collect();
        best.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let words = best.iter().map(|(backend, n)| {
            let name = &machines[usize::from(**backend)].name;
            if best.len() == 1 { name.clone() } else { format!("{name} ({n} calls)") }
        });
        cells.push(Value::Text(words.collect::<Vec<_>>().join(", ")).into());
        cells.push(Value::Name(callee.name.clone()).into());
        rows.push((calls, cells));
    }
    rows.sort_by_key(|(calls, _)| std::cmp::Reverse(*calls));
    for (_, cells) in sheet.first(&rows, options.top) {
        sheet.row(cells.iter().cloned());
    }
    sheet
}

fn whole_sheet(
    forced: &[Option<f64>],
    best: f64,
    machines: &[Machine],
    sequence: &Sequence,
    profile: &Profile,
) -> Sheet {
    let columns = vec![
        Column::new("target", ["", "all on"], 0),
        Column::new("seconds", ["", "time"], 0),
        Column::new("ratio", ["times", "the best"], 0),
    ];
    let title = format!("The calls of {}, placed best and forced on one machine", name(profile, sequence.function));
    let mut sheet = Sheet::new("forced", title, columns);
    let ratio = |seconds: f64| if best > 0.0 { Value::Ratio(seconds / best) } else { Value::Empty };
    sheet.row([Value::Text("(best)".into()).into(), Value::Seconds(best).guessed(true), ratio(best).guessed(true)]);
    for (machine, seconds) in machines.iter().zip(forced) {
        sheet.row([
            Value::Text(machine.name.clone()).into(),
            Value::or_empty(*seconds, Value::Seconds).guessed(true),
            Value::or_empty(*seconds, ratio).guessed(true),
        ]);
    }
    if forced.iter().any(Option::is_none) {
        sheet.remarks.push("-: not everything may run there.".into());
    }
    sheet
}

fn stretches_sheet(
    placement: &dmdprof_models::placement::Placement,
    sequence: &Sequence,
    callees: &BTreeMap<FunctionId, Callee>,
    machines: &[Machine],
    options: &Options,
) -> Sheet {
    let columns = vec![
        Column::new("first", ["first", "call"], 0),
        Column::new("calls", ["", "calls"], 0),
        Column::new("target", ["", "on"], 0),
        Column::new("functions", ["", "functions"], 0),
    ];
    let mut sheet = Sheet::new("stretches", "Stretches of calls that stay on one machine", columns);
    let ends: Vec<(u64, FunctionId)> = sequence
        .calls
        .iter()
        .scan(0, |end, (function, times)| {
            *end += times;
            Some((*end, *function))
        })
        .collect();
    let stretches = placement.stretches();
    for stretch in sheet.first(&stretches, options.top) {
        let from = ends.partition_point(|(end, _)| *end <= stretch.operations.start as u64);
        let to = ends.partition_point(|(end, _)| *end < stretch.operations.end as u64);
        let mut functions: Vec<&str> = Vec::new();
        for (_, function) in &ends[from..=to.min(ends.len() - 1)] {
            let name = short(&callees[function].name);
            if !functions.contains(&name) {
                functions.push(name);
            }
        }
        sheet.row([
            Value::Count(stretch.operations.start as u128 + 1),
            Value::Count(stretch.operations.len() as u128),
            Value::Text(machines[stretch.backend].name.clone()),
            Value::Name(functions.join(", ")),
        ]);
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_a_function_and_machines() {
        let rule: Allow = "a::gather=gpu,cpu".parse().unwrap();
        assert_eq!((rule.function.as_str(), rule.machines), ("a::gather", vec!["gpu".to_owned(), "cpu".to_owned()]));
        assert!("gather".parse::<Allow>().is_err());
    }
}
