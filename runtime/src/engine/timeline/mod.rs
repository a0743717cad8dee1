//! The stack itself: which positions are live, and how many are above one.
//!
//! `bits` is the vector of bits with its counts, of `node`s, and `upper` has the levels above these; `rows` does many
//! positions that advance by a constant at once. `end` hands out positions. `holes` are the free places among them, and
//! `packed` is both without what nobody needs any more.

mod bits;
mod end;
mod holes;
mod node;
mod packed;
mod rows;
mod upper;

pub use super::cell::FIRST;
pub use bits::{Rank, Ranks};
pub use end::{SHORT, Timeline};
pub use holes::Holes;
pub use packed::Pattern;
pub use rows::{Repeat, strided};
