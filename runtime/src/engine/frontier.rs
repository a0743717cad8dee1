//! What a part of a run needs of the stack before it, in the order of the part.
//!
//! Takes accesses and ends of bytes that a part does not know; gives them back in that order. Refuses nothing.

use serde::{Deserialize, Serialize};

use super::access::Kind;

/// Bytes that a part of a run touched or removed, and did not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// First byte.
    pub addr: u64,
    /// Bytes of the part that were on its stack before this access.
    pub above: u64,
    /// Bytes.
    pub len: u32,
    /// Of a load.
    pub label: u32,
    /// A load, a store or a removal.
    pub kind: Kind,
    /// It is of the same access as the one before.
    pub joined: bool,
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
}

/// Bytes at the end of a part, from one address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub len: u64,
}

/// All that the stack before a part of a run needs to know of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frontier {
    /// What the part did not know, in order.
    pub asks: Vec<Ask>,
    /// With the number of asks before it.
    pub between: Vec<(usize, Between)>,
    /// What is on the part's stack in the end, from the bottom up.
    pub left: Vec<Piece>,
}

impl Frontier {
    #[inline(always)]
    pub(super) fn ask<const LOAD: bool>(&mut self, addr: u64, len: u64, above: u64, label: u32) {
        self.ask_part::<LOAD>(addr, len, above, label, false);
    }

    /// Asks for a part of an access, of which others were asked for before if it is `joined`.
    #[inline(always)]
    pub(super) fn ask_part<const LOAD: bool>(
        &mut self,
        mut addr: u64,
        mut len: u64,
        above: u64,
        label: u32,
        mut joined: bool,
    ) {
        let kind = if LOAD { Kind::Load } else { Kind::Store };
        while len > 0 {
            let part = len.min(u64::from(u32::MAX));
            self.asks.push(Ask { addr, above, len: part as u32, label, kind, joined });
            (addr, len, joined) = (addr.wrapping_add(part), len - part, true);
        }
    }

    pub(super) fn remove(&mut self, mut addr: u64, mut len: u64) {
        while len > 0 {
            let part = len.min(u64::from(u32::MAX));
            self.asks.push(Ask { addr, above: 0, len: part as u32, label: 0, kind: Kind::Remove, joined: false });
            (addr, len) = (addr.wrapping_add(part), len - part);
        }
    }

    /// Has nothing, and room for as much as before.
    pub fn clear(&mut self) {
        self.asks.clear();
        self.between.clear();
        self.left.clear();
    }

    pub(super) fn note(&mut self, what: Between) {
        self.between.push((self.asks.len(), what));
    }
}
