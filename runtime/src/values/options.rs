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

/// What the values model is asked for.
#[derive(Clone, Default)]
pub struct ValueOptions {
    /// Every value has this many bytes; else each has the size of its type, and width conversions are instructions.
    pub element: Option<u8>,
    /// How many operations a fused multiply-add is.
    pub fma: FmaRule,
    /// Where to list every event.
    pub listing: Option<Arc<Listing>>,
    /// Bytes of each region's log that stay in memory; what is more goes to a temporary file. `None`: a default.
    pub log_memory: Option<usize>,
}
