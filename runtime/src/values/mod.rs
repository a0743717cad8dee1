//! The values model: the reference ByteDMD machine on compiled code.
//!
//! What is on the stack are values: inputs that the program declared and results of instructions. Loads, stores, calls and copies
//! carry identities and are free; an instruction prices all its tracked operands at once. Takes the records of code that was
//! instrumented for it, gives counters per calling context and instruction, and totals per declared region.
//!
//! `machine` replays records and follows identities (`memory`, and `labels` for what is neither one value nor none), writing
//! a `log` of instructions; when a region ends, `price` sweeps the log backwards for liveness and prices it forwards on
//! a `stack`; `listing` shows that event by event.

mod labels;
pub mod listing;
mod log;
mod machine;
mod memory;
mod price;
mod recorder;
mod region;
mod stack;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::shadow::Label;

pub use machine::Machine;
pub use region::RegionTotals;

/// The first number of a value; smaller labels say why there is none.
const FIRST_VALUE: u32 = EARLY + 1;
/// Label of what was written, but by nothing that is tracked.
const CONSTANT: Label = 1;
/// Label of what was written by the system: read from a file, received.
const OUTSIDE: Label = 2;
/// Label of what was loaded from a declared input before the region began, and of what was computed from that: a constant, but maybe
/// not meant to be one. Only registers have it.
const EARLY: Label = 3;

/// How a fused multiply-add is priced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FmaRule {
    /// As a multiplication and an addition.
    #[default]
    Expand,
    /// As one instruction with three reads and one result.
    One,
}

#[derive(Clone, Default)]
pub struct ValueOptions {
    /// Every value has this many bytes; else each has the size of its type, and width conversions are instructions.
    pub element: Option<u8>,
    pub fma: FmaRule,
    /// Where to list every event.
    pub listing: Option<Arc<listing::Listing>>,
    /// Bytes of each region's log that stay in memory; what is more goes to a temporary file. `None`: a default.
    pub log_memory: Option<usize>,
}
