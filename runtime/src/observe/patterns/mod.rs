//! How sites use data, beyond depths: steps, lines, what was moved for nothing, and what lay between two uses.
//!
//! `sites` is told of accesses one by one, and `affine` of affine runs of them. `epochs` and [`between`] say what was
//! touched between two accesses.

mod affine;
pub mod between;
mod epochs;
mod sites;

pub use affine::Lane;
pub use sites::{FAST, LINE, Pattern, Patterns, SiteNumber};
