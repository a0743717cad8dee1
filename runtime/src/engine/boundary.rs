//! What a part of a run needs of the stack before it, in the order of the part.
//!
//! Takes accesses and ends of bytes that a part does not know; gives them back in that order. Refuses nothing.

use serde::{Deserialize, Serialize};

use super::{access::Kind, access_tag::AccessTag, progression::Progression};

/// What is not below these cannot be of a program: bytes, and iterations of a block.
const MOST: u64 = 1 << 48;
const MOST_ITERATIONS: u64 = 1 << 32;

/// Whether bytes can be of a program.
fn is_there(addr: u64, len: u64) -> bool {
    len > 0 && len < MOST && addr.checked_add(len).is_some()
}

/// Bytes that a part of a run touched or removed, and did not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissRequest {
    /// First byte.
    pub addr: u64,
    /// Bytes of the part that were on its stack before this access.
    pub above: u64,
    /// Free places among them.
    pub holes: u64,
    /// Bytes.
    pub len: u32,
    /// Of a load.
    pub label: AccessTag,
    /// A load, a store or a removal.
    pub kind: Kind,
    /// It is of the same access as the one before.
    pub joined: bool,
}

impl MissRequest {
    /// What a loop asks in an iteration if this is what it asks in the first one.
    #[inline(always)]
    pub(super) fn in_iteration(self, iteration: u64, stride: i64, grows: i64) -> Self {
        let far = |step: i64| step.wrapping_mul(iteration as i64);
        let (addr, above) = (self.addr.wrapping_add_signed(far(stride)), self.above.wrapping_add_signed(far(grows)));
        Self { addr, above, ..self }
    }
}

/// What else happened, between what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Between {
    /// Bytes move, those of the stack before the part too.
    Relocate {
        /// First byte of the old place.
        from: u64,
        /// First byte of the new place.
        to: u64,
        /// Bytes.
        len: u64,
    },
    /// Bytes of the part go away from here, as if they had never been touched.
    Left {
        /// First byte.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// Bytes of the part have come here.
    Arrived {
        /// First byte.
        addr: u64,
        /// Bytes.
        len: u64,
    },
    /// Bytes that are not on the part's stack enter below everything.
    Input {
        /// First byte.
        addr: u64,
        /// Bytes.
        len: u64,
        /// Bytes of the part that are on its stack.
        above: u64,
    },
    /// Bytes are needed by somebody else, which is of no effect on any stack.
    Output {
        /// First byte.
        addr: u64,
        /// Bytes.
        len: u64,
    },
}

/// Asks that a loop made again and again, each time at other addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedLoop {
    /// Number of the first ask of its first iteration.
    pub first: usize,
    /// Asks of an iteration, each with a stride.
    pub asks: usize,
    /// Iterations, the first one too.
    pub iterations: u64,
    /// Bytes by which the part's stack grew from one iteration to the next.
    pub grows: i64,
}

/// Bits of a [`Piece`]'s length. Those that are left do for more bytes than any memory has.
const LEN_BITS: u32 = 20;
/// Bytes of a piece, at most.
const MOST_LEN: u64 = (1 << LEN_BITS) - 1;
/// Places below a piece, at most.
const MOST_BELOW: u64 = (1 << (64 - LEN_BITS)) - 1;

/// Bytes that are on a part's stack in the end, side by side there and in memory. There may be a million of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(u64, u64, u64)", into = "(u64, u64, u64)")]
pub struct Piece {
    /// First byte.
    pub addr: u64,
    /// Places of the part below it, and its length.
    below_and_len: u64,
}

impl Piece {
    /// Places of the part below it: bytes, and those that are free.
    #[inline(always)]
    pub fn below(self) -> u64 {
        self.below_and_len >> LEN_BITS
    }

    /// Bytes.
    #[inline(always)]
    pub fn len(self) -> u64 {
        self.below_and_len & MOST_LEN
    }
}

impl TryFrom<(u64, u64, u64)> for Piece {
    type Error = &'static str;

    fn try_from((addr, below, len): (u64, u64, u64)) -> Result<Self, &'static str> {
        if below > MOST_BELOW || len > MOST_LEN {
            return Err("a piece that is too long or too far up");
        }
        Ok(Self { addr, below_and_len: below << LEN_BITS | len })
    }
}

impl From<Piece> for (u64, u64, u64) {
    fn from(piece: Piece) -> Self {
        (piece.addr, piece.below(), piece.len())
    }
}

/// Words that are on a part's stack in the end, side by side in memory and at even distances on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// First byte of the first word.
    pub addr: u64,
    /// Places of the part below each word.
    pub below: Progression,
}

/// All that the stack before a part of a run needs to know of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boundary {
    /// What the part did not know, in order. Of loops, what the first iteration did not know.
    pub asks: Vec<MissRequest>,
    /// Loops among the asks, in order.
    pub loops: Vec<RequestedLoop>,
    /// How much further each ask of a loop is in the next iteration, loop by loop.
    pub strides: Vec<i64>,
    /// With the number of asks before it.
    pub between: Vec<(usize, Between)>,
    /// What is on the part's stack in the end, in any order.
    pub left: Vec<Piece>,
    /// What is on the part's stack in the end, of words at even distances; in any order.
    pub rows: Vec<Row>,
    /// Free places that the part leaves among these: places below the first of each run, and places of the run, from
    /// the lowest run up.
    pub holes: Vec<(u64, u64)>,
}

/// The next thing that a part has for the stack before it.
pub enum Next<'a> {
    /// Single asks.
    Asks(&'a [MissRequest]),
    /// A loop, the asks of its first iteration and their strides.
    Loop(RequestedLoop, &'a [MissRequest], &'a [i64]),
    /// Something else.
    Between(Between),
}

impl Boundary {
    /// Asks for a part of an access, of which others were asked for before if it is `joined`; so many bytes and holes
    /// are above.
    #[inline(always)]
    pub(super) fn ask_part<const LOAD: bool>(
        &mut self,
        mut addr: u64,
        mut len: u64,
        [above, holes]: [u64; 2],
        label: AccessTag,
        mut joined: bool,
    ) {
        let kind = if LOAD { Kind::Load } else { Kind::Store };
        while len > 0 {
            let part = len.min(u64::from(u32::MAX));
            self.asks.push(MissRequest { addr, above, holes, len: part as u32, label, kind, joined });
            (addr, len, joined) = (addr.wrapping_add(part), len - part, true);
        }
    }

    pub(super) fn remove(&mut self, mut addr: u64, mut len: u64) {
        while len > 0 {
            let part = len.min(u64::from(u32::MAX));
            self.asks.push(MissRequest {
                addr,
                above: 0,
                holes: 0,
                len: part as u32,
                label: AccessTag::default(),
                kind: Kind::Remove,
                joined: false,
            });
            (addr, len) = (addr.wrapping_add(part), len - part);
        }
    }

    /// Asks the same in each of some iterations; `asks` are the first one's, with their strides.
    pub(super) fn ask_in_loop(&mut self, asks: impl Iterator<Item = (MissRequest, i64)>, iterations: u64, grows: i64) {
        let first = self.asks.len();
        for (ask, stride) in asks {
            self.asks.push(ask);
            self.strides.push(stride);
        }
        self.loops.push(RequestedLoop { first, asks: self.asks.len() - first, iterations, grows });
    }

    /// Everything but what is left, in order.
    pub fn each(&self) -> impl Iterator<Item = Next<'_>> {
        let (mut done, mut loops, mut strides) = (0, self.loops.iter().peekable(), &self.strides[..]);
        let mut between = self.between.iter().peekable();
        std::iter::from_fn(move || {
            let next_loop = loops.peek().map_or(usize::MAX, |next| next.first);
            let next_between = between.peek().map_or(usize::MAX, |next| next.0);
            let until = self.asks.len().min(next_loop).min(next_between);
            if done < until {
                let asks = &self.asks[done..until];
                done = until;
                return Some(Next::Asks(asks));
            }
            if next_between <= done {
                return between.next().map(|&(_, what)| Next::Between(what));
            }
            let &next = loops.next()?;
            done += next.asks;
            let (own, rest) = strides.split_at(next.asks);
            strides = rest;
            Some(Next::Loop(next, &self.asks[next.first..done], own))
        })
    }

    /// Bytes that lie side by side are on the stack in the end.
    #[inline(always)]
    pub(super) fn piece(&mut self, mut addr: u64, mut below: u64, mut len: u64) {
        while len > 0 {
            let part = len.min(MOST_LEN);
            self.left.push(Piece { addr, below_and_len: below << LEN_BITS | part });
            (addr, below, len) = (addr.wrapping_add(part), below + part, len - part);
        }
    }

    /// A row of words is on the stack in the end.
    pub(super) fn row(&mut self, row: Row) {
        let Row { addr, below: Progression { first, step, count, width } } = row;
        if step == width as i64 {
            self.piece(addr, first, count * width);
        } else {
            self.rows.push(row);
        }
    }

    /// What is on the part's stack in the end, as ranges of memory: first bytes and lengths.
    pub fn left_ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let pieces = self.left.iter().map(|piece| (piece.addr, piece.len()));
        pieces.chain(self.rows.iter().map(|row| (row.addr, row.below.count * row.below.width)))
    }

    /// Places on the part's stack in the end, with a byte or free.
    pub(super) fn left_places(&self) -> u64 {
        self.left_ranges().map(|(_, len)| len).sum::<u64>() + self.holes.iter().map(|hole| hole.1).sum::<u64>()
    }

    /// Whether it can be of a run: every loop has its asks and strides, and what is left is there once.
    pub fn is_sound(&self) -> bool {
        let is_ask = |ask: &MissRequest| {
            let is_kind = matches!(ask.kind, Kind::Load | Kind::Store | Kind::Remove);
            is_kind && ask.above < MOST && ask.holes < MOST && is_there(ask.addr, ask.len.into())
        };
        let is_possible = |&(_, what): &(usize, Between)| match what {
            Between::Relocate { from, to, len } => is_there(from, len) && is_there(to, len),
            Between::Left { addr, len } | Between::Arrived { addr, len } | Between::Output { addr, len } => {
                is_there(addr, len)
            }
            Between::Input { addr, len, above } => is_there(addr, len) && above < MOST,
        };
        self.asks.iter().all(is_ask)
            && self.between.iter().all(is_possible)
            && self.between.is_sorted_by_key(|between| between.0)
            && self.between.last().is_none_or(|between| between.0 <= self.asks.len())
            && self.are_loops_sound()
            && self.is_left_sound()
    }

    fn are_loops_sound(&self) -> bool {
        let (mut end, mut strides) = (0, self.strides.iter().copied());
        let is_next = |&RequestedLoop { first, asks, iterations, grows }: &RequestedLoop| {
            let is_behind = first >= end && asks > 0;
            let Some(own) = first.checked_add(asks).and_then(|end| self.asks.get(first..end)) else { return false };
            let steps = strides.by_ref().take(asks);
            end = first + asks;
            let far = i64::try_from(iterations).ok().and_then(|iterations| grows.checked_mul(iterations));
            let is_possible = |(ask, stride): (&MissRequest, i64)| {
                let above = far.and_then(|far| ask.above.checked_add_signed(far));
                let away = stride.checked_mul(iterations as i64).and_then(|away| ask.addr.checked_add_signed(away));
                let is_there = away.is_some_and(|addr| addr.checked_add(ask.len.into()).is_some());
                ask.kind != Kind::Remove && above.is_some_and(|above| above < MOST) && is_there
            };
            is_behind && (1..MOST_ITERATIONS).contains(&iterations) && own.iter().zip(steps).all(is_possible)
        };
        self.loops.iter().all(is_next) && self.loops.iter().map(|asked| asked.asks).sum::<usize>() == self.strides.len()
    }

    fn is_left_sound(&self) -> bool {
        let is_row = |Row { addr, below }: &Row| {
            let is_word = matches!(below.width, 4 | 8 | 16 | 32) && addr.is_multiple_of(4);
            is_word && below.count > 0 && below.count < MOST
        };
        if !self.rows.iter().all(is_row) || !self.left.iter().all(|piece| is_there(piece.addr, piece.len())) {
            return false;
        }
        let mut places: Vec<(u64, u64)> = self.left_ranges().collect();
        places.sort_unstable();
        let holes = || self.holes.iter().map(|hole| hole.1);
        if !holes().all(|len| (1..MOST).contains(&len)) || !self.holes.is_sorted_by_key(|hole| hole.0) {
            return false;
        }
        let all = places.iter().map(|place| place.1).chain(holes()).map(u128::from).sum::<u128>();
        let are_apart = places.windows(2).all(|two| two[0].0.checked_add(two[0].1).is_some_and(|end| end <= two[1].0));
        let ends = places.last().is_none_or(|last| last.0.checked_add(last.1 - 1).is_some());
        are_apart && ends && all < u128::from(MOST) && self.fills(all as usize)
    }

    /// Whether what is left has each of so many places on the stack once.
    fn fills(&self, places: usize) -> bool {
        let mut taken = Vec::new();
        if taken.try_reserve_exact(places).is_err() {
            return false;
        }
        taken.resize(places, false);
        let mut take = |first: u64, len: u64| {
            let end = first.checked_add(len).and_then(|end| usize::try_from(end).ok());
            let Some(places) = end.and_then(|end| taken.get_mut(first as usize..end)) else { return false };
            places.iter_mut().all(|taken| !std::mem::replace(taken, true))
        };
        self.left.iter().all(|piece| take(piece.below(), piece.len()))
            && self.holes.iter().all(|&(below, len)| take(below, len))
            && self.rows.iter().all(|row| row.below.each().all(|first| take(first, row.below.width)))
    }

    pub(super) fn add_between(&mut self, what: Between) {
        self.between.push((self.asks.len(), what));
    }
}
