//! Against a list of lines, the last one first, for one capacity at a time.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::histogram::bounds;
use crate::{
    counts::{depths::DepthCounts, lines::LineCounts},
    engine::{Access, Kind, Stream},
    observe::follower::Follower,
};

/// Fetches by loads and by stores, and lines written back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Traffic {
    loads: u64,
    stores: u64,
    write_backs: u64,
}

/// A memory of `capacity` lines.
struct Memory {
    capacity: usize,
    /// Numbers of lines, and whether they are dirty.
    lines: Vec<(u64, bool)>,
    traffic: Traffic,
}

impl Memory {
    fn access(&mut self, line: u64, is_store: bool) {
        let at = self.lines.iter().position(|(number, _)| *number == line);
        let dirty = match at {
            Some(at) => self.lines.remove(at).1,
            None => {
                *(if is_store { &mut self.traffic.stores } else { &mut self.traffic.loads }) += 1;
                false
            }
        };
        self.lines.insert(0, (line, dirty || is_store));
        if self.lines.len() > self.capacity {
            self.traffic.write_backs += u64::from(self.lines.pop().is_some_and(|(_, dirty)| dirty));
        }
    }

    fn finish(self) -> Traffic {
        let dirty = self.lines.iter().filter(|(_, dirty)| *dirty).count() as u64;
        Traffic { write_backs: self.traffic.write_backs + dirty, ..self.traffic }
    }
}

fn above(counts: &DepthCounts, capacity: u64) -> u64 {
    counts.iter().filter(|(bucket, _)| bounds(*bucket).0 > capacity).map(|(_, lines)| lines).sum()
}

fn told(all: &[Option<Box<LineCounts>>], capacity: u64) -> Traffic {
    let mut traffic = Traffic::default();
    for counts in all.iter().flatten() {
        traffic.loads += above(&counts.loads, capacity) + counts.first_loads;
        traffic.stores += above(&counts.stores, capacity) + counts.first_stores;
        traffic.write_backs += above(&counts.write_backs, capacity) + counts.last_write_backs;
    }
    traffic
}

/// Everything that a cell counted.
fn all_of(counts: Option<&LineCounts>) -> (Vec<Vec<(u16, u64)>>, [u64; 3]) {
    let all = |counts: &LineCounts| {
        let depths =
            [&counts.loads, &counts.stores, &counts.write_backs].map(|depths| depths.iter().collect::<Vec<_>>());
        (depths.to_vec(), [counts.first_loads, counts.first_stores, counts.last_write_backs])
    };
    all(counts.unwrap_or(&LineCounts::default()))
}

#[derive(Clone, Debug)]
enum Step {
    One(Access),
    Run(Vec<Stream>, u64),
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Load), Just(Kind::Load), Just(Kind::Store), Just(Kind::Remove)]
}

/// A stream of aligned words: neighbours of others, as in stencils, in rows and in columns.
fn word() -> impl Strategy<Value = Stream> {
    let near = || prop_oneof![4 => Just(0u64), 2 => 0u64..4, 1 => 0u64..40];
    let place = (prop::sample::select(vec![0u64, 1024, 4096, 16_384]), near());
    let step = prop_oneof![4 => Just(1i64), 1 => Just(0), 1 => Just(-1), 2 => 2i64..5, 2 => prop::sample::select(vec![8i64, 16, 37, 75, -8, 200])];
    (place, step, 0u32..6, kind()).prop_map(|((base, near), step, len, kind)| {
        let len = 1 << len;
        let addr = (1 << 20) + base + near * u64::from(len);
        Stream { addr, stride: step * i64::from(len), len, kind }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let address = || prop_oneof![4096u64..6000, 4096u64..40_000];
    let one = (address(), prop_oneof![1u32..17, 1u32..300], kind());
    let one = one.prop_map(|(addr, len, kind)| Step::One(Access { addr, len, kind }));
    let stream = (address(), -80i64..80, 1u32..40, kind());
    let stream = stream.prop_map(|(addr, stride, len, kind)| Stream { addr: addr + 8000, stride, len, kind });
    let run = (proptest::collection::vec(stream, 1..12), 1u64..90).prop_map(|(streams, n)| Step::Run(streams, n));
    let words = (proptest::collection::vec(word(), 1..12), 1u64..400).prop_map(|(streams, n)| Step::Run(streams, n));
    let walk = (proptest::collection::vec(word(), 1..4), 1u64..400).prop_map(|(streams, n)| Step::Run(streams, n));
    prop_oneof![8 => one, 1 => run, 1 => words, 1 => walk]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn fetches_and_write_backs_are_those_of_a_list(steps in proptest::collection::vec(step(), 1..120), shift in 4u32..8) {
        let mut lines = Lines::new(1 << shift);
        lines.set_known(4);
        let (mut plain, mut plain_cells) = (Vec::new(), Vec::new());
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::One(access) => {
                    lines.accesses(&[*access], &[number as u32 % 4]);
                    plain.push(*access);
                    plain_cells.push(number as u32 % 4);
                }
                Step::Run(streams, iterations) => {
                    let cells: Vec<u32> = (0..streams.len() as u32).map(|cell| cell % 4).collect();
                    lines.run(streams, &cells, *iterations);
                    for iteration in 0..*iterations {
                        let access = |s: &Stream| Access { addr: s.at(iteration), len: s.len, kind: s.kind };
                        plain.extend(streams.iter().map(access));
                        plain_cells.extend(&cells);
                    }
                }
            }
        }
        let counts = lines.finish();
        let mut singly = Lines::new(1 << shift);
        singly.set_known(4);
        singly.accesses(&plain, &plain_cells);
        for (cell, (counts, singly)) in counts.iter().zip(singly.finish()).enumerate() {
            prop_assert_eq!(all_of(counts.as_deref()), all_of(singly.as_deref()), "cell {}", cell);
        }
        for capacity in [FRONT as u64, 9, 12, 16, 31, 32, 64, 128, 1024] {
            let mut memory = Memory { capacity: capacity as usize, lines: Vec::new(), traffic: Traffic::default() };
            for access in plain.iter().filter(|access| access.kind != Kind::Remove) {
                for line in access.addr >> shift..=(access.addr + u64::from(access.len) - 1) >> shift {
                    memory.access(line, access.kind == Kind::Store);
                }
            }
            prop_assert_eq!(told(&counts, capacity), memory.finish(), "{} lines", capacity);
        }
    }
}

fn stream(addr: u64, stride: i64, kind: Kind) -> Stream {
    Stream { addr, stride, len: 8, kind }
}

/// Copy and triad of doubles: 24 and 32 bytes per iteration, with the line that a store brings in.
#[test]
fn stream_kernels_move_what_they_are_known_to() {
    const N: u64 = 1 << 16;
    let arrays = [1u64 << 20, 1 << 24, 1 << 28];
    for (reads, expected) in [(1, 24), (2, 32)] {
        let mut lines = Lines::new(64);
        lines.set_known(3);
        let loads = arrays[..reads].iter().map(|&array| stream(array, 8, Kind::Load));
        let streams: Vec<Stream> = loads.chain([stream(arrays[2], 8, Kind::Store)]).collect();
        let cells: Vec<u32> = (0..streams.len() as u32).collect();
        for _ in 0..4 {
            lines.run(&streams, &cells, N);
        }
        let traffic = told(&lines.finish(), 512);
        assert_eq!((traffic.loads + traffic.stores + traffic.write_backs) * 64, expected * N * 4);
    }
}

/// A column walk of a matrix fetches a line for each element, a row walk one for eight.
#[test]
fn a_column_walk_fetches_a_line_for_each_element() {
    const N: u64 = 1024;
    let walk = |stride: i64, next: u64| {
        let mut lines = Lines::new(64);
        lines.set_known(1);
        for start in 0..N {
            lines.run(&[stream((1 << 20) + start * next, stride, Kind::Load)], &[0], N);
        }
        told(&lines.finish(), 512).loads
    };
    assert_eq!(walk(8, 8 * N), N * N / 8);
    assert_eq!(walk(8 * N as i64, 8), N * N);
}

/// What is not counted moves lines all the same.
#[test]
fn cells_that_are_not_counted_are_seen() {
    let mut lines = Lines::new(64);
    lines.set_known(1);
    let far: HashSet<u64> = (0..100).map(|line| line * 64).collect();
    let load = |addr| Access { addr, len: 1, kind: Kind::Load };
    lines.accesses(&[load(1 << 20)], &[0]);
    for &addr in &far {
        lines.accesses(&[load(addr)], &[u32::MAX]);
    }
    lines.accesses(&[load(1 << 20)], &[0]);
    let counts = lines.finish();
    let counted = counts[0].as_ref().expect("a cell");
    assert_eq!(counts.len(), 1);
    assert_eq!((counted.first_loads, above(&counted.loads, 99)), (1, 1));
}
