//! Memories of several capacities that evict what is needed farthest in the future, side by side.
//!
//! Takes accesses with the distances to the next reads of their bytes, gives the bytes that each memory had to fetch.
//! All bytes of an access are in the memory together; what is not read again then leaves. Of an access that is larger
//! than the memory those bytes stay that are read soonest.
//!
//! What is read next at one time is one entry: how many bytes of it each memory holds. The entry of the access at hand
//! is that of this very time, so hits are looked up once for all memories, and no address is. Which entry is farthest
//! is known by a heap per memory. It needs no entry whose next read is within Z ticks of the clock: were such an entry
//! the farthest, all that the memory holds would be read until then, in at most Z bytes. Entries within the smallest
//! capacity are in no heap at all, and lie in a ring.

use std::collections::{BinaryHeap, HashMap};

use crate::hash::FastHash;

/// Slots of the ring, at most: 64 KiB.
const RING: u64 = 1 << 14;
/// Entries of a heap that are there for nothing, at most, and as many again as there are entries.
const STALE: usize = 1024;

/// Bytes that are read next at one time.
#[derive(Clone, Copy, Debug)]
pub struct Next {
    /// Ticks from now.
    pub distance: u64,
    pub bytes: u64,
}

/// An entry that a memory may have to evict: when it is read next, and where its counts are.
type Candidate = (u64, u32);

struct Memory {
    capacity: u64,
    /// Bytes.
    held: u64,
    farthest: BinaryHeap<Candidate>,
}

pub struct Memories {
    /// By capacity, the smallest first.
    memories: Vec<Memory>,
    clock: u64,
    /// Bytes that all memories hold, by the time of their next read modulo the length.
    ring: Vec<u32>,
    /// Ticks within which entries lie in the ring.
    near: u64,
    /// Other entries, by the time of their next read: where their counts are.
    entries: HashMap<u64, u32, FastHash>,
    /// Of each entry, the bytes that each memory holds.
    counts: Vec<u32>,
    free: Vec<u32>,
}

impl Memories {
    /// Empty memories of such capacities, which are ascending and not zero.
    #[must_use]
    pub fn new(capacities: &[u64]) -> Self {
        let near = capacities.first().map_or(1, |&smallest| smallest.min(RING - 1));
        let memory = |&capacity: &u64| Memory { capacity, held: 0, farthest: BinaryHeap::new() };
        Self {
            memories: capacities.iter().map(memory).collect(),
            clock: 0,
            ring: vec![0; (near + 1).next_power_of_two() as usize],
            near,
            entries: HashMap::default(),
            counts: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let heaps: usize = self.memories.iter().map(|memory| memory.farthest.capacity() * size_of::<Candidate>()).sum();
        let entries = self.entries.capacity() * size_of::<(u64, u32)>();
        (heaps + entries + (self.counts.capacity() + self.free.capacity() + self.ring.len()) * 4) as u64
    }

    /// An access of so many bytes, of which `warm` had been touched before and `next` are read again. Tells `missed`,
    /// by number of the memory, how many of the warm ones it did not hold.
    pub fn access(&mut self, len: u64, warm: u64, next: &[Next], mut missed: impl FnMut(usize, u64)) {
        self.clock += len;
        let near = self.take_near();
        let slot = self.entries.remove(&self.clock);
        for number in 0..self.memories.len() {
            let hits = near + slot.map_or(0, |slot| self.take_far(slot, number));
            debug_assert!(hits <= warm, "what is held was touched");
            self.memories[number].held -= hits;
            if hits < warm {
                missed(number, warm - hits);
            }
            self.evict(number, len);
        }
        self.free.extend(slot);
        self.keep(next);
        // Only an access that is larger than a memory leaves too much.
        if self.memories.first().is_some_and(|smallest| smallest.capacity < len) {
            self.evict_all();
        }
    }

    /// Bytes come in that nobody fetches, below all others: they take the places that are free, or those of bytes that
    /// are needed later.
    pub fn arrive(&mut self, next: &[Next]) {
        self.keep(next);
        self.evict_all();
    }

    #[inline]
    fn take_near(&mut self) -> u64 {
        let mask = self.ring.len() - 1;
        u64::from(std::mem::take(&mut self.ring[self.clock as usize & mask]))
    }

    #[inline]
    fn take_far(&mut self, slot: u32, number: usize) -> u64 {
        let place = self.place(slot, number);
        u64::from(std::mem::take(&mut self.counts[place]))
    }

    fn place(&self, slot: u32, number: usize) -> usize {
        slot as usize * self.memories.len() + number
    }

    fn keep(&mut self, next: &[Next]) {
        for next in next {
            self.memories.iter_mut().for_each(|memory| memory.held += next.bytes);
            let time = self.clock + next.distance;
            if next.distance <= self.near {
                let mask = self.ring.len() - 1;
                self.ring[time as usize & mask] += next.bytes as u32;
            } else {
                self.keep_far(time, *next);
            }
        }
    }

    fn keep_far(&mut self, time: u64, next: Next) {
        let slot = *self.entries.entry(time).or_insert_with(|| {
            self.free.pop().unwrap_or_else(|| {
                let slot = self.counts.len() / self.memories.len();
                self.counts.resize(self.counts.len() + self.memories.len(), 0);
                slot as u32
            })
        });
        let first = self.place(slot, 0);
        for (memory, count) in self.memories.iter_mut().zip(&mut self.counts[first..]) {
            // One that has bytes was far when they came, and is in the heap.
            if *count == 0 && memory.capacity < next.distance {
                memory.farthest.push((time, slot));
            }
            *count += next.bytes as u32;
        }
        self.tidy();
    }

    /// Takes out of heaps what has been read.
    fn tidy(&mut self) {
        let (clock, most) = (self.clock, 2 * self.entries.len() + STALE);
        for memory in self.memories.iter_mut().filter(|memory| memory.farthest.len() > most) {
            memory.farthest.retain(|&(time, _)| time > clock);
        }
    }

    fn evict_all(&mut self) {
        (0..self.memories.len()).for_each(|number| self.evict(number, 0));
    }

    /// Makes room in a memory for so many bytes, or as much as there is.
    #[inline]
    fn evict(&mut self, number: usize, bytes: u64) {
        let memory = &self.memories[number];
        if memory.held + bytes > memory.capacity && memory.held > 0 {
            self.evict_farthest(number, bytes);
        }
    }

    fn evict_farthest(&mut self, number: usize, bytes: u64) {
        let all = self.memories.len();
        let memory = &mut self.memories[number];
        let mut surplus = (memory.held + bytes).saturating_sub(memory.capacity).min(memory.held);
        while surplus > 0 {
            let Some(&(time, slot)) = memory.farthest.peek() else { break };
            debug_assert!(time > self.clock, "what has been read is not held");
            let count = &mut self.counts[slot as usize * all + number];
            let gone = surplus.min(u64::from(*count));
            *count -= gone as u32;
            memory.held -= gone;
            surplus -= gone;
            if *count == 0 {
                memory.farthest.pop();
            }
        }
        debug_assert!(surplus == 0, "what is in no heap fits");
    }
}
