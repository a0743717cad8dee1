//! What one ring asked of the engine, written down once and read forwards and backwards.
//!
//! `op` is what all are told who are told of a ring: one `Op`, and many of them in order (`Ops`). `OpLog` writes
//! them down while the program runs and reads them back in blocks, [`Spool`] is the temporary file that they lie in,
//! [`Shelf`] one that is only used when memory does not suffice. Refuses a temporary file that cannot be written or
//! read.

pub(crate) mod log;
pub(crate) mod op;
mod shelf;
pub(crate) mod spool;
pub mod varint;

pub(crate) use log::{OpLog, Recorded};
pub(crate) use op::{Op, Ops};
pub use shelf::Shelf;
pub(crate) use shelf::Shelved;
pub(crate) use spool::BlockLocation;
pub use spool::Spool;
