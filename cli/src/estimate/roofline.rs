//! `dmdprof roofline`: time of each function on each machine, what binds it, and how far traffic must fall to change
//! that.
//!
//! Takes what can be estimated and machines, gives a document with one table per machine and, for several, one across
//! them. Formulas: `dmdprof_models::roofline`, `stages`, `energy`.

use anyhow::Context;
use dmdprof_models::roofline::{Bound, estimate};
use dmdprof_models::{energy, fidelity::Pair, stages};

use super::charts;
use super::fidelity::{self, Calibration};
use super::levels;
use super::line::Line;
use super::stacks::Stacks;
use super::times::Times;
use super::view::{Choice, View, ViewLink, float_type, is_guess, link_name};
use super::waits;
use super::workload::{Kind, Work, Workload, Workloads};
use crate::document::{Cell, Column, Document, Sheet, Value};
use crate::machine::{Figure, Machine, MissingField, WritePolicy};
use crate::plot::Chart;
use crate::profile::Profile;
use crate::report::analysis::OP_NAMES;
use crate::report::cycles::{bounds, gains_nothing};
use crate::report::disagreement::disagreement;
use crate::shared::human;

/// What to show.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub choice: Choice,
    /// Which operations are the work; else floating-point ones, in the values model all.
    pub work: Option<Work>,
    /// Functions are with all that they call.
    pub inclusive: bool,
    /// Inputs are not taken as resident.
    pub cold: bool,
    /// Functions per table, besides the program; the others are left out.
    pub top: Option<usize>,
    pub times: Option<Times>,
    pub calibration: Option<Calibration>,
}

impl Options {
    /// Rows per table: the program is one of its own.
    fn rows(&self) -> Option<usize> {
        self.top.map(|functions| functions + 1)
    }
}

/// Which operations are the work of a profile.
///
/// # Errors
/// When none were counted.
pub fn work_of(profile: &Profile, workloads: &Workloads, asked: Option<Work>) -> anyhow::Result<Work> {
    let has = |work| workloads.program.work(work) > 0;
    // Of programs of integers, their operations are the work.
    let usual = if profile.meta.values.is_some() || !has(Work::Flops) { Work::Ops } else { Work::Flops };
    let work = asked.unwrap_or(usual);
    let advice = if has(Work::Ops) { "; --work ops counts integer operations and comparisons too" } else { "" };
    let none = "so there is no work to set against the traffic";
    anyhow::ensure!(has(work), "the profile counts no {}s, {none}{advice}", work.unit());
    Ok(work)
}

/// Estimates of one workload on one machine, without the floor: by the machine's core, if it is the first that
/// followed.
///
/// # Errors
/// Figures of the machine that the model cannot use.
pub fn line<'s>(view: &View, workload: &'s Workload, work: Work) -> anyhow::Result<Line<'s>> {
    let links = view.bare_links();
    let roof = view.roof(&links);
    let over = |link: &ViewLink| match link.write {
        WritePolicy::Back => workload.reads_on(link.stack).traffic(link.link.capacity) as f64,
        WritePolicy::Through => workload.reads_on(link.stack).traffic_through(link.link.capacity) as f64,
    };
    let traffic: Vec<f64> = view.links.iter().map(over).collect();
    let work = workload.work(work) as f64;
    let mut estimate =
        estimate(&roof, work, &traffic, 0.0).with_context(|| format!("machine {}", view.machine.name))?;
    let core = workload.on_core(&view.machine.name).filter(|core| core.causes.is_some());
    if let Some(core) = core {
        (estimate.total, estimate.target) = (core.seconds, None);
    }
    Ok(Line { workload, work, traffic, estimate, core, share: 0.0 })
}

/// Program first, then regions, then functions, the longest times first; workloads without work and traffic are left
/// out.
///
/// # Errors
/// Those of [`line`].
pub fn lines<'s>(view: &View, workloads: &'s Workloads, work: Work, inclusive: bool) -> anyhow::Result<Vec<Line<'s>>> {
    let program = line(view, &workloads.program, work)?;
    let of = |list: &'s [Workload]| -> anyhow::Result<Vec<Line<'s>>> {
        let mut lines = list.iter().map(|s| line(view, s, work)).collect::<anyhow::Result<Vec<_>>>()?;
        lines.retain(|l| l.work > 0.0 || l.workload.read() > 0);
        lines.sort_by(|a, b| {
            let place = |l: &Line<'s>| (&l.workload.name, &l.workload.place);
            b.estimate.total.total_cmp(&a.estimate.total).then_with(|| place(a).cmp(&place(b)))
        });
        Ok(lines)
    };
    let mut regions = of(&workloads.regions)?;
    let mut functions = of(&workloads.functions)?;
    let whole = program.estimate.total;
    let all: f64 = functions.iter().map(|l| l.estimate.total).sum();
    let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
    regions.iter_mut().for_each(|l| l.share = share(l.estimate.total, whole));
    functions.iter_mut().for_each(|l| l.share = share(l.estimate.total, if inclusive { whole } else { all }));
    Ok(std::iter::once(Line { share: 1.0, ..program }).chain(regions).chain(functions).collect())
}

/// The whole answer, and the chart of each machine.
///
/// # Errors
/// A machine that lacks what is needed, no work, times of nothing in the profile.
pub fn document(
    profile: &Profile,
    workloads: &Workloads,
    machines: &[Machine],
    options: &Options,
) -> anyhow::Result<(Document, Vec<Chart>)> {
    let work = work_of(profile, workloads, options.work)?;
    if let Some(times) = &options.times {
        times.check("in the profile", workloads.all().map(|s| s.name.as_str()))?;
    }
    let choice = options.choice.of_program(profile);
    let (views, left_out) = super::usable(machines, |machine| View::new(machine, choice))?;
    let mut document = Document {
        kind: "roofline",
        source: super::source(&profile.meta),
        heading: super::heading(profile),
        ..Document::default()
    };
    let all = views.iter().map(|v| lines(v, workloads, work, options.inclusive)).collect::<anyhow::Result<Vec<_>>>()?;
    if let [_, _, ..] = views[..] {
        document.sheets.push(across(&views, &all[0], work, options)?);
    }
    let mut charts = Vec::new();
    for (view, lines) in views.iter().zip(&all) {
        let pairs = pairs(lines, options);
        charts.push(charts::roofline(view, lines, work_header(work)));
        let fitted = fitted(lines, options);
        document.sheets.push(main_sheet(view, lines, &fitted, work, options));
        document.sheets.extend(levels::sheet(view, &lines[0]));
        // A core knows what waits.
        let waits = || waits::sheet(profile, view, lines, options.rows());
        document.sheets.extend(if lines[0].core.is_none() { waits() } else { None });
        document.sheets.extend(dispatch_sheet(view, lines, options)?);
        document.sheets.push(energy_sheet(view, lines, options)?);
        let without_time = lines.len() - pairs.len();
        document.sheets.extend(fidelity::sheet(
            &view.machine.name,
            &pairs,
            options.calibration.map(|how| (how, &fitted[..])),
            without_time,
        ));
    }
    document.notes = notes(profile, &views, work);
    document.notes.insert(1, inputs_note(profile, options.cold));
    document.notes.extend(left_out);
    Ok((document, charts))
}

/// `compute`, or the link's name.
#[must_use]
pub fn bound_name(view: &View, bound: Bound) -> String {
    match bound {
        Bound::Compute => "compute".into(),
        Bound::Link(link) => link_name(view, link),
    }
}

/// What takes the time of a line, and whether that is a guess.
#[must_use]
pub fn bound_of(view: &View, line: &Line) -> (String, bool) {
    match line.core {
        Some(core) => (core.bound(), core.guess),
        None => (bound_name(view, line.estimate.bound), is_guess(view, line.estimate.bound)),
    }
}

/// In the order of the first machine's lines.
fn across(views: &[View], first: &[Line], work: Work, options: &Options) -> anyhow::Result<Sheet> {
    let mut columns = vec![Column::new("name", ["", "function"], 0)];
    for view in views {
        let name = &view.machine.name;
        columns.push(Column::new(format!("{name}.seconds"), [name, "time"], 0));
        columns.push(Column::new(format!("{name}.bound"), ["", "bound"], 1));
    }
    let mut sheet = Sheet::new("across", "Estimated times across machines", columns);
    for of_first in sheet.first(first, options.rows()) {
        let mut cells: Vec<Cell> = vec![Value::Name(of_first.workload.name.clone()).into()];
        for view in views {
            let line = line(view, of_first.workload, work)?;
            let (bound, guess) = bound_of(view, &line);
            cells.push(Value::Seconds(line.estimate.total).guessed(guess));
            cells.push(Value::Text(bound).into());
        }
        sheet.row(cells);
    }
    Ok(sheet)
}

fn main_sheet(view: &View, lines: &[Line], fitted: &[Pair], work: Work, options: &Options) -> Sheet {
    let machine = view.machine;
    let title = format!("{}: {} ({}, {})", machine.name, machine.title, view.kind, human::rate(view.rate()));
    let mut sheet = Sheet::new(machine.name.clone(), title, main_columns(view, work, options));
    let fit = options.calibration.and_then(|how| how.fit(fitted));
    for line in sheet.first(lines, options.rows()) {
        let mut cells = main_cells(view, line);
        if let Some(times) = &options.times {
            let time = times.time_of(&line.workload.name);
            cells.push(Value::or_empty(time, Value::Seconds).into());
            cells.push(Value::or_empty(time, |t| Value::Share(line.estimate.total / t - 1.0)).into());
        }
        if options.calibration.is_some() {
            let fit = fit.as_ref().filter(|_| line.workload.kind != Kind::Program);
            cells.push(Value::or_empty(fit.map(|fit| fit.predict(line.estimate.total)), Value::Seconds).guessed(true));
        }
        sheet.row(cells);
    }
    sheet.remarks.extend(lines.iter().skip(1).take(3).filter_map(|line| advice(view, line, options.cold)));
    sheet
}

fn main_columns(view: &View, work: Work, options: &Options) -> Vec<Column> {
    let mut columns = vec![
        Column::new("kind", ["", "kind"], 9),
        Column::new("share", ["", "share"], 0),
        Column::new("seconds", ["", "time"], 0),
        Column::new("bound", ["", "bound"], 0),
        Column::new("bound_traffic", ["traffic", "of it"], 1),
        Column::new("target_traffic", ["once", "below"], 2),
        Column::new("target_bound", ["bound", "next"], 2),
        Column::new("work", ["", work_header(work)], 0),
    ];
    let per_byte = format!("{}/B", work.unit());
    for link in &view.links {
        columns.push(Column::new(format!("intensity.{}", link.level), [&per_byte, &link.level], 3));
    }
    columns.push(Column::new("seconds.compute", ["time of", "compute"], 4));
    for (i, link) in view.links.iter().enumerate() {
        columns.push(Column::new(format!("seconds.{}", link.level), ["time of", &link_name(view, i)], 4));
    }
    for link in &view.links {
        columns.push(Column::new(format!("traffic.{}", link.level), ["traffic", &format!("at {}", link.level)], 8));
    }
    columns.extend(OP_NAMES.iter().map(|class| Column::new(format!("ops.{class}"), ["", *class], 7)));
    columns.push(Column::new("calls", ["", "calls"], 6));
    columns.push(Column::new("name", ["", "function"], 0));
    columns.push(Column::new("place", ["", "defined at"], 5));
    if options.times.is_some() {
        columns.push(Column::new("measured", ["measured", "time"], 0));
        columns.push(Column::new("error", ["", "error"], 0));
    }
    if options.calibration.is_some() {
        columns.push(Column::new("calibrated", ["calibrated", "time"], 0));
    }
    columns
}

fn work_header(work: Work) -> &'static str {
    match work {
        Work::Flops => "flops",
        Work::Ops => "ops",
    }
}

fn main_cells(view: &View, line: &Line) -> Vec<Cell> {
    let (workload, found) = (line.workload, &line.estimate);
    let (bound, guess) = bound_of(view, line);
    let bytes = |x: f64| Value::Bytes(x as u128);
    let traffic = match found.bound {
        Bound::Link(link) if line.core.is_none() => bytes(line.traffic[link]),
        _ => Value::Empty,
    };
    let target_guess = guess || found.target.is_some_and(|t| is_guess(view, t.next));
    let mut cells: Vec<Cell> = vec![
        Value::Text(workload.kind.word().into()).into(),
        Value::Share(line.share).guessed(guess),
        Value::Seconds(found.total).guessed(guess),
        if found.total > 0.0 { Value::Text(bound) } else { Value::Empty }.into(),
        traffic.into(),
        Value::or_empty(found.target, |t| bytes(t.traffic)).guessed(target_guess),
        Value::or_empty(found.target, |t| Value::Text(bound_name(view, t.next))).into(),
        Value::Count(line.work as u128).into(),
    ];
    cells.extend(found.intensities.iter().map(|i| Cell::from(Value::or_empty(*i, Value::Ratio))));
    cells.push(Value::Seconds(found.compute).guessed(view.compute_guess));
    cells.extend(found.links.iter().zip(&view.links).map(|(t, l)| Value::Seconds(*t).guessed(l.guess)));
    cells.extend(line.traffic.iter().map(|t| Cell::from(bytes(*t))));
    cells.extend(workload.sums.ops.iter().map(|n| Cell::from(Value::Count(*n))));
    cells.push(Value::or_empty(workload.calls, Value::Count).into());
    cells.push(Value::Name(workload.name.clone()).into());
    cells.push(Value::or_empty(workload.place.clone(), Value::Name).into());
    cells
}

/// What would help, in words.
fn advice(view: &View, line: &Line, cold: bool) -> Option<String> {
    let (name, found) = (&line.workload.name, &line.estimate);
    if line.share < 0.05 {
        return None;
    }
    // What another core says of chains and branches holds here too.
    let waits = &line.workload.sums.cycles;
    if line.core.is_some() || gains_nothing(waits).is_some() {
        return bounds(name, waits).map(|text| format!("{text}."));
    }
    let (floor, _) = view.floor;
    if let Some(calls) = line.workload.calls.filter(|calls| floor * *calls as f64 > found.total) {
        let (time, floor) = (human::seconds(found.total), human::seconds(floor));
        return Some(match calls {
            1 => format!(
                "{name} is bound by its dispatch, were its one call one: {time} is less than the floor of {floor}."
            ),
            calls => format!(
                "{name} is bound by its dispatches, were each of its {} calls one: {time} is less than their floor of {floor} each.",
                human::grouped(calls)
            ),
        });
    }
    let Bound::Link(link) = found.bound else {
        let resident = match line.traffic.iter().all(|traffic| *traffic == 0.0) && line.workload.read() > 0 && !cold {
            true => " All that it reads fits and is taken as resident; --cold fetches its inputs.",
            false => "",
        };
        return Some(format!(
            "{name} is bound by compute, as far as a roof knows: it has no chains and no branches, which dmdprof run --cycles \
             shows.{resident}"
        ));
    };
    let bytes = |x: f64| human::bytes(x as u128);
    let link_words = format!("{} ({} now)", link_name(view, link), bytes(line.traffic[link]));
    Some(match found.target {
        Some(target) => format!(
            "{name} is bound by {link_words}; with less than {} there it is bound by {}, and up to {:.1} times as fast.",
            bytes(target.traffic),
            bound_name(view, target.next),
            line.traffic[link] / target.traffic,
        ),
        None => {
            format!("{name} is bound by {link_words}, and nothing else takes time: half the traffic is half the time.")
        }
    })
}

/// Calls as dispatches, for machines where each costs something.
fn dispatch_sheet(view: &View, lines: &[Line], options: &Options) -> anyhow::Result<Option<Sheet>> {
    let (floor, floor_guess) = view.floor;
    if floor == 0.0 {
        return Ok(None);
    }
    let device = stages::Device {
        rate: view.rate(),
        bandwidth: view.last().link.bandwidth,
        floor,
        setup: view.machine.setup.as_ref().map_or(0.0, |s| s.value),
    };
    let columns = vec![
        Column::new("calls", ["", "calls"], 0),
        Column::new("compute", ["compute", "per call"], 1),
        Column::new("memory", ["memory", "per call"], 1),
        Column::new("floor", ["floor", "per call"], 2),
        Column::new("per_call", ["time", "per call"], 0),
        Column::new("seconds", ["all", "calls"], 0),
        Column::new("bound", ["", "bound"], 0),
        Column::new("least_batch", ["batch", "at least"], 0),
        Column::new("name", ["", "function"], 0),
    ];
    let title = format!("{}: each call a dispatch with a floor of {}", view.machine.name, human::seconds(floor));
    let mut sheet = Sheet::new(format!("{}.dispatch", view.machine.name), title, columns);
    let guess = floor_guess || view.compute_guess || view.last().guess;
    let counted = lines.iter().filter_map(|l| Some((l, l.workload.calls.filter(|n| *n > 0)?)));
    for (line, calls) in counted.take(options.rows().unwrap_or(usize::MAX)) {
        let bytes = line.traffic.last().copied().unwrap_or(0.0);
        let dispatch =
            stages::Dispatch { work: line.work / calls as f64, sparsity: 0.0, bytes: bytes / calls as f64, inputs: 0 };
        let latency = stages::estimate(&device, &dispatch)?;
        let bound = match latency.bound {
            stages::Bound::Dispatch => "dispatch",
            stages::Bound::Bandwidth => "bandwidth",
            stages::Bound::Compute => "compute",
        };
        sheet.row([
            Value::Count(calls).into(),
            Value::Seconds(latency.compute).guessed(view.compute_guess),
            Value::Seconds(latency.memory).guessed(view.last().guess),
            Value::Seconds(latency.floor).guessed(floor_guess),
            Value::Seconds(latency.total).guessed(guess),
            Value::Seconds(latency.total * calls as f64).guessed(guess),
            Value::Text(bound.into()).into(),
            Value::or_empty(latency.least_batch(), |k| Value::Count(k.into())).guessed(guess),
            Value::Name(line.workload.name.clone()).into(),
        ]);
    }
    if device.setup > 0.0 {
        sheet.remarks.push(format!(
            "The setup of {} per input of a dispatch is not in it: how many inputs a call has, a profile does not say.",
            human::seconds(device.setup)
        ));
    }
    sheet.remarks.push(
        "batch at least: as many calls in one dispatch keep the machine busy for longer than the floor. Bytes are the traffic \
         from memory; what an offload would have to copy first is not in it."
            .into(),
    );
    Ok(Some(sheet))
}

/// Shares of energy; without rows, and with the reason, if the machine does not state its energies.
fn energy_sheet(view: &View, lines: &[Line], options: &Options) -> anyhow::Result<Sheet> {
    let machine = view.machine;
    let mut columns = vec![Column::new("operations", ["", "operations"], 0)];
    columns.extend(view.links.iter().map(|l| Column::new(l.level.clone(), ["from", &l.level], 0)));
    columns.push(Column::new("memory", ["from", "memory"], 0));
    columns.push(Column::new("movement", ["all", "movement"], 0));
    columns.push(Column::new("name", ["", "function"], 0));
    let title = format!("{}: where the energy goes", machine.name);
    let mut sheet = Sheet::new(format!("{}.energy", machine.name), title, columns);
    let Energies { operation, addition, levels, memory } = match energies(view) {
        Ok(energies) => energies,
        Err(missing) => {
            sheet.title = String::new();
            sheet.remarks.push(format!("No shares of energy: {missing}."));
            return Ok(sheet);
        }
    };
    let prices = energy::Prices { operation: operation.value, levels: &levels, memory: memory.value };
    for line in lines.iter().take(options.rows().unwrap_or(usize::MAX)) {
        let work = charged(line, addition.map_or(1.0, |addition| addition.value / operation.value));
        // Whole lines and write-backs can be more than what the code reads; the nearest level then serves nothing
        // beyond them.
        let nearest = line.traffic.first().map_or(0.0, |traffic| *traffic);
        let joules = energy::by_level(&prices, work, (line.workload.read() as f64).max(nearest), &line.traffic)?;
        let total = joules.total();
        let parts = [joules.operations].into_iter().chain(joules.levels.iter().copied()).chain([joules.memory]);
        // Joules of other machines than the one they were measured on mislead; shares much less.
        let share = |part: f64| Value::part(part, total).guessed(true);
        let mut cells: Vec<Cell> = parts.map(share).collect();
        cells.push(share(joules.movement()));
        cells.push(Value::Name(line.workload.name.clone()).into());
        sheet.row(cells);
    }
    sheet.remarks.push(match addition {
        Some(_) => "A fused multiply-add is charged as one multiplication; additions have a price of their own.".into(),
        None => "A fused multiply-add is charged as one operation; additions cost as much as multiplications, as the machine states no other price.".into(),
    });
    sheet.remarks.push(format!(
        "Shares rest on energies per operation and per byte ({}: {}; memory: {}: {}); as joules they would mislead. \
         Bytes nearer than {} are charged to it.",
        operation.confidence, operation.source, memory.confidence, memory.source, view.links[0].level
    ));
    Ok(sheet)
}

/// J per operation and per addition, per byte from each level, and per byte from memory.
struct Energies<'m> {
    /// Of a multiplication, with or without an addition.
    operation: &'m Figure,
    addition: Option<&'m Figure>,
    levels: Vec<f64>,
    memory: &'m Figure,
}

/// Multiplications that a workload's work is worth: a multiply-add is two operations of the work, and one
/// multiplication; an addition is `addition` of one.
fn charged(line: &Line, addition: f64) -> f64 {
    let [additions, _, fused, ..] = line.workload.sums.ops.map(|ops| ops as f64);
    line.work - fused - additions * (1.0 - addition)
}

fn energies<'m>(view: &View<'m>) -> Result<Energies<'m>, MissingField> {
    let (machine, model) = (view.machine, "the energy model");
    let operation = machine.op_energy_of(view.kind, model)?;
    let memory = machine.need(&machine.memory.energy, "memory.energy", model)?;
    let level = |number: usize| {
        let name = &view.links[number].level;
        let energy = machine.levels.iter().find(|level| level.name == *name).map_or(&None, |level| &level.energy);
        machine.need(energy, &format!("level[{number}].energy"), model).map(|figure| figure.value)
    };
    let levels = (0..view.links.len()).map(level).collect::<Result<_, _>>()?;
    Ok(Energies { operation, addition: machine.addition_energy.get(&view.kind), levels, memory })
}

/// Of lines that have a measured time.
fn pairs<'l>(lines: impl IntoIterator<Item = &'l Line<'l>>, options: &Options) -> Vec<Pair> {
    let Some(times) = &options.times else { return Vec::new() };
    let pair = |l: &Line| Some(Pair { estimate: l.estimate.total, measured: times.time_of(&l.workload.name)? });
    lines.into_iter().filter_map(pair).collect()
}

/// What times are corrected by: functions and regions. How one estimate relates to a time says nothing of the sum of
/// many.
fn fitted(lines: &[Line], options: &Options) -> Vec<Pair> {
    pairs(lines.iter().filter(|line| line.workload.kind != Kind::Program), options)
}

/// What memory the traffic is of.
fn levels_note(profile: &Profile) -> String {
    let overlap = "Estimates: the longest of compute and of each link, as if all of them overlapped.";
    match profile.line_size() {
        Some(size) => format!(
            "{overlap} Traffic is lines of {size} B, fetched and written back by levels that are fully associative LRU, begin empty and write back what changed at the end: no \
             conflicts, no prefetch; first touches are in it at every level."
        ),
        None => format!(
            "{overlap} The levels are ideal: fully associative LRU in which what dies frees its place, no lines, no conflicts, no wasted prefetch, no \
             write-back; a real machine moves more. A profile of `dmdprof run --line-size 64` has lines and write-backs."
        ),
    }
}

/// Where inputs are when something begins.
fn inputs_note(profile: &Profile, cold: bool) -> String {
    match (cold, &profile.flows) {
        (false, _) => {
            "What fits into a level is taken as resident, inputs too: what other functions touched before costs nothing. --cold fetches them."
        }
        (true, Some(_)) => {
            "Inputs are not resident: bytes that nobody, or another function, touched last before they are read come over every link. \
             Regions are as without --cold."
        }
        (true, None) => {
            "Inputs that nobody touched before come over every link; what other functions left is taken as resident, as the profile does not \
             know it: dmdprof run --flows measures that."
        }
    }
    .into()
}

/// Of which type the rates are.
fn rates_of(profile: &Profile) -> String {
    match float_type(profile) {
        Some((kind, share)) => format!(
            "{} of the program's floating-point operations are {kind}: so is the rate, unless the machine states none for it or --type says \
             otherwise.",
            human::share(share)
        ),
        None => {
            "The profile does not know the type of operands; the rate is the machine's usual one, or that of --type."
                .into()
        }
    }
}

/// What to know about estimates from this profile on these machines.
#[must_use]
pub fn notes(profile: &Profile, views: &[View], work: Work) -> Vec<String> {
    let mut notes = vec![levels_note(profile)];
    notes.extend(super::unknown_traffic(profile).filter(|_| profile.line_size().is_none()));
    notes.extend(disagreement(profile));
    let what = match work {
        Work::Flops => {
            "floating-point operations, a fused multiply-add as two; integer operations are not in it (--work ops)"
        }
        Work::Ops => "all operations: floating-point (a fused multiply-add as two), integer, comparisons",
    };
    notes.push(format!("Work is {what}. {}", rates_of(profile)));
    if profile.coverage.threads > 1 {
        let whose = match Stacks::from_profile(profile) {
            Stacks { shared: false, .. } => "each has a stack of its own",
            Stacks { alone: true, .. } => "each has a stack of its own, and they share others",
            _ => "they share stacks",
        };
        notes.push(format!("{} threads: {whose}; their work and traffic are added.", profile.coverage.threads));
    }
    let core = profile.cycles.as_ref().and_then(|cycles| cycles.cores.first());
    for view in views {
        notes.extend(view.stacks.missing(view.machine));
        let name = &view.machine.name;
        if core.is_some_and(|core| core.name == *name) {
            notes.push(format!(
                "{name}: times are those of its core, which followed the program, one thread after the other; a roof has neither chains nor \
                 branches. Functions are without what they call."
            ));
        }
        if view.efficiency == 1.0 {
            notes.push(format!(
                "{name}: the peak rate, of the widest vectors, is taken as reachable; for scalar code say --efficiency 0.1 or so."
            ));
        }
        if view.machine.levels.iter().any(|l| l.per_core) && view.machine.cores.as_ref().is_some_and(|c| c.value > 1.0)
        {
            notes.push(format!(
                "{name}: rates are those of all cores, capacities of a core's own levels are one core's: as if the work were \
                 spread evenly and each core's data were like the whole's."
            ));
        }
        notes.extend(view.guesses.sentence(name));
    }
    notes
}
