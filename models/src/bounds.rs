//! Lower bounds: bytes that any matrix multiplication must move, and how far a measured one is from them.
//!
//! Takes the shape of a product and the size of a fast memory, gives three published bounds; with a measured traffic
//! Q(Z), how many times the optimum it is. Refuses sizes of 0.
//!
//! Sources: Irony, Toledo, Tiskin, "Communication lower bounds for distributed-memory matrix multiplication", 2004;
//! Czechowski et al., "Balance principles for algorithm-architecture co-design", 2011, as printed there; Smith, Lowery,
//! Langou, van de Geijn, "A tight I/O lower bound for matrix multiplication", 2017.
//!
//! An (m x k) by (k x n) product, W = 2 m n k operations, fast memory of Z words:
//!
//! | bound | words |
//! |---|---|
//! | [`MatmulBounds::irony`] | `m n k / (2 sqrt2 sqrt Z) - Z` |
//! | [`MatmulBounds::czechowski`] | `W / (sqrt2 sqrt Z)` |
//! | [`MatmulBounds::tight`] | `2 m n k / sqrt Z`, the leading term, which algorithms reach |
//!
//! The second source names the first for its constant, which is 4 times larger than the first one's own; it still lies
//! below the tight one, so it is a bound. Results are bytes: words times the size of an element.
//!
//! Edge cases: a negative bound says nothing and is given as 0. The tight bound is a leading term: where one of the
//! matrices has fewer elements than the fast memory has words, it may exceed what is needed, and `fits` says so.

use crate::error::{InputError, not_negative, positive};

/// An (m x k) by (k x n) product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matmul {
    /// Rows of the first matrix and of the product.
    pub m: u64,
    /// Columns of the second matrix and of the product.
    pub n: u64,
    /// Columns of the first matrix, rows of the second.
    pub k: u64,
    /// Bytes per element.
    pub element: u64,
}

/// Bytes that must be moved between fast and slow memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatmulBounds {
    /// As Irony, Toledo and Tiskin state it.
    pub irony: f64,
    /// As Czechowski et al. state it.
    pub czechowski: f64,
    /// The one to compare with.
    pub tight: f64,
    /// The smallest matrix has fewer elements than the fast memory has words.
    pub fits: bool,
}

impl MatmulBounds {
    /// Measured traffic in bytes as a multiple of the tight bound.
    ///
    /// # Errors
    ///
    /// If the traffic is negative.
    pub fn times_optimum(&self, traffic: f64) -> Result<f64, InputError> {
        Ok(not_negative("traffic", traffic)? / self.tight)
    }
}

/// Bounds of a product with a fast memory of `capacity` bytes.
///
/// ```
/// use dmdprof_models::bounds::{Matmul, matmul};
///
/// // 1024 x 1024 x 1024 of 8 B, with a fast memory of 2 MiB, which is 512^2 words: 2 * 1024^3 / 512 words.
/// let bounds = matmul(Matmul { m: 1024, n: 1024, k: 1024, element: 8 }, 2 << 20)?;
/// assert_eq!(bounds.tight, 33_554_432.0); // B
/// assert_eq!(bounds.times_optimum(67_108_864.0)?, 2.0);
/// # Ok::<(), dmdprof_models::InputError>(())
/// ```
///
/// # Errors
///
/// If a size is 0.
pub fn matmul(shape: Matmul, capacity: u64) -> Result<MatmulBounds, InputError> {
    let (m, n, k) = (size("m", shape.m)?, size("n", shape.n)?, size("k", shape.k)?);
    let element = size("bytes per element", shape.element)?;
    let words = size("capacity", capacity)? / element;
    let volume = m * n * k;
    let (root, sqrt2) = (words.sqrt(), std::f64::consts::SQRT_2);
    Ok(MatmulBounds {
        irony: element * (volume / (2.0 * sqrt2 * root) - words).max(0.0),
        czechowski: element * 2.0 * volume / (sqrt2 * root),
        tight: element * 2.0 * volume / root,
        fits: (m * n).min(n * k).min(m * k) < words,
    })
}

fn size(quantity: &str, value: u64) -> Result<f64, InputError> {
    positive(quantity, value as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to, prints};
    use proptest::prelude::*;

    fn square(n: u64, element: u64) -> Matmul {
        Matmul { m: n, n, k: n, element }
    }

    #[test]
    fn three_bounds_of_square_products() {
        let golden = [(16, 64, [117.019336, 724.077344, 1024.0]), (64, 1024, [1872.309375, 11585.237503, 16384.0])];
        for (n, words, [irony, czechowski, tight]) in golden {
            let found = matmul(square(n, 4), 4 * words).unwrap();
            close_to(found.irony / 4.0, irony, FORMULA);
            close_to(found.czechowski / 4.0, czechowski, FORMULA);
            assert_eq!((found.tight / 4.0, found.fits), (tight, false));
        }
        let found = matmul(square(1024, 4), 4 << 18).unwrap();
        prints(found.irony / 4.0, 479311.2002, 4);
        prints(found.czechowski / 4.0, 2965820.801, 3);
        assert_eq!(found.tight / 4.0, 4194304.0);
    }

    #[test]
    fn measured_products_as_multiples_of_the_optimum() {
        let bounds = matmul(square(16, 8), 512).unwrap();
        prints(bounds.times_optimum(34560.0).unwrap(), 4.22, 2);
        prints(bounds.times_optimum(17976.0).unwrap(), 2.19, 2);
        assert_eq!((34560.0 / 8.0, 17976.0 / 8.0), (4320.0, 2247.0));
    }

    #[test]
    fn small_matrices_fit() {
        assert!(!matmul(square(8, 1), 64).unwrap().fits);
        assert!(matmul(square(8, 1), 65).unwrap().fits);
        assert!(matmul(Matmul { m: 1000, n: 1, k: 50, element: 1 }, 64).unwrap().fits);
        assert_eq!(matmul(square(8, 1), 1 << 20).unwrap().irony, 0.0);
    }

    #[test]
    fn impossible_figures_are_named() {
        let error = matmul(Matmul { k: 0, ..square(8, 4) }, 64).unwrap_err();
        assert_eq!(error.to_string(), "k must be positive, is 0");
        assert_eq!(matmul(square(8, 4), 0).unwrap_err().to_string(), "capacity must be positive, is 0");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_bounds_are_ordered(m in 1u64..5000, n in 1u64..5000, k in 1u64..5000, capacity in 4u64..1 << 30) {
            let found = matmul(Matmul { m, n, k, element: 4 }, capacity).unwrap();
            prop_assert!(found.irony <= found.czechowski && found.czechowski <= found.tight);
        }
    }
}
