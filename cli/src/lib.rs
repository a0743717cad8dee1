//! What the person sees: commands, the profile file and reports.
//!
//! Public is what the tools beside it need: the profile and its file, the compiler driver, and the entrances of the two
//! programs and of the fuzzer.

#![deny(missing_docs)]

#[macro_use]
mod shared;

mod annotate;
pub mod cli;
mod clock;
mod commands;
mod convert;
mod cores;
mod document;
pub mod driver;
mod emulator;
mod estimate;
mod export;
#[doc(hidden)]
pub mod fuzzing;
mod gate;
mod git;
mod help;
mod launch;
mod machine;
mod mcp;
mod measure;
mod motion;
mod objects;
mod plan;
mod plot;
pub mod profile;
mod rank;
mod report;
mod sample;
mod sharing;
mod timing;
mod toolbox;
mod view;
mod why;
