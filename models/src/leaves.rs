//! Learned leaves: a regression tree that maps a model's time to the measured one, step by step.
//!
//! Takes points (x, y), for instance estimate and measured time of one class of functions, gives a tree with constant
//! leaves. Refuses points that are not finite and leaves of no points. Without points there is no tree: use the
//! estimate as it is.
//!
//! Source: Apple Neural Engine book, chapter 18 (regression trees per class of operation); the rule is CART of Breiman,
//! Friedman, Olshen, Stone, 1984, grown best leaf first.
//!
//! Rule: points are sorted by x; a threshold lies midway between adjacent distinct x; a leaf's value is the mean of its
//! y. Again and again, the leaf and threshold that reduce the sum of squared errors most are split, until there are
//! `max_splits` of them, no split leaves `min_leaf` points on both sides, or none reduces the error. Of equal
//! reductions the leftmost leaf is taken, in it the smallest threshold. The reduction of a split into n_l and n_r
//! points with means m_l and m_r is `n_l n_r / (n_l + n_r) (m_l - m_r)^2`.
//!
//! Units: x and y may have any, each its own.

use crate::error::{InputError, at_least, finite, not_empty};

/// When to stop splitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most thresholds.
    pub max_splits: usize,
    /// Fewest points of a leaf, at least 1.
    pub min_leaf: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_splits: 7, min_leaf: 2 }
    }
}

/// A tree over one variable: constant between thresholds.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    thresholds: Vec<f64>,
    values: Vec<f64>,
}

impl Tree {
    /// Grows a tree on points (x, y); their order does not matter.
    ///
    /// # Errors
    ///
    /// If there are no points, a point is not finite, or `min_leaf` is 0.
    pub fn fit(points: &[(f64, f64)], limits: Limits) -> Result<Tree, InputError> {
        not_empty("points", points)?;
        at_least("points of a leaf", 1.0, limits.min_leaf as f64)?;
        let points = sorted(points)?;
        let mut leaves = vec![Leaf::new(&points, limits.min_leaf)];
        while leaves.len() <= limits.max_splits {
            let Some(best) = most_reducing(&leaves) else { break };
            let (left, right) = leaves[best.leaf].points.split_at(best.split.left);
            leaves.splice(best.leaf..=best.leaf, [left, right].map(|points| Leaf::new(points, limits.min_leaf)));
        }
        Ok(Tree {
            thresholds: leaves.windows(2).map(|pair| pair[0].threshold_to(&pair[1])).collect(),
            values: leaves.iter().map(|leaf| mean(leaf.points)).collect(),
        })
    }

    /// Value of the leaf of `x`; a threshold itself belongs to the leaf on its left.
    #[must_use]
    pub fn predict(&self, x: f64) -> f64 {
        self.values[self.thresholds.partition_point(|&threshold| threshold < x)]
    }

    /// Between the leaves, ascending; one fewer than [`Tree::values`].
    #[must_use]
    pub fn thresholds(&self) -> &[f64] {
        &self.thresholds
    }

    /// Of the leaves, from left to right.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// Points by x, then y, so that sums do not depend on the order given.
pub(crate) fn sorted(points: &[(f64, f64)]) -> Result<Vec<(f64, f64)>, InputError> {
    for (i, &(x, y)) in points.iter().enumerate() {
        finite(format_args!("x of point {i}"), x)?;
        finite(format_args!("y of point {i}"), y)?;
    }
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.partial_cmp(b).expect("no NaN, checked"));
    Ok(points)
}

struct Leaf<'a> {
    points: &'a [(f64, f64)],
    /// Its best split, if one reduces the error.
    split: Option<Split>,
}

#[derive(Clone, Copy)]
struct Split {
    /// Number of points that go left.
    left: usize,
    /// By how much the sum of squared errors falls.
    reduction: f64,
}

struct Best {
    leaf: usize,
    split: Split,
}

impl<'a> Leaf<'a> {
    fn new(points: &'a [(f64, f64)], min_leaf: usize) -> Leaf<'a> {
        Leaf { points, split: best_split(points, min_leaf) }
    }

    fn threshold_to(&self, right: &Leaf) -> f64 {
        let (a, b) = (self.points[self.points.len() - 1].0, right.points[0].0);
        let middle = a.midpoint(b);
        // Between neighbouring doubles there is none; `a` separates them as well.
        if middle < b { middle } else { a }
    }
}

fn most_reducing(leaves: &[Leaf]) -> Option<Best> {
    let mut best: Option<Best> = None;
    for (leaf, split) in leaves.iter().enumerate().filter_map(|(leaf, l)| Some((leaf, l.split?))) {
        if best.as_ref().is_none_or(|best| split.reduction > best.split.reduction) {
            best = Some(Best { leaf, split });
        }
    }
    best
}

fn best_split(points: &[(f64, f64)], min_leaf: usize) -> Option<Split> {
    let count = points.len();
    // Seen from one of the values, so that equal values have sums of exactly 0 and no split.
    let origin = points[0].1;
    let all: f64 = points.iter().map(|point| point.1 - origin).sum();
    let mut best: Option<Split> = None;
    let mut sum = 0.0;
    for left in 1..count {
        sum += points[left - 1].1 - origin;
        let right = count - left;
        if left < min_leaf || right < min_leaf || points[left - 1].0 == points[left].0 {
            continue;
        }
        let (n_left, n_right) = (left as f64, right as f64);
        let distance = sum / n_left - (all - sum) / n_right;
        let reduction = n_left * n_right / (n_left + n_right) * distance * distance;
        if reduction > best.map_or(0.0, |best| best.reduction) {
            best = Some(Split { left, reduction });
        }
    }
    best
}

fn mean(points: &[(f64, f64)]) -> f64 {
    let origin = points[0].1;
    origin + points.iter().map(|point| point.1 - origin).sum::<f64>() / points.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to};
    use proptest::prelude::*;

    const X: [f64; 12] = [100., 150., 220., 400., 600., 900., 1500., 2500., 4000., 7000., 12000., 20000.];
    const Y: [f64; 12] = [50., 52., 55., 120., 130., 128., 420., 430., 1000., 1020., 4000., 8600.];

    fn points() -> Vec<(f64, f64)> {
        X.into_iter().zip(Y).collect()
    }

    #[test]
    fn trees_that_scikit_learn_grows() {
        let golden: [(usize, usize, &[f64], &[f64]); 4] = [
            (1, 1, &[9500.], &[340.5, 6300.]),
            (3, 1, &[3250., 9500., 16000.], &[173.125, 1010., 4000., 8600.]),
            (3, 2, &[1200., 3250., 9500.], &[89.1666666667, 425., 1010., 6300.]),
            (
                7,
                1,
                &[310., 500., 1200., 3250., 5500., 9500., 16000.],
                &[52.3333333333, 120., 129., 425., 1000., 1020., 4000., 8600.],
            ),
        ];
        for (max_splits, min_leaf, thresholds, values) in golden {
            let tree = Tree::fit(&points(), Limits { max_splits, min_leaf }).unwrap();
            assert_eq!(tree.thresholds(), thresholds);
            assert_eq!(tree.values().len(), values.len());
            for (&found, &expected) in tree.values().iter().zip(values) {
                close_to(found, expected, FORMULA);
            }
        }
    }

    #[test]
    fn a_threshold_belongs_to_its_left() {
        let tree = Tree::fit(&points(), Limits { max_splits: 1, min_leaf: 1 }).unwrap();
        assert_eq!([0.0, 9500.0, 9501.0, 1e9].map(|x| tree.predict(x)), [340.5, 340.5, 6300.0, 6300.0]);
    }

    #[test]
    fn order_of_the_points_does_not_matter() {
        let backwards: Vec<(f64, f64)> = points().into_iter().rev().collect();
        assert_eq!(Tree::fit(&backwards, Limits::default()), Tree::fit(&points(), Limits::default()));
    }

    #[test]
    fn equal_values_are_one_leaf() {
        let flat: Vec<(f64, f64)> = (0..10).map(|i| (f64::from(i), 0.1)).collect();
        let tree = Tree::fit(&flat, Limits { max_splits: 7, min_leaf: 1 }).unwrap();
        assert_eq!((tree.thresholds().len(), tree.values()), (0, [0.1].as_slice()));
    }

    #[test]
    fn points_of_one_x_stay_together() {
        let column = [(1.0, 5.0), (1.0, 7.0), (1.0, 9.0), (2.0, 9.0)];
        let tree = Tree::fit(&column, Limits { max_splits: 7, min_leaf: 1 }).unwrap();
        assert_eq!((tree.thresholds(), tree.values()), ([1.5].as_slice(), [7.0, 9.0].as_slice()));
    }

    #[test]
    fn neighbouring_doubles_are_separated() {
        let (a, b) = (1.0f64, 1.0f64.next_up());
        let tree = Tree::fit(&[(a, 1.0), (b, 2.0)], Limits { max_splits: 1, min_leaf: 1 }).unwrap();
        assert_eq!((tree.predict(a), tree.predict(b)), (1.0, 2.0));
    }

    #[test]
    fn impossible_figures_are_named() {
        let refused = |points: &[(f64, f64)], min_leaf| {
            Tree::fit(points, Limits { max_splits: 1, min_leaf }).unwrap_err().to_string()
        };
        assert_eq!(refused(&[], 1), "there are no points");
        assert_eq!(refused(&[(1.0, 2.0)], 0), "points of a leaf must be at least 1, is 0");
        assert_eq!(refused(&[(1.0, 2.0), (f64::NAN, 2.0)], 1), "x of point 1 must be finite, is NaN");
    }

    fn squared_error(points: &[(f64, f64)], predict: impl Fn(f64) -> f64) -> f64 {
        points.iter().map(|&(x, y)| (y - predict(x)).powi(2)).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_split_reduces_the_error(points in prop::collection::vec((0u8..30, 0u8..100), 1..40)) {
            let points: Vec<(f64, f64)> = points.into_iter().map(|(x, y)| (x.into(), y.into())).collect();
            let trees: Vec<Tree> = (0..8)
                .map(|max_splits| Tree::fit(&points, Limits { max_splits, min_leaf: 2 }).unwrap())
                .collect();
            for pair in trees.windows(2) {
                let [before, after] = [0, 1].map(|i| squared_error(&points, |x| pair[i].predict(x)));
                if pair[1].thresholds().len() > pair[0].thresholds().len() {
                    prop_assert!(after < before);
                } else {
                    prop_assert_eq!(&pair[0], &pair[1]);
                }
            }
        }

        #[test]
        fn leaves_have_the_points_they_need(points in prop::collection::vec((0u8..30, 0u8..100), 3..40)) {
            let points: Vec<(f64, f64)> = points.into_iter().map(|(x, y)| (x.into(), y.into())).collect();
            let tree = Tree::fit(&points, Limits { max_splits: 7, min_leaf: 3 }).unwrap();
            for leaf in 0..tree.values().len() {
                let here = |x: f64| tree.thresholds().partition_point(|&threshold| threshold < x) == leaf;
                prop_assert!(points.iter().filter(|point| here(point.0)).count() >= 3);
            }
        }
    }
}
