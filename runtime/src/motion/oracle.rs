//! The definition, computed with sets, and random loop nests on which [`Movement`] must agree with it.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{
    movement::Movement,
    nest::{LevelNumber, Nest, RingLoopNumber},
};
use crate::objects::{NOTHING, ObjectNumber};

/// A level: loops from the outermost on.
type Path = Vec<RingLoopNumber>;

/// One tile's bytes, by array.
#[derive(Default)]
struct Tile {
    first: bool,
    touched: BTreeMap<u32, BTreeSet<u64>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    accesses: u64,
    fills: u64,
    drains: u64,
    reset_fills: u64,
    reset_drains: u64,
    footprint: u64,
    peak: u64,
}

/// All tiles of all levels, in the order of execution.
#[derive(Default)]
struct Oracle {
    tiles: BTreeMap<Path, Vec<Tile>>,
    accesses: BTreeMap<(Path, u32), u64>,
    /// Running loops: number, invocation (of any loop, in order), iteration.
    running: Vec<(RingLoopNumber, u64, u64)>,
    last: BTreeMap<Path, (u64, u64)>,
    invocations: u64,
}

impl Oracle {
    fn touch(&mut self, array: u32, address: u64, len: u64) {
        for depth in 1..=self.running.len() {
            let path: Path = self.running[..depth].iter().map(|r| r.0).collect();
            let (_, invocation, iteration) = self.running[depth - 1];
            let last = self.last.get(&path).copied();
            let tiles = self.tiles.entry(path.clone()).or_default();
            if last != Some((invocation, iteration)) {
                tiles.push(Tile { first: last.is_none_or(|l| l.0 != invocation), ..Tile::default() });
                self.last.insert(path.clone(), (invocation, iteration));
            }
            let tile = tiles.last_mut().expect("just made");
            tile.touched.entry(array).or_default().extend(address..address + len);
            *self.accesses.entry((path, array)).or_default() += 1;
        }
    }

    fn counts(&self, path: &Path, array: u32) -> Counts {
        let nothing = BTreeSet::new();
        let tiles = &self.tiles[path];
        let set = |at: usize| tiles[at].touched.get(&array).unwrap_or(&nothing);
        let mut out = Counts { accesses: self.accesses[&(path.clone(), array)], ..Counts::default() };
        let mut all = BTreeSet::new();
        for at in 0..tiles.len() {
            let before = if at == 0 { &nothing } else { set(at - 1) };
            let after = if at + 1 == tiles.len() { &nothing } else { set(at + 1) };
            let is_last = at + 1 == tiles.len() || tiles[at + 1].first;
            out.fills += set(at).difference(before).count() as u64;
            out.drains += set(at).difference(after).count() as u64;
            out.reset_fills += set(at).difference(if tiles[at].first { &nothing } else { before }).count() as u64;
            out.reset_drains += set(at).difference(if is_last { &nothing } else { after }).count() as u64;
            out.peak = out.peak.max(set(at).len() as u64);
            all.extend(set(at).iter().copied());
        }
        out.footprint = all.len() as u64;
        out
    }

    fn capacity(&self, path: &Path) -> u64 {
        let size = |tile: &Tile| tile.touched.values().map(|set| set.len() as u64).sum();
        self.tiles[path].iter().map(size).max().unwrap_or(0)
    }
}

#[derive(Clone, Debug)]
enum Statement {
    /// Array, bytes of an element, index = base + sum of coefficients times the indices of the running loops, innermost
    /// first.
    Access {
        array: u32,
        size: u64,
        base: u64,
        coefficients: Vec<u64>,
    },
    Loop {
        trips: u64,
        body: Vec<Statement>,
    },
    /// The body runs in a function of its own.
    Call {
        body: Vec<Statement>,
    },
    /// Only in iterations of the innermost loop that are no multiples of 3.
    Sometimes {
        body: Vec<Statement>,
    },
}

fn statements() -> impl Strategy<Value = Vec<Statement>> {
    let access = (0u32..3, 0u32..4, 0u64..6, prop::collection::vec(0u64..4, 0..4)).prop_map(
        |(array, log_size, base, coefficients)| Statement::Access { array, size: 1 << log_size, base, coefficients },
    );
    let statement = access.prop_recursive(5, 40, 4, |inner| {
        let body = prop::collection::vec(inner, 1..4);
        prop_oneof![
            6 => (0u64..5, body.clone()).prop_map(|(trips, body)| Statement::Loop { trips, body }),
            1 => body.clone().prop_map(|body| Statement::Call { body }),
            1 => body.prop_map(|body| Statement::Sometimes { body }),
        ]
    });
    prop::collection::vec(statement, 1..4)
}

/// Runs a program, for the definition and for the product.
struct Runner {
    oracle: Oracle,
    movement: Movement,
    /// By place in the program's text, so that each loop has a number.
    numbers: BTreeMap<Vec<usize>, RingLoopNumber>,
}

/// Where control is.
#[derive(Clone)]
struct Here {
    place: Vec<usize>,
    indices: Vec<u64>,
    depth: usize,
    number: Option<RingLoopNumber>,
}

impl Runner {
    fn declare(&mut self, body: &[Statement], place: &[usize], around: Option<RingLoopNumber>) {
        for (index, statement) in body.iter().enumerate() {
            let place: Vec<usize> = place.iter().copied().chain([index]).collect();
            match statement {
                Statement::Access { .. } => {}
                Statement::Loop { body, .. } => {
                    let number = RingLoopNumber::new(self.numbers.len());
                    self.numbers.insert(place.clone(), number);
                    self.movement.nest.add_loops([around].into_iter());
                    self.declare(body, &place, Some(number));
                }
                Statement::Call { body } => self.declare(body, &place, None),
                Statement::Sometimes { body } => self.declare(body, &place, around),
            }
        }
    }

    fn run(&mut self, body: &[Statement], here: &Here) {
        for (index, statement) in body.iter().enumerate() {
            let mut inside = here.clone();
            inside.place.push(index);
            match statement {
                Statement::Access { array, size, base, coefficients } => {
                    self.movement.nest.record_loop(here.depth, here.number, false);
                    let moved = coefficients.iter().zip(here.indices.iter().rev()).map(|(c, i)| c * i).sum::<u64>();
                    // Odd bases are not aligned, and element sizes of one array differ.
                    let address = 0x10_0000 * u64::from(*array) + 4080 + base + moved * size;
                    self.touch(*array, address, *size);
                }
                Statement::Loop { trips, body } => self.run_loop(*trips, body, inside),
                Statement::Call { body } => {
                    self.movement.nest.leave(here.depth);
                    let callee = Here { depth: here.depth + 1, number: None, ..inside };
                    self.movement.nest.record_loop(callee.depth, None, false);
                    self.run(body, &callee);
                    self.movement.nest.leave(here.depth);
                }
                Statement::Sometimes { body } => {
                    if here.indices.last().is_some_and(|i| i % 3 != 0) {
                        self.run(body, &inside);
                    }
                }
            }
        }
    }

    fn run_loop(&mut self, trips: u64, body: &[Statement], mut inside: Here) {
        let number = self.numbers[&inside.place];
        let around = inside.number.replace(number);
        self.oracle.invocations += 1;
        self.oracle.running.push((number, self.oracle.invocations, 0));
        inside.indices.push(0);
        for trip in 0..trips {
            self.movement.nest.record_loop(inside.depth, Some(number), true);
            self.oracle.running.last_mut().expect("pushed").2 = trip;
            *inside.indices.last_mut().expect("pushed") = trip;
            self.run(body, &inside);
        }
        self.oracle.running.pop();
        self.movement.nest.record_loop(inside.depth, around, false);
    }

    fn touch(&mut self, array: u32, address: u64, len: u64) {
        self.oracle.touch(array, address, len);
        if self.movement.nest.is_pending() {
            self.movement.open_tiles();
        }
        if let Some(level) = self.movement.nest.innermost() {
            let row = self.movement.row(level, ObjectNumber::new(array as usize));
            self.movement.touch(row, address, len, 1);
        }
    }

    fn check(mut self) {
        self.movement.finish();
        let nest: &Nest = &self.movement.nest;
        let path_of = |level: LevelNumber| {
            let levels = std::iter::successors(Some(level), |level| nest.levels[level.index()].parent);
            let mut path: Path = levels.map(|level| nest.levels[level.index()].number).collect();
            path.reverse();
            path
        };
        let mut rows = 0;
        for row in self.movement.inclusive_rows() {
            let path = path_of(row.level);
            let expected = self.oracle.counts(&path, row.array.index() as u32);
            let found = Counts {
                accesses: row.accesses,
                fills: row.fills,
                drains: row.fills,
                reset_fills: row.fills + row.kept,
                reset_drains: row.fills + row.kept,
                footprint: row.footprint,
                peak: row.peak,
            };
            assert_eq!(found, expected, "loops {path:?}, array {:?}", row.array);
            assert!(row.accessed >= row.fills + row.kept && row.fills >= row.footprint);
            rows += 1;
        }
        assert_eq!(rows, self.oracle.accesses.len(), "every level and array has a row");
        for (number, level) in nest.levels.iter().enumerate().filter(|(_, l)| l.tiles > 0) {
            let path = path_of(LevelNumber::new(number));
            assert_eq!(level.tiles, self.oracle.tiles[&path].len() as u64, "tiles of {path:?}");
            assert_eq!(level.capacity, self.oracle.capacity(&path), "capacity of {path:?}");
        }
    }
}

fn runner(program: &[Statement]) -> Runner {
    let mut runner = Runner { oracle: Oracle::default(), movement: Movement::new(u64::MAX), numbers: BTreeMap::new() };
    runner.declare(program, &[], None);
    runner
}

fn run(program: &[Statement]) -> Runner {
    let mut runner = runner(program);
    runner.run(program, &Here { place: Vec::new(), indices: Vec::new(), depth: 1, number: None });
    runner
}

proptest! {
    #[test]
    fn random_nests_move_what_the_definition_says(program in statements()) {
        run(&program).check();
    }

    #[test]
    fn tile_numbers_may_run_out(program in statements(), start in 0u32..40) {
        let mut runner = runner(&program);
        runner.run(&program, &Here { place: Vec::new(), indices: Vec::new(), depth: 1, number: None });
        // Again from the start, but with numbers that are about to run out.
        let levels = runner.movement.nest.levels.len();
        let mut again = self::runner(&program);
        again.movement.nest.first_tile = u32::MAX - start;
        again.run(&program, &Here { place: Vec::new(), indices: Vec::new(), depth: 1, number: None });
        prop_assert_eq!(again.movement.nest.levels.len(), levels);
        again.check();
    }
}

/// Each byte's stays are counted on their own, so that half of the pages give about half of the counts.
#[test]
fn sampling_keeps_the_counts_about_right() {
    const ELEMENTS: u64 = 1 << 18;
    let go_through = |budget: u64| {
        let mut movement = Movement::new(budget);
        movement.nest.add_loops([None, Some(RingLoopNumber::new(0))].into_iter());
        for _ in 0..3 {
            movement.nest.record_loop(1, Some(RingLoopNumber::new(0)), true);
            for i in 0..ELEMENTS {
                movement.nest.record_loop(1, Some(RingLoopNumber::new(1)), true);
                movement.open_tiles();
                let row = movement.row(LevelNumber::new(1), NOTHING);
                movement.touch(row, 0x1000_0000 + 8 * i, 8, 1);
            }
        }
        movement.finish();
        (movement.inclusive_rows(), movement.stamps.sampling(NOTHING), movement.stamps.heap_bytes())
    };
    let (exact, rate, _) = go_through(u64::MAX);
    assert_eq!(rate, 0);
    assert_eq!((exact[0].fills, exact[0].footprint, exact[1].fills), (8 * ELEMENTS, 8 * ELEMENTS, 24 * ELEMENTS));
    let (sampled, rate, bytes) = go_through(1 << 19);
    assert!(rate >= 2, "one in {} pages", 1 << rate);
    assert!(bytes <= 1 << 19, "{bytes} bytes of stamps");
    for (sampled, exact) in sampled.iter().zip(&exact) {
        assert_eq!(sampled.accesses, exact.accesses);
        for (found, expected) in [(sampled.fills, exact.fills), (sampled.footprint, exact.footprint)] {
            let error = (found as f64 / expected as f64 - 1.0).abs();
            assert!(error < 0.2, "{found} of {expected}");
        }
    }
}

#[test]
fn moved_and_forgotten_bytes() {
    let mut movement = Movement::new(u64::MAX);
    movement.nest.add_loops([None].into_iter());
    let iterate = |movement: &mut Movement, address: u64| {
        movement.nest.record_loop(1, Some(RingLoopNumber::new(0)), true);
        movement.open_tiles();
        let row = movement.row(LevelNumber::new(0), NOTHING);
        movement.touch(row, address, 8, 1);
        (movement.rows[0].counts.fills, movement.rows[0].counts.footprint)
    };
    assert_eq!(iterate(&mut movement, 0x1000), (8, 8));
    movement.relocate(0x1000, 0x5010, 64, NOTHING);
    assert_eq!(iterate(&mut movement, 0x5010), (8, 8), "it stays what the tile before had");
    assert_eq!(iterate(&mut movement, 0x1000), (16, 16), "what lies at the old place is new");
    assert_eq!(iterate(&mut movement, 0x5010), (24, 16), "a refill");
    movement.forget(0x5010, 8);
    assert_eq!(iterate(&mut movement, 0x5010), (32, 24), "new bytes at an old address");
}
