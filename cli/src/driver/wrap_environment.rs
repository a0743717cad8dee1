//! Variables by which `dmdprof cargo` tells its wrapper of rustc what to do.

/// The target that carries hooks; nothing else is touched.
pub const TARGET_ENVIRONMENT: &str = "DMDPROF_CARGO_TARGET";
/// Present: the standard library stays without hooks.
pub const NO_STD_ENVIRONMENT: &str = "DMDPROF_CARGO_NO_STD";
/// `values`: hooks of that model, in code as it is written; `sampled`: hooks that can draw a sample.
pub const MODEL_ENVIRONMENT: &str = "DMDPROF_CARGO_MODEL";
/// SHA-256 of dmdprof.
pub const TOOL_ENVIRONMENT: &str = "DMDPROF_CARGO_TOOL";
/// Changes when programs must be linked anew. Cargo is told that they depend on it.
pub const STAMP_ENVIRONMENT: &str = "DMDPROF_CARGO_STAMP";
/// Present: rustc can be told to leave out the machine code of programs (`leaves_out_machine_code`).
pub const BITCODE_ONLY_ENVIRONMENT: &str = "DMDPROF_CARGO_BITCODE_ONLY";
