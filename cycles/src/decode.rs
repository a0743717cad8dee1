//! Instructions of whichever processor a program is for.
//!
//! Takes the instruction set that code is of, and the bytes and address of each instruction; gives an [`Instruction`].
//! One that the set's decoder does not know is [`None`]: whoever asks counts it, and takes it for a simple one
//! ([`unknown`]).

use crate::instruction::Instruction;
pub use crate::instruction::unknown;
use crate::{aarch64, riscv64, x86};

/// An instruction set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstructionSet {
    /// x86-64.
    #[default]
    X86,
    /// A64, of 64-bit Arm processors.
    Aarch64,
    /// RV64GC.
    Riscv64,
}

impl InstructionSet {
    /// The instruction that these bytes are.
    #[must_use]
    pub fn decode(self, address: u64, bytes: &[u8]) -> Option<Instruction> {
        match self {
            Self::X86 => x86::decode(address, bytes),
            Self::Aarch64 => aarch64::decode(address, bytes),
            Self::Riscv64 => riscv64::decode(address, bytes),
        }
    }
}
