//! The calling-context tree of one thread, and its stack of running functions.
//!
//! A context is the chain of linked functions from the thread's start. Frames end with the record of the function's
//! last segment; unwinding and `longjmp` are seen by landing records, which name the frame that control arrived in;
//! code without hooks may swallow both, and then the next record of an outer function shows it. What variables of
//! frames end that way, `slots` tells.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{
    locator::FunctionNumber,
    slots::{Chain, Slots},
};
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
    /// Its first variable among those of all running functions.
    slots: u32,
    /// Identity of the frame, 0 if nothing can land in it.
    cookie: u64,
}

/// Of frames that control has left without a return: what ends with them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Address and bytes of their variables.
    pub slots: Vec<(u64, u64)>,
    /// Frames with variables of which it is not known whether they have ended.
    pub unseen: u64,
}

/// The calling contexts of one ring, and the stack of those that are active.
pub struct Contexts {
    /// All contexts; number 0 is the root.
    pub nodes: Vec<ContextNode>,
    children: HashMap<(ContextNumber, FunctionNumber), ContextNumber, FastHash>,
    /// By function: the context it was last entered from, and the one that this gave.
    entered: Vec<Option<(ContextNumber, ContextNumber)>>,
    running: Vec<Activation>,
    slots: Slots,
    /// Running activations that are regions of interest.
    pub roi_depth: u64,
}

/// The functions that run, for a replay that goes on somewhere else with the same contexts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Running {
    functions: Vec<Activation>,
    slots: Slots,
}

impl Running {
    /// What runs if only these functions are regions of interest, of what runs if all are.
    #[must_use]
    pub fn of_interest(mut self, is_roi: impl Fn(FunctionNumber) -> bool) -> Self {
        self.functions.iter_mut().for_each(|activation| activation.in_roi &= is_roi(activation.function));
        self
    }

    /// Whether all numbers are below these limits; to be asked of what was read from a file.
    #[must_use]
    pub fn is_sound(&self, contexts: usize, functions: usize) -> bool {
        let is_known = |a: &Activation| a.node.index() < contexts && a.function.index() < functions;
        self.functions.iter().all(is_known)
            && self.functions.is_sorted_by_key(|activation| activation.slots)
            && self.functions.last().is_none_or(|last| last.slots as usize <= self.slots.len())
    }
}

impl Default for Contexts {
    fn default() -> Self {
        Self {
            nodes: vec![ContextNode { parent: ContextNumber::ROOT, function: None, calls: 0 }],
            children: HashMap::default(),
            entered: Vec::new(),
            running: Vec::new(),
            slots: Slots::default(),
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
        Running { functions: self.running.clone(), slots: self.slots.clone() }
    }

    /// Goes on with what runs elsewhere. All contexts of that must be known.
    pub fn go_on(&mut self, running: &Running) {
        self.running.clone_from(&running.functions);
        self.slots.clone_from(&running.slots);
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
        self.push(Activation { node, function, in_roi, cookie, slots: 0 });
        node
    }

    fn push(&mut self, activation: Activation) {
        self.running.push(Activation { slots: self.slots.len() as u32, ..activation });
    }

    /// A variable of the running function starts its life.
    #[inline]
    pub fn hold(&mut self, address: u64, len: u64) {
        if let Some(activation) = self.running.last() {
            self.slots.hold(activation.slots as usize, (address, len));
        }
    }

    /// The running function ends. Gives the number of frames above it, which ended unseen, that have variables.
    #[inline]
    pub fn exit(&mut self, function: FunctionNumber) -> u64 {
        // Nearly always the top; frames above it were abandoned by code without hooks.
        match self.running.iter().rposition(|a| a.function == function) {
            Some(at) if at + 1 == self.running.len() => {
                self.unwind_to(at);
                0
            }
            Some(at) => {
                let unseen = self.holders(at + 1);
                self.unwind_to(at);
                unseen
            }
            None => 0,
        }
    }

    /// Control arrived in the frame with this cookie.
    #[must_use]
    pub fn land(&mut self, function: FunctionNumber, cookie: u64) -> Left {
        match self.running.iter().rposition(|a| a.cookie == cookie && a.function == function) {
            Some(at) if at + 1 == self.running.len() => Left::default(),
            Some(at) => {
                let landed = self.slots_of(at).min().map_or(cookie, |(lowest, _)| lowest.min(cookie));
                let left = self.leave(at + 1, Chain::below(landed));
                self.unwind_to(at + 1);
                left
            }
            None => Left { slots: Vec::new(), unseen: self.resume(function) },
        }
    }

    /// A record of a function that is not on top: everything above it is gone, or it was entered unseen. Gives the
    /// number of frames above it that have variables: they may have ended, or may be on another stack.
    pub fn resume(&mut self, function: FunctionNumber) -> u64 {
        match self.running.iter().rposition(|a| a.function == function) {
            Some(at) => {
                let unseen = self.holders(at + 1);
                self.unwind_to(at + 1);
                unseen
            }
            None => {
                let node = self.child(self.current(), function);
                self.push(Activation { node, function, in_roi: false, cookie: 0, slots: 0 });
                0
            }
        }
    }

    /// All frames were abandoned.
    #[must_use]
    pub fn restart(&mut self) -> Left {
        let left = self.leave(0, Chain::anywhere());
        self.unwind_to(0);
        left
    }

    /// The variables of frames from a depth on that are above each other on the stack of this chain.
    fn leave(&self, depth: usize, mut chain: Chain) -> Left {
        let mut left = Left::default();
        for at in depth..self.running.len() {
            if chain.goes_on(self.slots_of(at)) {
                left.slots.extend(self.slots_of(at));
            } else {
                left.unseen = self.holders(at);
                break;
            }
        }
        left
    }

    /// Running activations from a depth on that have variables.
    fn holders(&self, depth: usize) -> u64 {
        (depth..self.running.len()).filter(|at| self.slots_of(*at).next().is_some()).count() as u64
    }

    fn slots_of(&self, at: usize) -> impl Iterator<Item = (u64, u64)> {
        let end = self.running.get(at + 1).map_or(self.slots.len(), |above| above.slots as usize);
        self.slots.range(self.running[at].slots as usize..end)
    }

    fn unwind_to(&mut self, depth: usize) {
        if let Some(first) = self.running.get(depth) {
            self.slots.truncate(first.slots as usize);
        }
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
        let _ = c.land(f(1), 100);
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
        let _ = c.restart();
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

    #[test]
    fn variables_end_with_the_frames_that_are_left() {
        let mut c = Contexts::default();
        c.enter(f(1), 9000, false);
        c.hold(8900, 8);
        c.enter(f(2), 0, false);
        c.hold(8000, 500);
        c.hold(8500, 4);
        c.enter(f(3), 0, false);
        c.enter(f(4), 0, false);
        c.hold(7000, 16);
        c.exit(f(4));
        c.enter(f(5), 0, false);
        c.hold(7100, 32);
        let left = c.land(f(1), 9000);
        assert_eq!(left, Left { slots: vec![(8000, 500), (8500, 4), (7100, 32)], unseen: 0 });
        assert_eq!(c.land(f(1), 9000), Left::default(), "setjmp has returned, and nothing was left");
        assert_eq!(c.restart().slots, [(8900, 8)]);
    }

    #[test]
    fn frames_on_another_stack_are_not_known_to_have_ended() {
        let mut c = Contexts::default();
        let left = |c: &mut Contexts, address| {
            c.enter(f(2), 0, false);
            c.hold(0x7fff_f000, 16);
            c.enter(f(3), 0, false);
            c.hold(address, 16);
            c.enter(f(4), 0, false);
            c.hold(address - 64, 16);
            c.land(f(1), 0x7fff_fff0)
        };
        c.enter(f(1), 0x7fff_fff0, false);
        let above = [0x7fff_f000, 0x7fff_e000, 0x7fff_e000 - 64].map(|address| (address, 16));
        assert_eq!(left(&mut c, 0x7fff_e000), Left { slots: above.to_vec(), unseen: 0 });
        let other = Left { slots: above[..1].to_vec(), unseen: 2 };
        assert_eq!(left(&mut c, 0x1000_0000), other, "far below");
        assert_eq!(left(&mut c, 0x7fff_f008), other, "among the variables of the frame before it");
        c.hold(0x7fff_8000, 0x4000);
        assert_eq!(left(&mut c, 0x7fff_9000).unseen, 3, "within a variable of the frame that control is in");
        c.enter(f(2), 0, false);
        c.hold(0x7fff_7000, 8);
        assert_eq!(c.resume(f(1)), 1, "a record alone does not tell which stack it is of");
    }

    #[test]
    fn what_goes_on_elsewhere_leaves_the_same_variables() {
        let mut c = Contexts::default();
        c.enter(f(1), 900, false);
        c.enter(f(2), 0, false);
        c.hold(800, 8);
        let running = c.running();
        assert!(running.is_sound(c.nodes.len(), 3) && !running.is_sound(c.nodes.len(), 2));
        let mut other = Contexts::default();
        other.learn(&c.nodes);
        other.go_on(&running);
        assert_eq!(other.land(f(1), 900), c.land(f(1), 900));
    }
}
