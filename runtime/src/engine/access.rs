//! What the engine is asked to do: single accesses, and affine runs of them.

use serde::{Deserialize, Serialize};

use super::progression::Progression;

/// What an access of a batch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Reads bytes, and asks for their depths.
    Load,
    /// Writes bytes; they go to the top.
    Store,
    /// Takes bytes away: they are dead.
    Remove,
    /// A load whose bytes then leave the stack.
    Last,
    /// A store of bytes that are not on the stack.
    Fresh,
}

/// One access of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub len: u32,
    /// What it does.
    pub kind: Kind,
}

/// One access of each iteration of an affine run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// First byte in the first iteration.
    pub addr: u64,
    /// Added to the address from one iteration to the next.
    pub stride: i64,
    /// Bytes in each iteration.
    pub len: u32,
    /// What it does.
    pub kind: Kind,
}

impl Stream {
    /// Address of its access in an iteration.
    #[inline(always)]
    #[must_use]
    pub fn address_at(&self, iteration: u64) -> u64 {
        self.addr.wrapping_add_signed(self.stride.wrapping_mul(iteration as i64))
    }

    /// What it accesses in `count` iterations from `first` on.
    #[inline(always)]
    #[must_use]
    pub fn words(&self, first: u64, count: u64) -> Progression {
        Progression { first: self.address_at(first), step: self.stride, count, width: self.len.into() }
    }

    /// Its access in an iteration.
    #[inline(always)]
    #[must_use]
    pub fn access(&self, iteration: u64) -> Access {
        Access { addr: self.address_at(iteration), len: self.len, kind: self.kind }
    }
}

/// Length of the part of the range that exists.
#[inline(always)]
pub(crate) fn clamped(addr: u64, len: u64) -> u64 {
    if addr.checked_add(len).is_some() { len } else { len.min((u64::MAX - addr).saturating_add(1)) }
}
