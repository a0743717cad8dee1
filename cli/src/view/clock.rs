//! A clock's samples as the page needs them: by function and by line.
//!
//! Takes samples where the page has numbers for functions and lines; gives sums.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cycles::sums;
use crate::profile::model::MeasuredClock;

#[derive(Serialize)]
pub struct Described {
    /// The sentence of the report.
    runs: Option<String>,
    samples: u64,
    /// Number of a function, and its samples.
    functions: Vec<(u32, u64)>,
    /// Number of a line, and its samples.
    lines: Vec<(u32, u64)>,
}

/// By function and line.
pub type Found = BTreeMap<(u32, u32), u64>;

pub fn describe(measured: &MeasuredClock, runs: Option<String>, found: &Found) -> Described {
    let add = |sum: &mut u64, samples: &u64| *sum += samples;
    Described {
        runs,
        samples: measured.samples(),
        functions: sums(found, |(function, _)| function, add),
        lines: sums(found, |(_, line)| line, add),
    }
}
