//! What is static of the modules of a ring, by numbers that are unique in the ring.

use std::collections::HashMap;

use crate::{
    abi::{NONE, marker},
    decode::locator::Module,
};

/// A callee that is only known when the program runs.
pub const ANY: u32 = u32::MAX;

/// Names, registers and constants of a ring's modules.
#[derive(Default)]
pub struct Tables {
    pub(super) names: Vec<String>,
    pub(super) name_of: HashMap<String, u32>,
    /// By segment: name of the callee, or [`ANY`].
    pub(super) callees: Vec<u32>,
    /// By function: its name, and registers of an activation.
    pub(super) functions: Vec<(u32, u32)>,
    pub(super) declares_regions: bool,
    pub(super) declares_inputs: bool,
    /// Constants of the modules: (address, bytes).
    pub(super) read_only: Vec<(u64, u64)>,
}

impl Tables {
    pub(super) fn name(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.name_of.get(text) {
            return known;
        }
        let new = self.names.len() as u32;
        self.names.push(text.to_owned());
        self.name_of.insert(text.to_owned(), new);
        new
    }

    pub(super) fn add(&mut self, module: &Module) {
        let table = &module.placed.table;
        for segment in &table.segments {
            let callee = table.strings.get(segment.callee as usize).filter(|_| segment.callee != NONE);
            let name = callee.map_or(ANY, |text| self.name(text));
            self.callees.push(name);
        }
        for function in &table.functions {
            let name = self.name(table.strings.get(function.name as usize).map_or("?", String::as_str));
            self.functions.push((name, function.registers));
        }
        let bias = module.placed.low.wrapping_sub(table.section_address);
        self.read_only.extend(table.read_only.iter().map(|(start, len)| (start.wrapping_add(bias), *len)));
        self.declares_regions |= table.has_marker(marker::BEGIN);
        self.declares_inputs |= table.has_marker(marker::INPUT);
    }
}
