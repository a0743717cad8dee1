//! Memories of several capacities that evict what is needed farthest in the future, side by side.
//!
//! Takes accesses with the distances to the next reads of their bytes, gives the bytes that each memory had to fetch.
//! All bytes of an access are in the memory together; what is not read again then leaves. Of an access that is larger
//! than the memory those bytes stay that are read soonest.
//!
//! What is read next at one time is one entry: how many bytes of it each memory holds. The entry of the access at hand
//! is that of this very time, so hits are looked up once for all memories, and no address is. Which entry is farthest
//! is known by a heap per memory. It needs no entry whose next read is within Z ticks of the clock: were such an entry
//! the farthest, all that the memory holds would be read until then, in at most Z bytes.
//!
//! Entries of the next ticks lie in a ring by their time, others in a heap, the soonest first, until they are near. So
//! there may be several entries of one time; they are a chain.

use std::{cmp::Reverse, collections::BinaryHeap};

/// Ticks of the ring; a few for tests, so that they come to its end.
const RING: u64 = if cfg!(test) { 64 } else { 1 << 20 };
/// Entries of a heap that are there for nothing, at most, beside as many as it may need.
const STALE: u64 = 1024;

/// Bytes that are read next at one time.
#[derive(Clone, Copy, Debug)]
pub struct Next {
    /// Ticks from now.
    pub distance: u64,
    pub bytes: u64,
}

/// Where an entry is in the list of entries; the first place stays empty and ends chains.
type Slot = u32;
const NONE: Slot = 0;

struct Memory {
    capacity: u64,
    /// Bytes.
    held: u64,
    /// Entries that it may have to evict, by the time of their next read.
    farthest: BinaryHeap<(u64, Slot)>,
    /// Bytes of the access at hand that it holds.
    hits: u64,
}

pub struct Memories {
    /// By capacity, the smallest first.
    memories: Vec<Memory>,
    clock: u64,
    /// The entries that are read within its length, by their time modulo that.
    ring: Vec<Slot>,
    /// The others.
    later: BinaryHeap<Reverse<(u64, Slot)>>,
    /// By slot, the bytes that each memory holds.
    counts: Vec<u32>,
    /// By slot, the next entry of the same time.
    chain: Vec<Slot>,
    free: Vec<Slot>,
}

impl Memories {
    /// Empty memories of such capacities, which are ascending and not zero.
    #[must_use]
    pub fn new(capacities: &[u64]) -> Self {
        let memory = |&capacity: &u64| Memory { capacity, held: 0, farthest: BinaryHeap::new(), hits: 0 };
        Self {
            memories: capacities.iter().map(memory).collect(),
            clock: 0,
            ring: vec![NONE; RING as usize],
            later: BinaryHeap::new(),
            counts: vec![0; capacities.len()],
            chain: vec![NONE],
            free: Vec::new(),
        }
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let heaps = self.memories.iter().map(|memory| memory.farthest.capacity()).sum::<usize>();
        let slots = self.counts.capacity() + self.chain.capacity() + self.free.capacity() + self.ring.len();
        ((heaps + self.later.capacity()) * size_of::<(u64, Slot)>() + slots * size_of::<Slot>()) as u64
    }

    /// A store of so many bytes, of which `next` are read: it may pass by a memory.
    pub fn store(&mut self, len: u64, next: &[Next]) {
        self.clock += len;
        self.take_hits();
        debug_assert!(self.memories.iter().all(|memory| memory.hits == 0), "what is written over is not read");
        self.arrive(next);
    }

    /// A load of so many bytes, of which `warm` had been touched before and `next` are read again. Tells `missed`,
    /// by number of the memory, how many of the warm ones it did not hold.
    pub fn load(&mut self, len: u64, warm: u64, next: &[Next], mut missed: impl FnMut(usize, u64)) {
        self.clock += len;
        self.take_hits();
        for number in 0..self.memories.len() {
            let memory = &mut self.memories[number];
            let hits = std::mem::take(&mut memory.hits);
            debug_assert!(hits <= warm, "what is held was touched");
            memory.held -= hits;
            if hits < warm {
                missed(number, warm - hits);
            }
            self.evict(number, len);
        }
        next.iter().for_each(|next| self.keep(*next));
        // Only an access that is larger than a memory leaves too much.
        if self.memories.first().is_some_and(|smallest| smallest.capacity < len) {
            self.evict_all();
        }
    }

    /// Bytes come in that nobody fetches: they take the places that are free, or those of bytes that
    /// are needed later.
    pub fn arrive(&mut self, next: &[Next]) {
        next.iter().for_each(|next| self.keep(*next));
        self.evict_all();
    }

    fn place(time: u64) -> usize {
        (time % RING) as usize
    }

    /// The entries of this time end.
    #[inline]
    fn take_hits(&mut self) {
        while let Some(&Reverse((time, slot))) = self.later.peek()
            && time < self.clock + RING
        {
            self.later.pop();
            self.chain[slot as usize] = std::mem::replace(&mut self.ring[Self::place(time)], slot);
        }
        let all = self.memories.len();
        let mut slot = std::mem::replace(&mut self.ring[Self::place(self.clock)], NONE);
        while slot != NONE {
            let counts = &mut self.counts[slot as usize * all..][..all];
            for (memory, count) in self.memories.iter_mut().zip(counts) {
                memory.hits += u64::from(std::mem::take(count));
            }
            self.free.push(slot);
            slot = std::mem::replace(&mut self.chain[slot as usize], NONE);
        }
    }

    #[inline]
    fn keep(&mut self, next: Next) {
        let time = self.clock + next.distance;
        let slot = if next.distance < RING {
            match self.ring[Self::place(time)] {
                NONE => {
                    let slot = self.new_slot();
                    self.ring[Self::place(time)] = slot;
                    slot
                }
                slot => slot,
            }
        } else {
            let slot = self.new_slot();
            self.later.push(Reverse((time, slot)));
            slot
        };
        let all = self.memories.len();
        let counts = &mut self.counts[slot as usize * all..][..all];
        let mut is_far = false;
        for (memory, count) in self.memories.iter_mut().zip(counts) {
            memory.held += next.bytes;
            // One that has bytes was far when they came, and is in the heap.
            if *count == 0 && memory.capacity < next.distance {
                memory.farthest.push((time, slot));
                is_far = true;
            }
            *count += next.bytes as u32;
        }
        if is_far {
            self.tidy();
        }
    }

    #[inline]
    fn new_slot(&mut self) -> Slot {
        self.free.pop().unwrap_or_else(|| {
            let slot = self.chain.len() as Slot;
            self.chain.push(NONE);
            self.counts.resize(self.counts.len() + self.memories.len(), 0);
            slot
        })
    }

    /// Takes out of heaps what has been read. None needs more entries than there are, or than the memory has bytes.
    fn tidy(&mut self) {
        let (clock, entries) = (self.clock, (self.chain.len() - self.free.len()) as u64);
        for memory in &mut self.memories {
            if memory.farthest.len() as u64 > 2 * memory.capacity.min(entries) + STALE {
                memory.farthest.retain(|&(time, _)| time > clock);
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::held::tells_what_it_holds;

    /// So many ticks in which nothing is kept.
    fn wait(memories: &mut Memories, ticks: u64) {
        if ticks > 0 {
            memories.store(ticks, &[]);
        }
    }

    /// By memory: bytes of a load of so many that it did not hold.
    fn missed(memories: &mut Memories, len: u64, next: &[Next]) -> Vec<u64> {
        let mut all = vec![0; memories.memories.len()];
        memories.load(len, len, next, |number, bytes| all[number] = bytes);
        all
    }

    #[test]
    fn bytes_are_found_at_the_time_of_their_next_read_however_far_it_is() {
        for distance in [1, 2, RING - 1, RING, RING + 1, 2 * RING, 5 * RING + 3] {
            let mut memories = Memories::new(&[1, 3]);
            wait(&mut memories, 10);
            memories.store(1, &[Next { distance, bytes: 1 }]);
            wait(&mut memories, distance - 1);
            assert_eq!(missed(&mut memories, 1, &[]), [0, 0], "{distance}");
            assert_eq!(missed(&mut memories, 1, &[]), [1, 1], "it is not held any more");
        }
    }

    #[test]
    fn bytes_of_one_time_that_came_far_before_it_are_found_together() {
        let mut memories = Memories::new(&[4]);
        (0..3).for_each(|tick| memories.store(1, &[Next { distance: RING + 5 - tick, bytes: 1 }]));
        wait(&mut memories, 20);
        memories.store(1, &[Next { distance: RING - 18, bytes: 1 }]);
        wait(&mut memories, RING - 22);
        assert_eq!(missed(&mut memories, 4, &[]), [0]);
    }

    #[test]
    fn what_is_read_last_is_evicted_first() {
        let mut memories = Memories::new(&[1, 2, 3]);
        // They are read at the ticks 20, 30 and 10.
        memories.store(1, &[Next { distance: 19, bytes: 1 }]);
        memories.store(1, &[Next { distance: 28, bytes: 1 }]);
        memories.store(1, &[Next { distance: 7, bytes: 1 }]);
        let mut at = |ticks: u64| {
            wait(&mut memories, ticks - 1);
            missed(&mut memories, 1, &[])
        };
        assert_eq!([at(7), at(10), at(10)], [[0, 0, 0], [1, 0, 0], [1, 1, 0]]);
    }

    #[test]
    fn of_an_access_that_is_larger_than_the_memory_those_bytes_stay_that_are_read_soonest() {
        let mut memories = Memories::new(&[4, 12]);
        let next = [Next { distance: 6, bytes: 6 }, Next { distance: 12, bytes: 6 }];
        assert_eq!(missed(&mut memories, 12, &next), [12, 12], "nobody has them yet");
        assert_eq!(missed(&mut memories, 6, &[]), [2, 0], "four of the first six");
        assert_eq!(missed(&mut memories, 6, &[]), [6, 0]);
    }

    #[test]
    fn a_load_has_its_bytes_in_the_memory_and_a_store_passes_by() {
        let kept = |is_load: bool| {
            let mut memories = Memories::new(&[8]);
            memories.store(8, &[Next { distance: 100, bytes: 8 }]);
            if is_load {
                memories.load(4, 0, &[], |_, _| panic!("nothing is warm"));
            } else {
                memories.store(4, &[]);
            }
            wait(&mut memories, 88);
            8 - missed(&mut memories, 8, &[])[0]
        };
        assert_eq!((kept(true), kept(false)), (4, 8));
    }

    #[test]
    fn inputs_take_the_places_that_are_free_or_of_what_is_needed_later() {
        let mut memories = Memories::new(&[2]);
        memories.store(1, &[Next { distance: 50, bytes: 1 }]);
        memories.arrive(&[Next { distance: 10, bytes: 1 }, Next { distance: 20, bytes: 1 }]);
        let mut at = |ticks: u64| {
            wait(&mut memories, ticks - 1);
            missed(&mut memories, 1, &[])[0]
        };
        assert_eq!([at(10), at(10), at(30)], [0, 0, 1], "they take no time");
    }

    #[test]
    fn heaps_hold_no_more_than_there_is_to_evict() {
        let mut memories = Memories::new(&[4]);
        for _ in 0..100_000 {
            memories.load(1, 1, &[Next { distance: 9, bytes: 1 }], |_, _| ());
        }
        let held = memories.memories[0].farthest.len() as u64;
        assert!(held <= 2 * 4 + STALE + 1, "{held} entries");
    }

    #[test]
    fn memories_tell_what_they_hold() {
        let held = |capacities: &'static [u64], distance: u64| {
            let kept = move || {
                let mut memories = Memories::new(capacities);
                (0..1 << 16)
                    .for_each(|number| memories.store(1, &[Next { distance: distance + number % 7, bytes: 1 }]));
                memories
            };
            tells_what_it_holds(kept, Memories::heap_bytes);
        };
        held(&[1 << 20], 1 << 17);
        held(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 1 << 17);
    }
}
