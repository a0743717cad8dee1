//! Lines of memory, and which threads have them, as an invalidation protocol would have it (MESI): a thread that writes
//! a line takes it from all others; one that reads it gets a copy.
//!
//! A line changes its owner when another thread writes it than the one that did last. The change is *false* if the new
//! owner, while it is that, touches no byte that the one before it wrote while it was that.
//!
//! Of each line it is known which bytes of which objects each site wrote. Memory that is handed out again is another
//! object, of which the caches know nothing.

use std::collections::{BTreeSet, HashMap};

use crate::{
    engine::clamped,
    hash::FastHash,
    objects::{ObjectNumber, Objects},
    pieces::pieces,
};

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

/// What a site wrote of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer<Site> {
    /// Who wrote.
    pub site: Site,
    /// The object of the first byte that it wrote.
    pub object: ObjectNumber,
    /// Where in the object the line begins; below 0 where the object begins within the line. `None` if that is not
    /// known.
    pub offset: Option<i64>,
    /// The bytes of the line.
    pub mask: u128,
    /// Those that it wrote since the line first changed hands: what came before may have been setting up.
    pub since: u128,
}

/// So many parts of objects are kept apart per line; beyond them, where in its object a part lies is dropped.
const MANY: usize = 64;

/// What is known of a line.
struct State {
    owner: u32,
    holders: Holders,
    /// Bytes that the owner wrote and touched while it has been that.
    wrote: u128,
    touched: u128,
    /// Bytes that the owner before wrote; none if there was no other.
    before: u128,
    writers: Vec<Writer<u32>>,
    /// Of these, the first that is about what lies there now.
    current: usize,
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
            current: 0,
            line: Line::default(),
        })
    }

    /// Other objects lie in a range from now on.
    pub fn forget_objects(&mut self, address: u64, len: u64) {
        let (first, last) = (address >> self.shift, address.saturating_add(len.max(1) - 1) >> self.shift);
        let forget = |state: &mut State| state.current = state.writers.len();
        if last - first < self.lines.len() as u64 {
            (first..=last).for_each(|line| self.lines.get_mut(&line).into_iter().for_each(forget));
        } else {
            self.lines
                .iter_mut()
                .filter(|(line, _)| (first..=last).contains(line))
                .for_each(|(_, state)| forget(state));
        }
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
    pub fn store(&mut self, address: u64, len: u32, thread: u32, site: u32, objects: &mut Objects) {
        let shift = self.shift;
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
            let since = if state.line.changes > 0 { mask } else { 0 };
            let is_known = |w: &Writer<u32>| w.site == site && w.mask & mask == mask && w.since & since == since;
            if !state.writers[state.current..].iter().any(is_known) {
                state.wrote(site, [mask, since], line << shift, objects);
            }
        }
    }

    /// Lines that changed hands, in no order, and what each site wrote of them.
    pub fn finish(self) -> impl Iterator<Item = (Line, Vec<Writer<u32>>)> {
        let changed = self.lines.into_values().filter(|state| state.line.changes > 0);
        changed.map(|mut state| {
            state.give_up();
            (state.line, state.writers)
        })
    }
}

impl State {
    /// Takes note of bytes that a site wrote of the line at an address, and which of them since it changed hands.
    #[cold]
    fn wrote(&mut self, site: u32, [mask, since]: [u128; 2], line: u64, objects: &mut Objects) {
        let first = line + u64::from(mask.trailing_zeros());
        let object = objects.layout.object_at(first);
        let offset = objects.layout.start_of(first).filter(|_| self.writers.len() < MANY);
        let offset = offset.map(|start| line.wrapping_sub(start) as i64);
        let is_same = |writer: &Writer<u32>| (writer.site, writer.object, writer.offset) == (site, object, offset);
        let known = self.writers.iter().position(is_same);
        let mut writer = known.map_or(Writer { site, object, offset, mask, since }, |at| self.writers.remove(at));
        writer.mask |= mask;
        writer.since |= since;
        // What lies there again is about what lies there now.
        self.current -= usize::from(known.is_some_and(|at| at < self.current));
        self.writers.push(writer);
    }

    /// The owner is that no longer, so whether it took over for nothing is known.
    fn give_up(&mut self) {
        if self.before != 0 && self.touched & self.before == 0 {
            self.line.false_changes += 1;
        }
    }
}
