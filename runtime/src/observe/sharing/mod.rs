//! Who talks to whom through memory: bytes that one thread reads and another wrote last, and lines that change hands.
//!
//! Takes the accesses of all threads of a process in the order of the model, and whose memory it is. A label per byte
//! says who wrote it last, `owners` who has each line, as an invalidation protocol would have it. Where threads have
//! stacks of their own, also tells which of their first touches are of bytes that another thread had written.

mod owners;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

pub use owners::{Line, Writer};

use crate::{
    engine::{Access, AccessTag, Kind, clamped},
    hash::FastHash,
    objects::{ObjectNumber, Objects},
    oplog::Op,
    pieces::pieces,
    shadow::{ByteLabel, PAGE, Shadow, UNTOUCHED},
};
use owners::Owners;

/// Largest line, in bytes.
pub const MOST_LINE: u32 = 128;

/// A site of a thread: number of the thread's ring, and its cell, or [`AccessTag::UNCOUNTED`].
pub type RingSite = (u32, AccessTag);

/// What is known of a process's memory.
pub struct Sharing {
    places: Vec<RingSite>,
    /// By ring and cell: its place plus one; 0 if it has none. The last of a ring is for what is not counted.
    known: HashMap<u32, SiteNumbers>,
    /// By byte: the place that wrote it last, plus one.
    writers: Shadow,
    owners: Owners,
    /// Bytes read, by writer, reader and object.
    moved: HashMap<(u32, u32, ObjectNumber), u64, FastHash>,
    /// By ring, where each has a stack of its own.
    stacks: Option<BTreeMap<u32, Stack>>,
}

/// What a stack of one ring has.
#[derive(Default)]
struct Stack {
    /// Bytes on it are [`ON_STACK`].
    bytes: Shadow,
    /// Bytes read first that another ring wrote last.
    handed: u64,
}

const ON_STACK: ByteLabel = 1;

#[derive(Default)]
struct SiteNumbers {
    cells: Vec<u32>,
    uncounted: u32,
}

/// What was found.
pub struct SharingResult {
    /// (Writer, reader, object, bytes).
    pub moved: Vec<(RingSite, RingSite, ObjectNumber, u64)>,
    /// Lines that several threads wrote, with what each site of a thread wrote of them.
    pub lines: Vec<FoundLine>,
    /// By ring, where each has a stack of its own: bytes that it read first and another had written.
    pub handed: BTreeMap<u32, u64>,
}

/// A line that several threads wrote.
pub struct FoundLine {
    /// How often it changed hands.
    pub line: Line,
    /// The bytes that each site wrote.
    pub writers: Vec<Writer<RingSite>>,
}

impl Sharing {
    /// Nothing is known; lines have so many bytes, a power of two. With `own_stacks`, each ring has one.
    #[must_use]
    pub fn new(line: u32, own_stacks: bool) -> Self {
        Self {
            places: Vec::new(),
            known: HashMap::new(),
            writers: Shadow::default(),
            owners: Owners::new(line),
            moved: HashMap::default(),
            stacks: own_stacks.then(BTreeMap::new),
        }
    }

    /// What a ring does.
    pub fn op(&mut self, op: Op<'_>, ring: u32, objects: &mut Objects) {
        match op {
            Op::Accesses { .. } | Op::Run { .. } => {
                op.each_access(|access, label| self.access(access, ring, label, objects));
            }
            Op::Move { from, to, len } => self.relocate(from, to, len, ring),
            // It lies at the bottom of the ring's stack if it was not on it.
            Op::Input { addr, len } => self.put_on_stack(addr, len, ring, false),
            Op::Output { .. } | Op::Life(_) | Op::Sync(_) => {}
        }
    }

    /// An access of a ring.
    pub fn access(&mut self, access: Access, ring: u32, label: AccessTag, objects: &mut Objects) {
        let place = self.site_number(ring, label);
        match access.kind {
            Kind::Load | Kind::Last => {
                self.put_on_stack(access.addr, access.len.into(), ring, label != AccessTag::UNCOUNTED);
                if label != AccessTag::UNCOUNTED {
                    self.read(access.addr, access.len.into(), ring, place, objects);
                }
                self.owners.load(access.addr, access.len, ring);
            }
            Kind::Store | Kind::Fresh => {
                self.put_on_stack(access.addr, access.len.into(), ring, false);
                self.writers.fill(access.addr, access.len.into(), place + 1);
                self.owners.store(access.addr, access.len, ring, place, objects);
            }
            // What is handed out again has not been written by who had it before. Caches keep the line.
            Kind::Remove => {
                self.writers.forget(access.addr, access.len.into());
                if let Some(stacks) = &mut self.stacks {
                    stacks.entry(ring).or_default().bytes.forget(access.addr, access.len.into());
                }
            }
        }
    }

    /// Bytes are on the stack of a ring from now on; if they are read, counts those that were not and that another ring
    /// wrote last.
    fn put_on_stack(&mut self, address: u64, len: u64, ring: u32, is_counted: bool) {
        let Self { stacks: Some(stacks), writers, places, .. } = self else { return };
        let stack = stacks.entry(ring).or_default();
        for (page, offset, bytes) in pieces(address, len, PAGE as u64) {
            let at = page * PAGE as u64 + offset;
            if stack.bytes.uniform(at, bytes) == Some(ON_STACK) {
                continue;
            }
            if is_counted {
                let is_new = stack.bytes.read(at, bytes);
                let by_others = |writer: &ByteLabel| *writer != UNTOUCHED && places[*writer as usize - 1].0 != ring;
                let handed = is_new.iter().zip(writers.read(at, bytes));
                stack.handed += handed.filter(|(on, writer)| **on == UNTOUCHED && by_others(writer)).count() as u64;
            }
            stack.bytes.fill(at, bytes, ON_STACK);
        }
    }

    /// Other objects lie in a range from now on.
    pub fn changes_objects(&mut self, address: u64, len: u64) {
        self.owners.forget_objects(address, len);
    }

    /// Counts what another ring wrote of what is read; the object is that of the first byte with the same writer.
    fn read(&mut self, address: u64, len: u64, ring: u32, place: u32, objects: &mut Objects) {
        let Self { writers, places, moved, .. } = self;
        let mut found = |address: u64, label: ByteLabel, bytes: u64| {
            if label != UNTOUCHED && places[label as usize - 1].0 != ring {
                *moved.entry((label - 1, place, objects.layout.object_at(address))).or_default() += bytes;
            }
        };
        for (page, offset, bytes) in pieces(address, len, PAGE as u64) {
            let mut at = page * PAGE as u64 + offset;
            if let Some(label) = writers.uniform(at, bytes) {
                found(at, label, bytes);
                continue;
            }
            for same in writers.read(at, bytes).chunk_by(|a, b| a == b) {
                found(at, same[0], same.len() as u64);
                at += same.len() as u64;
            }
        }
    }

    /// Bytes move, on behalf of a ring.
    pub fn relocate(&mut self, from: u64, to: u64, len: u64, ring: u32) {
        let len = clamped(from, len).min(clamped(to, len));
        self.writers.relocate(from, to, len);
        if let Some(stacks) = &mut self.stacks {
            stacks.entry(ring).or_default().bytes.relocate(from, to, len);
        }
    }

    fn site_number(&mut self, ring: u32, label: AccessTag) -> u32 {
        let known = self.known.entry(ring).or_default();
        let slot = if label == AccessTag::UNCOUNTED {
            &mut known.uncounted
        } else {
            if known.cells.len() <= label.cell().index() {
                known.cells.resize(label.cell().index() + 1, 0);
            }
            &mut known.cells[label.cell().index()]
        };
        if *slot == 0 {
            self.places.push((ring, label));
            *slot = self.places.len() as u32;
        }
        *slot - 1
    }

    /// Ends it.
    #[must_use]
    pub fn finish(self) -> SharingResult {
        let Self { places, moved, owners, stacks, .. } = self;
        let at = |place: u32| places[place as usize];
        let moved = moved.into_iter().map(|((from, to, object), bytes)| (at(from), at(to), object, bytes)).collect();
        let named = |writer: Writer<u32>| {
            let Writer { site, object, offset, mask, since } = writer;
            Writer { site: at(site), object, offset, mask, since }
        };
        let lines = owners.finish();
        let lines = lines.map(|(line, writers)| FoundLine { line, writers: writers.into_iter().map(named).collect() });
        let handed = stacks.into_iter().flatten().map(|(ring, stack)| (ring, stack.handed)).collect();
        SharingResult { moved, lines: lines.collect(), handed }
    }
}
