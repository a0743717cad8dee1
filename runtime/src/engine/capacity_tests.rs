//! Capacities against one memory for each size: a set of places with LRU replacement, in which a death frees a place.

use crate::tests::random::cases;
use proptest::prelude::*;

use super::{
    Access, Engine, Kind,
    oracle::{ByteDepth, Collect, Oracle},
    tests::{Machine, Op},
};

/// A memory of some places.
struct Memory {
    size: u64,
    /// What it holds, the byte that was used last at the end.
    held: Vec<u64>,
}

impl Memory {
    fn new(size: u64) -> Self {
        Memory { size, held: Vec::new() }
    }

    /// Looks up all bytes of an access, then brings them in; gives which of them it did not hold.
    fn access(&mut self, addr: u64, len: u64) -> Vec<u64> {
        let missing = (addr..addr + len).filter(|byte| !self.held.contains(byte)).collect();
        self.held.retain(|byte| !(addr..addr + len).contains(byte));
        self.held.extend(addr..addr + len);
        let too_many = self.held.len().saturating_sub(self.size as usize);
        self.held.drain(..too_many);
        missing
    }

    fn remove(&mut self, addr: u64, len: u64) {
        self.held.retain(|byte| !(addr..addr + len).contains(byte));
    }

    fn relocate(&mut self, from: u64, to: u64, len: u64) {
        let source = from..from + len;
        self.held.retain(|byte| source.contains(byte) || !(to..to + len).contains(byte));
        self.held.iter_mut().filter(|byte| source.contains(byte)).for_each(|byte| *byte = *byte - from + to);
    }
}

/// All memories up to a size, and which bytes are live.
struct Memories {
    all: Vec<Memory>,
    live: std::collections::BTreeSet<u64>,
}

/// A byte that a load found, by the sizes of the memories that did not hold it.
type Missed = (bool, u64);

impl Memories {
    fn new(sizes: u64) -> Self {
        Memories { all: (1..=sizes).map(Memory::new).collect(), live: Default::default() }
    }

    /// Of each byte of an access, whether it was on no stack, and how many of the memories did not hold it.
    fn access(&mut self, addr: u64, len: u64) -> Vec<Missed> {
        let missing: Vec<_> = self.all.iter_mut().map(|memory| memory.access(addr, len)).collect();
        let missed = (addr..addr + len).map(|byte| {
            let by = missing.iter().filter(|missing| missing.contains(&byte)).count() as u64;
            (!self.live.contains(&byte), by)
        });
        let missed = missed.collect();
        self.live.extend(addr..addr + len);
        missed
    }

    fn step(&mut self, op: Op) -> Vec<Missed> {
        match op {
            Op::Load(addr, len) => return self.access(addr, len),
            Op::Store(addr, len) => _ = self.access(addr, len),
            Op::Remove(addr, len) => {
                self.all.iter_mut().for_each(|memory| memory.remove(addr, len));
                self.live.retain(|byte| !(addr..addr + len).contains(byte));
            }
            Op::Relocate(from, to, len) => {
                self.all.iter_mut().for_each(|memory| memory.relocate(from, to, len));
                let moved: Vec<u64> = self.live.extract_if(from..from + len, |_| true).collect();
                self.live.retain(|byte| !(to..to + len).contains(byte));
                self.live.extend(moved.iter().map(|byte| byte - from + to));
            }
            Op::InsertBottom(..) => unreachable!("memories know no inputs"),
        }
        Vec::new()
    }

    /// What a memory holds, each larger one holds too.
    fn assert_inclusion(&self) {
        for pair in self.all.windows(2) {
            assert!(pair[0].held.iter().all(|byte| pair[1].held.contains(byte)), "{} in one more", pair[0].size);
        }
    }
}

/// Sizes of memories: more than there are bytes.
const SIZES: u64 = 22;

fn assert_capacities_are_sizes(ops: &[Op]) {
    let (mut memories, mut list, mut engine) = (Memories::new(SIZES), Oracle::default(), Engine::new());
    for (at, &op) in ops.iter().enumerate() {
        let missed = memories.step(op);
        let (found, mut by_engine) = (list.step(op), engine.step(op));
        let warm = |found: &[ByteDepth]| found.iter().filter(|found| !found.cold).map(|found| found.capacity).collect();
        let by_list: Vec<u64> = warm(&found);
        // A memory of as many places as the capacity is the first that holds the byte.
        let expected: Vec<u64> = missed.iter().filter(|missed| !missed.0).map(|missed| missed.1 + 1).collect();
        assert_eq!(by_list, expected, "operation {at}, {op:?}, of {ops:?}");
        let mut sorted = found;
        sorted.sort_unstable();
        by_engine.sort_unstable();
        assert_eq!(by_engine, sorted, "operation {at}, {op:?}, of {ops:?}");
        memories.assert_inclusion();
    }
}

/// Operations on 20 bytes.
fn ops() -> impl Strategy<Value = Vec<Op>> {
    let range = || (0u64..20).prop_flat_map(|at| (Just(at), 1..=(20 - at).min(9)));
    let mostly_one = || prop_oneof![3 => (0u64..20, Just(1u64)), 2 => range()];
    prop::collection::vec(
        prop_oneof![
            5 => mostly_one().prop_map(|(at, len)| Op::Load(at, len)),
            2 => mostly_one().prop_map(|(at, len)| Op::Store(at, len)),
            3 => mostly_one().prop_map(|(at, len)| Op::Remove(at, len)),
            1 => (0u64..13, 0u64..13, 1u64..8).prop_map(|(from, to, len)| Op::Relocate(from, to, len)),
        ],
        1..60,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..cases(3_000) })]

    #[test]
    fn capacities_are_the_sizes_of_the_first_memories_that_hold_the_bytes(ops in ops()) {
        assert_capacities_are_sizes(&ops);
    }
}

/// Capacities of the bytes that the last load of some operations found, from the topmost byte down.
fn last_capacities(ops: &[Op]) -> Vec<(u64, u64)> {
    let mut engine = Engine::new();
    let mut found = ops.iter().fold(Vec::new(), |_, &op| engine.step(op));
    found.sort_unstable();
    found.iter().map(|found| (found.depth, found.capacity)).collect()
}

#[test]
fn what_is_below_freed_blocks_needs_as_much_memory_as_before() {
    // Three blocks are written, then read and freed in reverse.
    let blocks = |count: u64| (0..count).map(|block| Op::Store(8 * block, 8));
    let mut ops: Vec<Op> = blocks(3).collect();
    ops.extend([Op::Load(16, 8), Op::Remove(16, 8), Op::Load(8, 8)]);
    assert_eq!(last_capacities(&ops)[0], (1, 9), "one block died above it");
    ops.extend([Op::Remove(8, 8), Op::Load(0, 8)]);
    assert_eq!(last_capacities(&ops)[0], (1, 17), "two blocks died above it");
}

#[test]
fn new_bytes_take_the_places_of_dead_ones() {
    let ops = [Op::Store(0, 8), Op::Store(8, 8), Op::Remove(8, 8), Op::Store(16, 8), Op::Load(0, 8)];
    assert_eq!(last_capacities(&ops)[0], (9, 9), "the block above is alive again");
    // Accesses of bytes below a hole carry it down.
    let ops = [Op::Store(0, 8), Op::Store(8, 8), Op::Store(16, 8), Op::Remove(16, 8), Op::Load(8, 8), Op::Load(0, 8)];
    assert_eq!(last_capacities(&ops)[0], (9, 17), "a hole between the two");
}

#[test]
fn inputs_lie_below_all_that_was_ever_alive() {
    let ops = [Op::Store(0, 8), Op::Remove(0, 8), Op::InsertBottom(8, 8), Op::Load(8, 8)];
    assert_eq!(last_capacities(&ops)[0], (1, 9));
}

#[test]
fn a_dying_load_leaves_its_place_on_top() {
    let access = |addr, kind| Access { addr, len: 8, kind };
    let mut sink = Collect::default();
    let accesses = [access(0, Kind::Store), access(8, Kind::Store), access(0, Kind::Last), access(8, Kind::Load)];
    Engine::new().batch(&accesses, &mut sink);
    let found: Vec<_> = sink.0.iter().map(|found| (found.depth, found.capacity)).collect();
    assert_eq!((found[0], found[8]), ((9, 9), (1, 9)), "the other block is one deeper than what is alive says");
}
