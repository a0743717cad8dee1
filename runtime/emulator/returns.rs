//! Whether a call ends where an instruction begins, so that it may return there.
//!
//! Takes the bytes before an address, gives how many of them are the call. Bytes of other instructions may look like
//! one; none that is one is missed.

/// Bytes that are looked at.
pub const BYTES: usize = 8;

/// Of x86-64, without prefixes.
pub fn x86(before: &[u8; BYTES]) -> Option<usize> {
    const NEAR: usize = 5;
    if before[BYTES - NEAR] == 0xe8 {
        return Some(NEAR);
    }
    (2..=BYTES).find(|bytes| indirect(&before[BYTES - bytes..]) == Some(*bytes))
}

/// Bytes of a call of what a register or memory says, if an instruction is one.
fn indirect(instruction: &[u8]) -> Option<usize> {
    const CALL: u8 = 2;
    let &[0xff, operand, ..] = instruction else { return None };
    if (operand >> 3) & 7 != CALL {
        return None;
    }
    let (mode, base) = (operand >> 6, operand & 7);
    let has_index = mode != 3 && base == 4;
    let base = if has_index { instruction.get(2)? & 7 } else { base };
    let distance = match mode {
        0 if base == 5 => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some(2 + usize::from(has_index) + distance)
}

/// Of aarch64: `bl`, `blr` and its like that check the address.
pub fn aarch64(before: &[u8; BYTES]) -> Option<usize> {
    let word = last_word(before);
    (word >> 26 == 0x25 || word & 0xfeff_f000 == 0xd63f_0000).then_some(4)
}

/// Of riscv64: `jal` and `jalr` that leave where they were in `ra`, and the latter of two bytes.
pub fn riscv64(before: &[u8; BYTES]) -> Option<usize> {
    const EBREAK: u32 = 0x9002;
    let word = last_word(before);
    if word & 0xfff == 0x0ef || word & 0x7fff == 0x00e7 {
        return Some(4);
    }
    let half = word >> 16;
    (half & 0xf07f == EBREAK && half != EBREAK).then_some(2)
}

/// Whether an instruction of aarch64 is a return: `ret` and its like that check the address.
pub fn is_return_aarch64(instruction: &[u8]) -> bool {
    let Ok(bytes) = instruction.try_into() else { return false };
    let word = u32::from_le_bytes(bytes);
    word & 0xffff_fc1f == 0xd65f_0000 || matches!(word, 0xd65f_0bff | 0xd65f_0fff)
}

/// Whether an instruction of riscv64 is one: a jump to where `ra` says, of four bytes or two.
pub fn is_return_riscv64(instruction: &[u8]) -> bool {
    matches!(instruction, [0x67, 0x80, 0, 0] | [0x82, 0x80])
}

fn last_word(before: &[u8; BYTES]) -> u32 {
    let [.., a, b, c, d] = *before;
    u32::from_le_bytes([a, b, c, d])
}
