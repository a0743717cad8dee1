//! One profiled run: consumes every ring of a channel while the program runs, or of a trace, and adds up what they say.
//!
//! `serve` and `replay` give the words of rings to a `replayer`. Of the memory model that is `analyzer`: it decides
//! what is done at once (`plain` and `quick` for records of plain segments, `rows` for affine runs), and `core` counts:
//! `charge` access by access, `filtered` what a program that draws a sample wrote down, `loops` all iterations
//! together, `library` what calls do. `pipeline` gives accesses to the engine and to those who follow beside it
//! (`crate::observe`). `together` has one engine for several rings. `exact` and `optimum` go over a ring a second time.
//! `slices` replays one ring on many processors, with `scan` and `absorb`; `shares` parts of a trace on many machines.
//! `accesses` analyses nothing, and gives the accesses of a trace one by one.
//! `early` analyses short runs otherwise than long ones. `merge` adds up rings.

mod absorb;
pub mod accesses;
pub mod analyzer;
mod cell_sites;
mod charge;
mod core;
mod early;
mod exact;
pub mod fast_paths;
mod filtered;
mod frontiers;
mod items;
mod kept;
mod lengths;
mod library;
mod loops;
pub mod merge;
pub(crate) mod modules;
mod moves;
mod optimum;
pub mod options;
pub(crate) mod pipeline;
mod plain;
pub mod progress;
mod quick;
pub(crate) mod ranked;
mod replay;
pub(crate) mod replayer;
mod result;
mod rows;
mod scan;
mod serve;
pub mod shared;
pub mod shares;
pub(crate) mod slices;
#[cfg(test)]
mod tests;
mod together;

pub use crate::counts::keys::{FlowKey, FunctionKey, ObjectKey, SiteKey};
pub use merge::{AloneTotals, Measurement, MergedBlock, MergedContext, MergedFlow, MergedObjects, ThreadTotals};
pub use options::{Early, Options};
pub use progress::Progress;
pub use replay::{ReplayError, Replayed, replay};
pub use serve::serve;
