//! Names for generated code, as places of its accesses.
//!
//! Takes what a program said of its code in the end, and gives each access of such code a place: the function that was
//! named, in the one function that all generated code is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::SiteTable;
use crate::abi::{Frame, NONE};

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

impl SiteTable {
    /// Items of generated code, with the functions that they are in.
    fn generated_items(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let is_generated = |function: u32| self.parted.get(function as usize).is_some_and(|(module, _)| *module == 0);
        let segments = self.segments.iter().filter(move |segment| is_generated(segment.function));
        segments.flat_map(|segment| segment.items.clone().map(|item| (item as usize, segment.function)))
    }

    /// Addresses of instructions of generated code.
    #[must_use]
    pub fn generated(&self) -> BTreeSet<u64> {
        self.generated_items().filter_map(|(item, _)| self.addresses.get(item).copied()).collect()
    }

    /// Gives generated code its names.
    pub fn name_generated(&mut self, functions: &[Generated]) {
        let last = last(functions, self.generated().into_iter());
        let mut frames: HashMap<(u32, usize), u32> = HashMap::new();
        let items: Vec<(usize, u32)> = self.generated_items().collect();
        for (item, function) in items {
            let Some(&named) = self.addresses.get(item).and_then(|address| last.get(address)) else { continue };
            let frame = match frames.get(&(function, named)) {
                Some(frame) => *frame,
                None => {
                    let outer = self.add_frame(NONE, self.functions[function as usize].name);
                    self.strings.push(functions[named].name.clone());
                    let frame = self.add_frame(outer, self.strings.len() as u32 - 1);
                    frames.insert((function, named), frame);
                    frame
                }
            };
            self.items[item].frame = frame;
        }
    }

    fn add_frame(&mut self, parent: u32, function: u32) -> u32 {
        self.frames.push(Frame { parent, function, file: NONE, line: 0, column: 0, decl_file: NONE, decl_line: 0 });
        self.frames.len() as u32 - 1
    }
}
