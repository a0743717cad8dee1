//! Names for generated code, as places of its accesses.
//!
//! Takes what a program said of its code in the end, and gives each access of such code a place: the function that was
//! named, in the one function that all generated code is.

use std::collections::{BTreeSet, HashMap};

use super::{
    SiteTable,
    generated::{Generated, last},
};
use crate::abi::{Frame, NONE};

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
