//! Measuring: what a person says of an analysis, and running the program under it.
//!
//! `options` declares what can be measured, with `values` for the values model, `hierarchy` for caches, `roi` for the
//! region of interest and `threads` for threads that share a stack; `rules` says which of it goes together; `typed`
//! gives it as words. `program` builds what is a source file;
//! `follow` starts and serves a program; `analysis` writes the profile; `trace_file` records
//! instead.

pub mod analysis;
pub mod follow;
pub mod hierarchy;
pub mod optimum;
pub mod options;
pub mod program;
pub mod progress;
pub mod roi;
pub mod rules;
pub mod threads;
pub mod trace_file;
pub mod typed;
pub mod values;
