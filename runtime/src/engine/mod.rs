//! The depth engine: exact depth of every byte read in one LRU stack of bytes.
//!
//! Takes loads, stores, deaths and moves of address ranges in program order; gives, for every byte loaded, how many
//! live bytes were above it, and how many places that the dead had left free. Bytes are identified by address; the unit
//! is a byte by convention only (numbers of cache lines work as well). Refuses nothing: ranges that would run past the
//! last address are cut there.
//!
//! `lru` is the engine with its two widths of cells. `stack` is what one access does to the two structures below:
//! `shadow` knows the last position of every address, `order` what is above one: `timeline` counts live positions and
//! holes. `batch` does many accesses, and `affine` whole loops at once. `slice` does a part of a run on a stack of its
//! own, and `resolve` what that asked of the stack before it (`boundary`). `free_and_move` has what leaves or moves.
//! `dispatch` compiles all of it once per instruction set.

mod access;
mod access_tag;
mod affine;
mod batch;
mod boundary;
mod cell;
mod dispatch;
mod free_and_move;
pub(crate) mod hint;
mod isa;
mod lru;
mod marks;
mod options;
mod order;
mod progression;
mod report;
mod reserve;
mod resolve;
mod sequences;
mod shadow;
mod sink;
mod slice;
mod sparse_page;
mod stack;
pub(crate) mod timeline;

#[cfg(test)]
mod capacity_tests;
#[cfg(test)]
pub(crate) mod oracle;
#[cfg(test)]
mod slice_tests;
#[cfg(test)]
mod sparse_page_tests;
#[cfg(test)]
mod tests;

pub(crate) use access::clamped;
pub use access::{Access, Kind, Stream};
pub use access_tag::AccessTag;
pub(crate) use affine::dependence;
pub(crate) use boundary::{Between, Boundary, MissRequest, Next};
pub use isa::Isa;
pub use lru::Engine;
pub use options::EngineOptions;
pub use progression::Progression;
pub use report::{DepthRun, Reports};
pub use reserve::AllocationFailure;
pub(crate) use reserve::boxed;
pub use sink::{BatchSink, DepthSink};
