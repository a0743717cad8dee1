//! Costs from a sample of the accesses, as a program could draw it while it runs.
//!
//! Takes every access and decides as a filter in the program would: by a table of 4,096 marks, looked up by a hash of
//! the 64-byte line. Only what passes goes to stacks. A read is seen by one of four, whichever is made for how long
//! ago its bytes were touched, and counts by the inverse of how likely it was to be seen:
//!
//! * `bursts`: everything for a short time, now and then;
//! * `turns`, quick and slow ones: sets of lines, drawn anew in turn, so that each moment of the run is seen by some of
//!   them;
//! * `fixed`: one set of lines for the whole run.
//!
//! Time is the number of loads and stores. `abi::sample` says how much is drawn, `abi::drawing` draws it, `filter`
//! decides with it what is looked at (`runs`: of an affine run). `recent` has it looked at by bursts and turns, `long`
//! by the fixed set. `stack` keeps the bytes of some lines, and `above` makes a price of what a stack of some lines has
//! above a byte. `sampler` brings the filter and those behind it together, each on a thread of its own if the run is
//! long.

mod above;
mod bursts;
mod filter;
mod fixed;
mod ledger;
mod long;
mod recent;
mod runs;
mod sampler;
mod stack;
#[cfg(test)]
mod tests;
mod turns;

pub use crate::abi::sample::{Design, RATES};
pub use ledger::Sampled;
pub use sampler::Sampler;
