//! What a kind of hazard goes by, and what it is.
//!
//! Takes accesses; gives those that are an instruction's.

use crate::engine::{Access, Kind};

/// So many accesses before one may make it a hazard.
pub const WINDOW: usize = 64;

/// Bytes of the largest access of an instruction. What is longer is a call that touches many bytes.
pub const LONGEST: u32 = 64;

/// What an instruction touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// First byte.
    pub addr: u64,
    /// Bytes, from 1 on.
    pub len: u32,
    /// It writes.
    pub is_store: bool,
}

impl Touch {
    /// Nothing of what is no access of an instruction.
    #[must_use]
    pub fn from_access(access: Access) -> Option<Self> {
        let Access { addr, len, kind } = access;
        let is_one = kind != Kind::Remove && (1..=LONGEST).contains(&len);
        is_one.then_some(Self { addr, len, is_store: matches!(kind, Kind::Store | Kind::Fresh) })
    }

    /// Last byte.
    #[must_use]
    pub fn last(self) -> u64 {
        self.addr.saturating_add(u64::from(self.len) - 1)
    }
}

/// A kind of hazard.
pub trait Hazard: Default + Send {
    /// In profiles, reports and baselines: small letters and `_`.
    const NAME: &'static str;

    /// Whether what comes next is one.
    fn is_one(&mut self, touch: Touch) -> bool;
}
