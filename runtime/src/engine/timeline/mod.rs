//! The stack itself: which positions are live, and how many are above one.
//!
//! `bits` is the vector of bits with its counts, of `node`s; `rows` does many positions that advance by a constant at
//! once.

mod bits;
mod node;
mod rows;

pub use bits::{Rank, Ranks, SHORT, Timeline};
pub use rows::{Repeat, strided};
