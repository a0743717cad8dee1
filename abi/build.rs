//! Tells the build script of `dmdprof-runtime` where this crate's sources are: it compiles the hooks with them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::metadata=source={}/src", env!("CARGO_MANIFEST_DIR"));
}
