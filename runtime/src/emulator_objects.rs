//! What runs beside and inside an emulated program, compiled by `build.rs` from `emulator/` and carried along as bytes.

/// The emulator's plugin, a shared object.
pub static PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libdmdprof_emulator.so"));

/// The library that is loaded into emulated programs of x86-64, and tells the plugin what they allocate.
pub static ALLOCATIONS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libdmdprof_allocations.so"));

/// How the file with that library must begin: the plugin knows it by that.
pub const ALLOCATIONS_PREFIX: &str = "dmdprof-allocations-";
