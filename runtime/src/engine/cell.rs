//! What the shadow stores per four bytes of the program: one word, 32 or 64 bits wide.
//!
//! | value | the four bytes |
//! |---|---|
//! | 0 | never touched |
//! | 1 | touched, all dead |
//! | p >= 64 | all live, at the consecutive positions p, p+1, p+2, p+3 |
//! | top bit set | anything else: the rest is the number of a pooled entry with one such value (0, 1, p) per byte |
//!
//! 32 bits hold positions below 2^31. Programs with more live bytes than that allows are moved to 64-bit cells.
//!
//! ```text
//!    31    30                                      0
//!   | 0   | 0, 1, or position of the first byte    |     a cell of 32 bits; of 64 bits the top bit is bit 63
//!   | 1   | number of a pooled entry               |
//! ```
//!
//! An aligned store of 4 bytes at the positions 72 to 75 leaves 0x00000048. If the second byte then dies, the cell is
//! 0x80000003, and entry 3 of the pool is 72, 1, 74, 75.

use super::reserve::Zeros;

/// Value of bytes nobody has touched.
pub const NEVER: u64 = 0;
/// Value of bytes that were touched and have left the stack.
pub const DEAD: u64 = 1;
/// First position the timeline hands out; everything below is a state.
pub const FIRST: u64 = 64;
/// Bytes of the program per cell.
pub const BYTES: u64 = 4;

/// One cell of the shadow.
pub trait Cell: Zeros + Default + PartialEq {
    /// Set when the rest of the value is the number of a pooled entry. Positions are below it.
    const POOLED: u64;
    /// Keeps the low bits: callers pass what fits.
    fn pack(value: u64) -> Self;
    /// The value as a number.
    fn get(self) -> u64;
}

impl Cell for u32 {
    const POOLED: u64 = 1 << 31;
    #[inline(always)]
    fn pack(value: u64) -> Self {
        value as u32
    }
    #[inline(always)]
    fn get(self) -> u64 {
        u64::from(self)
    }
}

impl Cell for u64 {
    const POOLED: u64 = 1 << 63;
    #[inline(always)]
    fn pack(value: u64) -> Self {
        value
    }
    #[inline(always)]
    fn get(self) -> u64 {
        self
    }
}

/// Whether the value is a position (and neither a state nor a pooled entry).
#[inline(always)]
pub fn is_position<C: Cell>(value: u64) -> bool {
    value.wrapping_sub(FIRST) < C::POOLED - FIRST
}

/// Number of the pooled entry, if the value is one.
#[inline(always)]
pub fn pooled<C: Cell>(value: u64) -> Option<usize> {
    (value & C::POOLED != 0).then_some((value & !C::POOLED) as usize)
}

/// The single value that says the same as these four, if there is one.
#[inline(always)]
pub fn joined<C: Cell>(bytes: [C; 4]) -> Option<C> {
    let [a, b, c, d] = bytes.map(Cell::get);
    let step = u64::from(a >= FIRST);
    (b == a + step && c == b + step && d == c + step).then_some(bytes[0])
}
