//! Which loops are running, and in which tile each is.
//!
//! Takes where each record stands (frame of the calling context, loop, whether an iteration begins), gives the chain of
//! running [`Level`]s. A level is a loop in its nest: the same loop, called from inside another, is another level. A
//! loop that is already running further out (recursion) is no level again: what its inner activation does belongs to
//! the iteration of the outer one.
//!
//! A *tile* is an iteration in which something was accessed. Tiles of a level are numbered in the order of execution,
//! across invocations: the tile before the first of an invocation is the last of the invocation before (policy `wrap`).

use std::collections::HashMap;

use crate::{hash::FastHash, numbers::niche_number};

niche_number! {
    /// Number of a level.
    LevelNumber
}

niche_number! {
    /// Number of a loop of any module in the ring.
    RingLoopNumber
}

/// The first tile's number. 0 marks what no tile touched; the number before the first tile's belongs to nothing.
pub const FIRST_TILE: u32 = 2;
/// Loops running one inside the other; deeper ones belong to the iteration of the last.
const MOST_LEVELS: usize = 64;

/// Levels in all; further ones belong to the iteration around them.
const MANY_LEVELS: usize = 1 << 16;

/// A loop in its nest.
#[derive(Debug)]
pub struct Level {
    /// The level around it.
    pub parent: Option<LevelNumber>,
    /// Which loop it is.
    pub number: RingLoopNumber,
    /// Tile at hand; less than [`FIRST_TILE`] before the first.
    pub tile: u32,
    /// That tile is the first of an invocation.
    pub first: bool,
    /// Iterations that accessed something.
    pub tiles: u64,
    /// How often the loop was begun.
    pub invocations: u64,
    /// Iteration of the invocation, from 0, those without accesses included.
    pub iteration: u64,
    /// The next access is in a new tile.
    pending: bool,
    /// No tile since the loop was entered.
    entered: bool,
    /// Bytes that the tile at hand has touched, and the most that one has.
    pub bytes: u64,
    /// Most bytes that one tile touched.
    pub capacity: u64,
}

#[derive(Clone, Copy)]
struct Running {
    number: RingLoopNumber,
    /// Depth of the calling context.
    frame: usize,
    /// A loop that runs further out is none again.
    level: Option<LevelNumber>,
}

/// The chain of running loops, across calls.
#[derive(Default)]
pub struct Nest {
    /// By loop: the loop around it in its function.
    parents: Vec<Option<RingLoopNumber>>,
    /// By loop: whether a level of it runs.
    runs: Vec<bool>,
    running: Vec<Running>,
    /// Every level that was met.
    pub levels: Vec<Level>,
    children: HashMap<(Option<LevelNumber>, RingLoopNumber), LevelNumber, FastHash>,
    /// Innermost running level.
    innermost: Option<LevelNumber>,
    /// Some running level's tile has not begun.
    pending: bool,
    /// Where the last record stood.
    at: (usize, Option<RingLoopNumber>),
    /// There were more levels than are kept apart.
    pub cut: bool,
    /// Tests begin near the end of the numbers.
    pub first_tile: u32,
}

impl Nest {
    /// No loop is running.
    #[must_use]
    pub fn new() -> Self {
        Self { first_tile: FIRST_TILE, ..Self::default() }
    }

    /// The next loops, with the loops around them in their functions.
    pub fn add_loops(&mut self, parents: impl Iterator<Item = Option<RingLoopNumber>>) {
        self.parents.extend(parents);
        self.runs.resize(self.parents.len(), false);
    }

    /// The innermost running loop.
    #[inline]
    #[must_use]
    pub fn innermost(&self) -> Option<LevelNumber> {
        self.innermost
    }

    /// Control left frames: only `depth` of them are left.
    pub fn leave(&mut self, depth: usize) {
        while self.running.last().is_some_and(|r| r.frame > depth) {
            self.pop();
        }
        self.at = (usize::MAX, None);
    }

    /// A record of a loop (or of none) in the frame at `depth`.
    #[inline]
    pub fn record_loop(&mut self, depth: usize, number: Option<RingLoopNumber>, iteration: bool) {
        if self.at != (depth, number) {
            self.change(depth, number, iteration);
        } else if iteration {
            self.iterate();
        }
    }

    /// The innermost running loop goes on to its next iteration.
    #[inline]
    fn iterate(&mut self) {
        if let Some(level) = self.running.last().and_then(|last| last.level) {
            let known = &mut self.levels[level.index()];
            known.iteration += 1;
            known.pending = true;
            self.pending = true;
        }
    }

    fn change(&mut self, depth: usize, number: Option<RingLoopNumber>, iteration: bool) {
        self.at = (depth, number);
        while let Some(last) = self.running.last() {
            if last.frame < depth || (last.frame == depth && self.is_around(last.number, number)) {
                break;
            }
            self.pop();
        }
        let here = self.running.last().filter(|r| r.frame == depth).map(|r| r.number);
        match number {
            Some(number) if here != Some(number) => self.push_down_to(depth, here, number),
            _ if iteration => self.iterate(),
            _ => {}
        }
    }

    /// Whether `inner` is `outer` or inside it.
    fn is_around(&self, outer: RingLoopNumber, inner: Option<RingLoopNumber>) -> bool {
        std::iter::successors(inner, |at| self.parents[at.index()]).any(|at| at == outer)
    }

    fn push_down_to(&mut self, depth: usize, from: Option<RingLoopNumber>, to: RingLoopNumber) {
        if let Some(parent) = self.parents[to.index()]
            && from != Some(parent)
        {
            self.push_down_to(depth, from, parent);
        }
        self.push(depth, to);
    }

    fn push(&mut self, depth: usize, number: RingLoopNumber) {
        let level = if self.runs[number.index()] { None } else { self.level(number) };
        self.running.push(Running { number, frame: depth, level });
        let Some(level) = level else { return };
        let known = &mut self.levels[level.index()];
        known.invocations += 1;
        known.entered = true;
        known.iteration = 0;
        known.pending = true;
        self.pending = true;
        self.runs[number.index()] = true;
        self.innermost = Some(level);
    }

    /// The level of a loop inside the innermost one; none if there are too many.
    fn level(&mut self, number: RingLoopNumber) -> Option<LevelNumber> {
        let parent = self.innermost;
        if let Some(&known) = self.children.get(&(parent, number)) {
            return Some(known);
        }
        if self.running.len() >= MOST_LEVELS || self.levels.len() >= MANY_LEVELS {
            self.cut = true;
            return None;
        }
        self.levels.push(Level {
            parent,
            number,
            tile: self.first_tile - 1,
            first: false,
            tiles: 0,
            invocations: 0,
            iteration: 0,
            pending: false,
            entered: false,
            bytes: 0,
            capacity: 0,
        });
        let level = LevelNumber::new(self.levels.len() - 1);
        self.children.insert((parent, number), level);
        Some(level)
    }

    fn pop(&mut self) {
        let Some(ended) = self.running.pop() else { return };
        if let Some(level) = ended.level {
            self.runs[ended.number.index()] = false;
            self.innermost = self.levels[level.index()].parent;
        }
    }

    /// Whether [`Nest::open`] has something to do before an access.
    #[inline]
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.pending
    }

    /// Begins the tiles of those running levels that have none; each is told to `opened` before, innermost first.
    pub fn open(&mut self, mut opened: impl FnMut(LevelNumber, &mut Level)) {
        self.pending = false;
        // A loop that is entered or goes on leaves those inside it first, so that no level waits outside one that does
        // not.
        for running in self.running.iter().rev() {
            let Some(number) = running.level else { continue };
            let level = &mut self.levels[number.index()];
            if !level.pending {
                break;
            }
            opened(number, level);
            level.pending = false;
            level.first = std::mem::take(&mut level.entered);
            level.tiles += 1;
            level.tile += 1;
            level.capacity = level.capacity.max(level.bytes);
            level.bytes = 0;
        }
    }

    /// Whether the innermost running loop is a level, its numbers of tiles last for so many more, and all running
    /// levels' tiles have begun.
    #[must_use]
    pub fn has_tiles_for(&self, iterations: u64) -> bool {
        let level = self.running.last().and_then(|running| running.level);
        let has_numbers = |level: LevelNumber| u64::from(u32::MAX - self.levels[level.index()].tile) > iterations;
        !self.pending && level.is_some_and(has_numbers)
    }

    /// The innermost level, which this is, goes through its next iterations, at least one, each a tile that touches so
    /// many bytes; gives the last one's. None is waiting to begin.
    pub fn go_on(&mut self, level: LevelNumber, iterations: u64, bytes: u64) -> u32 {
        let level = &mut self.levels[level.index()];
        level.iteration += iterations;
        level.tiles += iterations;
        level.tile += iterations as u32;
        level.first = false;
        // The last one may touch more before it ends.
        let ended = if iterations > 1 { level.bytes.max(bytes) } else { level.bytes };
        level.capacity = level.capacity.max(ended);
        level.bytes = bytes;
        level.tile
    }

    /// Running levels, outermost first.
    pub fn running(&self) -> impl Iterator<Item = LevelNumber> {
        self.running.iter().filter_map(|r| r.level)
    }
}
