//! How sites use data, beyond depths: steps, lines, what was moved for nothing, and what lay between two uses.
//!
//! `sites` is told of accesses one by one, and `regular` of affine runs of them. `epochs` and [`between`] say what was touched between
//! two accesses.

pub mod between;
mod epochs;
mod regular;
mod sites;

pub use regular::Lane;
pub use sites::{FAST, Habit, Habits, LINE};
