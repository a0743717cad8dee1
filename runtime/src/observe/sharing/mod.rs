//! Who talks to whom through memory: bytes that one thread reads and another wrote last, and lines that change hands.
//!
//! Takes the accesses of all threads of a process in the order of the model. A label per byte says who wrote it
//! last, `owners` who has each line, as an invalidation protocol would have it.

mod owners;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

pub use owners::Line;

use crate::{
    decode::{block::UNCOUNTED, context::ContextNumber},
    engine::{Access, Kind, clamped},
    hash::FastHash,
    objects::{ObjectNumber, Objects, Origin},
    pieces::pieces,
    shadow::{PAGE, Shadow, UNTOUCHED},
};
use owners::Owners;

/// Largest line, in bytes.
pub const MOST_LINE: u32 = 128;

/// A site of a thread: numbers of the thread's ring and of its cell; [`UNCOUNTED`] while nothing is counted.
pub type Place = (u32, u32);

/// What is known of a process's memory.
pub struct Sharing {
    places: Vec<Place>,
    /// By ring and cell: its place plus one; 0 if it has none. The last of a ring is for what is not counted.
    known: HashMap<u32, Known>,
    /// By byte: the place that wrote it last, plus one.
    writers: Shadow,
    owners: Owners,
    /// Bytes read, by writer, reader and object.
    moved: HashMap<(u32, u32, ObjectNumber), u64, FastHash>,
    /// Whose memory it is.
    pub objects: Objects,
    /// The ring and the call site of each heap object.
    pub origins: Vec<(u32, u32)>,
    origin_of: HashMap<(u32, u32), u32>,
}

#[derive(Default)]
struct Known {
    cells: Vec<u32>,
    uncounted: u32,
}

/// What was found.
pub struct Found {
    /// (Writer, reader, object, bytes).
    pub moved: Vec<(Place, Place, ObjectNumber, u64)>,
    /// Lines that several threads wrote, with what each site of a thread wrote of them.
    pub lines: Vec<FoundLine>,
}

/// A line that several threads wrote.
pub struct FoundLine {
    /// Of the first byte that somebody wrote.
    pub object: ObjectNumber,
    /// How often it changed hands.
    pub line: Line,
    /// The bytes that each site wrote.
    pub writers: Vec<(Place, u128)>,
}

impl Sharing {
    /// Nothing is known; lines have so many bytes, a power of two.
    #[must_use]
    pub fn new(line: u32) -> Self {
        Self {
            places: Vec::new(),
            known: HashMap::new(),
            writers: Shadow::default(),
            owners: Owners::new(line),
            moved: HashMap::default(),
            objects: Objects::default(),
            origins: Vec::new(),
            origin_of: HashMap::new(),
        }
    }

    /// An access of a ring.
    pub fn access(&mut self, access: Access, ring: u32, cell: u32) {
        let place = self.place(ring, cell);
        match access.kind {
            Kind::Load | Kind::Last => {
                if cell != UNCOUNTED {
                    self.read(access.addr, access.len.into(), ring, place);
                }
                self.owners.load(access.addr, access.len, ring);
            }
            Kind::Store | Kind::Fresh => {
                self.writers.fill(access.addr, access.len.into(), place + 1);
                self.owners.store(access.addr, access.len, ring, place);
            }
            // What is handed out again has not been written by who had it before. Caches keep the line.
            Kind::Remove => self.writers.forget(access.addr, access.len.into()),
        }
    }

    /// Counts what another ring wrote of what is read; the object is that of the first byte with the same writer.
    fn read(&mut self, address: u64, len: u64, ring: u32, place: u32) {
        let Self { writers, places, moved, objects, .. } = self;
        let mut found = |address: u64, label: u32, bytes: u64| {
            if label != UNTOUCHED && places[label as usize - 1].0 != ring {
                *moved.entry((label - 1, place, objects.at(address))).or_default() += bytes;
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

    /// A block begins, at a call site of a ring.
    pub fn begins(&mut self, address: u64, len: u64, ring: u32, segment: u32) {
        let origin = self.origin(ring, segment);
        self.objects.allocated(address, len, origin);
    }

    /// A block moves or changes its size; one that was not known begins.
    pub fn moves(&mut self, from: u64, from_len: u64, to: u64, to_len: u64, ring: u32, segment: u32) {
        let origin = self.origin(ring, segment);
        self.objects.relocated(from, from_len, to, to_len, origin);
    }

    /// The number of a call site stands where objects of one ring have their context.
    fn origin(&mut self, ring: u32, segment: u32) -> Origin {
        let next = self.origins.len() as u32;
        let context = *self.origin_of.entry((ring, segment)).or_insert(next);
        if context == next {
            self.origins.push((ring, segment));
        }
        Origin { context: ContextNumber::new(context as usize), segment: 0 }
    }

    /// Bytes move.
    pub fn relocate(&mut self, from: u64, to: u64, len: u64) {
        self.writers.relocate(from, to, clamped(from, len).min(clamped(to, len)));
    }

    fn place(&mut self, ring: u32, cell: u32) -> u32 {
        let known = self.known.entry(ring).or_default();
        let slot = if cell == UNCOUNTED {
            &mut known.uncounted
        } else {
            if known.cells.len() <= cell as usize {
                known.cells.resize(cell as usize + 1, 0);
            }
            &mut known.cells[cell as usize]
        };
        if *slot == 0 {
            self.places.push((ring, cell));
            *slot = self.places.len() as u32;
        }
        *slot - 1
    }

    /// Ends it.
    #[must_use]
    pub fn finish(self) -> (Found, Objects, Vec<(u32, u32)>) {
        let Self { places, moved, mut objects, owners, origins, .. } = self;
        let at = |place: u32| places[place as usize];
        let moved = moved.into_iter().map(|((from, to, object), bytes)| (at(from), at(to), object, bytes)).collect();
        let lines = owners.finish().map(|(address, line, writers)| {
            let writers: Vec<(Place, u128)> = writers.into_iter().map(|(place, mask)| (at(place), mask)).collect();
            // The object of the first byte that somebody wrote.
            let first = writers.iter().map(|(_, mask)| mask.trailing_zeros()).min().unwrap_or(0);
            FoundLine { object: objects.at(address + u64::from(first)), line, writers }
        });
        let found = Found { moved, lines: lines.collect() };
        (found, objects, origins)
    }
}
