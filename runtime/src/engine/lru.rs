//! One LRU stack of bytes, with cells of 32 bits until its positions need 64.
//!
//! Takes accesses one by one, in batches, or as affine runs; gives depths to a sink or a list. Refuses nothing; ranges
//! that would run past the last address are cut there.

use super::{
    access::{Access, Stream, clamped},
    access_tag::AccessTag,
    boundary::{Between, Boundary, MissRequest, Next},
    options::EngineOptions,
    progression::Progression,
    report::Reports,
    sink::{BatchSink, DepthSink},
    stack::{Short, Stack},
};

enum Width {
    Narrow(Stack<u32>),
    Wide(Stack<u64>),
}

impl Width {
    /// Continues with 64-bit cells.
    #[cold]
    fn widen(&mut self) {
        let nothing = Self::Wide(Stack::new(EngineOptions { min_positions: 0, ..EngineOptions::default() }));
        *self = match std::mem::replace(self, nothing) {
            Self::Narrow(stack) => Self::Wide(stack.converted()),
            Self::Wide(_) => unreachable!("64-bit cells hold every position there can be"),
        };
    }
}

/// One LRU stack of bytes.
///
/// ```
/// use dmdprof_runtime::engine::{DepthSink, Engine};
///
/// #[derive(Default)]
/// struct Depths(Vec<u64>);
///
/// impl DepthSink for Depths {
///     fn warm(&mut self, above: u64, len: u64) {
///         self.0.extend(above + 1..=above + len);
///     }
///
///     fn cold(&mut self, _above: u64, _len: u64) {}
/// }
///
/// let (mut engine, mut depths) = (Engine::new(), Depths::default());
/// engine.load(0x1000, 4, &mut depths);
/// engine.load(0x2000, 8, &mut depths);
/// assert!(depths.0.is_empty(), "first touches have no depth");
/// // Eight bytes lie above the four.
/// engine.load(0x1000, 4, &mut depths);
/// depths.0.sort_unstable();
/// assert_eq!(depths.0, [9, 10, 11, 12]);
/// ```
pub struct Engine {
    width: Width,
    /// What was found for callers that want it in a sink of their own: a call fills it and drains it, and nobody
    /// reads it later.
    found: Reports,
    /// Numbers of the accesses of such a call, which fills it; nobody reads it later.
    labels: Vec<AccessTag>,
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
        Engine { width, found: Reports::default(), labels: Vec::new() }
    }

    /// Prices the bytes against the stack as it is, then puts them on the top as one block in address order.
    #[inline]
    pub fn load<S: DepthSink>(&mut self, addr: u64, len: u64, sink: &mut S) {
        let len = clamped(addr, len);
        let found = &mut self.found;
        if on_stack!(&mut self.width, stack => stack.short_access::<true>(addr, len, found)) == Short::NotEnough {
            self.access::<true>(addr, len);
        }
        self.found.drain(&mut OfOne(sink));
    }

    /// Does the accesses in order, as single calls would, but faster: the memory they need is fetched ahead. The sink
    /// is told of each load by its number.
    pub fn batch<S: BatchSink>(&mut self, accesses: &[Access], sink: &mut S) {
        let (mut labels, mut found) = (std::mem::take(&mut self.labels), std::mem::take(&mut self.found));
        labels.clear();
        labels.extend((0..accesses.len()).map(AccessTag::new));
        self.batch_to(accesses, &labels, &mut found);
        found.drain(sink);
        (self.labels, self.found) = (labels, found);
    }

    /// Does accesses in order; what a load finds goes to the list, with the label of the load. Each access has a label.
    pub fn batch_to(&mut self, accesses: &[Access], labels: &[AccessTag], out: &mut Reports) {
        let mut done = 0;
        while done < accesses.len() {
            done += on_stack!(&mut self.width, stack => stack.batch(&accesses[done..], &labels[done..], out));
            if done < accesses.len() {
                self.width.widen();
            }
        }
    }

    /// Does a number of iterations, each the streams' accesses in order. The sink is told of the streams by their
    /// numbers. Reports come in the order of iterations for each stream, but in any order among streams.
    pub fn affine<S: BatchSink>(&mut self, streams: &[Stream], iterations: u64, sink: &mut S) {
        let labels: Vec<AccessTag> = (0..streams.len()).map(AccessTag::new).collect();
        let mut found = std::mem::take(&mut self.found);
        self.affine_to(streams, &labels, iterations, &mut found);
        found.drain(sink);
        self.found = found;
    }

    /// Does an affine run; what is found goes to the list, with the label of the stream. Each stream has a label.
    pub fn affine_to(&mut self, streams: &[Stream], labels: &[AccessTag], iterations: u64, out: &mut Reports) {
        let all = streams.len() as u64 * iterations;
        let mut done = 0;
        loop {
            done = on_stack!(&mut self.width, stack => stack.affine(streams, labels, iterations, done, out));
            if done == all {
                return;
            }
            self.width.widen();
        }
    }

    /// From now on, reports are in order; see [`EngineOptions::in_order`].
    pub fn keep_order(&mut self) {
        on_stack!(&mut self.width, stack => stack.options.in_order = true);
    }

    /// Accesses of affine runs that were done in blocks.
    #[must_use]
    pub fn in_blocks(&self) -> u64 {
        on_stack!(&self.width, stack => stack.in_blocks)
    }

    /// Puts the bytes on the top as one block in address order. Nothing is priced.
    #[inline]
    pub fn store(&mut self, addr: u64, len: u64) {
        let len = clamped(addr, len);
        let found = &mut self.found;
        if on_stack!(&mut self.width, stack => stack.short_access::<false>(addr, len, found)) == Short::NotEnough {
            self.access::<false>(addr, len);
        }
    }

    /// What the short way was not enough for.
    fn access<const LOAD: bool>(&mut self, addr: u64, len: u64) {
        while on_stack!(&mut self.width, stack => stack.access::<LOAD>(addr, len, &mut self.found)).is_err() {
            self.width.widen();
        }
    }

    /// The bytes leave the stack; their next life is another value.
    #[inline]
    pub fn remove(&mut self, addr: u64, len: u64) {
        on_stack!(&mut self.width, stack => stack.mover().remove(addr, clamped(addr, len)));
    }

    /// The bytes at `from` move to `to` and keep their positions on the stack (as memmove does, the ranges may
    /// overlap). What was at the target before dies. The footprint moves along: bytes that arrive do not count again,
    /// and where they were is as if it had never been touched, so that it is the same for an allocator that moves a
    /// block and for one that does not.
    pub fn relocate(&mut self, from: u64, to: u64, len: u64) {
        let len = clamped(from, len).min(clamped(to, len));
        on_stack!(&mut self.width, stack => stack.mover().relocate(from, to, len));
    }

    /// Bytes that are not live enter below everything as one block, the highest address nearest to the top; live bytes
    /// stay where they are. May cost a walk over everything that is live.
    pub fn insert_bottom(&mut self, addr: u64, len: u64) {
        let len = clamped(addr, len);
        while on_stack!(&mut self.width, stack => stack.insert_bottom(addr, len)).is_err() {
            self.width.widen();
        }
    }

    /// Bytes are needed by somebody else: of no effect here, but a part of a run tells it.
    pub(crate) fn output(&mut self, addr: u64, len: u64) {
        let len = clamped(addr, len);
        if let Some(slice) = self.boundary().filter(|_| len > 0) {
            slice.add_between(Between::Output { addr, len });
        }
    }

    /// From now on this is a part of a run: what it does not know of the stack before it, it asks for instead of taking
    /// it to be cold. Nothing was done yet.
    pub(crate) fn start_slice(&mut self) {
        on_stack!(&mut self.width, stack => stack.slice = Some(Box::default()));
    }

    /// Begins with a part that has ended; those behind it can be resolved then, and are the same part in the end.
    /// Nothing was done yet.
    pub(crate) fn go_on_with_slice(&mut self, mut part: Boundary) {
        let left = Boundary {
            left: std::mem::take(&mut part.left),
            rows: std::mem::take(&mut part.rows),
            holes: std::mem::take(&mut part.holes),
            ..Boundary::default()
        };
        on_stack!(&mut self.width, stack => stack.slice = Some(Box::new(part)));
        self.take_over(&left);
    }

    /// What a part has asked so far; nothing if this is no part.
    pub(crate) fn boundary(&mut self) -> Option<&mut Boundary> {
        on_stack!(&mut self.width, stack => stack.slice.as_deref_mut())
    }

    /// Ends a part, and begins the next one.
    pub(crate) fn end_slice(&mut self) -> Boundary {
        on_stack!(&mut self.width, stack => stack.end_slice())
    }

    /// Goes on as if it had done the part itself. What loads found below the part is handed out from time to time.
    pub(crate) fn resolve(&mut self, part: &Boundary, out: &mut Reports, mut file: impl FnMut(&mut Reports)) {
        for next in part.each() {
            match next {
                Next::Asks(asks) => {
                    for asks in resolved_at_a_time(asks) {
                        on_stack!(&mut self.width, stack => stack.resolve(asks, out));
                        file(out);
                    }
                }
                Next::Loop(asked, asks, strides) => {
                    on_stack!(&mut self.width, stack => stack.resolve_loop(asked, asks, strides, out));
                    file(out);
                }
                Next::Between(what) => {
                    while on_stack!(&mut self.width, stack => stack.resolve_between(what)).is_err() {
                        self.width.widen();
                    }
                }
            }
        }
        self.take_over(part);
    }

    /// Puts on the top what a part left.
    fn take_over(&mut self, part: &Boundary) {
        while on_stack!(&mut self.width, stack => stack.take_over(part)).is_err() {
            self.width.widen();
        }
    }

    /// Bytes on the stack.
    #[must_use]
    pub fn live(&self) -> u64 {
        on_stack!(&self.width, stack => stack.order.live())
    }

    /// Most bytes that were ever on the stack at a time.
    #[must_use]
    pub fn peak_live(&self) -> u64 {
        on_stack!(&self.width, stack => stack.peak)
    }

    /// Distinct addresses ever touched, however often they died; those of blocks that moved at their last place.
    #[must_use]
    pub fn footprint(&self) -> u64 {
        on_stack!(&self.width, stack => stack.footprint)
    }

    /// Memory the engine holds.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        on_stack!(&self.width, stack => stack.heap_bytes())
    }
}

/// Pieces of what is asked that do not cut an access in two.
fn resolved_at_a_time(mut asks: &[MissRequest]) -> impl Iterator<Item = &[MissRequest]> {
    const MANY: usize = 4096;
    std::iter::from_fn(move || {
        let joined = asks.get(MANY..).map_or(0, |rest| rest.iter().take_while(|ask| ask.joined).count());
        let (piece, rest) = asks.split_at(asks.len().min(MANY + joined));
        asks = rest;
        (!piece.is_empty()).then_some(piece)
    })
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
    #[inline(always)]
    fn below_holes(&mut self, runs: Progression, holes: u64) {
        self.0.below_holes(runs, holes);
    }
}

impl<S: DepthSink> BatchSink for OfOne<'_, S> {
    #[inline(always)]
    fn begin(&mut self, _number: usize) {}
}
