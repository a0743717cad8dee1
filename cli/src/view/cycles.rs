//! Cycles as the page needs them: by function and by line, with their causes.
//!
//! Takes what places took on the first core, where the page has numbers for functions and lines; gives sums.

use std::collections::BTreeMap;

use dmdprof_runtime::cycles::{CAUSES, Cause, Cycles, add_cycles};
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
    /// The same of lines.
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
        functions: sums(found, |(function, _)| function),
        lines: sums(found, |(_, line)| line),
    })
}

fn sums(found: &Found, of: impl Fn((u32, u32)) -> u32) -> Vec<(u32, Cycles)> {
    let mut sums: BTreeMap<u32, Cycles> = BTreeMap::new();
    for (key, cycles) in found {
        add_cycles(sums.entry(of(*key)).or_insert([0; CAUSES]), cycles);
    }
    sums.into_iter().collect()
}
