//! What runs inside the profiled program: the producer ends of the rings, the meaning of modelled library calls, and the
//! care for threads, forks and signal handlers.
//!
//! Built by `runtime/build.rs` into one object (linked into instrumented programs and libraries) and one shared object
//! (preloaded into programs without hooks that load instrumented libraries). `core` only, raw system calls only: no
//! allocator, no C library state, no `errno`, no panics. The few C library functions that are of use are weak references.
//!
//! | file | what |
//! |---|---|
//! | `sys` | system calls |
//! | `channel` | finds and maps the shared channel |
//! | `process` | fork, threads that are gone |
//! | `ring` | the current ring, room for records |
//! | `module` | where the descriptors lie |
//! | `calls`, `text`, `blocks` | library calls by their meaning; strings; sizes of live heap blocks |
//! | `random` | random numbers from the system, fixed on request |
//! | `outputs` | the bytes of declared outputs, on request |
//! | `signal` | rings of their own for signal handlers |
//!
//! # Limits
//!
//! - A child made by the bare `fork` or `clone` system call (not through the C library) writes into its parent's ring
//!   until its first full chunk; this is then counted in `refused`.
//! - A handler that the program's code installed without the hooks' replacements (from code without hooks) and that
//!   itself has hooks may tear the record that it interrupted.
//! - A child forked by a handler that interrupted a record repeats the store of that record's end.
//! - Stacks that the program switches by hand inside a handler are not recognised by [`signal`]'s rule for `longjmp`.

#![no_std]
#![no_builtins]
#![deny(unsafe_op_in_unsafe_fn)]

use core::arch::global_asm;

/// The address of a symbol that need not exist; 0 = it does not.
macro_rules! weak_address {
    ($name:literal) => {{
        let address: usize;
        // SAFETY: reads the global offset table.
        unsafe {
            core::arch::asm!(
                concat!(".weak ", $name),
                concat!("mov {0}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                out(reg) address,
                options(nostack, pure, readonly, preserves_flags)
            );
        }
        address
    }};
}

#[path = "../src/abi.rs"]
#[allow(dead_code)]
mod abi;
mod blocks;
mod calls;
mod channel;
mod module;
mod outputs;
mod process;
#[path = "../src/ring/protocol.rs"]
#[allow(dead_code)]
mod protocol;
mod random;
mod ring;
mod signal;
mod sys;
mod text;

// The exported symbols. All are weak, so that linking the object twice (`ld -r`, a library that carries it) is no error,
// and of default visibility, so that the dynamic linker gives all modules of a process the same copy.
//
// `__dmdprof_v3_reserve` is `preserve_most`: it keeps every general register but rax (the result) and r11.
global_asm!(
    ".section .tdata,\"awT\",@progbits",
    ".balign 8",
    ".weak __dmdprof_v3_ring",
    ".type __dmdprof_v3_ring, @object",
    ".size __dmdprof_v3_ring, 8",
    "__dmdprof_v3_ring:",
    ".quad {boot}",
    ".text",
    ".balign 16",
    ".weak __dmdprof_v3_reserve",
    ".type __dmdprof_v3_reserve, @function",
    "__dmdprof_v3_reserve:",
    ".cfi_startproc",
    "endbr64",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "push rcx",
    "push rdx",
    "push rsi",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    ".cfi_offset rcx, -24",
    ".cfi_offset rdx, -32",
    ".cfi_offset rsi, -40",
    ".cfi_offset rdi, -48",
    ".cfi_offset r8, -56",
    ".cfi_offset r9, -64",
    ".cfi_offset r10, -72",
    "and rsp, -16",
    "call {reserve}",
    "lea rsp, [rbp - 56]",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "pop rsi",
    "pop rdx",
    "pop rcx",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size __dmdprof_v3_reserve, . - __dmdprof_v3_reserve",
    boot = sym ring::BOOT,
    reserve = sym ring::reserve,
);

/// A weak entry that jumps to its implementation, after `before`.
macro_rules! entry {
    ($name:literal, $target:path $(, $before:literal)*) => {
        global_asm!(
            ".text",
            ".balign 16",
            concat!(".weak ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            ".cfi_startproc",
            "endbr64",
            $($before,)*
            "jmp {target}",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            target = sym $target,
        );
    };
}

entry!("__dmdprof_v3_module", module::register);
entry!("__dmdprof_v3_call", calls::call);
entry!("__dmdprof_v3_sigaction", signal::sigaction);
entry!("__dmdprof_v3_signal", signal::signal);
// The argument is the stack pointer after the return.
entry!("__dmdprof_v3_landed", signal::landed, "lea rdi, [rsp + 8]");

// The compiler calls these for large copies and zeroed buffers. Local, so that the program's own (which may carry hooks)
// are not called from inside a hook.
global_asm!(
    ".text",
    ".balign 16",
    ".type memcpy, @function",
    "memcpy:",
    "mov rax, rdi",
    "mov rcx, rdx",
    "rep movsb",
    "ret",
    ".size memcpy, . - memcpy",
    ".balign 16",
    ".type memset, @function",
    "memset:",
    "mov r8, rdi",
    "mov eax, esi",
    "mov rcx, rdx",
    "rep stosb",
    "mov rax, r8",
    "ret",
    ".size memset, . - memset",
);

// Words of random numbers that the thread has had.
global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".type dmdprof_random_count, @object",
    ".size dmdprof_random_count, 8",
    "dmdprof_random_count:",
    ".zero 8",
    ".text",
);

// In place of the C library's; a definition of the program's own wins.
entry!("getrandom", random::getrandom);
entry!("getentropy", random::getentropy);

extern "C" fn nothing() {}

// Calls to these are replaced by the instrumentation; the definitions are for objects that were not instrumented.
entry!("dmdprof_begin", nothing);
entry!("dmdprof_end", nothing);
entry!("dmdprof_input", nothing);
entry!("dmdprof_output", nothing);
