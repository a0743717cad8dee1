//! Who is told of every access beside the engine.

use crate::engine::{Access, Stream};

/// What follows accesses beside the engine, as caches do.
pub trait Follower {
    /// In order, each with its cell.
    fn accesses(&mut self, accesses: &[Access], cells: &[u32]);
    /// An affine run, each stream with its cell.
    fn run(&mut self, streams: &[Stream], cells: &[u32], iterations: u64);
}
