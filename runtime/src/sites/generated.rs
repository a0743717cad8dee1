//! What a program says of the code that it has made.
//!
//! Takes functions in the order in which it told them, of which later ones may lie where others were; gives the last
//! that has an address.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A function that a program has made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generated {
    /// Its first byte.
    pub start: u64,
    /// How many it has.
    pub bytes: u64,
    /// What the program calls it.
    pub name: String,
}

/// Functions that a process has made, of which later ones may lie where others were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedCode {
    /// Number of the process's site area.
    pub area: u32,
    /// In the order in which it told them.
    pub functions: Vec<Generated>,
}

/// By address, the number of the last entry that has it.
#[must_use]
pub fn last(entries: &[Generated], addresses: impl Iterator<Item = u64>) -> BTreeMap<u64, usize> {
    let mut found: BTreeMap<u64, Option<usize>> = addresses.map(|address| (address, None)).collect();
    for (number, Generated { start, bytes, .. }) in entries.iter().enumerate() {
        let inside = found.range_mut(start..).take_while(|(address, _)| **address - start < *bytes);
        inside.for_each(|(_, last)| *last = Some(number));
    }
    found.into_iter().filter_map(|(address, number)| Some((address, number?))).collect()
}
