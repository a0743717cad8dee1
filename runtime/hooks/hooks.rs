//! What runs inside the profiled program: the producer ends of the rings, the meaning of modelled library calls, and
//! the care for threads, forks and signal handlers.
//!
//! Built by `runtime/build.rs` into one object (linked into instrumented programs and libraries) and one shared object
//! (preloaded into programs without hooks that load instrumented libraries). `core` only, raw system calls only: no
//! allocator, no C library state, no `errno`, no panics. The few C library functions that are of use are weak
//! references.
//!
//! | file | what |
//! |---|---|
//! | `sys` | system calls |
//! | `channel`, `broker` | finds and maps the shared channel; asks for it |
//! | `copies` | several copies of the hooks in one process, of which one does the work |
//! | `process` | fork, threads that are gone |
//! | `ring` | the current ring, room for records |
//! | `module`, `loaded`, `unload` | where the descriptors lie, with and without `/proc`; modules that go |
//! | `calls`, `text`, `blocks` | library calls by their meaning; strings; sizes of live heap blocks |
//! | `synchronise` | how threads wait for each other |
//! | `sample` | which lines a program that is sampled looks at |
//! | `random` | random numbers from the system, fixed on request |
//! | `emulator` | for what watches a program in an emulator, which is linked with the same files |
//! | `outputs` | the bytes of declared outputs, on request |
//! | `signal` | rings of their own for signal handlers |
//! | `sandbox`, `filter` | programs that forbid themselves system calls |
//!
//! # Limits
//!
//! - A child made by the bare `fork` or `clone` system call (not through the C library) writes into its parent's ring
//!   until its first full chunk; this is then counted as lost.
//! - A task that shares its thread-local storage with another (`clone` with `CLONE_VM`, without `CLONE_SETTLS`) shares
//!   its ring. Made through the C library, it ends the thread's records, which is counted; made by the bare system
//!   call, records of both may be torn until they meet in a full chunk.
//! - A handler that the program's code installed without the hooks' replacements (from code without hooks) and that
//!   itself has hooks may tear the record that it interrupted.
//! - A child forked by a handler that interrupted a record repeats the store of that record's end.
//! - Stacks that the program switches by hand inside a handler are not recognised by `signal`'s rule for `longjmp`.

#![no_std]
#![no_builtins]
#![deny(unsafe_op_in_unsafe_fn)]

extern crate dmdprof_abi as abi;

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

mod blocks;
mod broker;
mod calls;
mod channel;
mod copies;
#[cfg(feature = "emulator")]
pub mod emulator;
mod filter;
mod loaded;
mod module;
mod outputs;
mod process;
mod random;
mod ring;
mod sample;
mod sandbox;
mod signal;
mod synchronise;
mod sys;
mod text;
mod unload;

// The exported symbols. All are weak, so that linking the object twice (`ld -r`, a library that carries it) is no
// error, and of default visibility, so that the dynamic linker gives all modules of a process the same copy.

// The thread's pointer to its ring.
global_asm!(
    ".section .tdata,\"awT\",@progbits",
    ".balign 8",
    ".weak __dmdprof_v5_ring__link_with_dmdprof_cc",
    ".type __dmdprof_v5_ring__link_with_dmdprof_cc, @object",
    ".size __dmdprof_v5_ring__link_with_dmdprof_cc, 8",
    "__dmdprof_v5_ring__link_with_dmdprof_cc:",
    ".quad {boot}",
    ".text",
    boot = sym ring::BOOT,
);

/// A weak entry that is `preserve_most`: it keeps every general register but rax (the result) and r11.
macro_rules! preserving_entry {
    ($name:literal, $target:path $(, $before:literal)*) => {
        global_asm!(
            ".text",
            ".balign 16",
            concat!(".weak ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
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
            $($before,)*
            "call {target}",
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
            concat!(".size ", $name, ", . - ", $name),
            target = sym $target,
        );
    };
}

// The second argument is the address that it returns to.
preserving_entry!("__dmdprof_v5_reserve__link_with_dmdprof_cc", copies::reserve, "mov rsi, qword ptr [rbp + 8]");
preserving_entry!("__dmdprof_v5_sample_ready__link_with_dmdprof_cc", copies::ready);
preserving_entry!("__dmdprof_v5_sample_tick__link_with_dmdprof_cc", copies::tick);

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

entry!("__dmdprof_v5_module__link_with_dmdprof_cc", copies::register);
entry!("__dmdprof_v5_call__link_with_dmdprof_cc", copies::call);
entry!("__dmdprof_v5_sample_unit__link_with_dmdprof_cc", copies::unit);
entry!("__dmdprof_v5_sigaction__link_with_dmdprof_cc", copies::sigaction);
entry!("__dmdprof_v5_signal__link_with_dmdprof_cc", copies::signal);
// The argument is the stack pointer after the return.
entry!("__dmdprof_v5_landed__link_with_dmdprof_cc", copies::landed, "lea rdi, [rsp + 8]");

// The compiler calls these for large copies and zeroed buffers. Local, so that the program's own (which may carry
// hooks) are not called from inside a hook.
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

entry!("dlclose", copies::dlclose);
entry!("prctl", sandbox::prctl);

// The C library's `syscall`, but for calls that may forbid others.
global_asm!(
    ".text",
    ".balign 16",
    ".weak syscall",
    ".type syscall, @function",
    "syscall:",
    ".cfi_startproc",
    "endbr64",
    "cmp rdi, {seccomp}",
    "je {system_call}",
    "cmp rdi, {prctl}",
    "je {system_call}",
    "mov rax, rdi",
    "mov rdi, rsi",
    "mov rsi, rdx",
    "mov rdx, rcx",
    "mov r10, r8",
    "mov r8, r9",
    "mov r9, [rsp + 8]",
    "syscall",
    "cmp rax, -4095",
    "jae 2f",
    "ret",
    "2:",
    "mov rdi, rax",
    "jmp {failed}",
    ".cfi_endproc",
    ".size syscall, . - syscall",
    seccomp = const sys::SECCOMP,
    prctl = const sys::PRCTL,
    system_call = sym copies::system_call,
    failed = sym failed,
);

// The C library's `clone`, but for tasks that share the thread's local storage with the caller and run beside it.
global_asm!(
    ".text",
    ".balign 16",
    ".weak clone",
    ".type clone, @function",
    "clone:",
    ".cfi_startproc",
    "endbr64",
    "test rdi, rdi",
    "jz 3f",
    "test rsi, rsi",
    "jz 3f",
    "mov eax, edx",
    // CLONE_VM, CLONE_VFORK, CLONE_SETTLS.
    "and eax, 0x84100",
    "cmp eax, 0x100",
    "jne 2f",
    "push rdi",
    "push rsi",
    "push rdx",
    "push rcx",
    "push r8",
    "push r9",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 56",
    "call {shared}",
    "add rsp, 8",
    "pop r9",
    "pop r8",
    "pop rcx",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    ".cfi_adjust_cfa_offset -56",
    "2:",
    // A sanitizer's.
    ".weak __interceptor_clone",
    "mov rax, qword ptr [rip + __interceptor_clone@GOTPCREL]",
    "test rax, rax",
    "jz 6f",
    "jmp rax",
    "6:",
    "and rsi, -16",
    "sub rsi, 16",
    "mov [rsi], rdi",
    "mov [rsi + 8], rcx",
    "mov edi, edx",
    "mov rdx, r8",
    "mov r8, r9",
    "mov r10, [rsp + 8]",
    "mov eax, 56",
    ".cfi_endproc",
    "syscall",
    "test rax, rax",
    "jl 4f",
    "jz 5f",
    "ret",
    "3:",
    "mov rax, -22",
    "4:",
    "mov rdi, rax",
    "jmp {failed}",
    // The new task, on its own stack.
    "5:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "xor ebp, ebp",
    "pop rax",
    "pop rdi",
    "call rax",
    "mov edi, eax",
    "mov eax, 60",
    "syscall",
    "hlt",
    ".cfi_endproc",
    ".size clone, . - clone",
    shared = sym copies::stop_shared,
    failed = sym failed,
);

pub(crate) extern "C" fn shares_thread() {
    if let Some(channel) = channel::attached() {
        ring::stop_shared(channel);
    }
}

/// What the C library gives for a failed system call.
extern "C" fn failed(result: isize) -> isize {
    set_errno(-result as i32);
    -1
}

/// Sets the C library's `errno`, if there is one.
fn set_errno(error: i32) {
    let location = weak_address!("__errno_location");
    if location != 0 {
        // SAFETY: the C library's function of that name and type.
        unsafe {
            let location: extern "C" fn() -> *mut i32 = core::mem::transmute(location);
            *location() = error;
        }
    }
}

// Runs before all constructors of the shared object that is preloaded, as its linker is told.
global_asm!(
    ".text",
    ".weak dmdprof_preloaded",
    ".hidden dmdprof_preloaded",
    ".type dmdprof_preloaded, @function",
    "dmdprof_preloaded:",
    "jmp {preloaded}",
    ".size dmdprof_preloaded, . - dmdprof_preloaded",
    preloaded = sym copies::preloaded,
);

// Runs behind all destructors of the module that has these hooks.
global_asm!(
    ".section .fini_array.00000,\"aw\",@fini_array",
    ".balign 8",
    ".quad {finished}",
    ".text",
    finished = sym unload::finished,
);

extern "C" fn nothing() {}

// Calls to these are replaced by the instrumentation; the definitions are for objects that were not instrumented.
entry!("dmdprof_begin", nothing);
entry!("dmdprof_end", nothing);
entry!("dmdprof_input", nothing);
entry!("dmdprof_output", nothing);
