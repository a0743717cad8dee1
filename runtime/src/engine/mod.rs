//! The depth engine: exact depth of every byte read in one LRU stack of bytes.
//!
//! Takes loads, stores, deaths and moves of address ranges in program order; gives, for every byte loaded, how many live
//! bytes were above it. Bytes are identified by address; the unit is a byte by convention only (numbers of cache lines
//! work as well). Refuses nothing: ranges that would run past the last address are cut there.
//!
//! `Shadow` knows the last position of every address, `Timeline` counts the live positions above one, `Stack` is the two
//! together, `isa` picks the instruction set, and this file the cell width.

mod cell;
mod few;
pub(crate) mod hint;
mod isa;
mod marks;
mod memory;
mod pace;
pub(crate) mod plan;
mod regular;
mod report;
mod reserve;
mod rolled;
mod shadow;
mod slopes;
mod stack;
pub(crate) mod timeline;
mod trails;

#[cfg(test)]
mod few_tests;
#[cfg(test)]
pub(crate) mod oracle;
#[cfg(test)]
mod regular_tests;
#[cfg(test)]
mod tests;

use cell::Cell;
pub use isa::Isa;
use pace::Pace;
pub use report::{Found, Reports};
pub use reserve::Refused;
use stack::{Short, Stack};

/// Receives what a load found. Depths of a run are `above + 1 ..= above + len` (topmost byte of the stack = depth 1).
pub trait DepthSink {
    /// Bytes that were on the stack.
    fn warm(&mut self, above: u64, len: u64);
    /// First touch or dead: the bytes enter at the bottom. `above` is the number of live bytes, plus that of cold bytes
    /// this access has reported before.
    fn cold(&mut self, above: u64, len: u64);
}

/// A sink that is told which access of a batch, or which stream of a regular run, the reports that follow are about.
pub trait BatchSink: DepthSink {
    /// The load or the stream of loads with this number is next. A stream may be next any number of times.
    fn begin(&mut self, number: usize);
}

/// What an access of a batch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Load,
    Store,
    Remove,
    /// A load whose bytes then leave the stack.
    Last,
    /// A store of bytes that are not on the stack.
    Fresh,
}

/// One access of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub addr: u64,
    pub len: u32,
    pub kind: Kind,
}

/// One access of each iteration of a regular run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    pub addr: u64,
    /// Added to the address from one iteration to the next.
    pub stride: i64,
    pub len: u32,
    pub kind: Kind,
}

impl Stream {
    /// Address of its access in an iteration.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, iteration: u64) -> u64 {
        self.addr.wrapping_add_signed(self.stride.wrapping_mul(iteration as i64))
    }
}

/// What tests and experiments may want to choose.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// Instruction set; one the processor lacks is replaced by what it has.
    pub isa: Option<Isa>,
    /// Positions handed out between two renumberings, at least. Small values make renumbering constant.
    pub min_positions: u64,
    /// Size of the timeline over the number of live bytes.
    pub growth: u64,
    /// Positions beyond that, at most as many again: what small programs may have for fewer renumberings.
    pub spare: u64,
    /// Positions handed out per allocated cell between two renumberings, at least, as these walk all cells.
    pub per_cell: u64,
    /// Start with 64-bit cells.
    pub wide: bool,
    /// Positions the 32-bit cells may use (at most 2^31).
    pub narrow_limit: u64,
    /// Positions that cells may use for a first byte that alone was touched, where they hold so many.
    pub lone_limit: u64,
    /// Pages (of 16 KiB) that have a table of their own from the first touch on; others once more than a few cells of them were touched.
    pub full_pages: usize,
    /// Do regular runs in blocks of iterations; otherwise access by access.
    pub regular: bool,
    /// Report what a stream's loads in a regular run find in the order of its iterations, and of the bytes of an access; there are fewer
    /// blocks then.
    pub in_order: bool,
    /// Fetch memory ahead in batches, or do not; otherwise whichever is faster.
    pub ahead: Option<bool>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            isa: None,
            min_positions: (1 << 16) - 256,
            growth: 4,
            spare: 100 << 20,
            per_cell: 1,
            wide: false,
            narrow_limit: 1 << 31,
            lone_limit: u64::MAX,
            full_pages: 1 << 12,
            regular: true,
            in_order: false,
            ahead: None,
        }
    }
}

impl EngineOptions {
    fn narrow_limit_for<C: Cell>(&self) -> u64 {
        if C::POOLED == u32::POOLED { self.narrow_limit } else { u64::MAX }
    }

    fn lone_limit_for<C: Cell>(&self) -> u64 {
        self.lone_limit.min(C::LONE - C::POOLED)
    }
}

enum Width {
    Narrow(Stack<u32>),
    Wide(Stack<u64>),
}

/// One LRU stack of bytes.
pub struct Engine {
    width: Width,
    pace: Pace,
    /// What was found for callers that want it in a sink of their own.
    found: Reports,
    labels: Vec<u32>,
}

impl Default for Engine {
    fn default() -> Self {
        Engine::new()
    }
}

/// Runs an expression on the stack, whatever the width of its cells.
macro_rules! on_stack {
    ($width:expr, $stack:ident => $body:expr) => {
        match $width {
            Width::Narrow($stack) => $body,
            Width::Wide($stack) => $body,
        }
    };
}

impl Engine {
    /// An empty stack; holds about 13 KiB until it is used.
    #[must_use]
    pub fn new() -> Engine {
        Engine::with_options(EngineOptions::default())
    }

    /// An empty stack with the choices of a test or an experiment.
    #[must_use]
    pub fn with_options(options: EngineOptions) -> Engine {
        let width = if options.wide { Width::Wide(Stack::new(options)) } else { Width::Narrow(Stack::new(options)) };
        Engine { width, pace: Pace::new(options.ahead), found: Reports::default(), labels: Vec::new() }
    }

    /// Prices the bytes against the stack as it is, then puts them on the top as one block in address order.
    #[inline]
    pub fn load<S: DepthSink>(&mut self, addr: u64, len: u64, sink: &mut S) {
        let len = clamped(addr, len);
        let found = &mut self.found;
        if on_stack!(&mut self.width, stack => isa::short_access::<_, true>(stack, addr, len, found))
            == Short::NotEnough
        {
            self.access::<true>(addr, len);
        }
        self.found.drain(&mut OfOne(sink));
    }

    /// Does the accesses in order, as single calls would, but faster: the memory they need is fetched ahead where that pays. The sink is told
    /// of each load by its number.
    pub fn batch<S: BatchSink>(&mut self, accesses: &[Access], sink: &mut S) {
        let (mut labels, mut found) = (std::mem::take(&mut self.labels), std::mem::take(&mut self.found));
        labels.clear();
        labels.extend(0..accesses.len() as u32);
        self.batch_to(accesses, &labels, &mut found);
        found.drain(sink);
        (self.labels, self.found) = (labels, found);
    }

    /// As [`Engine::batch`]; what a load finds goes to the list, with the label of the load. Each access has a label.
    pub fn batch_to(&mut self, accesses: &[Access], labels: &[u32], out: &mut Reports) {
        let mut done = 0;
        while done < accesses.len() {
            let (ahead, len, began) = self.pace.next(accesses.len() - done);
            let end = done + len;
            on_stack!(&mut self.width, stack => stack.ahead = ahead);
            loop {
                let (accesses, labels) = (&accesses[done..end], &labels[done..end]);
                done += on_stack!(&mut self.width, stack => isa::batch(stack, accesses, labels, out));
                if done == end {
                    break;
                }
                self.widen();
            }
            began.into_iter().for_each(|began| self.pace.done(began));
        }
    }

    /// Does a number of iterations, each the streams' accesses in order. The sink is told of the streams by their numbers.
    /// Reports come in the order of iterations for each stream, but in any order among streams.
    pub fn regular<S: BatchSink>(&mut self, streams: &[Stream], iterations: u64, sink: &mut S) {
        let labels: Vec<u32> = (0..streams.len() as u32).collect();
        let mut found = std::mem::take(&mut self.found);
        self.regular_to(streams, &labels, iterations, &mut found);
        found.drain(sink);
        self.found = found;
    }

    /// As [`Engine::regular`]; what is found goes to the list, with the label of the stream. Each stream has a label.
    pub fn regular_to(&mut self, streams: &[Stream], labels: &[u32], iterations: u64, out: &mut Reports) {
        let all = streams.len() as u64 * iterations;
        let mut done = 0;
        loop {
            done = on_stack!(&mut self.width, stack => isa::regular(stack, streams, labels, iterations, done, out));
            if done == all {
                return;
            }
            self.widen();
        }
    }

    /// From now on, reports are in order; see [`EngineOptions::in_order`].
    pub fn keep_order(&mut self) {
        on_stack!(&mut self.width, stack => stack.options.in_order = true);
    }

    /// Accesses of regular runs that were done in blocks.
    #[must_use]
    pub fn in_blocks(&self) -> u64 {
        on_stack!(&self.width, stack => stack.in_blocks)
    }

    /// As `load`, without reporting.
    #[inline]
    pub fn store(&mut self, addr: u64, len: u64) {
        let len = clamped(addr, len);
        let found = &mut self.found;
        if on_stack!(&mut self.width, stack => isa::short_access::<_, false>(stack, addr, len, found))
            == Short::NotEnough
        {
            self.access::<false>(addr, len);
        }
    }

    /// What the short way was not enough for.
    fn access<const LOAD: bool>(&mut self, addr: u64, len: u64) {
        while on_stack!(&mut self.width, stack => isa::access::<_, LOAD>(stack, addr, len, &mut self.found)).is_err() {
            self.widen();
        }
    }

    /// The bytes leave the stack; their next life is another value.
    #[inline]
    pub fn remove(&mut self, addr: u64, len: u64) {
        on_stack!(&mut self.width, stack => stack.remove(addr, clamped(addr, len)));
    }

    /// The bytes at `from` move to `to` and keep their places on the stack (as memmove does, the ranges may overlap). What
    /// was at the target before dies. The footprint moves along: bytes that arrive do not count again, and where they were is as if
    /// it had never been touched, so that it is the same for an allocator that moves a block and for one that does not.
    pub fn relocate(&mut self, from: u64, to: u64, len: u64) {
        let len = clamped(from, len).min(clamped(to, len));
        on_stack!(&mut self.width, stack => stack.relocate(from, to, len));
    }

    /// Bytes that are not live enter below everything as one block, the highest address nearest to the top; live bytes stay
    /// where they are. May cost a walk over everything that is live.
    pub fn insert_bottom(&mut self, addr: u64, len: u64) {
        let len = clamped(addr, len);
        while on_stack!(&mut self.width, stack => stack.insert_bottom(addr, len)).is_err() {
            self.widen();
        }
    }

    /// Bytes on the stack.
    #[must_use]
    pub fn live(&self) -> u64 {
        on_stack!(&self.width, stack => stack.live())
    }

    /// Most bytes that were ever on the stack at a time.
    #[must_use]
    pub fn peak_live(&self) -> u64 {
        on_stack!(&self.width, stack => stack.peak())
    }

    /// Distinct addresses ever touched, however often they died; those of blocks that moved at their last place.
    #[must_use]
    pub fn footprint(&self) -> u64 {
        on_stack!(&self.width, stack => stack.footprint())
    }

    /// Memory the engine holds.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        on_stack!(&self.width, stack => stack.heap_bytes())
    }

    /// Continues with 64-bit cells.
    #[cold]
    fn widen(&mut self) {
        let nothing = Width::Wide(Stack::new(EngineOptions { min_positions: 0, ..EngineOptions::default() }));
        self.width = match std::mem::replace(&mut self.width, nothing) {
            Width::Narrow(stack) => Width::Wide(stack.converted()),
            Width::Wide(_) => unreachable!("64-bit cells hold every position there can be"),
        };
    }
}

/// A sink that need not be told what a report is about.
struct OfOne<'a, S>(&'a mut S);

impl<S: DepthSink> DepthSink for OfOne<'_, S> {
    #[inline(always)]
    fn warm(&mut self, above: u64, len: u64) {
        self.0.warm(above, len);
    }
    #[inline(always)]
    fn cold(&mut self, above: u64, len: u64) {
        self.0.cold(above, len);
    }
}

impl<S: DepthSink> BatchSink for OfOne<'_, S> {
    #[inline(always)]
    fn begin(&mut self, _number: usize) {}
}

/// Length of the part of the range that exists.
#[inline(always)]
pub(crate) fn clamped(addr: u64, len: u64) -> u64 {
    if addr.checked_add(len).is_some() { len } else { len.min((u64::MAX - addr).saturating_add(1)) }
}
