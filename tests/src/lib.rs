//! Helpers of the end-to-end tests: the product is driven as a user drives it, through its command line.
//!
//! - [`browser`]: a page in a real browser;
//! - [`cargo`]: Rust projects, built with `cargo` and with `dmdprof cargo`;
//! - [`cachegrind`]: what Cachegrind's output files say;
//! - [`emulated`]: kernels with hooks and under the emulator;
//! - [`energy`]: what the processor says of its energy;
//! - [`pairs`]: kernels in variants, for comparisons with the clock;
//! - [`tool`]: where `dmdprof`, the compilers and valgrind are; a missing one is a failure that says what to install;
//! - [`programs`]: what is profiled: recipes, compiled once per compiler and flags into a shared cache;
//! - [`profiled`]: one run under `dmdprof`, with its profile and its JSON report;
//! - [`farm`]: real programs from the archives of Debian and of crates.io;
//! - [`installed`], [`emulated`], [`pairs`]: what `.ci/evidence` measures;
//! - [`unhooked`]: programs without hooks, and where they are emulated;
//! - [`truth`]: exact answers from first principles.

#![forbid(unsafe_code)]

pub mod browser;
pub mod cachegrind;
pub mod cargo;
pub mod emulated;
pub mod energy;
pub mod farm;
pub mod gate;
pub mod installed;
pub mod pairs;
pub mod profiled;
pub mod programs;
pub mod tool;
pub mod truth;
pub mod unhooked;
