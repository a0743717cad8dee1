//! `dmdprof balance`: whether a machine's rates, latency and cores suit a program's work, traffic and longest chain.
//!
//! Formulas: `dmdprof_models::balance`, `bounds`, `projection`. The longest chain is known from profiles of the values
//! model only; without it, latency and parallelism are stated as unknown, and what is left is Kung's comparison of two
//! ratios.

use std::str::FromStr;

use anyhow::{Context, bail};
use dmdprof_models::balance::{self, Demand, Obstacle};
use dmdprof_models::bounds::{self, Matmul};
use dmdprof_models::projection::{self, Growth, Trend};

use super::guesses::Guesses;
use super::roofline::work_of;
use super::stacks::{Stack, Stacks};
use super::view::Choice;
use super::workload::{Work, Workload, Workloads, short};
use crate::document::{Cell, Column, Document, Sheet, Value};
use crate::machine::{Figure, Level, Machine};
use crate::profile::Profile;
use crate::report::disagreement::disagreement;
use crate::shared::human;

/// `FUNCTION=N`, `FUNCTION=M,N,K`, each with `:BYTES` per element: each call multiplies an M x K by a K x N matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatmulTag {
    pub name: String,
    pub shape: Matmul,
}

impl FromStr for MatmulTag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "{text}: write FUNCTION=N or FUNCTION=M,N,K, and :BYTES per element if it is not 8, as in matmul=512:4"
            )
        };
        let (name, rest) = text.rsplit_once('=').ok_or_else(form)?;
        let (sizes, element) = rest.split_once(':').unwrap_or((rest, "8"));
        let number = |s: &str| s.trim().parse::<u64>().ok().filter(|n| *n > 0).ok_or_else(form);
        let sizes = sizes.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        let [m, n, k] = match sizes[..] {
            [n] => [n, n, n],
            [m, n, k] => [m, n, k],
            _ => return Err(form()),
        };
        Ok(MatmulTag { name: name.into(), shape: Matmul { m, n, k, element: number(element)? } })
    }
}

/// What to show.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub choice: Choice,
    pub work: Option<Work>,
    pub top: Option<usize>,
    pub matmuls: Vec<MatmulTag>,
    /// Machine whose growth is assumed for those that state none.
    pub growth: Option<Machine>,
}

/// Years ahead that are looked at.
const HORIZON: f64 = 50.0;

/// A machine as the balance model sees it.
struct Side<'m> {
    machine: &'m Machine,
    model: balance::Machine,
    /// Bytes of fast memory.
    fast: u64,
    trend: Option<Trend>,
    /// In which the machine's numbers hold, if it says so.
    year: Option<f64>,
    guess: bool,
    guesses: Guesses,
    /// Whose depths were measured.
    stacks: Stacks,
}

/// The whole answer.
///
/// # Errors
/// A machine that lacks what is needed, no work, tags of functions that are not there.
pub fn document(
    profile: &Profile,
    workloads: &Workloads,
    machines: &[Machine],
    options: &Options,
) -> anyhow::Result<Document> {
    let work = work_of(profile, workloads, options.work)?;
    let mut document = Document {
        kind: "balance",
        source: super::source(&profile.meta),
        heading: super::heading(profile),
        ..Document::default()
    };
    let has_span = profile.meta.values.is_some();
    let (sides, left_out) = super::usable(machines, |machine| Side::new(machine, profile, options))?;
    for side in &sides {
        document.sheets.push(main_sheet(side, workloads, work, has_span, options)?);
        document.sheets.extend(matmul_sheet(side, workloads, options)?);
        document.notes.extend(side.guesses.sentence(&side.machine.name));
    }
    document.notes.extend(left_out);
    document.notes.splice(0..0, notes(work, has_span));
    document.notes.extend(Stacks::from_profile(profile).at_fast_memory());
    document.notes.extend(super::unknown_traffic(profile));
    document.notes.extend(disagreement(profile));
    Ok(document)
}

impl<'m> Side<'m> {
    /// Latency and the number of cores matter to the longest chain; without one a machine need not state them.
    fn new(machine: &'m Machine, profile: &Profile, options: &Options) -> anyhow::Result<Self> {
        let model = "the balance model";
        let has_span = profile.meta.values.is_some();
        let mut guesses = Guesses::default();
        let kind = options.choice.of_program(profile).kind_on(machine, &mut guesses);
        let peak = machine.peak_of(kind, model)?;
        let (efficiency, _) = options.choice.efficiency_on(machine, &mut guesses);
        let cores = match &machine.cores {
            None if !has_span => None,
            cores => Some(machine.need(cores, "cores", model)?),
        };
        let bandwidth = machine.need(&machine.memory.bandwidth, "memory.bandwidth", model)?;
        let latency = match &machine.memory.latency {
            None if !has_span => None,
            latency => Some(machine.need(latency, "memory.latency", model)?),
        };
        for (what, figure) in [("peak", Some(peak)), ("cores", cores), ("bandwidth", Some(bandwidth))] {
            guesses.note_if(what, figure);
        }
        let cores = cores.map(|cores| cores.value);
        if let Some(latency) = latency {
            guesses.note("latency", latency);
        }
        let fast = match (&machine.fast_memory, machine.levels.last(), options.choice.capacity) {
            (_, _, Some(capacity)) => {
                guesses.assumed(format!("{capacity} B of fast memory"));
                capacity
            }
            (Some(fast), ..) => {
                guesses.note("fast memory", fast);
                fast.value as u64
            }
            (None, Some(level), None) => {
                guesses.note(&format!("capacity of {}", level.name), &level.capacity);
                let copies = cores.filter(|_| level.per_core).unwrap_or(1.0);
                (level.capacity.value * copies) as u64
            }
            (None, None, None) => bail!(machine.need(&None, "fast_memory", model).unwrap_err()),
        };
        let trend = trend(machine, options.growth.as_ref(), peak.value * efficiency, fast)?;
        Ok(Side {
            machine,
            model: balance::Machine {
                cores: cores.unwrap_or(1.0),
                peak: peak.value * efficiency,
                latency: latency.map_or(0.0, |l| l.value),
                bandwidth: bandwidth.value,
            },
            fast,
            trend,
            year: machine.growth.as_ref().map(|g| g.year),
            guess: !guesses.is_empty(),
            guesses,
            stacks: Stacks::from_profile(profile),
        })
    }
}

impl Side<'_> {
    fn demand(&self, workload: &Workload, work: Work) -> Demand {
        Demand {
            work: workload.work(work) as f64,
            span: workload.sums.span as f64,
            traffic: workload.traffic(self.fast) as f64,
        }
    }
}

/// How the machine's numbers grow: by its own table, or another's.
fn trend(machine: &Machine, other: Option<&Machine>, peak: f64, fast: u64) -> anyhow::Result<Option<Trend>> {
    let Some((owner, growth)) =
        machine.growth.as_ref().map(|g| (machine, g)).or_else(|| Some((other?, other?.growth.as_ref()?)))
    else {
        return Ok(None);
    };
    let rate = |years: &Option<Figure>, field: &str, start: f64| -> anyhow::Result<Growth> {
        let years = owner.need(years, &format!("growth.{field}"), "the shelf life")?;
        Ok(Growth::doubling(start, years.value)?)
    };
    let value = |figure: &Option<Figure>| figure.as_ref().map_or(1.0, |f| f.value);
    Ok(Some(Trend {
        peak: rate(&growth.peak, "peak", peak)?,
        bandwidth: rate(&growth.bandwidth, "bandwidth", value(&machine.memory.bandwidth))?,
        fast_memory: rate(&growth.fast_memory, "fast_memory", fast as f64)?,
        latency: Growth::constant(value(&machine.memory.latency))?,
        line: Growth::constant(value(&machine.memory.transfer))?,
        cores: Growth::constant(value(&machine.cores))?,
    }))
}

fn main_sheet(
    side: &Side,
    workloads: &Workloads,
    work: Work,
    has_span: bool,
    options: &Options,
) -> anyhow::Result<Sheet> {
    let machine = side.machine;
    let title = format!(
        "{}: {}{} in all, {}{} to memory, {} of fast memory",
        machine.name,
        machine.cores.as_ref().map_or_else(String::new, |cores| format!("{} cores, ", cores.value)),
        human::rate(side.model.peak),
        human::bandwidth(side.model.bandwidth),
        machine.memory.latency.as_ref().map_or_else(String::new, |l| format!(" and {}", human::seconds(l.value))),
        human::bytes(side.fast.into()),
    );
    let mut sheet = Sheet::new(machine.name.clone(), title, columns(side, work));
    let all: Vec<&Workload> = workloads.all().filter(|s| s.work(work) > 0).collect();
    // The program is a row of its own.
    for workload in sheet.first(&all, options.top.map(|top| top + 1)) {
        sheet.row(cells(side, workload, work, has_span)?);
    }
    let without = workloads.all().count() - all.len();
    if without > 0 {
        sheet.remarks.push(format!("{without} without work are left out."));
    }
    if side.model.latency > 0.0 {
        sheet.remarks.push(format!(
            "To keep the link to memory busy, {} must be on their way at any time (latency x bandwidth).",
            human::bytes(side.model.bytes_in_flight() as u128)
        ));
    }
    if has_span {
        sheet.remarks.extend(idling(side, &workloads.program, work)?);
    }
    Ok(sheet)
}

/// Whether the program spends more energy on waiting for memory than on computing, if the machine states both powers.
fn idling(side: &Side, program: &Workload, work: Work) -> anyhow::Result<Option<String>> {
    let (Some(full), Some(idle)) = (&side.machine.power_max, &side.machine.power_idle) else { return Ok(None) };
    let Some(found) = balance::balance(&side.model, &side.demand(program, work))? else { return Ok(None) };
    let idling = found.idling(full.value, idle.value)?;
    Ok(Some(format!(
        "The program waits for memory {} times as long as it computes; full power is {} times idle power: {} takes more energy.",
        human::ratio(idling.times),
        human::ratio(idling.powers),
        if idling.dominates { "waiting" } else { "computing" },
    )))
}

fn columns(side: &Side, work: Work) -> Vec<Column> {
    let per_byte = format!("{}/B", work.unit());
    let mut columns = vec![
        Column::new("machine_balance", ["machine", &per_byte], 1),
        Column::new("intensity", ["program", &per_byte], 0),
        Column::new("little", ["Little", "factor"], 0),
        Column::new("amdahl", ["Amdahl", "factor"], 0),
        Column::new("balanced", ["", "balanced"], 0),
        Column::new("obstacle", ["largest", "obstacle"], 0),
        Column::new("seconds.compute", ["compute", "time"], 2),
        Column::new("seconds.memory", ["memory", "time"], 2),
        Column::new("cores_until_span", ["cores till", "span binds"], 3),
        Column::new("cores_until_memory", ["cores till", "memory binds"], 3),
    ];
    if side.trend.is_some() {
        columns.push(Column::new("shelf_life_years", ["years till", "memory-bound"], 2));
    }
    if side.trend.is_some() && side.year.is_some() {
        columns.push(Column::new("shelf_life_year", ["", "year"], 2));
    }
    columns.push(Column::new("name", ["", "function"], 0));
    columns
}

fn cells(side: &Side, workload: &Workload, work: Work, has_span: bool) -> anyhow::Result<Vec<Cell>> {
    let demand = side.demand(workload, work);
    let known = if has_span { balance::balance(&side.model, &demand)? } else { None };
    let guess = side.guess;
    let unknown = || Value::Text("unknown".into());
    let mut cells: Vec<Cell> = match known {
        Some(found) => vec![
            Value::Ratio(found.machine).guessed(guess),
            Value::Ratio(found.intensity).into(),
            Value::Ratio(found.little).guessed(guess),
            Value::Ratio(found.amdahl).guessed(guess),
            Value::Flag(found.balanced).guessed(guess),
            Value::Text(obstacle(found.obstacle).into()).guessed(guess),
            Value::Seconds(found.compute).guessed(guess),
            Value::Seconds(found.memory).guessed(guess),
            Value::Ratio(found.cores_until_span).into(),
            Value::or_empty(found.cores_until_memory, Value::Ratio).guessed(guess),
        ],
        None => {
            let found = balance::without_span(&side.model, demand.work, demand.traffic)?;
            // A function none of whose operations is on the longest chain has a known span: none.
            let factor = || if has_span { Value::Ratio(0.0) } else { unknown() };
            vec![
                Value::Ratio(found.machine).guessed(guess),
                Value::Ratio(found.intensity).into(),
                factor().into(),
                factor().into(),
                Value::Flag(found.balanced).guessed(guess),
                Value::Text(obstacle(found.obstacle).into()).guessed(guess),
                Value::Seconds(found.compute).guessed(guess),
                Value::Seconds(found.memory).guessed(guess),
                if has_span { Value::Empty } else { unknown() }.into(),
                match side.machine.cores {
                    Some(_) => Value::Ratio(found.cores_until_memory).guessed(guess),
                    None => unknown().into(),
                },
            ]
        }
    };
    if let Some(trend) = &side.trend {
        let years = projection::shelf_life(demand.work, |z| workload.traffic(z) as f64, trend, HORIZON)?;
        let none = || Value::Text(format!("none in {HORIZON}"));
        cells.push(years.map_or_else(none, Value::Ratio).guessed(true));
        if let Some(year) = side.year {
            cells.push(Value::or_empty(years, |y| Value::Year(year + y)).guessed(true));
        }
    }
    cells.push(Value::Name(workload.name.clone()).into());
    Ok(cells)
}

fn obstacle(obstacle: Obstacle) -> &'static str {
    match obstacle {
        Obstacle::Peak => "peak",
        Obstacle::Span => "span",
        Obstacle::Traffic => "traffic",
        Obstacle::Latency => "latency",
    }
}

/// Traffic of tagged functions beside what a matrix product cannot do without, at each capacity of the machine.
fn matmul_sheet(side: &Side, workloads: &Workloads, options: &Options) -> anyhow::Result<Option<Sheet>> {
    if options.matmuls.is_empty() {
        return Ok(None);
    }
    let columns = vec![
        Column::new("name", ["", "function"], 0),
        Column::new("level", ["", "level"], 0),
        Column::new("capacity", ["", "Z"], 0),
        Column::new("traffic", ["traffic", "at Z"], 0),
        Column::new("optimum", ["lower bound", "2mnk/sqrt(Z)"], 0),
        Column::new("times_optimum", ["times the", "optimum"], 0),
        Column::new("bound_czechowski", ["as printed in", "Czechowski 2011"], 1),
        Column::new("bound_irony", ["Irony 2004", "2mnk/(4 sqrt2 sqrt Z)-Z"], 2),
        Column::new("fits", ["", "fits"], 0),
    ];
    let title = format!("{}: matrix products beside the least traffic", side.machine.name);
    let mut sheet = Sheet::new(format!("{}.matmul", side.machine.name), title, columns);
    let (stacks, cores) = (side.stacks, side.machine.cores.as_ref());
    let level = |level: &Level| (level.name.clone(), stacks.capacity(level, cores), stacks.for_level(level));
    let mut capacities: Vec<(String, u64, Stack)> = side.machine.levels.iter().map(level).collect();
    if !capacities.iter().any(|(_, z, _)| *z == side.fast) {
        capacities.push(("fast memory".into(), side.fast, Stack::Main));
    }
    if stacks.alone {
        let own: Vec<&str> =
            capacities.iter().filter(|(.., stack)| *stack == Stack::Alone).map(|(name, ..)| name.as_str()).collect();
        sheet.remarks.push(format!("Traffic at {} is of own stacks, else of shared ones.", own.join(", ")));
    }
    for tag in &options.matmuls {
        let mut named = workloads.clone();
        named.keep(std::slice::from_ref(&tag.name)).context("--matmul")?;
        for workload in named.all().skip(1) {
            let calls = workload.calls.unwrap_or(1) as f64;
            for (level, capacity, stack) in &capacities {
                let bounds = bounds::matmul(tag.shape, *capacity)?;
                let traffic = workload.reads_on(*stack).traffic(*capacity);
                let bytes = |per_call: f64| Value::Bytes((per_call * calls) as u128);
                sheet.row([
                    Value::Name(short(&workload.name).into()),
                    Value::Text(level.clone()),
                    Value::Bytes((*capacity).into()),
                    Value::Bytes(traffic.into()),
                    bytes(bounds.tight),
                    Value::Ratio(bounds.times_optimum(traffic as f64 / calls)?),
                    bytes(bounds.czechowski),
                    bytes(bounds.irony),
                    Value::Flag(bounds.fits),
                ]);
            }
        }
    }
    sheet.remarks.push(
        "The bound is the leading term for one product, times the calls. Where it fits, a matrix has fewer elements than the \
         level holds, and the leading term may exceed what is needed. Measured traffic is of reads; the bound has writes too."
            .into(),
    );
    Ok(Some(sheet))
}

fn notes(work: Work, has_span: bool) -> Vec<String> {
    let mut notes = vec![format!(
        "Units: {} per byte on both sides, traffic in bytes at the machine's fast memory. (Czechowski 2011 counts words of 4 bytes \
         and prints ops per byte; in equal units the crossing of its table is in 2011.8, not 2019.8.)",
        work.unit()
    )];
    notes.push(
        "Balanced: memory takes no longer than compute, (1) and (2) of Czechowski 2011. Little factor: how far latency on the \
         longest chain outweighs bandwidth. Amdahl factor: cores x longest chain / work. The largest obstacle is the term whose \
         removal helps most."
            .into(),
    );
    if has_span {
        notes.push(
            "Balanced, the obstacle, both times and the cores till memory binds include latency on the longest chain; machine and program \
             op/B and the years till memory-bound do not: they compare bandwidth alone."
                .into(),
        );
    } else {
        notes.push(
            "The longest chain of dependent operations is unknown: only --model values records it. Latency and parallelism are \
             therefore left out, and balanced means Kung's condition alone."
                .into(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_one_size_or_three() {
        let tag = |text: &str| text.parse::<MatmulTag>();
        let square = tag("matmul=512:4").unwrap();
        assert_eq!((square.name.as_str(), square.shape), ("matmul", Matmul { m: 512, n: 512, k: 512, element: 4 }));
        assert_eq!(tag("a::b=2,3,4").unwrap().shape, Matmul { m: 2, n: 3, k: 4, element: 8 });
        for wrong in ["matmul", "f=0", "f=1,2", "f=x", "f=4:0"] {
            assert!(tag(wrong).unwrap_err().contains("write FUNCTION=N"), "{wrong}");
        }
    }
}
