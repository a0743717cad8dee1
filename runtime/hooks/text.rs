//! How many bytes of a string its reader must look at. Words are read where that is safe: aligned, or away from a
//! page's end, so that no byte of a page is touched that the definition does not touch.

use crate::abi::PAGE;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The first set bit marks the first zero byte.
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

fn word_fits(address: usize) -> bool {
    address & (PAGE - 1) <= PAGE - 8
}

unsafe fn byte(address: usize) -> u8 {
    // SAFETY: as demanded from the caller.
    unsafe { (address as *const u8).read() }
}

unsafe fn word(address: usize) -> u64 {
    // SAFETY: as demanded from the caller.
    unsafe { (address as *const u64).read_unaligned() }
}

/// Bytes before the terminator, at most `limit`.
///
/// # Safety
/// `s` must be readable up to its terminator or limit, whichever comes first.
pub unsafe fn length(s: usize, limit: usize) -> usize {
    let mut n = 0;
    // SAFETY: bytes before the terminator; aligned words lie in the page of their first byte.
    unsafe {
        while n < limit && !(s + n).is_multiple_of(8) {
            if byte(s + n) == 0 {
                return n;
            }
            n += 1;
        }
        while n < limit {
            let found = zeros(word(s + n));
            if found != 0 {
                return (n + found.trailing_zeros() as usize / 8).min(limit);
            }
            n += 8;
        }
    }
    n.min(limit)
}

/// What ends a comparison besides a difference and the limit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    Bytes,
    Strings,
    /// Upper and lower case are the same (ASCII; other locales fold more).
    FoldedStrings,
}

/// Bytes of each side that a comparison looks at: up to the first difference (or common terminator), at most `limit`.
///
/// # Safety
/// Both must be readable that far.
pub unsafe fn compared(a: usize, b: usize, limit: usize, how: Compare) -> usize {
    let mut n = 0;
    // SAFETY: bytes up to the first difference; words only where they stay in the page of their first byte.
    unsafe {
        while n < limit {
            if limit - n >= 8 && word_fits(a + n) && word_fits(b + n) {
                let (x, y) = (word(a + n), word(b + n));
                if x == y && (how == Compare::Bytes || zeros(x) == 0) {
                    n += 8;
                    continue;
                }
            }
            let (x, y) = (byte(a + n), byte(b + n));
            n += 1;
            let differ = match how {
                Compare::FoldedStrings => !x.eq_ignore_ascii_case(&y),
                _ => x != y,
            };
            if differ || (x == 0 && how != Compare::Bytes) {
                return n;
            }
        }
    }
    limit
}
