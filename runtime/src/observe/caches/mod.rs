//! Caches of sets and ways, one behind the other, as hardware has them.
//!
//! `geometry` says which there can be, `level` is one of them, and `hierarchy` follows the accesses of a ring through
//! all. Refuses geometries that no such cache has.

mod geometry;
mod hierarchy;
mod level;
#[cfg(test)]
pub(crate) mod plain;
#[cfg(test)]
mod tests;

pub use geometry::{Geometry, MOST_LEVELS, Policy, check};
pub use hierarchy::Caches;
