//! Isotonic calibration: the rising curve that is nearest to the measured points.
//!
//! Takes points (x, y), for instance estimate and measured time, gives a curve that never falls. Refuses points that
//! are not finite; without points there is no curve.
//!
//! Source: pool adjacent violators, Ayer et al., 1955: from left to right, blocks whose mean is not below that of the
//! block on their right are pooled. This minimises the sum of squared errors among all curves that never fall. Points
//! of equal x are one block from the start, since a curve has one value there.
//!
//! Between fitted points the curve is linear, outside of them it is constant: an estimate beyond what was measured is
//! not extrapolated.
//!
//! Units: x and y may have any, each its own.

use crate::error::{InputError, not_empty};
use crate::leaves::sorted;

/// A curve that never falls.
#[derive(Debug, Clone, PartialEq)]
pub struct Isotonic {
    /// x, ascending, and the fitted value there, not descending.
    points: Vec<(f64, f64)>,
}

/// Points that share a value.
#[derive(Clone, Copy)]
struct Block {
    mean: f64,
    points: f64,
    /// Number of distinct x.
    width: usize,
}

impl Isotonic {
    /// Fits a curve to points (x, y); their order does not matter.
    ///
    /// # Errors
    ///
    /// If there are no points, or one is not finite.
    pub fn fit(points: &[(f64, f64)]) -> Result<Isotonic, InputError> {
        not_empty("points", points)?;
        let points = sorted(points)?;
        let columns: Vec<&[(f64, f64)]> = points.chunk_by(|a, b| a.0 == b.0).collect();
        let blocks = pool(columns.iter().map(|column| column_block(column)));
        let values = blocks.iter().flat_map(|block| std::iter::repeat_n(block.mean, block.width));
        Ok(Isotonic { points: columns.iter().map(|column| column[0].0).zip(values).collect() })
    }

    /// Distinct x, ascending, and the fitted values there.
    #[must_use]
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Value of the curve at `x`.
    #[must_use]
    pub fn predict(&self, x: f64) -> f64 {
        let right = self.points.partition_point(|point| point.0 < x);
        let Some(&(x1, y1)) = self.points.get(right) else { return self.points[right - 1].1 };
        if right == 0 || x1 == x {
            return y1;
        }
        let (x0, y0) = self.points[right - 1];
        let share = (x - x0) / (x1 - x0);
        // Rounding must not lift the curve above the next point.
        (y0 + (y1 - y0) * share).min(y1)
    }
}

fn column_block(column: &[(f64, f64)]) -> Block {
    let all = column.iter().map(|&(_, y)| Block { mean: y, points: 1.0, width: 1 }).reduce(merge);
    Block { width: 1, ..all.expect("a column has points") }
}

/// Two blocks as one. The mean moves by the difference, so that equal means stay what they are.
fn merge(left: Block, right: Block) -> Block {
    let points = left.points + right.points;
    let mean = left.mean + (right.mean - left.mean) * (right.points / points);
    Block { mean, points, width: left.width + right.width }
}

fn pool(blocks: impl Iterator<Item = Block>) -> Vec<Block> {
    let mut pooled: Vec<Block> = Vec::new();
    for mut block in blocks {
        while let Some(left) = pooled.pop_if(|left| left.mean >= block.mean) {
            block = merge(left, block);
        }
        pooled.push(block);
    }
    pooled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to};
    use proptest::prelude::*;

    fn fitted(y: &[f64]) -> Vec<f64> {
        let points: Vec<(f64, f64)> = y.iter().enumerate().map(|(i, &y)| (i as f64, y)).collect();
        Isotonic::fit(&points).unwrap().points().iter().map(|point| point.1).collect()
    }

    #[test]
    fn violators_are_pooled() {
        let cases: [(&[f64], &[f64]); 2] = [
            (
                &[50., 52., 55., 120., 130., 128., 420., 430., 1000., 1020., 4000., 8600.],
                &[50., 52., 55., 120., 129., 129., 420., 430., 1000., 1020., 4000., 8600.],
            ),
            (&[5., 3., 8., 1., 9., 2., 7., 4., 6.], &[4., 4., 4.5, 4.5, 5.5, 5.5, 5.5, 5.5, 6.]),
        ];
        for (y, expected) in cases {
            for (found, &expected) in fitted(y).into_iter().zip(expected) {
                close_to(found, expected, FORMULA);
            }
        }
    }

    #[test]
    fn equal_values_stay_what_they_are() {
        assert_eq!(fitted(&[0.1; 100]), [0.1; 100]);
    }

    #[test]
    fn linear_between_points_and_constant_outside() {
        let curve = Isotonic::fit(&[(10.0, 1.0), (20.0, 3.0), (40.0, 3.0), (50.0, 8.0)]).unwrap();
        let found = [0.0, 10.0, 15.0, 20.0, 30.0, 45.0, 50.0, 1e9].map(|x| curve.predict(x));
        assert_eq!(found, [1.0, 1.0, 2.0, 3.0, 3.0, 5.5, 8.0, 8.0]);
        assert_eq!(Isotonic::fit(&[(3.0, 4.0)]).unwrap().predict(100.0), 4.0);
    }

    #[test]
    fn points_of_one_x_count_each() {
        let curve = Isotonic::fit(&[(1.0, 6.0), (1.0, 0.0), (1.0, 3.0), (2.0, 1.0)]).unwrap();
        assert_eq!(curve.points(), [(1.0, 2.5), (2.0, 2.5)]);
    }

    #[test]
    fn impossible_figures_are_named() {
        assert_eq!(Isotonic::fit(&[]).unwrap_err().to_string(), "there are no points");
        let error = Isotonic::fit(&[(1.0, f64::INFINITY)]).unwrap_err();
        assert_eq!(error.to_string(), "y of point 0 must be finite, is inf");
    }

    fn points() -> impl Strategy<Value = Vec<(f64, f64)>> {
        prop::collection::vec((0u8..40, 0.0..1e3f64).prop_map(|(x, y)| (x.into(), y)), 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_curve_never_falls(points in points(), x in -5.0..45.0f64, step in 0.0..10.0f64) {
            let curve = Isotonic::fit(&points).unwrap();
            prop_assert!(curve.points().windows(2).all(|pair| pair[0].1 <= pair[1].1));
            prop_assert!(curve.predict(x) <= curve.predict(x + step));
        }

        #[test]
        fn no_rising_curve_is_nearer(points in points(), shift in -5.0..5.0f64, from in 0u8..40) {
            let curve = Isotonic::fit(&points).unwrap();
            let error = |value: &dyn Fn(f64) -> f64| points.iter().map(|&(x, y)| (y - value(x)).powi(2)).sum::<f64>();
            // Another curve that never falls: all of it moved up from a point on, or down up to it.
            let moved = |x: f64| {
                let right = x >= f64::from(from);
                curve.predict(x) + if right == (shift > 0.0) { shift } else { 0.0 }
            };
            let best = error(&|x| curve.predict(x));
            prop_assert!(best <= error(&moved) + 1e-9 * (1.0 + best));
        }
    }
}
