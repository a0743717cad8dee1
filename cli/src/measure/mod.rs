//! Measuring: what a person says of an analysis, and running the program under it.
//!
//! `follow` builds, starts and serves a program; `analysis` has the options and writes the profile, with `values` for
//! those of the values model, `hierarchy` for caches and `roi` for the region of interest and `threads` for threads
//! that share a stack; `trace_file` records instead.

pub mod analysis;
mod conflicts;
pub mod follow;
pub mod hierarchy;
pub mod optimum;
pub mod progress;
pub mod roi;
pub mod threads;
pub mod trace_file;
pub mod values;
