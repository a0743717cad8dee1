//! x86-64 Linux, of the System V calling convention: all that the hooks know of this processor.
//!
//! System calls and their numbers, the thread's own memory (`fs`), the entries that the instrumentation and the C
//! library's callers come to, which keep the registers that those expect, and the layouts that the kernel and the C
//! library have here. Nothing else in the hooks has an instruction, a register or a number of the processor in it.

use core::arch::{asm, global_asm};

use crate::abi::RingHeader;

/// Numbers of system calls.
pub mod number {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const OPEN: usize = 2;
    pub const CLOSE: usize = 3;
    pub const FSTAT: usize = 5;
    pub const MMAP: usize = 9;
    pub const MUNMAP: usize = 11;
    pub const RT_SIGACTION: usize = 13;
    pub const RT_SIGPROCMASK: usize = 14;
    pub const PWRITE: usize = 18;
    pub const SCHED_YIELD: usize = 24;
    pub const MREMAP: usize = 25;
    pub const MINCORE: usize = 27;
    pub const MADVISE: usize = 28;
    pub const NANOSLEEP: usize = 35;
    pub const GETPID: usize = 39;
    pub const SOCKET: usize = 41;
    pub const CONNECT: usize = 42;
    pub const SENDTO: usize = 44;
    pub const RECVMSG: usize = 47;
    pub const SETSOCKOPT: usize = 54;
    pub const GETSOCKOPT: usize = 55;
    pub const KILL: usize = 62;
    pub const FLOCK: usize = 73;
    pub const READLINK: usize = 89;
    pub const GETCWD: usize = 79;
    pub const GETUID: usize = 102;
    pub const GETGID: usize = 104;
    pub const GETEUID: usize = 107;
    pub const GETEGID: usize = 108;
    pub const GETPPID: usize = 110;
    pub const SIGALTSTACK: usize = 131;
    pub const PRCTL: usize = 157;
    pub const GETTID: usize = 186;
    pub const GETRANDOM: usize = 318;
    pub const CLOCK_GETTIME: usize = 228;
    pub const FUTEX: usize = 202;
    pub const TGKILL: usize = 234;
    pub const SECCOMP: usize = 317;
}

/// One system call; the kernel's raw answer.
///
/// # Safety
/// As the call itself: the arguments must be what the kernel's interface asks for.
#[inline(always)]
pub unsafe fn system_call(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel's calling convention: rcx and r11 are clobbered, everything else is kept.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// Words of `struct stat`, and which of them is the size of the file.
pub const STAT_WORDS: usize = 18;
pub const STAT_SIZE: usize = 6;

/// The thread's ring.
#[inline(always)]
pub fn ring() -> *mut RingHeader {
    let ring;
    // SAFETY: initial-exec access to the thread-local pointer.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + __dmdprof_v5_ring__link_with_dmdprof_cc@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) ring,
            options(nostack, readonly, preserves_flags)
        );
    }
    ring
}

/// Changes the thread's ring.
#[inline(always)]
pub fn set_ring(ring: *mut RingHeader) {
    // SAFETY: initial-exec access to the thread-local pointer.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + __dmdprof_v5_ring__link_with_dmdprof_cc@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) ring,
            options(nostack, preserves_flags)
        );
    }
}

/// Where the pointer to the thread's ring is, from the thread's own address.
pub fn ring_offset() -> isize {
    let offset;
    // SAFETY: reads the global offset table.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + __dmdprof_v5_ring__link_with_dmdprof_cc@GOTTPOFF]",
            out(reg) offset,
            options(nostack, pure, readonly)
        );
    }
    offset
}

/// Changes a pointer to the thread's ring that is there.
///
/// # Safety
/// Every thread has one at that offset.
#[inline(always)]
pub unsafe fn set_ring_at(offset: isize, ring: *mut RingHeader) {
    // SAFETY: as demanded from the caller.
    unsafe { asm!("mov qword ptr fs:[{0}], {1}", in(reg) offset, in(reg) ring, options(nostack, preserves_flags)) };
}

/// The thread's own address, which its local storage is by.
pub fn thread_address() -> u64 {
    let address;
    // SAFETY: the thread's own pointer to itself.
    unsafe { asm!("mov {0}, qword ptr fs:[0]", out(reg) address, options(nostack, readonly, preserves_flags)) };
    address
}

/// Where the thread counts words of random numbers that it has had.
pub fn random_count() -> *mut u64 {
    let address: *mut u64;
    // SAFETY: initial-exec access to the thread-local variable.
    unsafe {
        asm!(
            "mov {0}, qword ptr fs:[0]",
            "add {0}, qword ptr [rip + dmdprof_random_count@GOTTPOFF]",
            out(reg) address,
            options(nostack, readonly)
        );
    }
    address
}

/// The handle by which the C library knows the module with these hooks; 0 = it has none.
pub fn module_handle() -> usize {
    let handle: usize;
    // SAFETY: reads the global offset table.
    unsafe {
        asm!(
            ".weak __dso_handle",
            ".hidden __dso_handle",
            "mov {0}, qword ptr [rip + __dso_handle@GOTPCREL]",
            out(reg) handle,
            options(nostack, pure, readonly, preserves_flags)
        );
    }
    handle
}

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

// The exported symbols. All are weak, so that linking the object twice (`ld -r`, a library that carries it) is no
// error, and of default visibility, so that the dynamic linker gives all modules of a process the same copy.

/// The thread's pointer to its ring, which is this one at first.
macro_rules! ring_pointer {
    ($boot:path) => {
        core::arch::global_asm!(
            ".section .tdata,\"awT\",@progbits",
            ".balign 8",
            ".weak __dmdprof_v5_ring__link_with_dmdprof_cc",
            ".type __dmdprof_v5_ring__link_with_dmdprof_cc, @object",
            ".size __dmdprof_v5_ring__link_with_dmdprof_cc, 8",
            "__dmdprof_v5_ring__link_with_dmdprof_cc:",
            ".quad {boot}",
            ".text",
            boot = sym $boot,
        );
    };
}

/// A weak entry that is `preserve_most`: it keeps every general register but rax (the result) and r11.
macro_rules! preserving_entry {
    ($name:literal, $target:path) => {
        preserving_entry!(@ $name, $target,);
    };
    // The second argument is the address that it returns to.
    ($name:literal, $target:path, with caller) => {
        preserving_entry!(@ $name, $target, "mov rsi, qword ptr [rbp + 8]",);
    };
    (@ $name:literal, $target:path, $($before:literal,)*) => {
        core::arch::global_asm!(
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

/// A weak entry that jumps to its implementation.
macro_rules! entry {
    ($name:literal, $target:path) => {
        entry!(@ $name, $target,);
    };
    // The argument is the stack pointer after the return.
    ($name:literal, $target:path, with stack) => {
        entry!(@ $name, $target, "lea rdi, [rsp + 8]",);
    };
    (@ $name:literal, $target:path, $($before:literal,)*) => {
        core::arch::global_asm!(
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

/// The C library's `syscall`, but for calls that may forbid others.
macro_rules! syscall_entry {
    ($system_call:path, $failed:path) => {
        core::arch::global_asm!(
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
            seccomp = const $crate::arch::number::SECCOMP,
            prctl = const $crate::arch::number::PRCTL,
            system_call = sym $system_call,
            failed = sym $failed,
        );
    };
}

/// The C library's `clone`, but for tasks that share the thread's local storage with the caller and run beside it.
macro_rules! clone_entry {
    ($shared:path, $failed:path) => {
        core::arch::global_asm!(
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
            shared = sym $shared,
            failed = sym $failed,
        );
    };
}

/// What runs before all constructors of the shared object that is preloaded, as its linker is told, and behind all
/// destructors of the module that has these hooks.
macro_rules! first_and_last {
    ($preloaded:path, $finished:path) => {
        core::arch::global_asm!(
            ".text",
            ".weak dmdprof_preloaded",
            ".hidden dmdprof_preloaded",
            ".type dmdprof_preloaded, @function",
            "dmdprof_preloaded:",
            "jmp {preloaded}",
            ".size dmdprof_preloaded, . - dmdprof_preloaded",
            preloaded = sym $preloaded,
        );

        core::arch::global_asm!(
            ".section .fini_array.00000,\"aw\",@fini_array",
            ".balign 8",
            ".quad {finished}",
            ".text",
            finished = sym $finished,
        );
    };
}

/// `struct sigaction` of glibc (and musl).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Action {
    pub handler: usize,
    pub mask: [u64; 16],
    pub flags: i32,
    pub restorer: usize,
}

/// The kernel's `struct sigaction`.
#[repr(C)]
pub struct KernelAction {
    pub handler: usize,
    pub flags: usize,
    pub restorer: usize,
    pub mask: u64,
}

/// The kernel is told how to return from a handler.
pub const SA_RESTORER: usize = 0x0400_0000;

global_asm!(
    ".text",
    ".balign 16",
    "nop",
    ".type dmdprof_restorer, @function",
    "dmdprof_restorer:",
    "mov rax, 15", // rt_sigreturn; unwinders know this sequence
    "syscall",
    ".size dmdprof_restorer, . - dmdprof_restorer",
);

unsafe extern "C" {
    /// Returns from a signal frame. Jumped to, never called.
    pub fn dmdprof_restorer();
}

/// The start of `ucontext_t`.
#[repr(C)]
pub struct Context {
    flags: u64,
    link: u64,
    pub stack: usize,
    pub stack_flags: u64,
    pub stack_bytes: usize,
    registers: [u64; 23],
}

impl Context {
    /// The stack pointer of what was interrupted.
    #[must_use]
    pub fn stack_pointer(&self) -> usize {
        const RSP: usize = 15;
        self.registers[RSP] as usize
    }
}

/// What the kernel calls as a handler, as `dmdprof_trampoline`. The kernel puts the context right behind the return
/// address, and the fourth argument is that: whoever calls with something else in its place (a sanitizer, for handlers
/// that take only the number) is told by it.
macro_rules! trampoline_entry {
    ($trampoline:path) => {
        core::arch::global_asm!(
            ".text",
            ".balign 16",
            ".type dmdprof_trampoline, @function",
            "dmdprof_trampoline:",
            ".cfi_startproc",
            "endbr64",
            "lea rcx, [rsp + 8]",
            "jmp {trampoline}",
            ".cfi_endproc",
            ".size dmdprof_trampoline, . - dmdprof_trampoline",
            trampoline = sym $trampoline,
        );
    };
}

unsafe extern "C" {
    /// What `trampoline_entry` defines. Never called from here.
    pub fn dmdprof_trampoline();
}
