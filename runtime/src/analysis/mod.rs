//! One profiled run: consumes every ring of a channel while the program runs, or of a trace, and adds up what they say.
//!
//! `serve` and `replay` give the words of rings to a `replayer`. Of the memory model that is `analyzer`: it decides
//! what is done at once (`fast_replay` and `fast_segment` for records of plain segments, `rows` for affine runs), and
//! `core` counts: `charge` access by access, `filtered` what a program that draws a sample wrote down, `loops` all
//! iterations together, `library` what calls do. `pipeline` gives accesses to the engine and to those who follow beside
//! it (`crate::observe`). `interleave` has one engine for several rings. `exact` and `optimum` go over a ring a second
//! time. `shards` replays one ring on many processors, with `scan` and `absorb`; `shard_files` parts of a trace on many
//! machines. `accesses` analyses nothing, and gives the accesses of a trace one by one. `early` analyses short runs
//! otherwise than long ones. `merge` adds up rings, `merged_objects` their data objects.

mod absorb;
pub mod accesses;
pub mod analyzer;
mod boundaries;
mod calls;
mod charge;
mod core;
mod counters;
mod deferred;
mod early;
pub(crate) mod engine_slot;
mod exact;
pub mod fast_paths;
mod fast_replay;
mod fast_segment;
mod filtered;
mod interleave;
mod items;
mod lengths;
mod library;
mod living;
mod loops;
pub mod merge;
mod merged_objects;
pub(crate) mod modules;
mod optimum;
pub mod options;
pub(crate) mod pipeline;
pub mod progress;
mod replay;
pub(crate) mod replayer;
mod result;
mod rows;
mod sampled;
mod scan;
mod segment_template;
mod serve;
pub mod shard_files;
pub(crate) mod shards;
pub mod shared;
mod streams;
#[cfg(test)]
mod tests;

pub use crate::counts::keys::{FlowKey, FunctionKey, ObjectKey, SiteKey};
pub use merge::{AloneTotals, Measurement, MergedBlock, MergedContext, MergedFlow, ThreadTotals};
pub use merged_objects::MergedObjects;
pub use options::{Early, Options};
pub use progress::Progress;
pub use replay::{ReplayError, Replayed, replay};
pub use serve::serve;
