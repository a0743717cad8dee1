//! A stack of the bytes of some lines, each with the time of its last touch.
//!
//! Each touch of a line has a *slot*; slots are in the order of time. A line's entry says in which slot each of its
//! bytes is. How many bytes are in later slots is counted by *lanes*, one per bucket of lines: those of the last slots
//! are added up one by one, those of whole blocks before them are in a Fenwick tree. Slots are renumbered when they run
//! out.

use std::{collections::HashMap, ops::Range};

use crate::{engine::clamped, hash::FastHash};

/// Bytes of a line.
pub const LINE: u64 = 64;
/// Slots of a block, which are looked at one by one.
const BLOCK: usize = 32;
/// Slots to begin with.
const FIRST: usize = 1 << 12;
/// Slots for each line, at least: a renumbering goes over all lines.
const SLOTS_PER_LINE: usize = 4;

/// Beside the time at which a byte left the stack, in the place of a slot.
const DEAD: u32 = 1 << 31;
/// Accesses of a step of that time. In 2^31 steps it comes round.
const STEP: u64 = 256;

/// Of each byte of a line, its slot plus one, or when it left the stack; 0 if neither is known.
type Entry = [u32; LINE as usize];

/// Bytes of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub line: u64,
    pub from: usize,
    pub to: usize,
}

/// The pieces of a range of addresses, by line.
pub fn pieces(address: u64, len: u64) -> impl Iterator<Item = Piece> {
    crate::pieces::pieces(address, clamped(address, len), LINE).map(|(line, from, bytes)| Piece {
        line,
        from: from as usize,
        to: (from + bytes) as usize,
    })
}

/// Neighbouring bytes that were touched together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TouchedRange {
    pub len: u32,
    /// Where they are; nowhere if the stack does not have them.
    pub slot: Option<u32>,
    /// When they left the stack, if that is known.
    pub left: Option<Left>,
    /// Bytes of their slot that are above them.
    pub beside: u32,
}

/// When bytes left a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left(u32);

impl Left {
    fn from_time(now: u64) -> Self {
        Left((now / STEP) as u32 & !DEAD)
    }

    /// Whether it was certainly at most so many accesses ago.
    pub fn within(self, accesses: u64, now: u64) -> bool {
        let steps = Left::from_time(now).0.wrapping_sub(self.0) & !DEAD;
        (u64::from(steps) + 1) * STEP <= accesses
    }
}

pub struct Stack {
    lanes: usize,
    entries: HashMap<u64, u32, FastHash>,
    /// The line that was looked for last, and its entry: accesses of one line often follow each other.
    last: Option<(u64, u32)>,
    list: Vec<Entry>,
    /// By slot: when, how many bytes are there, and in which lane.
    times: Vec<u64>,
    live: Vec<u32>,
    lane: Vec<u16>,
    /// Most slots.
    capacity: usize,
    /// Sums of whole blocks by lanes, node after node; nothing is at the first.
    tree: Vec<u32>,
    /// Bytes by lane.
    pub total: Vec<u64>,
}

impl Stack {
    /// Of so many lanes.
    pub fn new(lanes: usize) -> Self {
        Self::with_slots(lanes, FIRST)
    }

    /// Of so many lanes, with room for so many touches before slots are renumbered.
    pub fn with_slots(lanes: usize, capacity: usize) -> Self {
        Stack {
            lanes,
            entries: HashMap::default(),
            last: None,
            list: Vec::new(),
            times: Vec::new(),
            live: Vec::new(),
            lane: Vec::new(),
            capacity,
            tree: vec![0; lanes],
            total: vec![0; lanes],
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.last = None;
        self.list.clear();
        self.times.clear();
        self.live.clear();
        self.lane.clear();
        self.tree.truncate(self.lanes);
        self.total.fill(0);
    }

    /// The mean of the bytes of lines that have any, about; all of a line if there are none.
    pub fn mean_line(&self) -> f64 {
        let bytes: u64 = self.total.iter().sum();
        if bytes == 0 { LINE as f64 } else { (bytes as f64 / self.entries.len() as f64).min(LINE as f64) }
    }

    /// When the bytes of a slot were touched.
    pub fn time(&self, slot: u32) -> u64 {
        self.times[slot as usize]
    }

    /// Where a line is, if it was ever touched.
    #[inline]
    pub fn find(&mut self, line: u64) -> Option<usize> {
        if let Some((last, entry)) = self.last
            && last == line
        {
            return Some(entry as usize);
        }
        let found = *self.entries.get(&line)?;
        self.last = Some((line, found));
        Some(found as usize)
    }

    /// The parts of a piece, whose line is there.
    pub fn parts(&self, entry: Option<usize>, piece: Piece, mut tell: impl FnMut(TouchedRange)) {
        let Piece { from, to, .. } = piece;
        let Some(entry) = entry else {
            return tell(TouchedRange { len: (to - from) as u32, slot: None, left: None, beside: 0 });
        };
        let entry = &self.list[entry];
        let mut at = from;
        while at < to {
            let slot = entry[at];
            let end = at + entry[at..to].iter().take_while(|other| **other == slot).count();
            let left = (slot & DEAD != 0).then_some(Left(slot & !DEAD));
            let (len, slot) = ((end - at) as u32, slot.checked_sub(1).filter(|_| left.is_none()));
            let is_whole = |slot: u32| self.live[slot as usize] == len;
            let beside = if slot.is_none_or(is_whole) {
                0
            } else {
                entry[end..].iter().filter(|other| other.checked_sub(1) == slot).count() as u32
            };
            tell(TouchedRange { len, slot, left, beside });
            at = end;
        }
    }

    /// Bytes above those of a slot, by lane.
    pub fn above(&self, slot: u32, sums: &mut [u64]) {
        self.above_end(slot as usize + 1, sums);
    }

    /// Bytes that were touched after a time, by lane.
    pub fn since(&self, time: u64, sums: &mut [u64]) {
        self.above_end(self.times.partition_point(|slot| *slot <= time), sums);
    }

    /// Blocks that the tree has.
    fn blocks(&self) -> usize {
        self.tree.len() / self.lanes - 1
    }

    /// Bytes in slots from `end` on, by lane.
    fn above_end(&self, end: usize, sums: &mut [u64]) {
        let block = end / BLOCK;
        if block >= self.blocks() {
            sums.fill(0);
            return self.each_lane(end..self.live.len(), |lane, bytes| sums[lane] += bytes);
        }
        sums.copy_from_slice(&self.total);
        let mut node = block;
        while node > 0 {
            let counts = &self.tree[node * self.lanes..(node + 1) * self.lanes];
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum -= u64::from(*count));
            node &= node - 1;
        }
        self.each_lane(block * BLOCK..end, |lane, bytes| sums[lane] -= bytes);
    }

    /// Tells the bytes of some slots, by lane, in any number of parts.
    fn each_lane(&self, slots: Range<usize>, mut tell: impl FnMut(usize, u64)) {
        let live = &self.live[slots.clone()];
        if self.lanes == 1 {
            return tell(0, live.iter().map(|bytes| u64::from(*bytes)).sum());
        }
        for (lane, bytes) in self.lane[slots].iter().zip(live) {
            tell(usize::from(*lane), u64::from(*bytes));
        }
    }

    fn change(&mut self, slot: usize, by: i32) {
        let lane = usize::from(self.lane[slot]);
        self.live[slot] = self.live[slot].wrapping_add_signed(by);
        self.total[lane] = self.total[lane].wrapping_add_signed(by.into());
        let (mut node, blocks) = (slot / BLOCK + 1, self.blocks());
        while node <= blocks {
            let count = &mut self.tree[node * self.lanes + lane];
            *count = count.wrapping_add_signed(by);
            node += node & node.wrapping_neg();
        }
    }

    /// Puts the bytes of a piece on top, whose line is there.
    pub fn touch(&mut self, entry: Option<usize>, piece: Piece, lane: u16, now: u64) {
        if self.times.len() == self.capacity {
            self.renumber();
        }
        let entry = entry.unwrap_or_else(|| self.entry(piece.line));
        if self.is_top(entry, piece) {
            *self.times.last_mut().expect("it has the top") = now;
            return;
        }
        self.take(entry, piece);
        let slot = self.times.len();
        self.times.push(now);
        self.live.push(0);
        self.lane.push(lane);
        self.list[entry][piece.from..piece.to].fill(slot as u32 + 1);
        self.change(slot, (piece.to - piece.from) as i32);
        if self.times.len().is_multiple_of(BLOCK) {
            self.close_block();
        }
    }

    /// Whether a piece is all that is in the last slot.
    fn is_top(&self, entry: usize, piece: Piece) -> bool {
        let top = self.live.len() as u32;
        let bytes = &self.list[entry][piece.from..piece.to];
        self.live.last().is_some_and(|live| *live as usize == bytes.len()) && bytes.iter().all(|slot| *slot == top)
    }

    /// The slots behind those that the tree has are a block: it takes them.
    fn close_block(&mut self) {
        let (node, lanes) = (self.blocks() + 1, self.lanes);
        let slots = (node - 1) * BLOCK..node * BLOCK;
        self.tree.resize((node + 1) * lanes, 0);
        let (before, sums) = self.tree.split_at_mut(node * lanes);
        for (lane, bytes) in self.lane[slots.clone()].iter().zip(&self.live[slots]) {
            sums[usize::from(*lane)] += bytes;
        }
        // Nodes right before this one that have no other above them.
        let mut below = 1;
        while node & below == 0 {
            let counts = &before[(node - below) * lanes..(node - below + 1) * lanes];
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            below *= 2;
        }
    }

    /// The bytes of a piece leave at a time that is remembered.
    pub fn leave(&mut self, piece: Piece, now: u64) {
        let entry = self.entry(piece.line);
        self.take(entry, piece);
        self.list[entry][piece.from..piece.to].fill(Left::from_time(now).0 | DEAD);
    }

    /// The bytes of a piece leave, and nothing is known of them any more.
    pub fn forget(&mut self, piece: Piece) {
        if let Some(&entry) = self.entries.get(&piece.line) {
            self.take(entry as usize, piece);
        }
    }

    /// The bytes of a range leave, and nothing is known of them any more. All lines are looked at.
    pub fn forget_range(&mut self, address: u64, len: u64) {
        let last = address.saturating_add(len - 1);
        let lines = address / LINE..=last / LINE;
        let found: Vec<u64> = self.entries.keys().copied().filter(|line| lines.contains(line)).collect();
        for line in found {
            let (from, to) = (address.max(line * LINE), last.min(line * LINE + (LINE - 1)));
            self.forget(Piece { line, from: (from % LINE) as usize, to: (to % LINE) as usize + 1 });
        }
    }

    fn entry(&mut self, line: u64) -> usize {
        let next = self.list.len() as u32;
        let entry = *self.entries.entry(line).or_insert(next);
        if entry == next {
            self.list.push([0; LINE as usize]);
        }
        entry as usize
    }

    fn take(&mut self, entry: usize, piece: Piece) {
        let mut at = piece.from;
        while at < piece.to {
            let slot = self.list[entry][at];
            let end = at + self.list[entry][at..piece.to].iter().take_while(|other| **other == slot).count();
            if slot > 0 {
                if slot & DEAD == 0 {
                    self.change(slot as usize - 1, -((end - at) as i32));
                }
                self.list[entry][at..end].fill(0);
            }
            at = end;
        }
    }

    /// Bytes move with their places on the stack. Of the new lines those that `is_in` names are on this stack; where it
    /// does not have the old line of the same place, it takes the nearest one that it has, or none if `exactly`.
    pub fn relocate(&mut self, from: u64, to: u64, len: u64, exactly: bool, is_in: impl Fn(u64) -> bool) {
        let mut old: Vec<(u64, Entry)> = Vec::new();
        let first = from / LINE;
        for piece in pieces(from, len) {
            if let Some(&entry) = self.entries.get(&piece.line) {
                let mut taken = [0; LINE as usize];
                taken[piece.from..piece.to].copy_from_slice(&self.list[entry as usize][piece.from..piece.to]);
                old.push((piece.line - first, taken));
                self.take(entry as usize, piece);
            }
        }
        for piece in pieces(to, len) {
            self.forget(piece);
            let at = piece.line - to / LINE;
            let after = old.partition_point(|(place, _)| *place < at).min(old.len().saturating_sub(1));
            let near = [after.saturating_sub(1), after].map(|near| old.get(near));
            let nearest = near.into_iter().flatten().min_by_key(|(place, _)| place.abs_diff(at));
            let Some((place, taken)) = nearest.filter(|_| is_in(piece.line)) else { continue };
            if exactly && *place != at {
                continue;
            }
            let taken = *taken;
            let entry = self.entry(piece.line);
            let bytes = taken.iter().enumerate().take(piece.to).skip(piece.from);
            for (byte, slot) in bytes.filter(|(_, slot)| **slot > 0 && **slot & DEAD == 0) {
                self.list[entry][byte] = *slot;
                self.change(*slot as usize - 1, 1);
            }
        }
    }

    /// Leaves out slots without bytes; makes room for more if most have some.
    fn renumber(&mut self) {
        let mut numbers = vec![0u32; self.times.len() + 1];
        let mut kept = 0;
        for slot in 0..self.times.len() {
            if self.live[slot] > 0 {
                self.times[kept] = self.times[slot];
                self.live[kept] = self.live[slot];
                self.lane[kept] = self.lane[slot];
                kept += 1;
                numbers[slot + 1] = kept as u32;
            }
        }
        self.times.truncate(kept);
        self.live.truncate(kept);
        self.lane.truncate(kept);
        let live = self.list.iter_mut().flatten().filter(|slot| **slot & DEAD == 0);
        live.for_each(|slot| *slot = numbers[*slot as usize]);
        while self.capacity < 2 * kept || self.capacity < SLOTS_PER_LINE * self.list.len() {
            self.capacity *= 2;
        }
        self.tree.truncate(self.lanes);
        (0..kept / BLOCK).for_each(|_| self.close_block());
    }

    /// Memory held, in bytes.
    pub fn heap_bytes(&self) -> u64 {
        let slots = self.times.capacity() * 8 + self.live.capacity() * 4 + self.lane.capacity() * 2;
        let lanes = self.tree.capacity() * 4 + self.total.capacity() * 8;
        (self.list.capacity() * size_of::<Entry>() + self.entries.capacity() * 16 + slots + lanes) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::abi::sample::Draws;
    use crate::tests::held::tells_what_it_holds;

    const LANES: usize = 3;

    /// What is known of a byte.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Byte {
        /// The number of its last touch, and when that was.
        Touched { number: u64, time: u64, lane: usize },
        /// When it left.
        Left(u64),
    }

    /// The same as a stack, as a list of bytes.
    #[derive(Default)]
    struct Plain {
        bytes: BTreeMap<u64, Byte>,
        /// Those that something was known of at any time.
        lines: BTreeSet<u64>,
    }

    impl Plain {
        fn set(&mut self, piece: Piece, byte: Option<Byte>) {
            for at in piece.line * LINE + piece.from as u64..piece.line * LINE + piece.to as u64 {
                match byte {
                    Some(byte) => self.bytes.insert(at, byte),
                    None => self.bytes.remove(&at),
                };
            }
            self.lines.extend(byte.map(|_| piece.line));
        }

        /// Bytes of touches, by lane.
        fn count(&self, is_meant: impl Fn(u64, u64) -> bool) -> Vec<u64> {
            let mut lanes = vec![0; LANES];
            for byte in self.bytes.values() {
                match *byte {
                    Byte::Touched { number, time, lane } if is_meant(number, time) => lanes[lane] += 1,
                    _ => {}
                }
            }
            lanes
        }

        /// Places of bytes that move by whole lines.
        fn relocate(&mut self, from: u64, to: u64, len: u64) {
            let taken: Vec<_> = (0..len).map(|at| self.bytes.remove(&(from + at))).collect();
            for (at, byte) in (0..).zip(taken) {
                self.bytes.remove(&(to + at));
                if let Some(byte @ Byte::Touched { .. }) = byte {
                    self.bytes.insert(to + at, byte);
                }
                if self.lines.contains(&((from + at) / LINE)) {
                    self.lines.insert((to + at) / LINE);
                }
            }
        }
    }

    /// Parts of a piece: their lengths, what is known of them, what is above those that were touched, by lane, and how
    /// many bytes of their touch are above them in the line.
    fn parts(plain: &Plain, piece: Piece) -> Vec<(u32, Option<Byte>, Vec<u64>, u32)> {
        // The time at which bytes left is known by steps.
        let known = |at: usize| match plain.bytes.get(&(piece.line * LINE + at as u64)) {
            Some(Byte::Left(time)) => Some(Byte::Left(time / STEP)),
            byte => byte.copied(),
        };
        let mut found = Vec::new();
        let mut at = piece.from;
        while at < piece.to {
            let byte = known(at);
            let end = (at..piece.to).find(|other| known(*other) != byte).unwrap_or(piece.to);
            let (above, beside) = match byte {
                Some(Byte::Touched { number, .. }) => (
                    plain.count(|other, _| other > number),
                    (end..LINE as usize).filter(|other| known(*other) == byte).count() as u32,
                ),
                _ => (Vec::new(), 0),
            };
            found.push(((end - at) as u32, byte, above, beside));
            at = end;
        }
        found
    }

    #[test]
    fn bytes_are_above_others_as_in_a_list() {
        let (mut stack, mut plain, mut draws) = (Stack::with_slots(LANES, 64), Plain::default(), Draws::new(21));
        for now in 0..1200u64 {
            let (address, len) = (draws.below(20 * LINE), 1 + draws.below(16));
            match draws.below(16) {
                0 => pieces(address, 3 * len).for_each(|piece| {
                    stack.leave(piece, now * 50);
                    plain.set(piece, Some(Byte::Left(now * 50)));
                }),
                1 => {
                    stack.forget_range(address, 5 * len);
                    pieces(address, 5 * len).for_each(|piece| plain.set(piece, None));
                }
                2 => {
                    let (to, len) = (address + (50 + draws.below(3)) * LINE, 20 * len);
                    for (from, to) in [(address, to), (to, address)] {
                        stack.relocate(from, to, len, true, |_| true);
                        plain.relocate(from, to, len);
                    }
                }
                _ => pieces(address, len).enumerate().for_each(|(number, piece)| {
                    let (lane, number) = (piece.line as usize % LANES, 2 * now + number as u64);
                    let entry = stack.find(piece.line);
                    stack.touch(entry, piece, lane as u16, now * 50);
                    plain.set(piece, Some(Byte::Touched { number, time: now * 50, lane }));
                }),
            }
            assert_eq!(stack.total, plain.count(|_, _| true));
            let bytes: u64 = stack.total.iter().sum();
            let mean = if bytes == 0 { LINE as f64 } else { (bytes as f64 / plain.lines.len() as f64).min(64.0) };
            assert_eq!(stack.mean_line(), mean, "after {now}");
            let (since, mut sums) = (now.saturating_sub(draws.below(60)) * 50, vec![0; LANES]);
            stack.since(since, &mut sums);
            assert_eq!(sums, plain.count(|_, time| time > since), "since {since} at {now}");
            for piece in pieces(draws.below(20 * LINE), 1 + draws.below(40)) {
                let mut found = Vec::new();
                let entry = stack.find(piece.line);
                stack.parts(entry, piece, |part| found.push(part));
                let expected = parts(&plain, piece);
                assert_eq!(found.len(), expected.len(), "{piece:?} at {now}");
                for (part, (len, byte, above, beside)) in found.into_iter().zip(expected) {
                    assert_eq!((part.len, part.beside), (len, beside), "{piece:?} at {now}");
                    match (byte, part.slot) {
                        (Some(Byte::Touched { time, .. }), Some(slot)) => {
                            stack.above(slot, &mut sums);
                            assert_eq!(
                                (stack.time(slot), &sums, part.left),
                                (time, &above, None),
                                "{piece:?} at {now}"
                            );
                        }
                        (Some(Byte::Left(step)), None) => assert_eq!(part.left, Some(Left::from_time(step * STEP))),
                        (None, None) => assert_eq!(part.left, None),
                        (byte, slot) => panic!("{byte:?} is in slot {slot:?} at {now}"),
                    }
                }
            }
        }
    }

    #[test]
    fn bytes_that_left_did_so_certainly_within_a_time_or_not() {
        for (left, now) in [(0, 0), (255, 256), (5000, 9000), (STEP << 31, (STEP << 31) + 700)] {
            let ago = now - left;
            let within = |accesses| Left::from_time(left).within(accesses, now);
            assert!(!within(ago.saturating_sub(1)) && within(ago + 2 * STEP), "{left}, {now}");
            assert!((0..ago + 2 * STEP).is_sorted_by_key(within));
        }
    }

    #[test]
    fn a_stack_that_was_cleared_knows_nothing() {
        let mut stack = Stack::new(LANES);
        let piece = Piece { line: 7, from: 0, to: 8 };
        (0..100).for_each(|now| stack.touch(None, Piece { line: now % 9, ..piece }, 1, now));
        stack.clear();
        assert_eq!((stack.find(7), &stack.total[..], stack.mean_line()), (None, &[0; LANES][..], 64.0));
        stack.touch(None, piece, 2, 5);
        let mut sums = [0; LANES];
        stack.since(4, &mut sums);
        assert_eq!(sums, [0, 0, 8]);
    }

    #[test]
    fn a_stack_tells_what_it_holds() {
        let stack = |lanes: usize, lines: u64, touches: u64| {
            let make = move || {
                let mut stack = Stack::with_slots(lanes, touches as usize);
                (0..touches).for_each(|at| stack.touch(None, Piece { line: at % lines, from: 0, to: 64 }, 0, at));
                stack
            };
            tells_what_it_holds(make, Stack::heap_bytes);
        };
        stack(LANES, 5000, 5000);
        stack(LANES, 10, 100_000);
        stack(64, 10, 5000);
    }
}
