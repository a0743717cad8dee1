//! What runs while the program runs: the record layout, the hooks inside the program, the shared-memory rings and the
//! depth engine.
//!
//! Data flow: `Record` (ring) -> `Site` (descriptors) -> `Depth` (engine) -> totals per calling context and site.
//! Nothing in here knows how a profile is stored or shown.

#![deny(missing_docs)]

pub mod analysis;
pub mod clock_object;
pub mod counts;
pub mod cycles;
pub mod decode;
mod emulated;
pub mod emulator_objects;
pub mod engine;
mod hash;
pub mod histogram;
pub mod hooks_object;
pub mod imported;
mod map;
pub mod motion;
mod numbers;
pub mod objects;
pub mod observe;
pub mod oplog;
mod pages;
mod pieces;
pub mod pricing;
pub mod ring;
mod shadow;
pub mod sites;
mod sums;
#[cfg(test)]
mod tests;
pub mod trace;
pub mod values;

pub use dmdprof_abi::{self as abi, steps};
pub use emulated::places;
