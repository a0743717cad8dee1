//! Variables by which `dmdprof cargo` tells its wrapper of rustc, and its compiler of build scripts, what to do.
//!
//! They reach every process that Cargo starts, another Cargo among them; so none is Cargo's own, and whoever reads them
//! asks first ([`is_ours`]) whether what is made lies where our Cargo would put it.

use std::{env, ffi::OsStr, path::Path, process::Command};

/// The target that carries hooks; nothing else is touched.
pub const TARGET_ENVIRONMENT: &str = "DMDPROF_CARGO_TARGET";
/// The target directory of our Cargo.
pub const DIRECTORY_ENVIRONMENT: &str = "DMDPROF_CARGO_DIRECTORY";
/// The `RUSTC_WRAPPER` of the person, in whose place we are for our Cargo.
pub const WRAPPER_ENVIRONMENT: &str = "DMDPROF_CARGO_RUSTC_WRAPPER";
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
/// Present: programs are linked without hooks too, beside those with hooks.
pub const TWIN_ENVIRONMENT: &str = "DMDPROF_CARGO_TWIN";

/// All of them.
const ALL: [&str; 9] = [
    TARGET_ENVIRONMENT,
    DIRECTORY_ENVIRONMENT,
    WRAPPER_ENVIRONMENT,
    NO_STD_ENVIRONMENT,
    MODEL_ENVIRONMENT,
    TOOL_ENVIRONMENT,
    STAMP_ENVIRONMENT,
    BITCODE_ONLY_ENVIRONMENT,
    TWIN_ENVIRONMENT,
];

/// Cargo's variable for a wrapper of rustc.
pub const RUSTC_WRAPPER: &str = "RUSTC_WRAPPER";

/// Directories below the target directory at which our Cargo puts crates (`TARGET/PROFILE/deps`) and what build scripts
/// make (`TARGET/PROFILE/build/NAME-HASH/out`), at most: a newer layout has both in
/// `TARGET/PROFILE/build/NAME/HASH/out`. A Cargo that a build script starts puts its own further down, if it works
/// there at all.
const DEEPEST: usize = 6;

/// Whether our Cargo has this directory written, for whatever target.
#[must_use]
pub fn is_ours(directory: &Path, target_dir: &Path) -> bool {
    directory.strip_prefix(target_dir).is_ok_and(|below| below.iter().count() <= DEEPEST)
}

/// Whether our Cargo has this directory written for the target that carries hooks.
#[must_use]
pub fn is_hooked(directory: &Path, target_dir: &Path, target: &OsStr) -> bool {
    is_ours(directory, target_dir) && directory.starts_with(target_dir.join(target))
}

/// Whether what our Cargo builds has twins.
#[must_use]
pub fn makes_twins() -> bool {
    env::var_os(TWIN_ENVIRONMENT).is_some()
}

/// Takes all of them from a program that our Cargo starts, or from another Cargo of ours, and gives back what was there
/// before.
pub fn remove_from(command: &mut Command) {
    if let Some(wrapper) = env::var_os(WRAPPER_ENVIRONMENT) {
        command.env(RUSTC_WRAPPER, wrapper);
    }
    for name in ALL {
        command.env_remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_cargos_crates_are_not_ours() {
        let own = |path: &str| is_hooked(Path::new(path), Path::new("/p/target/dmdprof"), OsStr::new("t"));
        assert!(own("/p/target/dmdprof/t/release/deps") && own("/p/target/dmdprof/t/release/build/c-12/out"));
        assert!(own("/p/target/dmdprof/t/release/build/c/12/out"));
        assert!(!own("/p/target/dmdprof/release/deps"), "build scripts, procedural macros");
        assert!(!own("/p/inner/target/t/release/deps") && !own("/p/target/t/release/deps"));
        assert!(!own("/p/target/dmdprof/t/release/build/c-12/out/release/deps"));
        assert!(!own("/p/target/dmdprof/t/release/build/c-12/out/t/release/build/d-34/out"));
    }
}
