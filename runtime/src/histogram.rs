//! Depth buckets: exact at every capacity that matters, a few hundred numbers for depths up to 2^64.
//!
//! Depth `d >= 1` is filed under `v = d - 1`. Values below 32 have a bucket each; above, every power of two is cut into
//! 32 equal parts. A bucket therefore never spans a capacity `Z` of the form `s * 2^k` with `32 <= s < 64` (every power
//! of two, 48 KiB, 20 MiB, ...), so bytes at depth > Z, and those that a memory of Z bytes fetches, are exact for
//! those, and a quantile is off by at most 1/32.

/// Values per power of two, and number of unit buckets.
pub const SUB: u64 = 32;
const SUB_BITS: u32 = SUB.trailing_zeros();
/// Number of buckets for 64-bit depths.
pub const BUCKETS: usize = (SUB + (64 - SUB_BITS as u64) * SUB) as usize;

/// Bucket of a depth (`depth >= 1`).
#[inline]
#[must_use]
pub const fn bucket_of(depth: u64) -> u16 {
    let v = depth - 1;
    if v < SUB {
        return v as u16;
    }
    let octave = 63 - v.leading_zeros() - SUB_BITS;
    (SUB + octave as u64 * SUB + ((v >> octave) - SUB)) as u16
}

/// Smallest and largest depth of a bucket.
#[inline]
#[must_use]
pub fn bounds(bucket: u16) -> (u64, u64) {
    let b = u64::from(bucket);
    if b < SUB {
        return (b + 1, b + 1);
    }
    let octave = (b - SUB) / SUB;
    let low = (SUB + (b - SUB) % SUB) << octave;
    let width = 1u64 << octave;
    // The last bucket ends at 2^64.
    (low + 1, low.saturating_add(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_depths_without_gap_or_overlap() {
        let mut next = 1u64;
        for b in 0..BUCKETS as u16 {
            let (low, high) = bounds(b);
            assert_eq!(low, next, "bucket {b}");
            assert_eq!(bucket_of(low), b);
            assert_eq!(bucket_of(high), b);
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "all depths that there are");
    }

    #[test]
    fn capacities_are_bucket_edges() {
        for z in [1u64, 31, 32, 64, 512, 4096, 32 << 10, 48 << 10, 128 << 10, 1 << 20, 20 << 20, 1 << 40] {
            assert_ne!(bucket_of(z), bucket_of(z + 1), "Q({z}) would not be exact");
        }
    }
}
