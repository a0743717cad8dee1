//! Flows: of every byte read, which access wrote it last, and which touched it last.
//!
//! `bytes` follows single accesses, `affine` affine runs in blocks, and `parts` says whose the bytes of a read are,
//! which `counters` count. `sites` tells who accesses, `transitions` which states bytes are in.
//! `slices` follows runs that are cut into slices, in two passes (`first_pass`, `second_pass`) with `states` by names
//! that all slices know.

mod affine;
mod bytes;
mod counters;
mod first_pass;
mod parts;
mod run;
mod second_pass;
mod sites;
#[cfg(test)]
mod slice_tests;
mod slices;
mod states;
#[cfg(test)]
mod tests;
mod transitions;

pub use bytes::{Flow, Flows, Followed, Use};
pub use counters::FlowCounters;
pub use first_pass::Touched;
pub use parts::{Numbered, Parts};
pub use second_pass::AskedFlows;
pub use states::States;
