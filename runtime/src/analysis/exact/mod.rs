//! Exact liveness: a byte is on the stack only while somebody will read it again.
//!
//! Takes the operations of one ring, in the order of the program ([`OpLog`]), gives depths and costs without dead bytes
//! ([`Exact`]). The future is known by going backwards once: the sweep of `observe/liveness` marks where bytes die,
//! `forward` replays with these marks. Operations and marks lie in a temporary file ([`Spool`]); in memory is one bit
//! per byte of the program and a few blocks. Rings that are cut into slices are gone over slice by slice (`slices`).
//! Refuses a temporary file that cannot be written or read, and what the system refuses.

mod analyse;
mod asked;
mod forward;
mod result;
mod slices;
#[cfg(test)]
mod tests;

pub(crate) use analyse::{MANY, analyse, attempt, each_block};
pub use result::Exact;
pub use slices::{SliceLog, SlicedLog};
