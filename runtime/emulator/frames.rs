//! Which functions run, and what of the stack is in use.
//!
//! A call of x86-64 stores its return address, and a return loads it: the addresses of these accesses tell the stack
//! pointer, and that which frames there are. Other processors leave the return address in a register: there, a frame is
//! known by that address, and ends when control comes there. A frame that is left in another way (`longjmp`, an
//! exception) is found gone at the next call or return of one further out. A jump to another function takes its frame
//! over. What lies below the stack pointer after a return is dead.

use dmdprof_hooks::emulator::{self, EventKind};

use crate::{
    code::Site,
    modules::{Function, mappings},
    record::write,
};

/// A running function.
struct Frame {
    /// Where its return address lies or, if that is in a register, the return address.
    slot: u64,
    function: &'static Function,
    /// Where it was called.
    call: Option<&'static Site>,
}

/// A stack.
#[derive(Clone, Copy)]
struct Stack {
    low: u64,
    high: u64,
    /// What lies below the stack pointer is known to be the stack's: there is a page without access below it.
    is_sure: bool,
    /// The lowest address that was touched and may be in use.
    lowest: u64,
}

impl Stack {
    const NONE: Self = Self { low: 0, high: 0, is_sure: false, lowest: 0 };

    fn has(&self, address: u64) -> bool {
        self.low <= address && address < self.high
    }

    /// The stack that an address is in.
    fn find(address: u64) -> Self {
        let all = mappings();
        let Some(at) = all.iter().position(|m| m.low <= address && address < m.high) else { return Self::NONE };
        let (low, high) = (all[at].low, all[at].high);
        let below = at.checked_sub(1).map(|below| &all[below]);
        let is_sure = below.is_some_and(|below| below.high == low && !below.readable);
        Self { low, high, is_sure, lowest: high }
    }
}

/// A thread's frames.
pub struct Frames {
    frames: Vec<Frame>,
    /// A call that has not arrived yet: where its return address lies, and where it was called.
    called: Option<(u64, &'static Site)>,
    stack: Stack,
    /// Other stacks that the thread has been on.
    others: Vec<Stack>,
    /// Running functions of the library that tells what is allocated.
    own: usize,
    /// A return to what a register says, which has not come back yet.
    pub is_returning: bool,
}

impl Frames {
    pub fn new() -> Self {
        Self { frames: Vec::new(), called: None, stack: Stack::NONE, others: Vec::new(), own: 0, is_returning: false }
    }

    /// An access.
    #[inline(always)]
    pub fn touches(&mut self, address: u64) {
        let Stack { low, lowest, .. } = self.stack;
        if address.wrapping_sub(low) < lowest.wrapping_sub(low) {
            self.stack.lowest = address;
        }
    }

    /// A call, whose return address lies there.
    #[inline(always)]
    pub fn calls(&mut self, site: &'static Site, slot: u64) {
        if !self.stack.has(slot) {
            self.changes_stack(slot);
        }
        self.called = Some((slot, site));
    }

    /// A call that leaves its return address in a register.
    pub fn calls_by_register(&mut self, site: &'static Site, returns_to: u64) {
        self.arrives(site.block.function);
        self.called = Some((returns_to, site));
    }

    /// Control is where a call of a function's returns to: after such a call, or after a jump that leaves frames, as
    /// `longjmp` does, if it is sure that a call returns there.
    pub fn comes_back(&mut self, returns_to: u64, function: &'static Function, is_sure: bool) {
        let has_returned = std::mem::take(&mut self.is_returning);
        // What was called has accessed nothing.
        if has_returned && self.called.take_if(|(slot, _)| *slot == returns_to).is_some() {
            return;
        }
        let is_other = self.frames.last().is_some_and(|top| !core::ptr::eq(top.function, function));
        let is_of = |frame: &Frame| core::ptr::eq(frame.function, function);
        let last = |is_it: &dyn Fn(&Frame) -> bool| self.frames.iter().rposition(is_it);
        let by_return = if has_returned { last(&|frame| frame.slot == returns_to) } else { None };
        let by_jump = || if is_sure && is_other { last(&is_of).map(|at| at + 1) } else { None };
        if let Some(left) = by_return.or_else(by_jump) {
            self.leave_above(left);
        }
    }

    /// Ends frames until so many are left.
    fn leave_above(&mut self, left: usize) {
        while self.frames.len() > left
            && let Some(top) = self.frames.pop()
        {
            self.exit(&top, None);
        }
    }

    /// Tells the stack that an address is in from others: where it ends, as it may grow at its other end.
    pub fn stack(&mut self, address: u64) -> u64 {
        if !self.stack.has(address) {
            self.changes_stack(address);
        }
        self.stack.high
    }

    #[cold]
    fn changes_stack(&mut self, address: u64) {
        if self.stack.high > 0 {
            self.others.push(self.stack);
        }
        self.stack = match self.others.iter().position(|stack| stack.has(address)) {
            Some(at) => self.others.swap_remove(at),
            None => Stack::find(address),
        };
        if self.stack.has(address) {
            self.stack.lowest = self.stack.lowest.min(address);
        }
    }

    /// Code of a function runs.
    #[inline(always)]
    pub fn arrives(&mut self, function: &'static Function) {
        if self.called.is_none() && self.frames.last().is_some_and(|top| core::ptr::eq(top.function, function)) {
            return;
        }
        self.arrives_elsewhere(function);
    }

    fn arrives_elsewhere(&mut self, function: &'static Function) {
        self.is_returning = false;
        if let Some((slot, site)) = self.called.take() {
            self.leave(slot, None);
            self.is_of(site.block.function);
            self.enter(Frame { slot, function, call: Some(site) });
            return;
        }
        self.becomes(function);
    }

    /// The last frame, which has just called, is of a function: after a jump out of a signal's handler, that has it.
    fn is_of(&mut self, function: &'static Function) {
        if self.frames.last().is_some_and(|top| !core::ptr::eq(top.function, function)) {
            self.becomes(function);
        }
    }

    /// A function takes the last frame over.
    fn becomes(&mut self, function: &'static Function) {
        // Where a thread starts nobody has called.
        let mut frame = Frame { slot: u64::MAX, function, call: None };
        if let Some(top) = self.frames.pop() {
            self.exit(&top, None);
            (frame.slot, frame.call) = (top.slot, top.call);
        }
        self.enter(frame);
    }

    /// A return, whose address lay there.
    pub fn returns(&mut self, slot: u64) {
        if !self.stack.has(slot) {
            self.changes_stack(slot);
        }
        let end = slot.wrapping_add(8);
        let dead =
            (self.stack.is_sure && self.stack.lowest < end).then(|| (self.stack.lowest, end - self.stack.lowest));
        self.stack.lowest = self.stack.lowest.max(end);
        if let Some(dead) = self.leave(slot, dead) {
            emulator::event(0, EventKind::Free, [dead.0, dead.1]);
        }
    }

    /// Ends the frames up to the one whose return address lies there; the last of them takes bytes of the stack with
    /// it, which are given back if there is none.
    fn leave(&mut self, slot: u64, mut dead: Option<(u64, u64)>) -> Option<(u64, u64)> {
        if self.stack.high == 0 {
            return dead;
        }
        // Those of other stacks above one of this stack were left by a jump.
        if let Some(own) = self.frames.iter().rposition(|frame| self.stack.has(frame.slot)) {
            self.leave_above(own + 1);
        }
        while let Some(top) = self.frames.pop_if(|top| top.slot <= slot && self.stack.has(top.slot)) {
            let is_last = self.frames.last().is_none_or(|next| next.slot > slot || !self.stack.has(next.slot));
            self.exit(&top, if is_last { dead.take() } else { None });
        }
        dead
    }

    fn enter(&mut self, frame: Frame) {
        if frame.function.is_own {
            self.own += 1;
        } else {
            write(&[frame.function.enters()]);
        }
        self.frames.push(frame);
    }

    fn exit(&mut self, frame: &Frame, dead: Option<(u64, u64)>) {
        if frame.function.is_own {
            self.own -= 1;
            if let Some((low, bytes)) = dead {
                emulator::event(0, EventKind::Free, [low, bytes]);
            }
        } else if let Some((low, bytes)) = dead {
            write(&[frame.function.exits_with_stack(), low, bytes]);
        } else {
            write(&[frame.function.exits()]);
        }
    }

    /// The library that tells what is allocated runs.
    pub fn is_own(&self) -> bool {
        self.own > 0
    }

    /// Where the program called what runs now of that library, as an address of a site; 0 = not known.
    pub fn caller(&self) -> u64 {
        let own = self.frames.iter().rev().take_while(|frame| frame.function.is_own).last();
        own.and_then(|frame| frame.call).map_or(0, Site::call)
    }
}
