//! `dmdprof curve`: the traffic of the program or a function at every power of two and at machines' capacities; and
//! what is read deeper than these, with the identity by which that gives ByteDMD.

use dmdprof_models::bytedmd;

use super::stacks::{Stack, Stacks};
use super::workload::{StackReads, Workload, Workloads, short};
use crate::document::{Cell, Column, Document, Sheet, Value};
use crate::machine::Machine;
use crate::plot::{self, Axis, Chart, LineKind};
use crate::profile::Profile;
use crate::report::depths::Depths;
use crate::report::disagreement::disagreement;
use crate::shared::human;

/// Bytes.
const SMALLEST_MEMORY: u64 = 512;

/// A capacity of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Bytes.
    pub capacity: u64,
    /// As in `L1 of skx-6148`.
    pub text: String,
    pub guess: bool,
}

/// The capacities of machines, smallest first, for the threads of the stacks that were measured.
#[must_use]
pub fn marks(machines: &[Machine], stacks: Stacks) -> Vec<Mark> {
    let of = |m: &Machine| {
        let each = m.levels.iter().map(|level| Mark {
            capacity: stacks.capacity(level, m.cores.as_ref()),
            text: stacks.label(level, &m.name),
            guess: level.capacity.confidence.is_guess(),
        });
        each.collect::<Vec<_>>()
    };
    let mut marks: Vec<Mark> = machines.iter().flat_map(of).collect();
    marks.sort_by(|a, b| (a.capacity, &a.text).cmp(&(b.capacity, &b.text)));
    marks
}

/// Which of two curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// What a memory of Z bytes has to fetch.
    Traffic,
    /// What is read from deeper than Z.
    Deeper,
}

impl Curve {
    fn value_at(self, found: &StackReads, capacity: u64) -> u64 {
        match self {
            Curve::Traffic => found.fetched(capacity),
            Curve::Deeper => found.deeper(capacity),
        }
    }

    fn reads(self, found: &StackReads) -> Depths {
        match self {
            Curve::Traffic => found.depths().by_capacity(),
            Curve::Deeper => found.depths().clone(),
        }
    }
}

/// Capacities and traffic, smallest capacity first: powers of two over the sizes that tell, and those of marks.
#[must_use]
pub fn points(workload: &Workload, marks: &[Mark]) -> Vec<(u64, u64)> {
    let octaves = |depths: &Depths| {
        let both = depths.octaves().into_iter().chain(depths.by_capacity().octaves());
        both.map(|o| o.capacity).collect::<Vec<_>>()
    };
    let mut capacities = octaves(&workload.sums.depths);
    capacities.extend(octaves(&workload.sums.alone().depths));
    capacities.extend(marks.iter().map(|m| m.capacity));
    capacities.push(0);
    capacities.sort_unstable();
    capacities.dedup();
    capacities.into_iter().map(|z| (z, workload.reads_on(Stack::Main).fetched(z))).collect()
}

/// A curve as it is drawn: constant between the sizes at which it changes, so that a cliff looks like one. Sizes are
/// the upper ends of the histogram's buckets.
#[must_use]
pub fn steps(workload: &Workload, curve: Curve, stack: Stack, marks: &[Mark]) -> Vec<(u64, u64)> {
    let found = workload.reads_on(stack);
    let mut depths: Vec<u64> = curve.reads(&found).buckets().map(|(_, high, _)| high).collect();
    let first = depths.first().map_or(1, |depth| *depth / 2).max(1);
    let last = depths.last().map_or(1, |depth| *depth).saturating_mul(2);
    depths.insert(0, first);
    depths.push(last.max(marks.last().map_or(0, |mark| mark.capacity)));
    depths.dedup();
    let mut before = None;
    let mut points = Vec::with_capacity(2 * depths.len());
    for depth in depths {
        let bytes = curve.value_at(&found, depth);
        points.extend(before.filter(|before| *before != bytes).map(|before| (depth, before)));
        points.push((depth, bytes));
        before = Some(bytes);
    }
    points
}

/// Lines moved as they are drawn, from the smallest memory of lines that is told from others.
#[must_use]
pub fn moved_steps(workload: &Workload, marks: &[Mark]) -> Vec<(u64, u64)> {
    let last = steps(workload, Curve::Traffic, Stack::Main, marks).last().map_or(SMALLEST_MEMORY, |(depth, _)| *depth);
    let capacities = std::iter::successors(Some(SMALLEST_MEMORY), |z| z.checked_add(z / 8)).take_while(|z| *z <= last);
    let moved = |z| workload.moved(z).map(|moved| (z, moved.all()));
    capacities.chain([last.max(SMALLEST_MEMORY)]).filter_map(moved).collect()
}

/// One sheet per workload, those that were asked for, else the whole program; and a chart of all.
#[must_use]
pub fn document(profile: &Profile, workloads: &Workloads, only_named: bool, machines: &[Machine]) -> (Document, Chart) {
    let stacks = Stacks::from_profile(profile);
    let marks = marks(machines, stacks);
    let mut document = Document {
        kind: "curve",
        source: super::source(&profile.meta),
        heading: super::heading(profile),
        ..Document::default()
    };
    let chosen = chosen(workloads, only_named);
    let has_traffic = profile.has_capacities;
    document.sheets.extend(chosen.iter().map(|workload| sheet(workload, &marks, stacks.alone, has_traffic)));
    document.notes.extend(names(has_traffic));
    document
        .notes
        .push("Where Z is inside one of the histograms' buckets (1/32 wide), its reads count as nearer.".into());
    document.notes.extend(super::unknown_traffic(profile));
    document.notes.extend(profile.line_size().map(|size| {
        format!(
            "Lines moved: lines of {size} B that a memory of Z bytes fetches for loads and stores and writes back, from 512 B on; it is empty at first and writes back what is dirty at the end."
        )
    }));
    if stacks.shared {
        let alone = if stacks.alone { "; own: of the stack of each thread alone" } else { "" };
        document.notes.push(format!(
            "Curves are of the stack that up to {} threads share{alone}. At the capacity of a level that each core has for itself, own \
             stacks count, at others the shared one.",
            stacks.most
        ));
    }
    document.notes.extend(machines.iter().flat_map(|machine| stacks.missing(machine)));
    document.notes.extend(disagreement(profile));
    (document, chart(&chosen, &marks, stacks.alone, has_traffic))
}

/// What the curves are.
fn names(has_traffic: bool) -> Vec<String> {
    let traffic = "Traffic at Z: bytes that an ideal memory of Z bytes (fully associative, LRU) has to fetch; what dies there frees its place, and \
                   nothing comes back for it.";
    let deeper = "Deeper than Z: bytes read from deeper than Z on the stack of live bytes, from which ByteDMD is made.";
    Some(traffic).filter(|_| has_traffic).into_iter().chain([deeper]).map(str::to_owned).collect()
}

/// What a command is about: the named ones, or the program.
fn chosen(workloads: &Workloads, only_named: bool) -> Vec<&Workload> {
    if only_named { workloads.all().skip(1).collect() } else { vec![&workloads.program] }
}

fn sheet(workload: &Workload, marks: &[Mark], alone: bool, has_traffic: bool) -> Sheet {
    let mut columns = vec![
        Column::new("capacity", ["", "Z"], 0),
        Column::new("deeper", ["deeper", "than Z"], 0),
        Column::new("share", ["of all", "reads"], 0),
        Column::new("nearer", ["less than", "a step before"], 1),
        Column::new("mark", ["", "machine"], 0),
    ];
    if workload.has_lines() {
        let moved = [
            Column::new("fetched", ["in lines", "fetched"], 0),
            Column::new("written_back", ["", "written back"], 0),
            Column::new("moved", ["lines", "moved"], 0),
        ];
        columns.splice(4..4, moved);
    }
    if alone {
        let own = if has_traffic { ["own traffic", "at Z"] } else { ["own, deeper", "than Z"] };
        columns.insert(1, Column::new("own", own, 0));
    }
    if has_traffic {
        let name = if alone { ["shared traffic", "at Z"] } else { ["traffic", "at Z"] };
        columns.insert(1, Column::new("traffic", name, 0));
    }
    let title = format!("Traffic of {}: {} read", workload.name, human::bytes(workload.read().into()));
    let mut sheet = Sheet::new(workload.name.clone(), title, columns);
    let found = workload.reads_on(Stack::Main);
    let (read, mut before) = (workload.read(), workload.read());
    for (capacity, traffic) in points(workload, marks) {
        let here: Vec<&Mark> = marks.iter().filter(|m| m.capacity == capacity).collect();
        let text = here.iter().map(|m| m.text.as_str()).collect::<Vec<_>>().join(", ");
        let moved = workload.moved(capacity).map_or_else(Vec::new, |moved| {
            let all = [moved.fetched, moved.written_back, moved.all()];
            all.map(|bytes| Value::Bytes(bytes.into()).into()).to_vec()
        });
        let mut cells: Vec<Cell> = vec![
            Value::Bytes(capacity.into()).guessed(here.iter().any(|m| m.guess)),
            Value::Bytes(found.deeper(capacity).into()).into(),
            Value::part(traffic as f64, read as f64).into(),
            Value::Bytes((before - traffic).into()).into(),
        ];
        cells.extend(moved);
        if alone {
            cells.insert(1, Value::Bytes(workload.reads_on(Stack::Alone).fetched(capacity).into()).into());
        }
        if has_traffic {
            cells.insert(1, Value::Bytes(traffic.into()).into());
        }
        cells.push(if text.is_empty() { Value::Text(String::new()) } else { Value::Text(text) }.into());
        sheet.row(cells);
        before = traffic;
    }
    sheet.remarks.push(identity(&workload.sums.depths, workload.sums.cost));
    if alone {
        let alone = workload.sums.alone();
        sheet.remarks.push(format!("Own stacks: {}", identity(&alone.depths, alone.cost)));
    }
    sheet
}

/// Whether ByteDMD is the sum of what is read deeper than k^2, as far as the buckets tell.
fn identity(depths: &Depths, cost: u128) -> String {
    let deepest = depths.buckets().next_back().map_or(0, |(_, high, _)| high);
    let least = bytedmd::cost(|z| depths.beyond(z).into(), deepest);
    let most = bytedmd::cost(|z| not_nearer(depths, z).into(), deepest);
    let verdict = if least <= cost && cost <= most { "agrees" } else { "DISAGREES: please report this" };
    let sum = if least == most {
        human::grouped(least)
    } else {
        format!("{} to {} (the histogram knows depths to 1/32)", human::grouped(least), human::grouped(most))
    };
    format!("ByteDMD {}; the sum over all k of the reads deeper than k^2 is {sum}: {verdict}.", human::grouped(cost))
}

/// Reads deeper than a capacity, with all of a bucket that it is inside of.
fn not_nearer(depths: &Depths, capacity: u64) -> u64 {
    depths.buckets().rev().take_while(|(_, high, _)| *high > capacity).map(|(.., reads)| reads).sum()
}

/// Traffic over capacity, one curve per workload, with the capacities of machines marked.
fn chart(workloads: &[&Workload], marks: &[Mark], alone: bool, has_traffic: bool) -> Chart {
    let curve = |name: String, workload: &Workload, which, stack| plot::Line {
        name,
        points: steps(workload, which, stack, marks)
            .into_iter()
            .filter(|(capacity, _)| *capacity > 0)
            .map(|(capacity, traffic)| (capacity as f64, traffic as f64))
            .collect(),
        kind: LineKind::Curve,
    };
    let line = |workload: &&Workload| curve(short(&workload.name).to_owned(), workload, Curve::Traffic, Stack::Main);
    let deeper = |workload: &&Workload| {
        curve(format!("{}, deeper than Z", short(&workload.name)), workload, Curve::Deeper, Stack::Main)
    };
    let own = |workload: &&Workload| {
        curve(format!("{}, own stacks", short(&workload.name)), workload, Curve::Traffic, Stack::Alone)
    };
    let moved = |workload: &&Workload| plot::Line {
        name: format!("{}, lines moved", short(&workload.name)),
        points: moved_steps(workload, marks).into_iter().map(|(z, moved)| (z as f64, moved as f64)).collect(),
        kind: LineKind::Curve,
    };
    let with_lines = workloads.iter().filter(|workload| workload.has_lines());
    let mut chart = Chart {
        title: if has_traffic {
            "Traffic: bytes that a memory of a capacity fetches"
        } else {
            "Bytes read from deeper than a capacity"
        }
        .into(),
        x: Axis { label: "capacity Z".into(), unit: plot::Unit::BinaryBytes, min: 1.0, max: 2.0 },
        y: Axis {
            label: if has_traffic { "traffic at Z" } else { "deeper than Z" }.into(),
            unit: plot::Unit::Bytes,
            min: 1.0,
            max: 10.0,
        },
        lines: workloads
            .iter()
            .map(line)
            .chain(workloads.iter().filter(|workload| workload.sums.depths.has_holes()).map(deeper))
            .chain(workloads.iter().filter(|_| alone).map(own))
            .chain(with_lines.map(moved))
            .collect(),
        dots: Vec::new(),
        marks: marks.iter().map(|m| plot::Mark { x: m.capacity as f64, label: m.text.clone() }).collect(),
        groups: Vec::new(),
    };
    chart.fit_axes();
    chart
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample;
    use crate::report::Grouping;

    #[test]
    fn identity_holds_for_program_and_functions() {
        let profile = sample::small();
        let workloads = Workloads::from_profile(&profile, Grouping::Functions, false);
        for workload in workloads.all().filter(|s| s.read() > 0) {
            let text = identity(&workload.sums.depths, workload.sums.cost);
            assert!(text.ends_with("agrees."), "{}: {text}", workload.name);
        }
    }

    #[test]
    fn traffic_falls_from_all_reads_to_nothing() {
        let profile = sample::small();
        let program = Workloads::from_profile(&profile, Grouping::Functions, false).program;
        let mark = Mark { capacity: 48 << 10, text: "L1".into(), guess: false };
        let points = points(&program, &[mark]);
        assert_eq!(points.first(), Some(&(0, program.read())));
        assert_eq!(points.last().map(|p| p.1), Some(0));
        assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 >= b.1));
        assert!(points.iter().any(|p| p.0 == 48 << 10));
    }
}
