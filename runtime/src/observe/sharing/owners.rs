//! Lines of memory, and which threads have them, as an invalidation protocol would have it (MESI): a thread that writes
//! a line takes it from all others; one that reads it gets a copy.
//!
//! A line changes its owner when another thread writes it than the one that did last. The change is *false* if the new
//! owner, while it is that, touches no byte that the one before it wrote while it was that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{engine::clamped, hash::FastHash, pieces::pieces};

/// No thread.
const NOBODY: u32 = u32::MAX;

/// What happened to a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Times that another thread wrote it than the one that did last.
    pub changes: u64,
    /// Those in which no byte went from one to the other.
    pub false_changes: u64,
    /// Stores that took a copy from some other thread.
    pub invalidations: u64,
    /// Loads of a line that another thread wrote last and of which the reader had no copy.
    pub transfers: u64,
}

/// Threads that have a copy, by number.
#[derive(Default)]
struct Holders {
    low: u64,
    /// Those from 64 on.
    more: Option<BTreeSet<u32>>,
}

impl Holders {
    fn has(&self, thread: u32) -> bool {
        if thread < 64 { self.low >> thread & 1 == 1 } else { self.more.as_ref().is_some_and(|m| m.contains(&thread)) }
    }

    fn add(&mut self, thread: u32) {
        if thread < 64 {
            self.low |= 1 << thread;
        } else {
            self.more.get_or_insert_default().insert(thread);
        }
    }

    /// Only this thread has one from now on; whether another had one.
    fn take(&mut self, thread: u32) -> bool {
        let own = if thread < 64 { 1 << thread } else { 0 };
        let others = self.low & !own != 0 || self.more.as_ref().is_some_and(|m| m.iter().any(|other| *other != thread));
        (self.low, self.more) = (0, None);
        self.add(thread);
        others
    }
}

/// What is known of a line.
struct State {
    owner: u32,
    holders: Holders,
    /// Bytes that the owner wrote and touched while it has been that.
    wrote: u128,
    touched: u128,
    /// Bytes that the owner before wrote; none if there was no other.
    before: u128,
    /// Sites that wrote it, and which bytes.
    writers: Vec<(u32, u128)>,
    line: Line,
}

/// All lines.
pub struct Owners {
    shift: u32,
    lines: HashMap<u64, State, FastHash>,
}

impl Owners {
    #[must_use]
    pub fn new(line: u32) -> Self {
        Self { shift: line.trailing_zeros(), lines: HashMap::default() }
    }

    /// The lines of a range: number, and mask of the bytes.
    fn parts(&self, address: u64, len: u32) -> impl Iterator<Item = (u64, u128)> + use<> {
        let mask = |from: u64, bytes: u64| (u128::MAX >> (128 - bytes)) << from;
        pieces(address, clamped(address, len.into()), 1 << self.shift)
            .map(move |(line, from, bytes)| (line, mask(from, bytes)))
    }

    fn state(&mut self, line: u64) -> &mut State {
        self.lines.entry(line).or_insert_with(|| State {
            owner: NOBODY,
            holders: Holders::default(),
            wrote: 0,
            touched: 0,
            before: 0,
            writers: Vec::new(),
            line: Line::default(),
        })
    }

    /// A thread reads.
    pub fn load(&mut self, address: u64, len: u32, thread: u32) {
        for (line, mask) in self.parts(address, len) {
            let state = self.state(line);
            if state.owner == thread {
                state.touched |= mask;
            } else if !state.holders.has(thread) {
                state.line.transfers += u64::from(state.owner != NOBODY);
            }
            state.holders.add(thread);
        }
    }

    /// A site of a thread writes.
    pub fn store(&mut self, address: u64, len: u32, thread: u32, site: u32) {
        for (line, mask) in self.parts(address, len) {
            let state = self.state(line);
            state.line.invalidations += u64::from(state.holders.take(thread));
            if state.owner == thread {
                state.wrote |= mask;
                state.touched |= mask;
            } else {
                state.give_up();
                if state.owner != NOBODY {
                    state.line.changes += 1;
                    state.before = state.wrote;
                }
                (state.owner, state.wrote, state.touched) = (thread, mask, mask);
            }
            match state.writers.iter_mut().find(|(known, _)| *known == site) {
                Some((_, written)) => *written |= mask,
                None => state.writers.push((site, mask)),
            }
        }
    }

    /// Lines that changed hands, with their addresses, and what each site wrote of them.
    pub fn finish(self) -> impl Iterator<Item = (u64, Line, BTreeMap<u32, u128>)> {
        let shift = self.shift;
        let changed = self.lines.into_iter().filter(|(_, state)| state.line.changes > 0);
        changed.map(move |(line, mut state)| {
            state.give_up();
            (line << shift, state.line, state.writers.into_iter().collect())
        })
    }
}

impl State {
    /// The owner is that no longer, so whether it took over for nothing is known.
    fn give_up(&mut self) {
        if self.before != 0 && self.touched & self.before == 0 {
            self.line.false_changes += 1;
        }
    }
}
