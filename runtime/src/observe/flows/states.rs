//! States of bytes by names that all parts of a run know.
//!
//! Parts number states and sites each in their own way; a static access and, if contexts are followed, a calling
//! context are the same for all. Takes the states of one part, range by range; gives them to another. Refuses nothing.

use crate::{
    decode::{context::ContextNumber, ring::RingSite},
    shadow::ByteLabel,
};

/// The label of bytes that nobody has written or read, in slices: there, those that have none yet are
/// [`UNTOUCHED`](crate::shadow::UNTOUCHED).
pub(super) const NOBODY: ByteLabel = 1;

/// A static access, in a calling context if these are followed.
pub(super) type Name = (RingSite, Option<ContextNumber>);

/// Who wrote bytes, or read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Who {
    Nobody,
    Access(Name),
    /// Whoever did before the slice at hand.
    Before,
}

/// Who wrote bytes last, and who has read them last since then.
pub(super) type NamedState = (Who, Who);

/// Bytes in one state, side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    pub first: u64,
    pub len: u32,
    /// Number in the list of names.
    pub state: u32,
}

/// Bytes with their states.
#[derive(Debug, Default)]
pub struct States {
    pub(super) names: Vec<NamedState>,
    pub(super) bytes: Vec<Bytes>,
}
