//! A program's run on disk: what its rings carried, and what is needed to analyse that later. Layout:
//! `docs/trace-format.md`.
//!
//! [`TraceWriter`] takes rings, modules and chunks while the program runs, from any thread; [`TraceReader`] gives them
//! back in the order of the file. Everything is in blocks with checksums, so that a file that was cut off is good up to
//! there. Blocks are compressed and written by a thread of their own, as the program waits for whoever takes its words.
//! Refuses files that are no traces, are of another version, or are damaged; never panics on any input.

mod format;
mod reader;
#[cfg(test)]
mod tests;
mod words;
mod writer;

pub use format::{End, MAGIC, Ring, Start, TraceError, TraceModule, VERSION};
pub use reader::{Block, Midway, TraceReader};
pub use writer::{RingRecorder, TraceWriter};
