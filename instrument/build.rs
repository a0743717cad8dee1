//! Turns `src/llvm/symbols.txt` into one assembly trampoline per LLVM-C function, so that libLLVM can be chosen when
//! the program runs instead of when it is linked.

use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=src/llvm/symbols.txt");
    let names = fs::read_to_string("src/llvm/symbols.txt").expect("src/llvm/symbols.txt is part of this package");
    let names: Vec<&str> = names.lines().filter(|n| !n.is_empty()).collect();
    let jump = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => |slot: usize| format!("jmp *(dmdprof_llvm_slots + {})(%rip)", slot * 8),
        other => panic!("dmdprof has no LLVM trampolines for {other:?}; only x86_64 is supported"),
    };
    let mut asm = String::from(".text\\n");
    for (slot, name) in names.iter().enumerate() {
        asm += &format!(".globl {name}\\n.hidden {name}\\n.type {name},@function\\n{name}:\\n{}\\n", jump(slot));
    }
    asm += &format!(
        ".bss\\n.balign 8\\n.hidden dmdprof_llvm_slots\\n.globl dmdprof_llvm_slots\\ndmdprof_llvm_slots:\\n.zero {}\\n.text\\n",
        names.len() * 8
    );
    let mut out = format!("core::arch::global_asm!(\"{asm}\", options(att_syntax));\n");
    out += &format!("static NAMES: [&str; {}] = {names:?};\n", names.len());
    fs::write(Path::new(&env::var("OUT_DIR").expect("set by cargo")).join("trampolines.rs"), out)
        .expect("OUT_DIR is writable");
}
