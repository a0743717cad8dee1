//! The calling-context tree of one thread, and its stack of running functions.
//!
//! A context is the chain of linked functions from the thread's start. Frames end with the record of the function's
//! last segment; unwinding and `longjmp` are seen by landing records, which name the frame that control arrived in;
//! code without hooks may swallow both, and then the next record of an outer function shows it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::locator::FunctionNumber;
use crate::{hash::FastHash, numbers::number};

number! {
    /// Number of a calling context: a node of the tree. Rings number theirs by themselves, and so does a measurement.
    ContextNumber
}

impl ContextNumber {
    /// Where no function runs.
    pub const ROOT: Self = Self(0);
}

/// Distinct contexts kept apart per thread. Beyond it, a recursive call shares the context of the activation it recurs
/// to, so that memory stays bounded on any program; costs per function are not affected.
const MAX_CONTEXTS: usize = 1 << 18;

/// A function, and how control came to it.
#[derive(Clone, Copy, Debug)]
pub struct ContextNode {
    /// The calling context of the caller.
    pub parent: ContextNumber,
    /// None for the root.
    pub function: Option<FunctionNumber>,
    /// How often it was entered while counting.
    pub calls: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Activation {
    node: ContextNumber,
    function: FunctionNumber,
    /// Whether this activation is a region of interest.
    in_roi: bool,
    /// Identity of the frame, 0 if nothing can land in it.
    cookie: u64,
}

/// The calling contexts of one ring, and the stack of those that are active.
pub struct Contexts {
    /// All contexts; number 0 is the root.
    pub nodes: Vec<ContextNode>,
    children: HashMap<(ContextNumber, FunctionNumber), ContextNumber, FastHash>,
    /// By function: the context it was last entered from, and the one that this gave.
    entered: Vec<Option<(ContextNumber, ContextNumber)>>,
    running: Vec<Activation>,
    /// Running activations that are regions of interest.
    pub roi_depth: u64,
}

/// The functions that run, for a replay that goes on somewhere else with the same contexts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Running(Vec<Activation>);

impl Running {
    /// What runs if only these functions are regions of interest, of what runs if all are.
    #[must_use]
    pub fn of_interest(mut self, is_roi: impl Fn(FunctionNumber) -> bool) -> Self {
        self.0.iter_mut().for_each(|activation| activation.in_roi &= is_roi(activation.function));
        self
    }

    /// Whether all numbers are below these limits; to be asked of what was read from a file.
    #[must_use]
    pub fn is_sound(&self, contexts: usize, functions: usize) -> bool {
        self.0.iter().all(|activation| activation.node.index() < contexts && activation.function.index() < functions)
    }
}

impl Default for Contexts {
    fn default() -> Self {
        Self {
            nodes: vec![ContextNode { parent: ContextNumber::ROOT, function: None, calls: 0 }],
            children: HashMap::default(),
            entered: Vec::new(),
            running: Vec::new(),
            roi_depth: 0,
        }
    }
}

impl Contexts {
    /// The current context.
    #[inline]
    #[must_use]
    pub fn current(&self) -> ContextNumber {
        self.running.last().map_or(ContextNumber::ROOT, |a| a.node)
    }

    /// The current function.
    #[inline]
    #[must_use]
    pub fn function(&self) -> Option<FunctionNumber> {
        self.running.last().map(|a| a.function)
    }

    /// What runs now.
    #[must_use]
    pub fn running(&self) -> Running {
        Running(self.running.clone())
    }

    /// Goes on with what runs elsewhere. All contexts of that must be known.
    pub fn go_on(&mut self, running: &Running) {
        self.running.clone_from(&running.0);
        self.roi_depth = self.running.iter().map(|activation| u64::from(activation.in_roi)).sum();
    }

    /// Learns the contexts that another tree has beyond those that this one had from it; none has calls by that.
    pub fn learn(&mut self, nodes: &[ContextNode]) {
        for node in nodes.iter().skip(self.nodes.len()) {
            if let Some(function) = node.function {
                self.children.insert((node.parent, function), ContextNumber::new(self.nodes.len()));
            }
            self.nodes.push(ContextNode { calls: 0, ..*node });
        }
    }

    /// The function below the current one.
    #[must_use]
    pub fn caller(&self) -> Option<FunctionNumber> {
        self.running.iter().rev().nth(1).map(|a| a.function)
    }

    /// Running activations.
    #[inline]
    #[must_use]
    pub fn depth(&self) -> usize {
        self.running.len()
    }

    /// A function starts.
    pub fn enter(&mut self, function: FunctionNumber, cookie: u64, in_roi: bool) -> ContextNumber {
        let parent = self.current();
        let node = match self.entered.get(function.index()) {
            Some(&Some((from, node))) if from == parent => node,
            _ => self.enter_from(parent, function),
        };
        self.roi_depth += u64::from(in_roi);
        self.running.push(Activation { node, function, in_roi, cookie });
        node
    }

    /// The running function ends.
    pub fn exit(&mut self, function: FunctionNumber) {
        // Nearly always the top; frames above it were abandoned by code without hooks.
        if let Some(at) = self.running.iter().rposition(|a| a.function == function) {
            self.unwind_to(at);
        }
    }

    /// Control arrived in the frame with this cookie.
    pub fn land(&mut self, function: FunctionNumber, cookie: u64) {
        match self.running.iter().rposition(|a| a.cookie == cookie && a.function == function) {
            Some(at) => self.unwind_to(at + 1),
            None => self.resume(function),
        }
    }

    /// A record of a function that is not on top: everything above it is gone, or it was entered unseen.
    pub fn resume(&mut self, function: FunctionNumber) {
        match self.running.iter().rposition(|a| a.function == function) {
            Some(at) => self.unwind_to(at + 1),
            None => {
                let node = self.child(self.current(), function);
                self.running.push(Activation { node, function, in_roi: false, cookie: 0 });
            }
        }
    }

    /// All frames were abandoned.
    pub fn restart(&mut self) {
        self.unwind_to(0);
    }

    fn unwind_to(&mut self, depth: usize) {
        for ended in self.running.drain(depth..) {
            self.roi_depth -= u64::from(ended.in_roi);
        }
    }

    #[inline(never)]
    fn enter_from(&mut self, parent: ContextNumber, function: FunctionNumber) -> ContextNumber {
        let node = self.child(parent, function);
        // The context of an outer activation depends on what is running.
        if self.nodes[node.index()].parent == parent {
            let at = function.index();
            if self.entered.len() <= at {
                self.entered.resize(at + 1, None);
            }
            self.entered[at] = Some((parent, node));
        }
        node
    }

    fn child(&mut self, parent: ContextNumber, function: FunctionNumber) -> ContextNumber {
        if let Some(&known) = self.children.get(&(parent, function)) {
            return known;
        }
        if self.nodes.len() >= MAX_CONTEXTS
            && let Some(outer) = self.running.iter().rev().find(|a| a.function == function)
        {
            return outer.node;
        }
        let node = ContextNumber::new(self.nodes.len());
        self.nodes.push(ContextNode { parent, function: Some(function), calls: 0 });
        self.children.insert((parent, function), node);
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(number: usize) -> FunctionNumber {
        FunctionNumber::new(number)
    }

    #[test]
    fn calls_and_returns_give_the_chain() {
        let mut c = Contexts::default();
        let main = c.enter(f(1), 0, false);
        let inner = c.enter(f(2), 0, false);
        assert_eq!(c.nodes[inner.index()].parent, main);
        c.exit(f(2));
        assert_eq!(c.current(), main);
        assert_eq!(c.enter(f(2), 0, false), inner, "the same chain is the same context");
    }

    #[test]
    fn landing_ends_the_frames_above_the_right_activation_of_a_recursion() {
        let mut c = Contexts::default();
        let first = c.enter(f(1), 100, false);
        c.enter(f(1), 90, false);
        c.enter(f(2), 0, false);
        c.land(f(1), 100);
        assert_eq!(c.current(), first);
        c.exit(f(1));
        assert_eq!(c.current(), ContextNumber::ROOT);
    }

    #[test]
    fn an_exception_swallowed_by_code_without_hooks_is_noticed_at_the_next_record() {
        let mut c = Contexts::default();
        let main = c.enter(f(1), 0, false);
        c.enter(f(2), 0, true);
        c.enter(f(3), 0, false);
        c.resume(f(1));
        assert_eq!(c.current(), main);
        assert_eq!(c.roi_depth, 0, "the region's activation is gone with its frame");
    }

    #[test]
    fn handlers_that_are_left_by_longjmp_do_not_pile_up() {
        let mut c = Contexts::default();
        let handler = c.enter(f(1), 0, true);
        c.enter(f(2), 0, false);
        c.restart();
        assert_eq!((c.depth(), c.roi_depth), (0, 0));
        assert_eq!(c.enter(f(1), 0, true), handler, "the same context again");
    }

    #[test]
    fn exits_of_functions_never_entered_are_ignored() {
        let mut c = Contexts::default();
        let main = c.enter(f(1), 0, false);
        c.exit(f(9));
        assert_eq!(c.current(), main);
    }
}
