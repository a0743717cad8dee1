//! What chosen functions call, in order.
//!
//! Takes the starts of functions with hooks, gives for each chosen function the functions that its activations called,
//! calls of one function in a row as one entry. After [`MAX_CALLS`] entries further calls are only counted.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    locator::{FunctionNumber, Module},
    roi::RegionOfInterest,
};

/// Most entries per thread and chosen function.
pub const MAX_CALLS: usize = 1 << 20;

/// Calls in order: callee, and how often in a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Calls<F> {
    /// Callee, and how often it was called in a row.
    pub calls: Vec<(F, u64)>,
    /// Calls after the last entry.
    pub omitted: u64,
}

impl<F> Default for Calls<F> {
    fn default() -> Self {
        Self { calls: Vec::new(), omitted: 0 }
    }
}

impl<F: PartialEq> Calls<F> {
    /// Adds calls in a row.
    pub fn add(&mut self, callee: F, times: u64) {
        let is_full = self.calls.len() == MAX_CALLS;
        match self.calls.last_mut() {
            _ if self.omitted > 0 => self.omitted += times,
            Some(last) if last.0 == callee => last.1 += times,
            _ if is_full => self.omitted += times,
            _ => self.calls.push((callee, times)),
        }
    }
}

/// What each chosen function of a ring called, in the ring's numbers.
pub type RingSequences = BTreeMap<FunctionNumber, Calls<FunctionNumber>>;

/// The sequences of one ring, by its numbers of functions.
pub struct Sequences {
    chosen: Arc<dyn RegionOfInterest>,
    /// By function.
    is_chosen: Vec<bool>,
    of: RingSequences,
}

impl Sequences {
    /// Nothing was called; functions that are `chosen` are followed.
    #[must_use]
    pub fn new(chosen: Arc<dyn RegionOfInterest>) -> Self {
        Self { chosen, is_chosen: Vec::new(), of: BTreeMap::new() }
    }

    /// Takes note of a module's functions; in the order of the locator.
    pub fn add_module(&mut self, module: &Module) {
        let table = &module.placed.table;
        let names = table.functions.iter().map(|f| table.strings.get(f.name as usize).map_or("", String::as_str));
        self.is_chosen.extend(names.map(|name| self.chosen.matches_symbol(name)));
    }

    /// `function` started, called by `caller` if that is known. `counts`: whether the call is counted.
    pub fn entered(&mut self, caller: Option<FunctionNumber>, function: FunctionNumber, counts: bool) {
        if self.is_chosen[function.index()] {
            self.of.entry(function).or_default();
        }
        if let Some(caller) = caller
            && counts
            && self.is_chosen[caller.index()]
        {
            self.of.entry(caller).or_default().add(function, 1);
        }
    }

    /// By chosen function that ran.
    #[must_use]
    pub fn finish(self) -> RingSequences {
        self.of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_a_row_are_one_entry_and_none_beyond_the_limit_is_lost() {
        let mut calls = Calls::default();
        for call in [1, 1, 2, 1] {
            calls.add(call, 1);
        }
        assert_eq!(calls, Calls { calls: vec![(1, 2), (2, 1), (1, 1)], omitted: 0 });
        for call in 0..MAX_CALLS as u32 {
            calls.add(call, 2);
        }
        calls.add(MAX_CALLS as u32 - 4, 1);
        assert_eq!(calls.calls.len(), MAX_CALLS);
        assert_eq!(calls.omitted, 2 * 3 + 1, "also one that would continue the last entry");
    }
}
