//! The LRU stack of values: each occupies as many bytes as it is large.
//!
//! Takes numbers of values, gives how many live bytes lie above one. Refuses nothing; a value must be pushed before it
//! is looked up.

use super::log::MAX_OPERANDS;
use crate::engine::timeline::{Rank, SHORT, Timeline};

/// Position of a value that is not on the stack.
const NOWHERE: u32 = u32::MAX;
/// Positions handed out between two renumberings, at least.
const LEAST_POSITIONS: u64 = 1 << 20;
/// Positions that the pushes of one event need at most: each value may skip the rest of a leaf.
const EVENT_ROOM: u64 = (MAX_OPERANDS as u64 + 2) * 128;

/// Where a value was.
#[derive(Clone, Copy, Debug)]
pub struct Lifted {
    pub position: u32,
    pub above: u64,
}

pub struct ValueStack {
    timeline: Timeline,
    /// By value: its lowest byte's position.
    positions: Vec<u32>,
    /// By value, if they are not all of one size.
    sizes: Vec<u8>,
    /// Bytes of every value, or 0.
    one_size: u8,
    /// Pushes in order, (position, value); those that moved since are still in here.
    order: Vec<(u32, u32)>,
    peak: u64,
}

impl ValueStack {
    /// A stack for values numbered below `values`; all of `size` bytes, or each of its own.
    #[must_use]
    pub fn new(values: usize, size: Option<u8>) -> Self {
        Self {
            timeline: Timeline::new(LEAST_POSITIONS),
            positions: vec![NOWHERE; values],
            sizes: if size.is_none() { vec![0; values] } else { Vec::new() },
            one_size: size.unwrap_or(0),
            order: Vec::new(),
            peak: 0,
        }
    }

    #[inline(always)]
    #[must_use]
    pub fn size(&self, value: u32) -> u64 {
        u64::from(if self.one_size > 0 { self.one_size } else { self.sizes[value as usize] })
    }

    /// Tells a value's size before it is first pushed or read.
    pub fn set_size(&mut self, value: u32, size: u8) {
        if self.one_size == 0 {
            self.sizes[value as usize] = size.max(1);
        }
    }

    /// Takes a value off the stack: its place, to be compared with that of others, and the live bytes above it. `None`
    /// if it was not there.
    #[inline(always)]
    pub fn lift(&mut self, value: u32) -> Option<Lifted> {
        let position = std::mem::replace(&mut self.positions[value as usize], NOWHERE);
        if position == NOWHERE {
            return None;
        }
        let size = self.size(value);
        // Only long values straddle leaves.
        let above = if size <= SHORT {
            self.timeline.lift(u64::from(position), size)
        } else {
            let above = self.timeline.ones() - self.timeline.rank(u64::from(position) + size - 1);
            self.timeline.clear(u64::from(position), size);
            above
        };
        Some(Lifted { position, above })
    }

    /// The live bytes above a value, which stays where it is. `None` if it is not on the stack.
    #[must_use]
    pub fn above(&self, value: u32) -> Option<u64> {
        let position = self.positions[value as usize];
        let last = u64::from(position) + self.size(value) - 1;
        (position != NOWHERE).then(|| self.timeline.ones() - self.timeline.rank(last))
    }

    /// Makes room for the pushes of one event, or of one input.
    #[inline(always)]
    pub fn make_room(&mut self) {
        if !self.timeline.has_room(EVENT_ROOM) {
            self.renumber();
        }
    }

    /// Puts a value on the top. There must be room.
    #[inline(always)]
    pub fn push(&mut self, value: u32) {
        let size = self.size(value);
        let position = self.timeline.append(size) as u32;
        self.positions[value as usize] = position;
        self.order.push((position, value));
    }

    /// Notes how high the stack is; called after each event.
    #[inline(always)]
    pub fn note_height(&mut self) {
        self.peak = self.peak.max(self.timeline.ones());
    }

    #[must_use]
    pub fn live(&self) -> u64 {
        self.timeline.ones()
    }

    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Values on the stack, the topmost first.
    pub fn top_down(&self) -> impl Iterator<Item = u32> + '_ {
        self.order.iter().rev().filter(|(p, v)| self.positions[*v as usize] == *p).map(|(_, v)| *v)
    }

    #[inline(always)]
    fn renumber(&mut self) {
        let positions = &self.positions;
        self.order.retain(|(position, value)| positions[*value as usize] == *position);
        // Short values skip the rest of a leaf rather than straddle it, which at most doubles the room they need.
        let room = self.timeline.ones() * 4 + LEAST_POSITIONS;
        self.timeline.reset(room, 0, 0);
        for (position, value) in &mut self.order {
            let size = if self.one_size > 0 { self.one_size } else { self.sizes[*value as usize] };
            *position = self.timeline.append(u64::from(size)) as u32;
            self.positions[*value as usize] = *position;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: a list, topmost last.
    #[test]
    fn agrees_with_a_list_through_renumberings() {
        let sizes = [1u8, 2, 4, 8, 16, 3, 40];
        let mut stack = ValueStack::new(300, None);
        (0..300).for_each(|v| stack.set_size(v, sizes[v as usize % sizes.len()]));
        let mut list: Vec<u32> = Vec::new();
        let mut seed = 5u64;
        for step in 0..600_000u64 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = (seed >> 33) as u32 % 300;
            if let Some(at) = list.iter().position(|v| *v == value) {
                let above: u64 = list[at + 1..].iter().map(|v| u64::from(sizes[*v as usize % sizes.len()])).sum();
                assert_eq!(stack.lift(value).map(|l| l.above), Some(above), "step {step}");
                list.remove(at);
                if seed >> 60 == 3 {
                    continue;
                }
            }
            list.push(value);
            stack.make_room();
            stack.push(value);
        }
        assert!(stack.top_down().eq(list.iter().rev().copied()));
        assert_eq!(stack.live(), list.iter().map(|v| stack.size(*v)).sum::<u64>());
    }
}
