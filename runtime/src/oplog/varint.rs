//! Integers in as few bytes as they need: 7 bits a byte, low first, as in LEB128; signed ones zigzag.
//!
//! Takes and gives 64-bit integers; reading past the end, or more than ten bytes, gives `None`.
//!
//! ```text
//!    7     6                0
//!   | 1   | bits 0 to 6      |     1: more bytes follow
//!   | 0   | bits 7 to 13     |     0: the last one
//! ```
//!
//! 300 is `ac 02`. Zigzag has the sign in bit 0: of 0, -1, 1, -2 it makes 0, 1, 2, 3, so that -5 is `09`.

/// Appends a number, seven bits to a byte, the low ones first.
#[inline]
pub fn put(out: &mut Vec<u8>, value: u64) {
    put_with(value, |byte| out.push(byte));
}

/// Gives a number's bytes to `put_byte`, seven bits to a byte, the low ones first.
#[inline]
pub fn put_with(mut value: u64, mut put_byte: impl FnMut(u8)) {
    while value >= 0x80 {
        put_byte(value as u8 | 0x80);
        value >>= 7;
    }
    put_byte(value as u8);
}

/// Reads an integer and moves on.
#[inline]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    if first < 0x80 { Some(u64::from(first)) } else { take_long(bytes, first) }
}

#[inline]
fn take_long(bytes: &mut &[u8], first: u8) -> Option<u64> {
    let mut value = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Small numbers for numbers near zero, whatever their sign.
#[inline]
#[must_use]
pub fn zigzag(value: u64) -> u64 {
    value << 1 ^ (value as i64 >> 63) as u64
}

/// What zigzag made of a signed number, back.
#[inline]
#[must_use]
pub fn unzigzag(value: u64) -> u64 {
    value >> 1 ^ (value & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_taken() {
        let values = [0, 1, 127, 128, 300, u64::MAX, 1 << 63, (1 << 63) - 1, 5u64.wrapping_neg()];
        let mut bytes = Vec::new();
        for value in values {
            put(&mut bytes, value);
            put(&mut bytes, zigzag(value));
        }
        let mut rest = &bytes[..];
        for value in values {
            assert_eq!(take(&mut rest), Some(value));
            assert_eq!(take(&mut rest).map(unzigzag), Some(value));
        }
        assert_eq!(take(&mut rest), None);
        assert_eq!(take(&mut &[0x80u8, 0x80][..]), None);
        assert_eq!(take(&mut &[0xff_u8; 11][..]), None);
    }
}
