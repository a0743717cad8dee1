//! Cycles: how long an out-of-order core takes for a stream of instructions, and why.
//!
//! Takes blocks of instructions ([`Block`]) with the addresses that they access, in the order in which a thread
//! executed them; gives, for each place of a block, the cycles that passed until its instructions retired, by cause
//! ([`Cause`]). What is known of a processor are numbers ([`Figures`]) of a machine file. Reads no clock and no file:
//! the same stream gives the same cycles.
//!
//! | module | what |
//! |---|---|
//! | [`figures`] | the numbers of a core |
//! | [`instruction`] | an instruction: what it waits for, what it occupies |
//! | [`decode`], `x86`, `aarch64`, `riscv64` | from the bytes of an instruction set to that |
//! | [`predictor`] | whether a branch's direction and target are foretold |
//! | `memory` | caches, prefetchers, address translation, bandwidths |
//! | `pipeline` | when an instruction is dispatched, starts and retires |
//! | [`core`] | windows: which instructions are looked at closely |
//!
//! Terms are those of interval analysis and of stacks of cycles by cause (Eyerman et al., "A performance counter
//! architecture for computing accurate CPI components", 2006); windows with states kept up between them are those of
//! SMARTS (Wunderlich et al., 2003).

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod aarch64;
mod access;
pub mod cause;
pub mod core;
pub mod decode;
pub mod figures;
pub mod instruction;
mod memory;
mod pipeline;
pub mod predictor;
mod riscv64;
mod slots;
mod x86;

pub use access::Access;
pub use cause::{CAUSES, Cause, Cycles, add_cycles};
pub use core::{Block, Core, Deviations, GROUPS, Tally, Windows, standard_error};
pub use figures::Figures;
pub use memory::Paging;
