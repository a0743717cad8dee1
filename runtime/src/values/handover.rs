//! What a call hands to its callee, and what comes back.
//!
//! Takes the identities of arguments before a call, and those of results before a return; gives both to the other
//! side if it follows values too. A callee that does not is counted by name if it was shown a tracked value.

use std::collections::BTreeMap;

use super::tables::{ANY, Tables};
use crate::shadow::ByteLabel;

/// A call that has begun, until its callee starts or it returns.
struct Pending {
    callee: u32,
    /// Running functions at the call.
    depth: usize,
    /// It gets tracked values, or pointers to some.
    shows_values: bool,
}

/// An argument in registers.
#[derive(Clone, Copy)]
pub struct Argument {
    pub index: u16,
    pub label: ByteLabel,
    pub variable: bool,
}

/// An argument in memory.
#[derive(Clone, Copy)]
pub struct BytesArgument {
    pub index: u16,
    pub address: u64,
}

/// Of one thread.
#[derive(Default)]
pub struct Handover {
    pending: Option<Pending>,
    pub arguments: Vec<Argument>,
    pub bytes_arguments: Vec<BytesArgument>,
    /// Address and bytes of what arguments point to.
    pub pointers: Vec<(u64, u64)>,
    /// Arguments of the next call are being gathered.
    gathering: bool,
    /// The function that just started was called by code that follows values.
    pub claimed: bool,
    /// Identities of results, and how many functions were running at the call they answer.
    results: Vec<(u16, ByteLabel)>,
    results_for: Option<usize>,
    /// Calls of code that does not follow values, with tracked arguments, by name.
    pub unfollowed: BTreeMap<String, u64>,
}

impl Handover {
    /// An argument of the next call is at hand: those of the one before it are forgotten.
    pub fn gather(&mut self) {
        if !self.gathering {
            self.pointers.clear();
            self.arguments.clear();
            self.bytes_arguments.clear();
            self.gathering = true;
        }
    }

    /// The call with the gathered arguments begins.
    pub fn call(&mut self, callee: u32, depth: usize, shows_values: bool) {
        self.gathering = false;
        self.results_for = None;
        self.pending = Some(Pending { callee, depth, shows_values });
    }

    /// A function starts above this many; whether it is the one that the pending call named.
    pub fn claim(&mut self, depth: usize, name: u32, tables: &Tables, is_tracked: impl Fn(ByteLabel) -> bool) -> bool {
        let Some(pending) = self.pending.take_if(|p| p.depth == depth) else { return false };
        if pending.callee != ANY && pending.callee != name {
            // Code that follows no values calls back.
            self.not_followed(&pending, tables);
            return false;
        }
        if self.arguments.iter().any(|a| a.variable && is_tracked(a.label)) {
            let callee = tables.names.get(pending.callee as usize).map_or("a function", String::as_str);
            *self.unfollowed.entry(format!("{callee} (variable arguments)")).or_default() += 1;
        }
        self.results_for = None;
        self.results.clear();
        true
    }

    /// Counts a call of code that follows no values if that mattered.
    fn not_followed(&mut self, pending: &Pending, tables: &Tables) {
        if pending.shows_values {
            let name = tables.names.get(pending.callee as usize).map_or("(through a pointer)", String::as_str);
            *self.unfollowed.entry(name.to_owned()).or_default() += 1;
        }
    }

    /// A function gives a result to a caller that waits for its identity, above which so many are running.
    pub fn answer(&mut self, depth: usize, slot: u16, label: ByteLabel) {
        if self.results_for != Some(depth) {
            self.results.clear();
            self.results_for = Some(depth);
        }
        self.results.push((slot, label));
    }

    /// A call has returned. If no function claimed it, the callee follows no values.
    pub fn returned(&mut self, depth: usize, tables: &Tables) {
        if let Some(pending) = self.pending.take_if(|p| p.depth == depth) {
            self.not_followed(&pending, tables);
            self.results_for = None;
        }
        if self.results_for != Some(depth) {
            self.results.clear();
        }
    }

    /// The identity of a result of the call that has returned.
    #[must_use]
    pub fn result(&self, slot: u16) -> ByteLabel {
        self.results.iter().find(|(index, _)| *index == slot).map_or(0, |(_, label)| *label)
    }

    /// The region ends: what was on its way does not arrive.
    pub fn drop_pending(&mut self) {
        (self.pending, self.results_for) = (None, None);
    }
}
