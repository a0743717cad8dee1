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
//! | `arch` | the processor: entries, system calls, the thread's own memory, layouts |
//! | `sys` | system calls |
//! | `channel`, `attach`, `broker` | the shared channel; finds and maps it; asks for it |
//! | `copies`, `entries` | several copies of the hooks in one process; hands what comes to the one that does the work |
//! | `process` | fork, threads that are gone |
//! | `thread`, `ring` | the thread's ring; room for records |
//! | `module`, `loaded`, `unload` | where the descriptors lie, with and without `/proc`; modules that go |
//! | `calls`, `text`, `blocks` | library calls by their meaning; strings; sizes of live heap blocks |
//! | `synchronise` | how threads wait for each other |
//! | `sample`, `sampled` | which lines a program that is sampled looks at, and when that changes |
//! | `random` | random numbers from the system, fixed on request |
//! | `emulator` | for what watches a program in an emulator, which is linked with the same files |
//! | `outputs` | the bytes of declared outputs, on request |
//! | `signal` | rings of their own for signal handlers |
//! | `sandbox`, `filter`, `forbidden` | programs that forbid themselves system calls; which those are |
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

#[macro_use]
mod arch;
mod attach;
mod blocks;
mod broker;
mod calls;
mod channel;
mod copies;
#[cfg(feature = "emulator")]
pub mod emulator;
mod entries;
mod filter;
mod forbidden;
mod loaded;
mod module;
mod outputs;
mod process;
mod random;
mod ring;
mod sample;
mod sampled;
mod sandbox;
mod signal;
mod synchronise;
mod sys;
mod text;
mod thread;
mod unload;

ring_pointer!(thread::BOOT);
preserving_entry!("__dmdprof_v5_reserve__link_with_dmdprof_cc", entries::reserve, with caller);
preserving_entry!("__dmdprof_v5_sample_ready__link_with_dmdprof_cc", entries::ready);
preserving_entry!("__dmdprof_v5_sample_tick__link_with_dmdprof_cc", entries::tick);

entry!("__dmdprof_v5_module__link_with_dmdprof_cc", entries::register);
entry!("__dmdprof_v5_call__link_with_dmdprof_cc", entries::call);
entry!("__dmdprof_v5_sample_unit__link_with_dmdprof_cc", entries::unit);
entry!("__dmdprof_v5_sigaction__link_with_dmdprof_cc", entries::sigaction);
entry!("__dmdprof_v5_signal__link_with_dmdprof_cc", entries::signal);
entry!("__dmdprof_v5_landed__link_with_dmdprof_cc", entries::landed, with stack);

// In place of the C library's; a definition of the program's own wins.
entry!("getrandom", entries::getrandom);
entry!("getentropy", entries::getentropy);

entry!("dlclose", entries::dlclose);
entry!("prctl", entries::prctl);

syscall_entry!(entries::system_call, sys::failed);
clone_entry!(entries::shares_thread, sys::failed);
first_and_last!(copies::preloaded, unload::finished);

extern "C" fn nothing() {}

// Calls to these are replaced by the instrumentation; the definitions are for objects that were not instrumented.
entry!("dmdprof_begin", nothing);
entry!("dmdprof_end", nothing);
entry!("dmdprof_input", nothing);
entry!("dmdprof_output", nothing);
