//! ByteDMD out of a curve of depths.
//!
//! Takes what a run reads deeper than each size Z, and its greatest depth, gives the run's cost. This is the identity
//! that joins the cost to every other model: a byte at depth d costs `ceil(sqrt(d))`, which is the number of k >= 0
//! with `k^2 < d`, so
//!
//! `ByteDMD = sum over k >= 0 of R(k^2)`
//!
//! is what crosses all boundaries of a nest of stacks of 0, 1, 4, 9, ... live bytes. The curve must be exact at
//! all squares for the sum to be exact.
//!
//! Source: the ByteDMD cost model (cybertronai/ByteDMD); the identity follows from it.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | R(Z) | bytes read at a depth greater than Z; at most the traffic of a memory of Z bytes | B |
//! | V | greatest depth of a read, or any number that is not less | B |

/// Sum of `deeper(k^2)` over the k with `k^2 < deepest`; `deeper(Z)` gives R(Z) in bytes. Beyond the greatest depth
/// nothing is read, so `deepest` only ends the sum. Saturates at `u128::MAX`.
///
/// ```
/// // Four bytes are read once each, at depths 1 to 4: ceil(sqrt(d)) is 1, 2, 2, 2.
/// let deeper = |size: u64| (1..=4).filter(|&depth| depth > size).count() as u128;
/// assert_eq!(dmdprof_models::bytedmd::cost(deeper, 4), 7);
/// ```
#[must_use]
pub fn cost(deeper: impl Fn(u64) -> u128, deepest: u64) -> u128 {
    (0..)
        .map_while(|k: u64| k.checked_mul(k).filter(|&square| square < deepest))
        .map(deeper)
        .fold(0, u128::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// R of elements of `size` bytes read at these depths in elements.
    fn curve(depths: &[u64], size: u64) -> impl Fn(u64) -> u128 {
        move |capacity| {
            let bytes = depths.iter().flat_map(|&depth| (depth - 1) * size + 1..=depth * size);
            bytes.filter(|&depth| depth > capacity).count() as u128
        }
    }

    #[test]
    fn published_cost_of_a_small_matrix_vector_product() {
        // As published, read by read.
        let depths = [4, 6, 5, 6, 3, 1, 5, 3, 4, 3, 2, 1];
        for (size, published) in [(1, 26), (2, 70), (4, 183), (8, 499)] {
            assert_eq!(cost(curve(&depths, size), 6 * size), published);
        }
    }

    #[test]
    fn published_sums_of_roots() {
        // Every depth up to n read once.
        for (n, sum) in
            [(1, 1), (2, 3), (4, 7), (5, 10), (9, 22), (10, 26), (16, 50), (17, 55), (100, 715), (1000, 21584)]
        {
            assert_eq!(cost(|capacity| u128::from(n - capacity), n), sum);
        }
        assert_eq!(cost(|capacity| u128::from((1 << 32) - capacity), 1 << 32), 187_652_131_946_496);
        assert_eq!(cost(|capacity| u128::from((1 << 40) - capacity), 1 << 40), 768_614_886_160_203_776);
    }

    #[test]
    fn no_reads_cost_nothing() {
        assert_eq!(cost(|_| 0, 0), 0);
        assert_eq!(cost(|_| 0, 1 << 20), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_identity_holds(depths in prop::collection::vec(1u64..5000, 0..100), beyond in 0u64..5000) {
            let priced: u64 = depths.iter().map(|&depth| (depth - 1).isqrt() + 1).sum();
            let deepest = depths.iter().max().copied().unwrap_or(0);
            prop_assert_eq!(cost(curve(&depths, 1), deepest + beyond), u128::from(priced));
        }
    }
}
