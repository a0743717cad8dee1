//! What differs between the processors whose programs are emulated.

use std::{ffi::CStr, sync::OnceLock};

use dmdprof_abi::emulated::instruction_set;

use crate::{
    numbers::{self, Numbers},
    returns,
};

/// A processor.
pub struct Processor {
    /// As the emulator calls it.
    name: &'static CStr,
    /// What its code is told as.
    pub instruction_set: u16,
    pub numbers: &'static Numbers,
    pub registers: Names,
    call_before: fn(&[u8; returns::BYTES]) -> Option<usize>,
    /// Whether an instruction returns to what a register says.
    pub is_return: fn(&[u8]) -> bool,
}

/// Names of registers.
pub struct Names {
    /// The stack pointer.
    pub stack: &'static CStr,
    /// The first arguments of a function.
    pub arguments: [&'static CStr; crate::allocators::ARGUMENTS],
    /// What a function gives.
    pub given: &'static CStr,
    /// Where a function returns to; `None` = the stack has that.
    pub link: Option<&'static CStr>,
}

static KNOWN: [Processor; 3] = [
    Processor {
        name: c"x86_64",
        instruction_set: instruction_set::X86,
        numbers: &numbers::X86_64,
        registers: Names { stack: c"rsp", arguments: [c"rdi", c"rsi", c"rdx"], given: c"rax", link: None },
        call_before: returns::x86,
        is_return: |_| false,
    },
    Processor {
        name: c"aarch64",
        instruction_set: instruction_set::AARCH64,
        numbers: &numbers::GENERIC,
        registers: Names { stack: c"sp", arguments: [c"x0", c"x1", c"x2"], given: c"x0", link: Some(c"x30") },
        call_before: returns::aarch64,
        is_return: returns::is_return_aarch64,
    },
    Processor {
        name: c"riscv64",
        instruction_set: instruction_set::RISCV64,
        numbers: &numbers::GENERIC,
        registers: Names { stack: c"sp", arguments: [c"a0", c"a1", c"a2"], given: c"a0", link: Some(c"ra") },
        call_before: returns::riscv64,
        is_return: returns::is_return_riscv64,
    },
];

static CHOSEN: OnceLock<&'static Processor> = OnceLock::new();

/// The program is for this processor; whether it is known.
pub fn choose(name: &CStr) -> bool {
    let found = KNOWN.iter().find(|processor| processor.name == name);
    found.inspect(|found| _ = CHOSEN.set(found)).is_some()
}

/// The processor of the program.
pub fn chosen() -> &'static Processor {
    CHOSEN.get().copied().unwrap_or(&KNOWN[0])
}

impl Processor {
    /// Its calls and returns access the stack, and its instructions are looked at.
    pub fn is_x86(&self) -> bool {
        self.instruction_set == instruction_set::X86
    }

    /// Whether a call may return to an instruction of the program, by what lies before it.
    pub fn may_return_to(&self, address: u64) -> bool {
        // Nothing may be mapped there; such addresses are few.
        is_near_edge(address) || self.surely_returns_to(address)
    }

    /// Whether that is sure: something lies before the instruction that could be looked at.
    pub fn surely_returns_to(&self, address: u64) -> bool {
        !is_near_edge(address) && (self.call_before)(&before(address)).is_some()
    }

    /// Where the call returns to that an instruction at an address is, if it is one that leaves that in a register.
    pub fn call(&self, address: u64, instruction: &[u8]) -> Option<u64> {
        if self.is_x86() {
            return None;
        }
        let mut bytes = [0; returns::BYTES];
        let length = instruction.len().min(returns::BYTES);
        bytes[returns::BYTES - length..].copy_from_slice(&instruction[..length]);
        (self.call_before)(&bytes).map(|_| address + length as u64)
    }

    /// Address of the call that returns to an instruction of the program.
    pub fn call_before(&self, address: u64) -> u64 {
        let bytes = if is_near_edge(address) { None } else { (self.call_before)(&before(address)) };
        // As good as its first byte: it is in the same instruction.
        address.wrapping_sub(bytes.map_or(1, |bytes| bytes as u64))
    }
}

fn is_near_edge(address: u64) -> bool {
    const PAGE: u64 = 4096;
    address % PAGE < returns::BYTES as u64
}

fn before(address: u64) -> [u8; returns::BYTES] {
    // SAFETY: in the page of an instruction of the program, as is checked by the callers.
    unsafe { ((address - returns::BYTES as u64) as *const [u8; returns::BYTES]).read() }
}
