//! Cycles as the page needs them: by function and by line, with their causes.
//!
//! Takes what places took on the first core, where the page has numbers for functions and lines; gives sums.

use std::collections::BTreeMap;

use dmdprof_runtime::cycles::{Cause, Cycles, add_cycles};
use serde::Serialize;

use crate::profile::model::MeasuredCycles;

#[derive(Serialize)]
pub struct Described {
    core: String,
    estimated: bool,
    /// In the order of the numbers.
    causes: Vec<Named>,
    /// Number of a function, and its cycles by cause.
    functions: Vec<(u32, Cycles)>,
    /// Number of a line, and its cycles by cause.
    lines: Vec<(u32, Cycles)>,
}

#[derive(Serialize)]
struct Named {
    word: &'static str,
    clause: &'static str,
}

/// By function and line.
pub type Found = BTreeMap<(u32, u32), Cycles>;

pub fn describe(measured: &MeasuredCycles, found: &Found) -> Option<Described> {
    let core = measured.cores.first()?;
    let causes = Cause::ALL.map(|cause| Named { word: cause.word(), clause: cause.clause() });
    Some(Described {
        core: core.name.clone(),
        estimated: core.is_estimated,
        causes: causes.into(),
        functions: sums(found, |(function, _)| function, add_cycles),
        lines: sums(found, |(_, line)| line, add_cycles),
    })
}

/// What was found, by function or by line.
pub fn sums<T: Default>(
    found: &BTreeMap<(u32, u32), T>,
    of: impl Fn((u32, u32)) -> u32,
    add: impl Fn(&mut T, &T),
) -> Vec<(u32, T)> {
    let mut sums: BTreeMap<u32, T> = BTreeMap::new();
    for (key, measured) in found {
        add(sums.entry(of(*key)).or_default(), measured);
    }
    sums.into_iter().collect()
}
