//! Compiles `hooks/hooks.rs` with the same `rustc` as the crate into the object and the shared object that
//! `src/hooks_object.rs` carries. By itself, not as a crate: an object without the standard library, without panics and
//! without Cargo's profile is needed, whatever the build around it looks like.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    for input in ["hooks", "src/abi.rs", "src/ring/protocol.rs"] {
        println!("cargo::rerun-if-changed={input}");
    }
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("Cargo sets {name}"));
    let target = variable("TARGET");
    assert!(
        target.starts_with("x86_64-") && target.contains("linux"),
        "the hooks exist for x86-64 Linux only, not for {target}"
    );
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let object = out.join("dmdprof_hooks.o");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition=2024", "--crate-name=dmdprof_hooks", "--crate-type=lib", "--emit=obj", "--target", &target]);
    let codegen = [
        "panic=abort",
        "opt-level=3",
        "codegen-units=1",
        "relocation-model=pic",
        "force-unwind-tables=yes",
        "debuginfo=0",
        "debug-assertions=no",
        "overflow-checks=no",
    ];
    for option in codegen {
        rustc.args(["-C", option]);
    }
    // No path of this machine in the object.
    rustc.arg(format!("--remap-path-prefix={}=runtime", root.display()));
    rustc.arg("-o").arg(&object).arg(root.join("hooks/hooks.rs"));
    run(rustc);

    let mut link = cc::Build::new().opt_level(2).cargo_metadata(false).get_compiler().to_command();
    link.args(["-shared", "-nostdlib", "-Wl,-soname,libdmdprof_hooks.so", "-Wl,-z,noexecstack", "-o"]);
    link.arg(out.join("libdmdprof_hooks.so")).arg(&object);
    run(link);
}

fn run(mut command: Command) {
    let status = command.status().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(status.success(), "{command:?} failed: {status}");
}
