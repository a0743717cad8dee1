//! Who is told of every access beside the engine.

use crate::engine::{Access, Label, Stream};

/// What follows accesses beside the engine, as caches do.
pub trait Follower {
    /// In order, each with its label.
    fn accesses(&mut self, accesses: &[Access], labels: &[Label]);
    /// An affine run, each stream with its label.
    fn run(&mut self, streams: &[Stream], labels: &[Label], iterations: u64);
}
