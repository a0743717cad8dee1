//! What an instruction of an x86-64 program is, as far as it matters to what its accesses mean.
//!
//! Takes the instruction's bytes, gives its [`Class`]. Knows calls and returns, instructions whose one access comes in
//! parts, and string instructions, which repeat themselves.

/// What an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Its accesses are what they are.
    Plain,
    /// Pushes a return address and goes to a function.
    Call,
    /// Takes a return address from the stack and goes there.
    Return,
    /// An access may come in parts.
    Parts,
    /// A string instruction that repeats itself, of which processors move many bytes at a time.
    Repeated,
}

/// Class of the instruction that these bytes begin with.
pub fn class(bytes: &[u8]) -> Class {
    let mut repeats = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            0xf2 | 0xf3 => repeats = true,
            0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 => {}
            0x40..=0x4f => {
                at += 1;
                break;
            }
            _ => break,
        }
        at += 1;
    }
    let byte = |offset: usize| bytes.get(at + offset).copied().unwrap_or(0);
    match byte(0) {
        0xe8 => Class::Call,
        // The third bits of what follows choose among several instructions.
        0xff if (byte(1) >> 3) & 7 == 2 => Class::Call,
        0xc2 | 0xc3 => Class::Return,
        // `movs` and `stos`; of those that compare, search or load, processors do one at a time.
        0xa4 | 0xa5 | 0xaa | 0xab if repeats => Class::Repeated,
        // Loads and stores of ten bytes.
        0xdb if matches!((byte(1) >> 3) & 7, 5 | 7) && byte(1) < 0xc0 => Class::Parts,
        // Prefixes of vectors.
        0xc4 | 0xc5 | 0x62 => Class::Parts,
        0x0f if comes_in_parts(byte(1)) => Class::Parts,
        _ => Class::Plain,
    }
}

/// Of two-byte instructions, those with operands of more than eight bytes.
fn comes_in_parts(opcode: u8) -> bool {
    matches!(opcode, 0x10..=0x17 | 0x28..=0x2f | 0x38 | 0x3a | 0x50..=0x7f | 0xae | 0xc2 | 0xc4..=0xc7 | 0xd0..=0xff)
}
