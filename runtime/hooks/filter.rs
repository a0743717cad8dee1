//! What a seccomp filter says about a system call: the kernel's interpreter of classic BPF programs, for the
//! instructions that such filters may have.
//!
//! ```text
//!   | code, 2 bytes | if_true | if_false | operand, 4 bytes |     an instruction; jumps pass over so many
//! ```
//!
//! `15 00 00 01 3b 00 00 00` goes on if the value is 59 (`execve`), and passes over one instruction if it is not;
//! `06 00 00 00 00 00 ff 7f` allows the call.

/// A filter of the program.
pub struct Rules<'a>(&'a [Instruction]);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    operand: u32,
}

/// `struct sock_fprog`.
#[repr(C)]
struct Program {
    length: u16,
    instructions: *const Instruction,
}

const MOST: usize = 4096;

impl Rules<'_> {
    /// # Safety
    /// `program` must be 0 or the address of a `struct sock_fprog` that stays as it is.
    pub unsafe fn from_address(program: usize) -> Option<Self> {
        // SAFETY: as demanded from the caller.
        unsafe {
            let program = (program as *const Program).as_ref()?;
            let length = usize::from(program.length).min(MOST);
            (!program.instructions.is_null()).then(|| Self(core::slice::from_raw_parts(program.instructions, length)))
        }
    }

    /// The call is made or fails; the process is not punished for it.
    pub fn allow(&self, number: usize, arguments: [u64; 6]) -> bool {
        const ALLOW: u32 = 0x7fff_0000;
        const LOG: u32 = 0x7ffc_0000;
        const ERRNO: u32 = 0x0005_0000;
        matches!(self.answer(number, arguments).map(|answer| answer & 0xffff_0000), Some(ALLOW | LOG | ERRNO))
    }

    /// `None` for what is no filter.
    fn answer(&self, number: usize, arguments: [u64; 6]) -> Option<u32> {
        let mut a = 0u32;
        let mut x = 0u32;
        let mut memory = [0u32; 16];
        let mut at = 0usize;
        loop {
            let Instruction { code, if_true, if_false, operand } = *self.0.get(at)?;
            at += 1;
            let value = if code & 0x08 != 0 { x } else { operand };
            match code & 0x07 {
                // Loads.
                0 | 1 => {
                    let loaded = match code & 0xe0 {
                        0x00 => operand,
                        0x20 => data(number, arguments, operand)?,
                        0x60 => *memory.get(operand as usize)?,
                        0x80 => 64,
                        _ => return None,
                    };
                    *(if code & 0x07 == 0 { &mut a } else { &mut x }) = loaded;
                }
                2 => *memory.get_mut(operand as usize)? = a,
                3 => *memory.get_mut(operand as usize)? = x,
                4 => a = arithmetic(code & 0xf0, a, value)?,
                5 => {
                    let taken = match code & 0xf0 {
                        0x00 => {
                            at += operand as usize;
                            continue;
                        }
                        0x10 => a == value,
                        0x20 => a > value,
                        0x30 => a >= value,
                        0x40 => a & value != 0,
                        _ => return None,
                    };
                    at += usize::from(if taken { if_true } else { if_false });
                }
                6 => return Some(if code & 0x18 == 0x10 { a } else { operand }),
                _ if code & 0xf8 == 0x80 => a = x,
                _ => x = a,
            }
        }
    }
}

fn arithmetic(operation: u16, a: u32, value: u32) -> Option<u32> {
    Some(match operation {
        0x00 => a.wrapping_add(value),
        0x10 => a.wrapping_sub(value),
        0x20 => a.wrapping_mul(value),
        0x30 => a.checked_div(value)?,
        0x40 => a | value,
        0x50 => a & value,
        0x60 => a.checked_shl(value).unwrap_or(0),
        0x70 => a.checked_shr(value).unwrap_or(0),
        0x80 => a.wrapping_neg(),
        0x90 => a.checked_rem(value)?,
        0xa0 => a ^ value,
        _ => return None,
    })
}

/// A word of `struct seccomp_data`.
fn data(number: usize, arguments: [u64; 6], offset: u32) -> Option<u32> {
    const X86_64: u32 = 0xc000_003e;
    match offset {
        0 => Some(number as u32),
        4 => Some(X86_64),
        8 | 12 => Some(0),
        _ => {
            let argument = *arguments.get((offset.checked_sub(16)? / 8) as usize)?;
            Some(if offset.is_multiple_of(8) { argument as u32 } else { (argument >> 32) as u32 })
        }
    }
}
