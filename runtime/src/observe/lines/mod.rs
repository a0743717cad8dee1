//! What a memory of lines would fetch and write back, at every capacity at once.
//!
//! `stack` is the LRU stack of lines: `front` has the last lines, `back` all others (`table`), and the `ledger` counts,
//! by `pairs` too. `streams` tells which lines come in order. `runs` does affine runs by lines, in `groups` of streams
//! that are always in one line; `long_runs` does what is regular in periods, by `chains` of groups. A `slice` is a part
//! of a run on a stack of its own.

mod back;
mod boundary;
mod chains;
mod front;
mod groups;
mod ledger;
#[cfg(test)]
pub(crate) mod list;
mod long_runs;
mod pairs;
mod runs;
mod slice;
#[cfg(test)]
mod slice_tests;
mod stack;
mod streams;
mod table;
#[cfg(test)]
mod tests;

pub use boundary::LineBoundary;
pub use front::{FRONT, PLACES};
pub use pairs::{FAR, NEAR};
pub use stack::Lines;
pub use streams::SOON;
