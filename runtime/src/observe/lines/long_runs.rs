//! Long regular runs in periods: after so many iterations all chains are some lines further, in the same order.
//!
//! Takes groups after an iteration whose lines are all in front; gives the first iteration that is not done. Lines that
//! chains are in are touched in each iteration: they are above all others, and as they are few, at depths that do not
//! count. So only a line to which a chain comes is looked up, and as it is known when it will be left, it gets its
//! position behind at once. Its depth is the number of lines but those that were touched earlier. Refuses what
//! `chains` refuses, and few periods.

use super::{
    back::{Back, Touch},
    chains::Chains,
    front::{FRONT, Front, PLACES, Visit},
    groups::{Group, Groups},
    ledger::{Filed, Ledger},
    table::EntryId,
};
use crate::{decode::block::CellNumber, engine::hint::prefetch, histogram::bucket_of, observe::writer::WriterNumber};

/// Visits to lines that make a run long: as the front is emptied, what follows the run is slower.
const LONG: u64 = 32;
/// Periods of a run: its first lines are left before it ends.
const LEAST_PERIODS: u64 = 3;
/// Positions that a run takes at most.
const MOST_POSITIONS: u64 = 1 << 16;

/// In each period, a chain comes to a line.
#[derive(Clone, Copy)]
struct Visitor {
    chain: usize,
    /// Of the line in this period, and from one period to the next.
    address: u64,
    step: i64,
    /// Where the entry of the line is.
    place: EntryId,
    cell: CellNumber,
    is_store: bool,
    /// Who has written the line when it is left, plus one; 0 if nobody has.
    writer: Option<WriterNumber>,
    /// The position that the line has when it is left.
    position: u64,
    /// Lines that are not filed yet, and the bucket in which they were found, plus one.
    lines: u64,
    deepest: u16,
    /// Of these, those that came in a stream, in order and at another step.
    streamed: [u64; 2],
    /// Of these, those that this cell had brought in before.
    again: u64,
    before: CellNumber,
}

/// When a line is left: the iteration, and the place of its last access there.
type Leaving = (u64, usize);

/// A long run; kept for its memory. [`Self::follow`] fills it and is the only one to read it: nothing is valid between
/// two calls.
#[derive(Default)]
pub struct LongRun {
    chains: Chains,
    /// Who comes to a line in a period, in this order.
    visitors: Vec<Visitor>,
    /// When lines are left in a period, sorted.
    leaving: Vec<Leaving>,
    /// Of each chain, the lines that it is in at the end, the last one last.
    ends: Vec<[End; 2]>,
}

/// A line that a chain is in.
#[derive(Clone, Copy, Default)]
struct End {
    line: u64,
    place: EntryId,
    visit: Visit,
}

/// What a run changes.
pub struct Parts<'a> {
    pub front: &'a mut Front,
    pub back: &'a mut Back,
    pub ledger: &'a mut Ledger,
}

impl LongRun {
    /// Follows the groups from an iteration on; gives the first one that is not done.
    #[inline(always)]
    pub fn follow(&mut self, parts: Parts<'_>, groups: &mut Groups, from: u64, iterations: u64, shift: u32) -> u64 {
        if !is_long(&groups.all, iterations, shift) || !self.chains.find(groups, from, iterations, shift) {
            return from;
        }
        let Parts { front, back, ledger } = parts;
        self.plan(groups, from);
        let period = self.chains.period;
        let lines = self.visitors.len() as u64;
        let periods = ((iterations - from) / period).min(MOST_POSITIONS / lines.max(1));
        if periods < LEAST_PERIODS || periods * lines < LONG {
            return from;
        }
        let positions = periods * lines;
        back.work(ledger);
        back.make_room(positions + PLACES as u64);
        let (first, in_front) = self.start(groups, front, back, ledger, from, positions);
        let (known, end) = (in_front + back.timeline.ones() - positions, first + positions);
        let mut walk = Walk { known, back, ledger, row: Row::default() };
        for visitor in &mut self.visitors {
            visitor.place = walk.back.table.find_or_add(visitor.address >> shift);
        }
        for left in (0..periods).rev() {
            for visitor in &mut self.visitors {
                let (line, place) = (visitor.address >> shift, visitor.place);
                if left > 0 {
                    visitor.address = visitor.address.wrapping_add_signed(visitor.step);
                    visitor.place = walk.back.table.find_or_add(visitor.address >> shift);
                    prefetch(walk.back.table.entry_at(visitor.place));
                }
                walk.touch(visitor, place);
                let entry = walk.back.table.entry_at(place);
                if visitor.position < end {
                    entry.position = visitor.position as u32;
                    entry.leave(Visit { writer: visitor.writer, ..Visit::default() }, walk.ledger);
                } else {
                    entry.position = 0;
                    let [_, before] = self.ends[visitor.chain];
                    self.ends[visitor.chain] = [before, End { line, place, visit: Visit::default() }];
                }
                visitor.position += lines;
            }
        }
        walk.take_row();
        self.visitors.iter_mut().for_each(|visitor| visitor.file(walk.ledger));
        let until = from + periods * period;
        self.end(groups, front, back, periods * period, until, shift);
        until
    }
}

/// Whether groups visit many lines.
fn is_long(all: &[Group], iterations: u64, shift: u32) -> bool {
    let visits = |group: &Group| iterations.min(iterations.saturating_mul(group.stride.unsigned_abs()) >> shift);
    all.iter().map(visits).fold(0, u64::saturating_add) >= LONG
}

impl LongRun {
    /// Which lines are visited in each period, in which order; positions are counted from that of the first line that
    /// is left.
    #[inline(always)]
    fn plan(&mut self, groups: &Groups, from: u64) {
        let Self { chains, visitors, leaving, .. } = self;
        let period = chains.period;
        visitors.clear();
        leaving.clear();
        for chain in chains.all.iter().filter(|chain| chain.period > 0) {
            let times = (0..period / chain.period).map(|times| times * chain.period);
            leaving.extend(times.map(|time| (chain.leaves + time, chain.rank)));
        }
        leaving.sort_unstable();
        // By iterations, and by the first accesses within them.
        for time in from..from + period {
            for leader in 0..groups.all.len() {
                let number = chains.of[leader];
                let chain = &chains.all[number];
                if chain.leader != leader || !chain.comes_in(time) {
                    continue;
                }
                let group = &groups.all[leader];
                let left = chain.leaves_at() + (time - chain.comes);
                visitors.push(Visitor {
                    chain: number,
                    address: group.address_at(time),
                    place: EntryId::default(),
                    step: group.stride.wrapping_mul(period as i64),
                    cell: group.cell,
                    is_store: group.is_store,
                    writer: chain.writer,
                    position: position(leaving, (left, chain.rank), from, period),
                    lines: 0,
                    deepest: 0,
                    streamed: [0; 2],
                    again: 0,
                    before: CellNumber::default(),
                });
            }
        }
    }

    /// All lines leave the front: those of chains when they are left, the others now. Gives the first of so many
    /// positions, and the number of lines of chains.
    #[inline(always)]
    fn start(
        &mut self,
        groups: &Groups,
        front: &mut Front,
        back: &mut Back,
        ledger: &mut Ledger,
        from: u64,
        positions: u64,
    ) -> (u64, u64) {
        let Self { chains, leaving, visitors, ends } = self;
        let mut left = groups.all.iter().fold(0u16, |places, group| places | 1 << group.place);
        let lines = u64::from(left.count_ones());
        let places = back.clear_front(front, left, ledger);
        let first = back.timeline.append_dense(positions);
        visitors.iter_mut().for_each(|visitor| visitor.position += first);
        ends.clear();
        ends.resize(chains.all.len(), Default::default());
        for (group, &number) in groups.all.iter().zip(&chains.of) {
            if left >> group.place & 1 == 0 {
                continue;
            }
            left ^= 1 << group.place;
            let chain = &chains.all[number];
            let place = places[group.place].expect("lines of groups are in front");
            let mut visit = front.visit(group.place);
            if chain.period == 0 {
                ends[number][1] = End { line: front.line(group.place), place, visit };
                continue;
            }
            let is_last = groups.all[chain.leader].place == group.place;
            let writes = |other: &Group| other.place == group.place && other.writer.is_some();
            let is_written = if is_last { chain.writer.is_some() } else { groups.all.iter().any(writes) };
            if is_written && let Some((cell, bucket)) = visit.write(chain.writer) {
                ledger.add(cell, Filed::WriteBack, bucket, 1);
            }
            let leaves = if is_last { chain.leaves_at() - chain.period } else { chain.leaves };
            let entry = back.table.entry_at(place);
            entry.position = (first + position(leaving, (leaves, chain.rank), from, chains.period)) as u32;
            entry.leave(visit, ledger);
        }
        *front = Front::default();
        (first, lines)
    }

    /// The lines that chains are in come in front, in the order in which the last iteration touched them last.
    #[inline(always)]
    fn end(
        &mut self,
        groups: &mut Groups,
        front: &mut Front,
        back: &mut Back,
        iterations: u64,
        until: u64,
        shift: u32,
    ) {
        let line = |group: &Group| group.address_at(until - 1) >> shift;
        for &number in &groups.by_last {
            let number = usize::from(number);
            let group = &groups.all[number];
            let here = line(group);
            let place = front.find(here).unwrap_or_else(|| {
                let chain = self.chains.of[number];
                let [before, last] = &self.ends[chain];
                let end = if last.line == here { last } else { before };
                let mut visit = end.visit;
                if group.stride != 0 {
                    // Of those that are still in it, the last one to store has written it.
                    let of_line = |other: &&u8| {
                        self.chains.of[usize::from(**other)] == chain && line(&groups.all[usize::from(**other)]) == here
                    };
                    let writer =
                        groups.by_store.iter().rev().find(of_line).map(|&other| groups.all[usize::from(other)].writer);
                    let all_came = if last.line == here { None } else { self.chains.all[chain].writer };
                    visit.writer = writer.unwrap_or(all_came);
                }
                let place = front.insert_line(here, visit);
                back.put_in_front(end.place, place);
                place
            });
            front.raise(place);
            groups.all[number].place = place;
        }
        for group in groups.all.iter_mut().filter(|group| group.stride != 0) {
            group.next += iterations;
        }
    }
}

/// The position of a line that is left in a period, after the first one that is left in the first.
#[inline(always)]
fn position(leaving: &[Leaving], (left, rank): Leaving, from: u64, period: u64) -> u64 {
    let (periods, time) = ((left - from) / period, (left - from) % period);
    let before = leaving.partition_point(|other| *other < (from + time, rank));
    periods * leaving.len() as u64 + before as u64
}

/// Lines that chains found one after another at one depth, as nothing lay between them.
#[derive(Clone, Copy, Default)]
struct Row {
    /// The chain that found them.
    chain: usize,
    /// Where they were behind, all but those that are taken away already.
    first: u64,
    last: u64,
    is_open: bool,
    /// The bucket of their depth, plus one; 0 if it does not count.
    deepest: u16,
}

struct Walk<'a> {
    back: &'a mut Back,
    ledger: &'a mut Ledger,
    /// Lines that were ever touched.
    known: u64,
    row: Row,
}

impl Walk<'_> {
    /// A chain comes to a line.
    #[inline(always)]
    fn touch(&mut self, visitor: &mut Visitor, place: EntryId) {
        let position = u64::from(self.back.table.entry_at(place).position);
        let deepest = if self.row.is_open && self.back.timeline.follows(position, self.row.last) {
            self.row.last = position;
            self.row.deepest
        } else {
            self.look_up(visitor, position, place)
        };
        if deepest != visitor.deepest {
            visitor.file(self.ledger);
            visitor.deepest = deepest;
        }
        visitor.lines += 1;
        // Depths so small have a bucket each.
        if usize::from(deepest) > PLACES {
            match self.back.streamed(place, visitor.touch(), deepest - 1) {
                Some(Filed::InOrder) => visitor.streamed[0] += 1,
                Some(_) => visitor.streamed[1] += 1,
                None => {}
            }
            match self.back.brought(place, visitor.cell) {
                Some(before) => visitor.again(before.cell(), self.ledger),
                None => self.back.leave_pair_open(place, visitor.cell, deepest - 1),
            }
        }
        let entry = self.back.table.entry_at(place);
        entry.deepest = entry.deepest.max(deepest);
    }

    /// A line lies where the row does not go on; gives the bucket of its depth, plus one.
    #[inline(always)]
    fn look_up(&mut self, visitor: &Visitor, position: u64, place: EntryId) -> u16 {
        self.take_row();
        if position == 0 {
            self.back.first(place, self.known, visitor.touch(), None, self.ledger);
            self.known += 1;
            self.row.is_open = false;
            return 0;
        }
        let timeline = &mut self.back.timeline;
        let earlier = timeline.ones() - 1 - timeline.lift(position, 1);
        let depth = self.known - earlier;
        let deepest = if depth > FRONT as u64 { bucket_of(depth) + 1 } else { 0 };
        // What is taken away from behind a row is no nearer than it goes on.
        if !self.row.is_open || self.row.chain == visitor.chain || position < self.row.last {
            self.row = Row { chain: visitor.chain, first: position + 1, last: position, is_open: true, deepest };
        }
        deepest
    }

    /// The lines of the row are not behind any more.
    #[inline(always)]
    fn take_row(&mut self) {
        if self.row.is_open && self.row.last >= self.row.first {
            self.back.timeline.clear_between(self.row.first, self.row.last);
            self.row.first = self.row.last + 1;
        }
    }
}

impl Visitor {
    #[inline(always)]
    fn touch(&self) -> Touch {
        Touch { cell: self.cell, is_store: self.is_store }
    }

    /// It brings a line in that a cell had brought in before.
    #[inline(always)]
    fn again(&mut self, before: CellNumber, ledger: &mut Ledger) {
        if before != self.before {
            self.file_pair(ledger);
            self.before = before;
        }
        self.again += 1;
    }

    fn file_pair(&mut self, ledger: &mut Ledger) {
        let lines = std::mem::take(&mut self.again);
        if lines > 0 {
            ledger.again(self.before, self.cell, self.deepest - 1, lines);
        }
    }

    fn file(&mut self, ledger: &mut Ledger) {
        self.file_pair(ledger);
        let lines = std::mem::take(&mut self.lines);
        let [in_order, at_step] = std::mem::take(&mut self.streamed);
        if self.deepest > 0 {
            ledger.add(self.cell, Filed::for_access(self.is_store), self.deepest - 1, lines);
            ledger.add(self.cell, Filed::InOrder, self.deepest - 1, in_order);
            ledger.add(self.cell, Filed::AtStep, self.deepest - 1, at_step);
        }
    }
}
