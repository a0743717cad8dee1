//! Compiles `hooks/hooks.rs` with the same `rustc` as the crate into the object and the shared object that
//! `src/hooks_object.rs` carries, `emulator/` into the plugin and the library that `src/emulator_objects.rs` carries,
//! and `clock/` into the library of `src/clock_object.rs`. By itself, not as a crate: an object without the standard
//! library, without panics and without Cargo's profile is needed, whatever the build around it looks like.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const CODEGEN: [&str; 8] = [
    "panic=abort",
    "opt-level=3",
    "codegen-units=1",
    "relocation-model=pic",
    "force-unwind-tables=yes",
    "debuginfo=0",
    "debug-assertions=no",
    "overflow-checks=no",
];

fn main() {
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("Cargo sets {name}"));
    let target = variable("TARGET");
    assert!(
        target.starts_with("x86_64-") && target.contains("linux"),
        "the hooks exist for x86-64 Linux only, not for {target}"
    );
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let object = out.join("dmdprof_hooks.o");
    // Said by the build script of `dmdprof-abi`.
    let abi = PathBuf::from(variable("DEP_DMDPROF_ABI_SOURCE"));
    for input in [&root.join("hooks"), &root.join("emulator"), &root.join("clock"), &abi] {
        println!("cargo::rerun-if-changed={}", input.display());
    }
    let rustc = |name: &str, kind: &str| {
        let mut rustc = Command::new(variable("RUSTC"));
        rustc.args(["--edition=2024", "--crate-type=lib", "--crate-name", name, "--emit", kind, "--target", &target]);
        rustc.args(CODEGEN.iter().flat_map(|option| ["-C", option]));
        // No path of this machine in the object.
        rustc.arg(format!("--remap-path-prefix={}=runtime", root.display()));
        rustc.arg(format!("--remap-path-prefix={}=abi", abi.display()));
        rustc
    };
    let interface = out.join("libdmdprof_abi.rlib");
    let mut compile = rustc("dmdprof_abi", "link");
    run(compile.arg("-o").arg(&interface).arg(abi.join("lib.rs")));
    let mut compile = rustc("dmdprof_hooks", "obj");
    compile.arg("--extern").arg(format!("dmdprof_abi={}", interface.display()));
    run(compile.arg("-o").arg(&object).arg(root.join("hooks/hooks.rs")));

    let mut link = cc::Build::new().opt_level(2).cargo_metadata(false).get_compiler().to_command();
    link.args(["-shared", "-nostdlib", "-Wl,-soname,libdmdprof_hooks.so", "-Wl,-z,noexecstack"]);
    link.args(["-Wl,-init,dmdprof_preloaded", "-o"]);
    link.arg(out.join("libdmdprof_hooks.so")).arg(&object);
    run(&mut link);

    // The plugin is linked with the hooks, as a crate, and with the standard library.
    let hooks = out.join("libdmdprof_hooks.rlib");
    let mut compile = rustc("dmdprof_hooks", "link");
    compile.args(["--cfg", "feature=\"emulator\""]).arg("--extern").arg(format!("dmdprof_abi={}", interface.display()));
    run(compile.arg("-o").arg(&hooks).arg(root.join("hooks/hooks.rs")));
    let mut compile = Command::new(variable("RUSTC"));
    compile.args(["--edition=2024", "--crate-type=cdylib", "--crate-name", "dmdprof_emulator", "--target", &target]);
    compile.args(CODEGEN.iter().chain(&["strip=symbols"]).flat_map(|option| ["-C", option]));
    compile.arg(format!("--remap-path-prefix={}=runtime", root.display()));
    for (name, file) in [("dmdprof_abi", &interface), ("dmdprof_hooks", &hooks)] {
        compile.arg("--extern").arg(format!("{name}={}", file.display()));
    }
    run(compile.arg("-o").arg(out.join("libdmdprof_emulator.so")).arg(root.join("emulator/lib.rs")));

    let libraries = [("emulator/allocations.c", "libdmdprof_allocations.so"), ("clock/timer.c", "libdmdprof_timer.so")];
    for (source, library) in libraries {
        let mut link = cc::Build::new().opt_level(2).cargo_metadata(false).get_compiler().to_command();
        link.args(["-shared", "-nostdlib", "-ffreestanding", "-fno-builtin", "-fno-stack-protector", "-fPIC", "-o"]);
        run(link.arg(out.join(library)).arg(root.join(source)));
    }
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(status.success(), "{command:?} failed: {status}");
}
