//! `roofline`: how long loads may wait for memory, with what prefetchers hide and without.
//!
//! Takes estimates in which all lines arrive before they are needed; gives two upper bounds. In the first each load
//! that brings a line from memory waits for the whole latency, one after the other, unless the line comes in order. In
//! the second all of them wait. Nothing is said without lines and without a latency of the machine.

use super::line::Line;
use super::view::{View, is_guess};
use crate::document::{Cell, Column, Sheet, Value};
use crate::machine::Figure;
use crate::profile::Profile;
use crate::shared::human;

/// The table of a machine, for the first so many lines.
#[must_use]
pub fn sheet(profile: &Profile, view: &View, lines: &[Line], rows: Option<usize>) -> Option<Sheet> {
    let size = profile.line_size()?;
    let latency = view.machine.memory.latency.as_ref()?;
    let columns = vec![
        Column::new("seconds", ["no load", "waits"], 0),
        Column::new("seconds.in_order_ahead", ["lines not in", "order wait"], 0),
        Column::new("seconds.none_ahead", ["all lines", "wait"], 0),
        Column::new("lines", ["lines loaded", "from memory"], 1),
        Column::new("in_order", ["", "in order"], 0),
        Column::new("at_step", ["at a", "step"], 2),
        Column::new("first_touch", ["first", "touch"], 3),
        Column::new("name", ["", "function"], 0),
    ];
    let title = format!("{}: if loads wait for memory", view.machine.name);
    let mut sheet = Sheet::new(format!("{}.waits", view.machine.name), title, columns);
    let with_lines = lines.iter().filter(|line| line.workload.has_lines()).take(rows.unwrap_or(usize::MAX));
    with_lines.for_each(|line| sheet.row(cells(view, line, f64::from(size), latency)));
    let latency = human::seconds(latency.value);
    sheet.remarks.push(format!(
        "Upper bounds for one thread: a load that brings a line from memory waits {latency}, one after the other. In order are lines that follow their \
         neighbours within 4 KiB, from the third on, which prefetchers hide; lines at another step are hidden in part, and wait here. Loads that do \
         not need each other overlap and take less. Waits for caches and for address translation are not in it."
    ));
    Some(sheet)
}

fn cells(view: &View, line: &Line, size: f64, latency: &Figure) -> Vec<Cell> {
    let moved = line.workload.reads_on(view.last().stack).moved(view.last().link.capacity).unwrap_or_default();
    let waits = |bytes: u64| line.estimate.total + bytes as f64 / size * latency.value;
    let guess = view.last().guess || latency.confidence.is_guess();
    let part = |bytes: u64, of: u64| Value::part(bytes as f64, of as f64);
    vec![
        Value::Seconds(line.estimate.total).guessed(is_guess(view, line.estimate.bound)),
        Value::Seconds(waits(moved.loaded.saturating_sub(moved.in_order))).guessed(guess),
        Value::Seconds(waits(moved.loaded)).guessed(guess),
        Value::Count((moved.loaded as f64 / size) as u128).into(),
        part(moved.in_order, moved.loaded).into(),
        part(moved.at_step, moved.loaded).into(),
        part(moved.first, moved.fetched).into(),
        Value::Name(line.workload.name.clone()).into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::{roofline, view::Choice, workload::Work, workload::Workloads};
    use super::*;
    use crate::machine::{Machine, model::Confidence, zoo};
    use crate::profile::sample;
    use crate::report::Grouping;

    fn machine(latency: Option<f64>) -> Machine {
        let mut machine = zoo::machine("toy3").expect("a shipped machine");
        let figure = |value| Figure { value, confidence: Confidence::Measured, source: "a chain of loads".into() };
        machine.memory.latency = latency.map(figure);
        machine
    }

    fn waits(profile: &Profile, machine: &Machine) -> Option<Sheet> {
        let workloads = Workloads::from_profile(profile, Grouping::Functions, false);
        let view = View::new(machine, Choice::default().of_program(profile)).expect("usable");
        let lines = roofline::lines(&view, &workloads, Work::Ops, false).expect("estimates");
        sheet(profile, &view, &lines, None)
    }

    #[test]
    fn lines_in_order_do_not_wait_and_others_do() {
        let (profile, machine) = (sample::with_lines(), machine(Some(1e-7)));
        let sheet = waits(&profile, &machine).expect("a table");
        let seconds = |row: usize, column: usize| match sheet.rows[row][column].value {
            Value::Seconds(seconds) => seconds,
            ref other => panic!("{other:?}"),
        };
        let workloads = Workloads::from_profile(&profile, Grouping::Functions, false);
        let capacity = machine.levels.last().expect("a level").capacity.value as u64;
        let moved = workloads.program.moved(capacity).expect("lines were measured");
        assert!(moved.in_order > 0 && moved.in_order < moved.loaded, "else the test shows nothing: {moved:?}");
        let lines = |bytes: u64| (bytes / 64) as f64 * 1e-7;
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * a.max(b);
        assert!(close(seconds(0, 1) - seconds(0, 0), lines(moved.loaded - moved.in_order)));
        assert!(close(seconds(0, 2) - seconds(0, 0), lines(moved.loaded)));
        assert_eq!(sheet.rows[0][3].value, Value::Count((moved.loaded / 64).into()));
    }

    #[test]
    fn nothing_is_said_of_what_is_not_known() {
        let profile = sample::with_lines();
        assert!(waits(&profile, &machine(None)).is_none(), "no latency");
        assert!(waits(&sample::small(), &machine(Some(1e-7))).is_none(), "no lines");
    }
}
