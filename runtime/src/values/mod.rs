//! The values model: the reference ByteDMD machine on compiled code.
//!
//! What is on the stack are values: inputs that the program declared and results of instructions. Loads, stores, calls
//! and copies carry identities and are free; an instruction prices all its tracked operands at once. Takes the records
//! of code that was instrumented for it, gives counters per calling context and instruction, and totals per declared
//! region.
//!
//! `machine` replays records and follows identities (`memory`, and `labels` for what is neither one value nor none),
//! writing a `log` of instructions; when a region ends, `price` sweeps the log backwards for liveness and prices it
//! forwards on a `stack`; `listing` shows that event by event.

mod core;
mod early;
mod events;
mod follow;
mod handover;
mod labels;
pub mod listing;
mod log;
mod machine;
mod memory;
pub mod options;
mod price;
mod problems;
mod recorder;
mod region;
mod regions;
mod result;
mod stack;
mod tables;
#[cfg(test)]
mod tests;

pub use machine::Machine;
pub use options::{FmaRule, InputPlaces, ValueOptions};
pub use region::RegionTotals;
pub use result::ValuesResult;
