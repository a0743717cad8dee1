//! Flows: of every byte read, which access wrote it last, and which touched it last.
//!
//! `bytes` follows single accesses, `affine` affine runs in blocks, and `parts` says whose the bytes of a read are.

mod affine;
mod bytes;
mod parts;
mod run;
#[cfg(test)]
mod tests;

pub use bytes::{Flow, Flows, Followed, Use};
pub use parts::Parts;
