//! The buffers that would end refills.
//!
//! What an array is refilled at a loop, and not at the loop around it, is saved by a buffer that holds what one
//! iteration of the outer loop touches of the array. What it is refilled at an outermost loop takes a buffer for all
//! that the loop touches.

use super::{
    counts::{Counts, Policy},
    model::{Motion, Row},
};

/// A buffer and what it saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    pub array: u32,
    /// The loop whose refills are saved.
    pub refilled: u32,
    /// The loop across whose iterations it is kept; `None`: from before the outermost loop to after it.
    pub across: Option<u32>,
    pub bytes: u64,
    /// Refills saved.
    pub refills: u64,
    pub refill_bytes: u64,
    /// Refills that are left, for a buffer further out.
    pub left: u64,
}

/// All buffers, those that save most bytes first; of equal ones the smaller first.
#[must_use]
pub fn buffers(motion: &Motion, policy: Policy) -> Vec<Buffer> {
    let counts = |row: &Row| Counts::from_row(row, &motion.arrays[row.array as usize], policy);
    let row = |level: u32, array: u32| {
        let at = motion.rows.binary_search_by_key(&(level, array), |row| (row.level, row.array)).ok()?;
        Some(&motion.rows[at])
    };
    let mut all: Vec<Buffer> = Vec::new();
    for inner in &motion.rows {
        let here = counts(inner);
        let across = motion.levels[inner.level as usize].parent;
        let outer = across.and_then(|level| row(level, inner.array)).map(counts);
        let (left, left_bytes) = outer.map_or((0, 0), |outer| (outer.refills, outer.refill_bytes));
        if here.refill_bytes <= left_bytes {
            continue;
        }
        all.push(Buffer {
            array: inner.array,
            refilled: inner.level,
            across,
            bytes: outer.map_or(here.footprint_bytes, |outer| outer.peak_bytes),
            refills: here.refills - left,
            refill_bytes: here.refill_bytes - left_bytes,
            left,
        });
    }
    all.sort_by_key(|b| (std::cmp::Reverse(b.refill_bytes), b.bytes, b.refilled, b.array));
    all
}
