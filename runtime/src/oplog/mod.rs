//! What one ring asked of the engine, written down once and read forwards and backwards.
//!
//! `OpLog` takes operations while the program runs, `Ops` is a block of them read back, [`Spool`] the temporary file
//! that they lie in, [`Shelf`] one that is only used when memory does not suffice. Refuses a temporary file that cannot
//! be written or read.

pub(crate) mod ops;
mod shelf;
pub(crate) mod spool;
pub mod varint;

pub(crate) use ops::{OpLog, Ops, Recorded, Special, What};
pub use shelf::Shelf;
pub(crate) use shelf::Shelved;
pub(crate) use spool::Place;
pub use spool::Spool;
