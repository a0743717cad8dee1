//! How the values model measures.

use std::sync::Arc;

use super::listing::Listing;

/// How a fused multiply-add is priced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FmaRule {
    /// As a multiplication and an addition.
    #[default]
    Expand,
    /// As one instruction with three reads and one result.
    One,
}

/// Where declared inputs lie before they are first read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputPlaces {
    /// On the stack, the first declared nearest to the top, as if they had just been written.
    #[default]
    Stack,
    /// In a memory of their own, each at the same depth until its first read, the first element of the first declared
    /// at depth 1. Then what the region declares as output is read once more when it ends.
    Fixed,
}

/// What the values model is asked for.
#[derive(Clone, Default)]
pub struct ValueOptions {
    /// Every value has this many bytes; else each has the size of its type, and width conversions are instructions.
    pub element: Option<u8>,
    /// How many operations a fused multiply-add is.
    pub fma: FmaRule,
    /// Where inputs lie before they are read.
    pub inputs: InputPlaces,
    /// Where to list every event.
    pub listing: Option<Arc<Listing>>,
    /// Bytes of each region's log that stay in memory; what is more goes to a temporary file. `None`: a default.
    pub log_memory: Option<usize>,
}
