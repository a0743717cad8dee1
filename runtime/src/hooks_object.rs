//! The in-program runtime, compiled by `build.rs` from `hooks/` and carried along as bytes.

/// Relocatable object: linked into instrumented programs and libraries.
///
/// Link executables with `-Wl,--export-dynamic-symbol=__dmdprof_v5_*`, so that instrumented libraries opened at run
/// time use the program's copy and not their own: each copy would give every thread a ring of its own, and the order
/// between the program's and the library's accesses would be lost.
pub static HOOKS_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dmdprof_hooks.o"));

/// Shared object: preloaded (`LD_PRELOAD`) into programs without hooks that load instrumented libraries. The copy of an
/// executable that exports its symbols wins over it.
pub static HOOKS_SHARED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libdmdprof_hooks.so"));

/// Name under which the shared object should be stored (its `DT_SONAME`).
pub const HOOKS_SHARED_NAME: &str = "libdmdprof_hooks.so";
