//! Prices and buckets of many short reads at a time, in vectors of 32-bit integers.
//!
//! Takes runs of up to [`LONGEST`] depths, none of them beyond [`DEEPEST`]; gives each its price and what it adds to
//! which two entries of a [`Row`](super::row::Row). The caller keeps anything else away. There is no branch on a depth,
//! so the compiler makes vectors of the loop; it is compiled for AVX2 as well, of which it needs shifts and products of
//! lanes.

use super::row::{DEEPEST, LONGEST, NEAR, far_entry};
use crate::histogram::SUB;

/// Reads that are held until they are priced.
const HELD: usize = 256;

/// Reads, each of something that has a number, and what they come to.
pub struct Many<N> {
    len: usize,
    of: [N; HELD],
    above: [i32; HELD],
    bytes: [i32; HELD],
    price: [i32; HELD],
    first: [i32; HELD],
    in_first: [i32; HELD],
    second: [i32; HELD],
    in_second: [i32; HELD],
}

/// A read with its price, and what is added to two entries of a row.
#[derive(Clone, Copy)]
pub struct Priced {
    /// Bytes above the first byte of the read.
    pub above: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Sum of ceil(sqrt(depth)) over them.
    pub price: u64,
    /// Entries of the row, and what is added to each.
    pub add: [(usize, u32); 2],
}

impl<N: Copy + Default> Default for Many<N> {
    fn default() -> Self {
        let none = [0; HELD];
        Many {
            len: 0,
            of: [N::default(); HELD],
            above: none,
            bytes: none,
            price: none,
            first: none,
            in_first: none,
            second: none,
            in_second: none,
        }
    }
}

/// Whether a read can be held.
#[inline(always)]
pub fn takes(above: u64, bytes: u64) -> bool {
    above <= DEEPEST - LONGEST && bytes.wrapping_sub(1) < LONGEST
}

impl<N: Copy> Many<N> {
    /// Holds a read; false if there is no room for another one.
    #[inline(always)]
    pub fn push(&mut self, of: N, above: u64, bytes: u64) -> bool {
        debug_assert!(takes(above, bytes), "{bytes} bytes below {above}");
        self.of[self.len] = of;
        self.above[self.len] = above as i32;
        self.bytes[self.len] = bytes as i32;
        self.len += 1;
        self.len < HELD
    }

    /// Prices what is held, hands it out with what it is of, and holds nothing any more.
    #[inline(always)]
    pub fn each(&mut self, mut take: impl FnMut(N, Priced)) {
        self.price();
        for at in 0..std::mem::take(&mut self.len).min(HELD) {
            let add = |entry: &[i32; HELD], what: &[i32; HELD]| (entry[at] as usize, what[at] as u32);
            let priced = Priced {
                above: self.above[at] as u64,
                bytes: self.bytes[at] as u64,
                price: self.price[at] as u64,
                add: [add(&self.first, &self.in_first), add(&self.second, &self.in_second)],
            };
            take(self.of[at], priced);
        }
    }

    fn price(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { self.price_avx2() };
        }
        self.price_here();
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn price_avx2(&mut self) {
        self.price_here();
    }

    #[inline(always)]
    fn price_here(&mut self) {
        for at in 0..self.len.next_multiple_of(16).min(HELD) {
            let (above, bytes) = (self.above[at], self.bytes[at]);
            let end = above + bytes;
            let root = root(end);
            // All bytes at the price of the deepest, less one for each that lies in the square of a smaller root. There
            // are two such squares at most.
            let cheaper = |less: i32| {
                let root = (root - less).max(0);
                (root * root - above).max(0)
            };
            self.price[at] = bytes * root - cheaper(1) - cheaper(2);
            let is_near = above < NEAR as i32;
            let ((bucket, _), (last, start)) = (bucket_and_start(above), bucket_and_start(end - 1));
            let behind = if bucket == last { 0 } else { end - start };
            let pick = |near: i32, far: i32| if is_near { near } else { far };
            self.first[at] = pick(above, far_entry(bucket));
            self.in_first[at] = pick(1, bytes - behind);
            self.second[at] = pick(end, far_entry(last));
            self.in_second[at] = pick(-1, behind);
        }
    }
}

/// `ceil(sqrt(depth))` of a depth up to [`DEEPEST`]. The float is at most a hundredth off, so that it is right or one
/// too small.
#[inline(always)]
fn root(depth: i32) -> i32 {
    let near = (depth as f32).sqrt() + 0.99;
    // SAFETY: roots of what is not negative and at most 2^31 fit.
    let root: i32 = unsafe { near.to_int_unchecked() };
    root + i32::from(root * root < depth)
}

/// Number of the bucket of a depth less one, from [`NEAR`] on, and the first such number in it: the exponent and the
/// five highest bits behind it are those of a float.
#[inline(always)]
fn bucket_and_start(number: i32) -> (i32, i32) {
    const SHIFT: u32 = f32::MANTISSA_DIGITS - 1 - SUB.trailing_zeros();
    const FIRST: i32 = ((f32::MAX_EXP - 1) << SUB.trailing_zeros()) + (SUB.trailing_zeros() as i32 - 1) * SUB as i32;
    // The bit that this clears keeps the float from being rounded up into the next bucket.
    let bits = ((number & !(number >> 16)) as f32).to_bits();
    let start = f32::from_bits(bits & (u32::MAX << SHIFT));
    // SAFETY: no greater than the number, but for negative ones, which are -1.
    ((bits >> SHIFT) as i32 - FIRST, unsafe { start.to_int_unchecked() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        counts::{depths::DepthCounts, row::Row},
        histogram::{bounds, bucket_of},
        pricing::{root as exact_root, run_cost},
    };

    /// Prices reads in both ways and compares with the formula and with a histogram that is filled byte by byte.
    fn check(reads: &[(u64, u64)]) {
        let mut many = Many::default();
        let mut checked = 0;
        for part in reads.chunks(HELD) {
            for &(above, bytes) in part {
                assert!(takes(above, bytes));
                many.push(7, above, bytes);
            }
            many.price_here();
            let portable = (many.price, many.first, many.in_first, many.second, many.in_second);
            let mut reads = part.iter();
            many.each(|number, priced| {
                let &(above, bytes) = reads.next().expect("as many as were held");
                assert_eq!((number, priced.above, priced.bytes), (7, above, bytes));
                assert_eq!(u128::from(priced.price), run_cost(above, bytes), "{bytes} bytes below {above}");
                let (mut row, mut found, mut expected) =
                    (Row::default(), DepthCounts::default(), DepthCounts::default());
                row.add(priced.add);
                row.drain(&mut found);
                expected.add_run(above, bytes, 1);
                assert!(found.iter().eq(expected.iter()), "{bytes} bytes below {above}");
                checked += 1;
            });
            assert_eq!(portable, (many.price, many.first, many.in_first, many.second, many.in_second));
        }
        assert_eq!(checked, reads.len());
    }

    #[test]
    fn shallow_reads() {
        check(&(0..3000).flat_map(|above| (1..=LONGEST).map(move |bytes| (above, bytes))).collect::<Vec<_>>());
    }

    #[test]
    fn reads_around_squares_and_bounds_of_buckets() {
        let squares = (1..1u64 << 15).map(|root| root * root);
        let buckets = (0..bucket_of(DEEPEST)).map(|bucket| bounds(bucket).1);
        let around = squares
            .step_by(7)
            .chain(buckets)
            .flat_map(|depth| (depth.saturating_sub(9)..=depth + 2).map(|above| (above, 8)));
        check(
            &around
                .chain([(DEEPEST - LONGEST, LONGEST)])
                .filter(|&(above, bytes)| takes(above, bytes))
                .collect::<Vec<_>>(),
        );
    }

    #[test]
    fn what_it_does_not_take() {
        assert!(!takes(5, 0) && !takes(5, 9) && !takes(DEEPEST - 7, 1) && !takes(u64::MAX, 8));
    }

    #[test]
    fn every_root() {
        for at in 1..1i32 << 15 {
            for depth in [at * at - 1, at * at, at * at + 1] {
                assert_eq!(root(depth) as u64, exact_root(depth as u64), "{depth}");
            }
        }
    }
}
