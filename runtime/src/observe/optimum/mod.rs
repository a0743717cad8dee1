//! The optimum: the fewest bytes that any memory of Z bytes could fetch, as Belady's MIN does, which evicts what is
//! needed farthest in the future.
//!
//! Takes operations ([`crate::oplog`]) twice, backwards ([`Back`]) and then forwards ([`Forward`]), with what the way
//! back found out between them: for the bytes of each access, how far away their next read is. Gives fetches by
//! capacity and cell. Refuses nothing but records that are none.
//!
//! Time is a clock of bytes: each access takes as many ticks as it has bytes, so no two accesses end at the same time,
//! and the ticks between two accesses bound the bytes that come between them. Bytes with the same next read are one
//! entry of a memory ([`memories`]): they are needed together, so it does not matter which of them a memory holds.

mod back;
mod forward;
mod memories;
mod next_use;
mod records;

pub use back::Back;
pub use forward::Forward;
pub use records::Records;
