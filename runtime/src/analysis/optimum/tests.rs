//! The optimum against all that memories could do, against memories that evict what was used longest ago, and against
//! what is known of scans.
//!
//! Both take the same accesses: bytes of a load are in the memory together, or as many of them as it has places.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Back, Forward, go_both_ways};
use crate::{
    counts::least::LeastCounts,
    engine::{Access, AccessTag, Kind, Stream, oracle::Oracle},
    oplog::{Op, OpLog},
    tests::run::spool,
};

#[derive(Clone, Copy, Debug)]
enum Step {
    Load(u64, u32),
    Store(u64, u32),
    Remove(u64, u32),
    /// Loads and stores of so many neighbours, one after the other.
    Run(u64, u32, u64),
    Relocate(u64, u64, u64),
    Input(u64, u64),
    Output(u64, u64),
}

/// Runs taken apart: a stream that loads, and one that stores the bytes behind.
fn do_each(ops: &[Step]) -> Vec<Step> {
    let each = |op: &Step| match *op {
        Step::Run(addr, len, count) => {
            let at = |iteration| streams(addr, len).map(|stream| stream.address_at(iteration));
            let both = |[load, store]: [u64; 2]| [Step::Load(load, len), Step::Store(store, len)];
            (0..count).flat_map(|iteration| both(at(iteration))).collect()
        }
        op => vec![op],
    };
    ops.iter().flat_map(each).collect()
}

fn streams(addr: u64, len: u32) -> [Stream; 2] {
    let stream = |addr, kind| Stream { addr, stride: len.into(), len, kind };
    [stream(addr, Kind::Load), stream(addr + 2 * u64::from(len), Kind::Store)]
}

/// What is found at each capacity; small blocks and lists, so that they end anywhere.
fn found(ops: &[Step], capacities: &[u64], exact: bool, limit: usize) -> Vec<LeastCounts> {
    let mut log = OpLog::with_blocks_of(spool(), limit);
    let label = AccessTag::new(0);
    for op in ops {
        match *op {
            Step::Load(addr, len) => log.op(Op::accesses(&[Access { addr, len, kind: Kind::Load }], &[label])),
            Step::Store(addr, len) => log.op(Op::accesses(&[Access { addr, len, kind: Kind::Store }], &[label])),
            Step::Remove(addr, len) => {
                log.op(Op::accesses(&[Access { addr, len, kind: Kind::Remove }], &[AccessTag::UNCOUNTED]))
            }
            Step::Run(addr, len, count) => log.op(Op::run(&streams(addr, len), &[label; 2], count)),
            Step::Relocate(from, to, len) => log.op(Op::Move { from, to, len }),
            Step::Input(addr, len) => log.op(Op::Input { addr, len }),
            Step::Output(addr, len) => log.op(Op::Output { addr, len }),
        }
    }
    let recorded = log.finish().expect("room");
    let mut forward = Forward::new(1, capacities, exact);
    go_both_ways(&recorded, Back::with_lists_of(limit, &recorded.outputs), &mut forward).expect("readable");
    match &forward.finish()[0] {
        Some(counts) => counts.to_vec(),
        None => vec![LeastCounts::default(); capacities.len()],
    }
}

fn fetches(ops: &[Step], capacities: &[u64]) -> Vec<u64> {
    found(ops, capacities, false, 7).iter().map(|counts| counts.fetched).collect()
}

fn range(addr: u64, len: u64) -> BTreeSet<u64> {
    (addr..addr + len).collect()
}

/// Bytes that have a value, and what becomes of them and of a memory's when something moves.
fn moved(set: &BTreeSet<u64>, from: u64, to: u64, len: u64) -> BTreeSet<u64> {
    if from == to {
        return set.clone();
    }
    let goes = |byte: &u64| range(from, len).contains(byte) || range(to, len).contains(byte);
    let stay = set.iter().copied().filter(|byte| !goes(byte));
    let come = set.intersection(&range(from, len)).map(|byte| byte - from + to).collect::<Vec<_>>();
    stay.chain(come).collect()
}

/// All parts of a set that have at most so many bytes.
fn parts(set: &[u64], most: usize) -> Vec<BTreeSet<u64>> {
    let chosen = |mask: u32| (0..set.len()).filter(move |bit| mask >> bit & 1 == 1).map(|bit| set[bit]);
    let all = (0..1u32 << set.len()).filter(|mask| mask.count_ones() as usize <= most);
    all.map(|mask| chosen(mask).collect()).collect()
}

/// The fewest fetches of all that a memory could do, without knowing the future: every set of bytes that it could hold
/// after each access, with the fewest fetches until then.
fn least_of_all(ops: &[Step], capacity: usize) -> u64 {
    let mut valued = BTreeSet::new();
    let mut states: BTreeMap<BTreeSet<u64>, u64> = BTreeMap::from([(BTreeSet::new(), 0)]);
    let add = |states: &mut BTreeMap<BTreeSet<u64>, u64>, held: BTreeSet<u64>, fetched: u64| {
        let least = states.entry(held).or_insert(fetched);
        *least = fetched.min(*least);
    };
    for op in do_each(ops) {
        let mut next = BTreeMap::new();
        match op {
            Step::Store(addr, len) => {
                let bytes = range(addr, len.into());
                for (held, fetched) in states {
                    let all: Vec<u64> = held.union(&bytes).copied().collect();
                    parts(&all, capacity).into_iter().for_each(|held| add(&mut next, held, fetched));
                }
                valued.extend(bytes);
            }
            Step::Load(addr, len) => {
                let bytes = range(addr, len.into());
                for (held, fetched) in states {
                    let missed = bytes.intersection(&valued).filter(|byte| !held.contains(byte)).count() as u64;
                    let fetched = fetched + missed;
                    let others: Vec<u64> = held.difference(&bytes).copied().collect();
                    let room = capacity.saturating_sub(bytes.len());
                    for kept in parts(&others, room) {
                        if bytes.len() <= capacity {
                            add(&mut next, kept.union(&bytes).copied().collect(), fetched);
                        } else {
                            let all: Vec<u64> = bytes.iter().copied().collect();
                            parts(&all, capacity).into_iter().for_each(|held| add(&mut next, held, fetched));
                        }
                    }
                }
                valued.extend(bytes);
            }
            Step::Remove(addr, len) => {
                let bytes = range(addr, len.into());
                states.into_iter().for_each(|(held, n)| add(&mut next, held.difference(&bytes).copied().collect(), n));
                valued = valued.difference(&bytes).copied().collect();
            }
            Step::Relocate(from, to, len) => {
                states.into_iter().for_each(|(held, n)| add(&mut next, moved(&held, from, to, len), n));
                valued = moved(&valued, from, to, len);
            }
            Step::Input(addr, len) => {
                let new: BTreeSet<u64> = range(addr, len).difference(&valued).copied().collect();
                for (held, fetched) in states {
                    let all: Vec<u64> = held.union(&new).copied().collect();
                    parts(&all, capacity).into_iter().for_each(|held| add(&mut next, held, fetched));
                }
                valued.extend(new);
            }
            Step::Output(..) => next = states,
            Step::Run(..) => unreachable!("taken apart"),
        }
        states = next;
    }
    states.into_values().min().expect("a memory holds something or nothing")
}

/// The fetches of a memory that evicts what was used longest ago, in which a death frees places.
fn of_lru(ops: &[Step], capacity: usize) -> u64 {
    let (mut valued, mut fetched) = (BTreeSet::new(), 0);
    // What was used last is last.
    let mut held: Vec<u64> = Vec::new();
    for op in do_each(ops) {
        match op {
            Step::Load(addr, len) | Step::Store(addr, len) => {
                let bytes = range(addr, len.into());
                let missed = bytes.intersection(&valued).filter(|byte| !held.contains(byte)).count() as u64;
                fetched += if matches!(op, Step::Load(..)) { missed } else { 0 };
                held.retain(|byte| !bytes.contains(byte));
                held.extend(&bytes);
                held.drain(..held.len().saturating_sub(capacity));
                valued.extend(bytes);
            }
            Step::Remove(addr, len) => {
                let bytes = range(addr, len.into());
                held.retain(|byte| !bytes.contains(byte));
                valued = valued.difference(&bytes).copied().collect();
            }
            Step::Relocate(from, to, len) if from != to => {
                let (source, target) = (range(from, len), range(to, len));
                held.retain(|byte| source.contains(byte) || !target.contains(byte));
                held.iter_mut().filter(|byte| source.contains(byte)).for_each(|byte| *byte = *byte - from + to);
                valued = moved(&valued, from, to, len);
            }
            Step::Input(addr, len) => {
                let new: Vec<u64> = range(addr, len).difference(&valued).copied().collect();
                let room = capacity - held.len();
                held.splice(..0, new[new.len().saturating_sub(room)..].to_vec());
                valued.extend(new);
            }
            _ => {}
        }
    }
    fetched
}

/// First touches in the traffic at a capacity, by the list of all live bytes and holes.
fn first_beyond(ops: &[Step], capacity: u64) -> u64 {
    let mut list = Oracle::default();
    let mut first = 0;
    for op in do_each(ops) {
        match op {
            Step::Load(addr, len) => {
                let found = list.load(addr, len.into());
                first += found.iter().filter(|found| found.cold && found.capacity > capacity).count() as u64;
            }
            Step::Store(addr, len) => list.store(addr, len.into()),
            Step::Remove(addr, len) => list.remove(addr, len.into()),
            Step::Relocate(from, to, len) if from != to => list.relocate(from, to, len),
            Step::Input(addr, len) => list.insert_bottom(addr, len),
            _ => {}
        }
    }
    first
}

/// Operations on so many bytes, which lie on two pages; accesses of at most so many.
fn ops(bytes: u64, widest: u32, most: usize) -> impl Strategy<Value = Vec<Step>> {
    let place = move || (0..bytes).prop_map(move |byte| 4096 - bytes / 2 + byte);
    let end = move |addr: u64| 4096 - bytes / 2 + bytes - addr;
    let within = move |(addr, len): (u64, u32)| (addr, u64::from(len).min(end(addr)) as u32);
    let span = move || (place(), 1..=widest).prop_map(within);
    let op = prop_oneof![
        8 => span().prop_map(|(addr, len)| Step::Load(addr, len)),
        4 => span().prop_map(|(addr, len)| Step::Store(addr, len)),
        2 => span().prop_map(|(addr, len)| Step::Remove(addr, len)),
        1 => (place(), place(), 1..=u64::from(widest)).prop_map(move |(from, to, len)| {
            Step::Relocate(from, to, len.min(end(from)).min(end(to)))
        }),
        1 => span().prop_map(|(addr, len)| Step::Input(addr, len.into())),
        1 => span().prop_map(|(addr, len)| Step::Output(addr, len.into())),
        1 => (place(), 1..=2u32, 1..4u64).prop_map(move |(addr, len, count)| {
            Step::Run(addr, len, count.min((end(addr) / u64::from(len)).saturating_sub(2)))
        }),
    ];
    prop::collection::vec(op, 1..most)
}

proptest! {
    /// No memory fetches less, whatever it evicts, and however many bytes an access has.
    #[test]
    fn nothing_that_a_memory_could_do_fetches_less(ops in ops(6, 4, 25), limit in 1usize..20) {
        let capacities = [1, 2, 3, 4, 5, 6];
        let found = found(&ops, &capacities, false, limit);
        for (capacity, counts) in capacities.into_iter().zip(found) {
            prop_assert_eq!(counts.fetched, least_of_all(&ops, capacity as usize), "{} B", capacity);
        }
    }

    /// The memory that evicts what was used longest ago is one of them; more capacity never fetches more; and first
    /// touches are those of the stack.
    #[test]
    fn it_is_at_most_what_lru_fetches(ops in ops(60, 20, 200), limit in 1usize..80, first in 1u64..12) {
        let capacities: Vec<u64> = (first..64).step_by(9).collect();
        let found = found(&ops, &capacities, false, limit);
        prop_assert!(found.is_sorted_by(|less, more| less.fetched >= more.fetched));
        for (&capacity, counts) in capacities.iter().zip(&found) {
            prop_assert!(counts.fetched <= of_lru(&ops, capacity as usize), "{} B", capacity);
            prop_assert_eq!(counts.first, first_beyond(&ops, capacity), "{} B", capacity);
        }
    }

    /// Capacities do not get in each other's way, and neither do blocks and lists.
    #[test]
    fn capacities_alone_are_capacities_together(ops in ops(200, 40, 200), limits in (1usize..80, 1usize..80)) {
        let capacities = [1, 7, 16, 50, 120];
        let together = found(&ops, &capacities, false, limits.0);
        for (capacity, counts) in capacities.into_iter().zip(together) {
            prop_assert_eq!(&found(&ops, &[capacity], false, limits.1), &[counts], "{} B", capacity);
        }
    }
}

/// A loop over n words, again and again: the first time they are written, then each time n - Z words at least, and the
/// optimum is known to be n - Z in n - 1 accesses, as it always has the word used last and keeps Z - 1 others.
#[test]
fn a_cyclic_scan_fetches_what_the_textbook_says() {
    const WORD: u32 = 8;
    let (words, rounds) = (10u64, 18u64);
    let store = (0..words).map(|word| Step::Store(word * 8, WORD));
    let load = (0..rounds * words).map(|nth| Step::Load(nth % words * 8, WORD));
    let ops: Vec<Step> = store.chain(load).collect();
    // MIN on a cycle of n and Z places: in n - 1 accesses n - Z misses. 180 accesses are 20 times 9. The first word was
    // kept when the last one was written, which is one miss less.
    let expected: Vec<u64> = (2..=words).map(|places| (20 * (words - places)).saturating_sub(1) * 8).collect();
    let capacities: Vec<u64> = (2..=words).map(|places| places * 8).collect();
    assert_eq!(fetches(&ops, &capacities), expected);
    assert_eq!(of_lru(&ops, 72), 180 * 8, "LRU with one place less than needed misses always");
    assert_eq!(fetches(&ops, &[8]), [179 * 8], "no byte that is read passes by a memory that has room for one word");
}

/// Blocks written in order, and read and freed in reverse order: a memory of Z bytes keeps Z of them.
#[test]
fn what_is_read_and_freed_in_reverse_must_have_been_kept() {
    let write = (0..100).map(|block| Step::Store(block * 64, 64));
    let read = (0..100).rev().flat_map(|block| [Step::Load(block * 64, 64), Step::Remove(block * 64, 64)]);
    let ops: Vec<Step> = write.chain(read).collect();
    assert_eq!(fetches(&ops, &[64, 640, 6400]), [99 * 64, 90 * 64, 0]);
    assert_eq!(of_lru(&ops, 640), 90 * 64);
}

#[test]
fn the_dead_take_no_place() {
    // What is written and not read, and what was read for the last time, is out of the way.
    let used = [Step::Store(0, 8), Step::Store(8, 8), Step::Load(8, 8), Step::Load(0, 8)];
    assert_eq!(fetches(&used, &[16]), [0]);
    let streaming: Vec<Step> = (0..20).flat_map(|n| [Step::Store(64 + 8 * n, 8), Step::Load(0, 8)]).collect();
    let streaming = [&[Step::Store(0, 8)], streaming.as_slice()].concat();
    assert_eq!(fetches(&streaming, &[8]), [0], "it passes by");
    // A death that nobody was told of: written over before it is read.
    let over =
        [Step::Store(0, 8), Step::Store(8, 8), Step::Load(8, 8), Step::Store(8, 8), Step::Load(0, 8), Step::Load(8, 8)];
    assert_eq!(fetches(&over, &[8, 16]), [16, 0]);
}

#[test]
fn first_touches_are_no_fetches_and_those_of_the_stack() {
    let ops = [Step::Load(0, 8), Step::Load(8, 8), Step::Remove(0, 8), Step::Load(0, 8), Step::Load(8, 8)];
    let counts = |fetched, first| LeastCounts { fetched, first };
    // Each of the three finds 0, 8 and 16 places on the stack, one of them free.
    assert_eq!(found(&ops, &[4, 8, 16], false, 3), [counts(8, 4 + 8 + 8), counts(8, 16), counts(0, 8)]);
    // With exact liveness the first 8 bytes leave their place at once, and the second the same.
    assert_eq!(found(&ops, &[4, 8, 16], true, 3), [counts(8, 4 + 8 + 8), counts(8, 8 + 8), counts(0, 0)]);
}

#[test]
fn an_input_has_a_place_where_there_is_one() {
    let ops = |n| [Step::Input(0, n), Step::Load(0, 8), Step::Load(8, 8)];
    assert_eq!(fetches(&ops(16), &[8, 16]), [8, 0]);
    // What was written before it was declared is where it was: the first word is, as the second passed by.
    let again = [Step::Store(0, 8), Step::Store(8, 8), Step::Input(0, 16), Step::Load(0, 8), Step::Load(8, 8)];
    assert_eq!(fetches(&again, &[8, 16]), [8, 0]);
}
