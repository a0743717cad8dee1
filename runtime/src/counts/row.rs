//! Bytes by depth of one busy cell, in entries that a read changes without a branch.
//!
//! Takes two changes for each read, as `many.rs` finds them: two entries and what is added to them. Shallow depths have
//! one entry each, to which changes are added: one read more from here on, one less from there on. Deeper ones have an
//! entry per bucket. Entries are narrow, so whoever adds has to drain a row after [`MOST`] reads.

use super::depths::DepthCounts;
use crate::histogram::bucket_of;

/// Bytes of a read, at most: more could lie in three buckets.
pub const LONGEST: u64 = 8;
/// Greatest depth: up to here, squares of roots have 31 bits.
pub const DEEPEST: u64 = 1 << 30;

/// Depths that have an entry each. From here on, [`LONGEST`] bytes are in at most two buckets.
pub const NEAR: usize = 256;
const BEHIND_NEAR: usize = NEAR + LONGEST as usize;
const FIRST_FAR: u16 = bucket_of(NEAR as u64 + 1);
const ENTRIES: usize = BEHIND_NEAR + (bucket_of(DEEPEST) + 1 - FIRST_FAR) as usize;
/// Reads that fit into the entries.
pub const MOST: u32 = u32::MAX / (2 * LONGEST as u32);

/// The entry of a bucket.
#[inline(always)]
pub fn far_entry(bucket: i32) -> i32 {
    bucket + (BEHIND_NEAR as i32 - FIRST_FAR as i32)
}

/// Counts of one site for depths that come often; fixed entries, so that adding has no branch.
#[derive(Clone, Debug)]
pub struct Row(Box<[u32; ENTRIES]>);

impl Default for Row {
    fn default() -> Self {
        // From a list, as that need not be on the stack first.
        Row(vec![0; ENTRIES].try_into().expect("it has as many"))
    }
}

impl Row {
    /// Adds to two entries.
    #[inline(always)]
    pub fn add(&mut self, what: [(usize, u32); 2]) {
        for (entry, add) in what {
            self.0[entry] = self.0[entry].wrapping_add(add);
        }
    }

    /// Moves all bytes to a histogram.
    pub fn drain(&mut self, to: &mut DepthCounts) {
        let (near, far) = self.0.split_at_mut(BEHIND_NEAR);
        let mut reads = 0u32;
        for (depth, change) in (1..).zip(near) {
            reads = reads.wrapping_add(std::mem::take(change));
            if reads > 0 {
                to.add(bucket_of(depth), u64::from(reads));
            }
        }
        for (bucket, bytes) in (FIRST_FAR..).zip(far).filter(|(_, bytes)| **bytes > 0) {
            to.add(bucket, u64::from(std::mem::take(bytes)));
        }
    }
}
