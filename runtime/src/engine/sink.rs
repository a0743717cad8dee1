//! Who wants to know what loads found.

use super::progression::Progression;

/// Receives what a load found. Depths of a run are `above + 1 ..= above + len` (topmost byte of the stack = depth 1).
pub trait DepthSink {
    /// Bytes that were on the stack.
    fn warm(&mut self, above: u64, len: u64);
    /// First touch or dead: the bytes enter at the bottom. `above` is the number of live bytes, plus that of cold bytes
    /// this access has reported before.
    fn cold(&mut self, above: u64, len: u64);
    /// The runs of the last report, by the bytes above each, had so many free places above them as well: bytes died
    /// there, and nothing has come in their place. A memory that still holds the bytes has room for both.
    fn below_holes(&mut self, runs: Progression, holes: u64) {
        let _ = (runs, holes);
    }
}

/// A sink that is told which access of a batch, or which stream of an affine run, the reports that follow are about.
pub trait BatchSink: DepthSink {
    /// The load or the stream of loads with this number is next. A stream may be next any number of times.
    fn begin(&mut self, number: usize);
}
