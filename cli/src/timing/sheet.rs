//! Measured times for people and as a file of times.

use super::stopwatch::Laps;
use crate::document::{Column, Document, Sheet, Value};
use crate::estimate::times::Time;
use crate::shared::human;

/// Above this part of the median, the spread makes a time doubtful.
const DOUBTFUL: f64 = 0.1;

/// A program, as the person named it, and its runs.
pub type Measured = (String, Laps);

#[must_use]
pub fn document(measured: &[Measured], command: &str) -> Document {
    let columns = vec![
        Column::new("name", ["", "program"], 0),
        Column::new("runs", ["", "runs"], 0),
        Column::new("min", ["", "min"], 0),
        Column::new("seconds", ["", "median"], 0),
        Column::new("max", ["", "max"], 0),
        Column::new("spread", ["", "spread"], 0),
        Column::new("user", ["median", "user"], 0),
        Column::new("cpu_min", ["least", "user+system"], 0),
    ];
    let mut sheet = Sheet::new("times", "Measured times", columns);
    for (name, laps) in measured {
        sheet.row([
            Value::Name(name.clone()),
            Value::Count(laps.runs() as u128),
            Value::Seconds(laps.least()),
            Value::Seconds(laps.median()),
            Value::Seconds(laps.most()),
            Value::Share(laps.spread()),
            Value::Seconds(laps.user()),
            Value::Seconds(laps.least_cpu()),
        ]);
    }
    Document {
        kind: "time",
        source: vec![("command", command.into())],
        sheets: vec![sheet],
        notes: vec![
            "Min, median and max: wall time from before the program's start to its end, without hooks, on this machine as it is now. \
             Spread: median absolute deviation from the median, as a part of it. User: CPU time in user mode; user+system: all \
             CPU time, whose least is what other work on the machine disturbs least."
                .into(),
        ],
        ..Document::default()
    }
}

/// Which times are not to be trusted.
pub fn warnings(measured: &[Measured]) -> impl Iterator<Item = String> {
    measured.iter().filter(|(_, laps)| laps.spread() > DOUBTFUL).map(|(name, laps)| {
        format!(
            "the times of {name} spread by {}: something else is running, or the program takes too short a time; more runs (-n) help",
            human::share(laps.spread())
        )
    })
}

/// Medians under the names that estimates have: one program alone is the whole.
#[must_use]
pub fn times(measured: &[Measured]) -> Vec<Time> {
    let alone = measured.len() == 1;
    let name = |name: &String| if alone { crate::estimate::workload::PROGRAM.into() } else { name.clone() };
    measured.iter().map(|(n, laps)| Time { name: name(n), seconds: laps.median() }).collect()
}

/// What the reader of a file of times should know.
#[must_use]
pub fn comments(measured: &[Measured], command: &str) -> Vec<String> {
    let of = |(name, laps): &Measured| {
        format!(
            "{name}: median of {} runs after one that does not count, spread {}",
            laps.runs(),
            human::share(laps.spread())
        )
    };
    std::iter::once(format!("measured by dmdprof time {command}")).chain(measured.iter().map(of)).collect()
}
