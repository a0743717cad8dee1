//! One thing that happens in a ring, in the words that all have in common who are told of it.
//!
//! What a decoder finds becomes an [`Op`] once; observers, the log, the engine and the stacks of threads take nothing
//! else. Accesses come many at a time, so that who is told asks once per batch what it is. [`Ops`] keeps a number of
//! them in their order and gives them back from either end.

use std::ops::Range;

use crate::{
    decode::event::Synchronised,
    engine::{Access, AccessTag, Kind, Stream},
    objects::change::Change,
};

/// Accesses of a run that take the engine about as long as a single one.
const RUN_WEIGHT: usize = 8;

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub enum Op<'a> {
    /// Accesses in order, each with its label.
    Accesses { accesses: &'a [Access], labels: &'a [AccessTag] },
    /// All iterations of an affine run, each stream with its label.
    Run { streams: &'a [Stream], labels: &'a [AccessTag], iterations: u64 },
    /// Bytes are elsewhere from now on.
    Move { from: u64, to: u64, len: u64 },
    /// Declared input.
    Input { addr: u64, len: u64 },
    /// Declared output: whatever lies there is needed, now and at the end.
    Output { addr: u64, len: u64 },
    /// Memory begins to live, ends or moves.
    Life(&'a Change),
    /// Threads wait for each other.
    Sync(Synchronised),
}

impl<'a> Op<'a> {
    /// Accesses, each with its label.
    #[must_use]
    pub fn accesses(accesses: &'a [Access], labels: &'a [AccessTag]) -> Self {
        Self::Accesses { accesses, labels }
    }

    /// A run, each stream with its label.
    #[must_use]
    pub fn run(streams: &'a [Stream], labels: &'a [AccessTag], iterations: u64) -> Self {
        Self::Run { streams, labels, iterations }
    }

    /// Tells of each access in order, those of all iterations of a run among them; of nothing else.
    #[inline(always)]
    pub fn each_access(&self, mut tell: impl FnMut(Access, AccessTag)) {
        match *self {
            Self::Accesses { accesses, labels } => {
                accesses.iter().zip(labels).for_each(|(access, label)| tell(*access, *label));
            }
            Self::Run { streams, labels, iterations } => {
                for iteration in 0..iterations {
                    streams.iter().zip(labels).for_each(|(stream, label)| tell(stream.access(iteration), *label));
                }
            }
            _ => {}
        }
    }
}

/// An operation that is not of single accesses; a run is one of the next so many streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Special {
    Run { streams: usize, iterations: u64 },
    Move { from: u64, to: u64, len: u64 },
    Input { addr: u64, len: u64 },
    Output { addr: u64, len: u64 },
    Life(Box<Change>),
    Sync(Synchronised),
}

/// A store to the bytes of an access right after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// The number of the access.
    pub access: usize,
    /// The label of the store.
    pub label: AccessTag,
}

/// Operations in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ops {
    pub accesses: Vec<Access>,
    /// One per access.
    pub labels: Vec<AccessTag>,
    pub streams: Vec<Stream>,
    /// One per stream.
    pub stream_labels: Vec<AccessTag>,
    /// Each with the number of accesses before it.
    pub(super) specials: Vec<(usize, Special)>,
    /// Stores that the engine need not know of, for who follows lines.
    pub again: Vec<Again>,
    /// How much work there is, in single accesses.
    pub size: usize,
}

impl Ops {
    /// Adds an access.
    #[inline]
    pub fn push(&mut self, access: Access, label: AccessTag) {
        self.accesses.push(access);
        self.labels.push(label);
        self.size += 1;
    }

    /// Adds any operation.
    pub fn add(&mut self, op: Op<'_>) {
        let (special, size) = match op {
            Op::Accesses { accesses, labels } => {
                self.accesses.extend_from_slice(accesses);
                self.labels.extend_from_slice(labels);
                self.size += accesses.len();
                return;
            }
            Op::Run { streams, labels, iterations } => {
                self.streams.extend_from_slice(streams);
                self.stream_labels.extend_from_slice(labels);
                let accesses = streams.len() * iterations as usize;
                (Special::Run { streams: streams.len(), iterations }, accesses.div_ceil(RUN_WEIGHT))
            }
            Op::Move { from, to, len } => (Special::Move { from, to, len }, 1),
            Op::Input { addr, len } => (Special::Input { addr, len }, 1),
            Op::Output { addr, len } => (Special::Output { addr, len }, 1),
            Op::Life(life) => (Special::Life(Box::new(life.clone())), 1),
            Op::Sync(event) => (Special::Sync(event), 1),
        };
        self.specials.push((self.accesses.len(), special));
        self.size += size;
    }

    /// Whether there is more in it than single accesses.
    #[must_use]
    pub fn has_more_than_accesses(&self) -> bool {
        !(self.specials.is_empty() && self.again.is_empty())
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.accesses.clear();
        self.labels.clear();
        self.streams.clear();
        self.stream_labels.clear();
        self.specials.clear();
        self.again.clear();
        self.size = 0;
    }

    /// All, from either end.
    #[must_use]
    pub fn each(&self) -> Each<'_> {
        self.from(OpPosition::default())
    }

    /// Those behind a place.
    #[must_use]
    pub fn from(&self, place: OpPosition) -> Each<'_> {
        let OpPosition { accesses, specials, streams } = place;
        let all = |first: usize, end: usize| first..end;
        Each {
            ops: self,
            accesses: all(accesses, self.accesses.len()),
            specials: all(specials, self.specials.len()),
            streams: all(streams, self.streams.len()),
        }
    }

    /// Tells of everything in order, with the stores that the engine need not know of.
    pub fn each_store(&self, mut tell: impl FnMut(Op<'_>)) {
        let (mut again, mut done) = (self.again.as_slice(), 0);
        for op in self.each() {
            let Op::Accesses { accesses, labels } = op else {
                tell(op);
                continue;
            };
            let mut from = 0;
            while let Some((&Again { access, label }, later)) = again.split_first()
                && access < done + accesses.len()
            {
                let at = access - done;
                tell(Op::accesses(&accesses[from..=at], &labels[from..=at]));
                let store = Access { kind: Kind::Store, ..accesses[at] };
                tell(Op::accesses(&[store], &[label]));
                (again, from) = (later, at + 1);
            }
            tell(Op::accesses(&accesses[from..], &labels[from..]));
            done += accesses.len();
        }
    }

    /// Memory that is held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        (20 * self.accesses.len() + 28 * self.streams.len() + 64 * self.specials.len()) as u64
    }
}

/// A place between two operations, or two accesses.
#[derive(Clone, Copy, Default)]
pub struct OpPosition {
    /// So many of each are before it.
    pub accesses: usize,
    specials: usize,
    streams: usize,
}

impl OpPosition {
    /// Goes on behind an operation.
    pub fn pass(&mut self, op: &Op<'_>) {
        match op {
            Op::Accesses { accesses, .. } => self.accesses += accesses.len(),
            Op::Run { streams, .. } => {
                (self.specials, self.streams) = (self.specials + 1, self.streams + streams.len())
            }
            _ => self.specials += 1,
        }
    }
}

/// Operations from either end.
#[derive(Clone)]
pub struct Each<'a> {
    ops: &'a Ops,
    accesses: Range<usize>,
    specials: Range<usize>,
    streams: Range<usize>,
}

impl<'a> Each<'a> {
    fn accesses(&self, these: Range<usize>) -> Op<'a> {
        Op::accesses(&self.ops.accesses[these.clone()], &self.ops.labels[these])
    }

    /// A special; of a run, `take` gives its streams.
    fn special(&mut self, special: &'a Special, take: fn(&mut Range<usize>, usize) -> Range<usize>) -> Op<'a> {
        match *special {
            Special::Run { streams, iterations } => {
                let these = take(&mut self.streams, streams);
                let labels = &self.ops.stream_labels[these.clone()];
                Op::run(&self.ops.streams[these], labels, iterations)
            }
            Special::Move { from, to, len } => Op::Move { from, to, len },
            Special::Input { addr, len } => Op::Input { addr, len },
            Special::Output { addr, len } => Op::Output { addr, len },
            Special::Life(ref life) => Op::Life(life),
            Special::Sync(event) => Op::Sync(event),
        }
    }
}

impl<'a> Iterator for Each<'a> {
    type Item = Op<'a>;

    fn next(&mut self) -> Option<Op<'a>> {
        let next = self.ops.specials[self.specials.clone()].first();
        let end = next.map_or(self.accesses.end, |(after, _)| *after);
        if self.accesses.start < end {
            let these = std::mem::replace(&mut self.accesses.start, end)..end;
            return Some(self.accesses(these));
        }
        let (_, special) = next?;
        self.specials.start += 1;
        let first = |all: &mut Range<usize>, count| {
            let start = all.start;
            all.start += count;
            start..all.start
        };
        Some(self.special(special, first))
    }
}

impl DoubleEndedIterator for Each<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let next = self.ops.specials[self.specials.clone()].last();
        let start = next.map_or(self.accesses.start, |(after, _)| *after);
        if start < self.accesses.end {
            let these = start..std::mem::replace(&mut self.accesses.end, start);
            return Some(self.accesses(these));
        }
        let (_, special) = next?;
        self.specials.end -= 1;
        let last = |all: &mut Range<usize>, count| {
            let end = all.end;
            all.end -= count;
            all.end..end
        };
        Some(self.special(special, last))
    }
}
