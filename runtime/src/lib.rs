//! What runs while the program runs: the record layout, the hooks inside the program, the shared-memory rings and the
//! depth engine.
//!
//! Data flow: `Record` (ring) -> `Site` (descriptors) -> `Depth` (engine) -> totals per calling context and site.
//! Nothing in here knows how a profile is stored or shown.

pub use dmdprof_abi as abi;
pub mod engine;
pub mod exact;
pub mod histogram;
pub mod hooks_object;
mod map;
pub mod motion;
pub mod objects;
mod pages;
mod pieces;
pub mod pricing;
pub mod ring;
pub mod session;
mod shadow;
pub mod sites;
pub use dmdprof_abi::steps;
mod sums;
pub mod trace;
pub mod values;
