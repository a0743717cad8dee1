//! The library that samples a program by a timer, compiled by `build.rs` from `clock/timer.c` and carried along as
//! bytes.

/// A shared object of x86-64, to be loaded before the program's own.
pub static TIMER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libdmdprof_timer.so"));

/// The variable that names the file for its records.
pub const TIMER_VARIABLE: &str = "DMDPROF_CLOCK";
