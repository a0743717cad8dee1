//! Fidelity of a model: how far its estimates are from measured times, and whether at least their order is right.
//!
//! Takes pairs of an estimate and a measured value in one unit, gives relative errors, their median, the share within a
//! band, Kendall's tau-b and a verdict in one word. Refuses an empty list, measured values that are not positive and
//! estimates that are negative.
//!
//! Source: Apple Neural Engine book, chapter 18 (fidelity of the cost model); tau-b of Kendall, "The treatment of ties
//! in ranking problems", 1945, counted in O(n log n) as in Knight, 1966. The book's own corpus: 68 shapes, median error
//! 31 %, 11 of 68 within 17 %.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | e_i, m_i | estimate, measured | any, the same |
//! | `e_i / m_i - 1` | error | 1 |
//! | n0, n1, n2 | pairs of pairs in all, with equal estimates, with equal measured values | 1 |
//! | C, D | those in the same order, in opposite orders | 1 |
//!
//! `tau-b = (C - D) / sqrt((n0 - n1)(n0 - n2))`.
//!
//! Edge cases: the median of an even number is the mean of the middle two; tau-b is not defined for fewer than two
//! pairs or where all estimates or all measured values are equal.

use crate::error::{InputError, not_empty, not_negative, positive};

/// Band of the source: errors up to 17 % count as agreement.
pub const BAND: f64 = 0.17;
/// Median absolute error up to which the estimates themselves may be used.
pub const USABLE_ERROR: f64 = 0.25;
/// Tau-b from which on the order may be used: without ties, four of five comparisons are right.
pub const HIGH_TAU: f64 = 0.6;
/// Fewest pairs whose order says anything: two are in the right order by chance every other time.
pub const RANKING_PAIRS: usize = 3;

/// An estimate and what was measured, in the same unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// What the model says.
    pub estimate: f64,
    /// What was measured.
    pub measured: f64,
}

/// How comparisons of two pairs come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// C: estimates and measured values are in the same order.
    pub concordant: u64,
    /// D: they are in opposite orders.
    pub discordant: u64,
    /// Neither: the estimates, the measured values or both are equal.
    pub tied: u64,
}

/// What the estimates may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As they are: the median absolute error is at most [`USABLE_ERROR`].
    Usable,
    /// To order candidates only: the errors are larger, but tau-b is at least [`HIGH_TAU`] over [`RANKING_PAIRS`] pairs
    /// or more.
    RankingOnly,
    /// For nothing.
    NotUsable,
}

/// Agreement of a model with measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Fidelity {
    /// `e / m - 1` of each pair, in the order given.
    pub errors: Vec<f64>,
    /// Median of the absolute errors.
    pub median_absolute: f64,
    /// Share of the pairs whose absolute error is at most the band, 0 to 1.
    pub within_band: f64,
    /// How many comparisons agree.
    pub order: Order,
    /// Kendall's tau-b, -1 to 1; `None` where it is not defined.
    pub tau: Option<f64>,
    /// What the estimates may be used for.
    pub verdict: Verdict,
}

/// Compares estimates with measured values; `band` is the largest absolute error that counts as agreement ([`BAND`]).
///
/// # Errors
///
/// If there are no pairs, a measured value is not positive, or an estimate or the band is negative.
pub fn compare(pairs: &[Pair], band: f64) -> Result<Fidelity, InputError> {
    check(pairs, band)?;
    let errors: Vec<f64> = pairs.iter().map(|pair| pair.estimate / pair.measured - 1.0).collect();
    let median_absolute = median(errors.iter().map(|error| error.abs()).collect());
    let within = errors.iter().filter(|error| error.abs() <= band).count();
    let (order, tau) = kendall(pairs);
    Ok(Fidelity {
        median_absolute,
        within_band: within as f64 / pairs.len() as f64,
        order,
        tau,
        verdict: verdict(median_absolute, tau, pairs.len()),
        errors,
    })
}

fn check(pairs: &[Pair], band: f64) -> Result<(), InputError> {
    not_empty("pairs of estimate and measured value", pairs)?;
    not_negative("band", band)?;
    for (i, pair) in pairs.iter().enumerate() {
        not_negative(format_args!("estimate of pair {i}"), pair.estimate)?;
        positive(format_args!("measured value of pair {i}"), pair.measured)?;
    }
    Ok(())
}

/// The middle value; of an even number the mean of the middle two.
///
/// # Panics
///
/// If there are no values.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { values[middle - 1].midpoint(values[middle]) }
}

fn verdict(median_absolute: f64, tau: Option<f64>, pairs: usize) -> Verdict {
    if median_absolute <= USABLE_ERROR {
        Verdict::Usable
    } else if pairs >= RANKING_PAIRS && tau.is_some_and(|tau| tau >= HIGH_TAU) {
        Verdict::RankingOnly
    } else {
        Verdict::NotUsable
    }
}

/// Knight's count: sorted by estimate, comparisons in opposite orders are the inversions of the measured values.
fn kendall(pairs: &[Pair]) -> (Order, Option<f64>) {
    let mut sorted: Vec<(f64, f64)> = pairs.iter().map(|pair| (pair.estimate, pair.measured)).collect();
    // Not `total_cmp`, for which the two zeros differ.
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("no NaN, checked"));
    let all = comparisons(pairs.len());
    let equal_estimates = comparisons_within_runs(&sorted, |a, b| a.0 == b.0);
    let equal_both = comparisons_within_runs(&sorted, |a, b| a == b);
    let mut measured: Vec<f64> = sorted.into_iter().map(|pair| pair.1).collect();
    let discordant = sort_counting_inversions(&mut measured);
    let equal_measured = comparisons_within_runs(&measured, |a, b| a == b);
    let tied = equal_estimates + equal_measured - equal_both;
    let concordant = all - tied - discordant;
    let scale = ((all - equal_estimates) as f64 * (all - equal_measured) as f64).sqrt();
    let tau = (scale > 0.0).then(|| (concordant as f64 - discordant as f64) / scale);
    (Order { concordant, discordant, tied }, tau)
}

fn comparisons(count: usize) -> u64 {
    let count = count as u64;
    count * count.saturating_sub(1) / 2
}

fn comparisons_within_runs<T>(sorted: &[T], equal: impl Fn(&T, &T) -> bool) -> u64 {
    sorted.chunk_by(equal).map(|run| comparisons(run.len())).sum()
}

/// Merge sort; an inversion is a larger value before a smaller one.
fn sort_counting_inversions(values: &mut [f64]) -> u64 {
    if values.len() < 2 {
        return 0;
    }
    let middle = values.len() / 2;
    let (left, right) = values.split_at_mut(middle);
    let mut inversions = sort_counting_inversions(left) + sort_counting_inversions(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut left = &*left;
    for &value in &*right {
        let not_larger = left.partition_point(|&l| l <= value);
        merged.extend_from_slice(&left[..not_larger]);
        merged.push(value);
        left = &left[not_larger..];
        inversions += left.len() as u64;
    }
    merged.extend_from_slice(left);
    values.copy_from_slice(&merged);
    inversions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{CONVOLUTIONS, prints};
    use crate::stages::{self, Device, Dispatch};
    use proptest::prelude::*;

    fn published(device: Device) -> Fidelity {
        let pairs = CONVOLUTIONS.each_ref().map(|convolution| {
            let (work, bytes) = (convolution.work() as f64, convolution.bytes() as f64);
            let dispatch = Dispatch { work, sparsity: 0.0, bytes, inputs: 0 };
            let estimate = stages::estimate(&device, &dispatch).unwrap().total * 1e6;
            Pair { estimate, measured: convolution.measured }
        });
        compare(&pairs, BAND).unwrap()
    }

    fn pairs(values: &[(f64, f64)]) -> Vec<Pair> {
        values.iter().map(|&(estimate, measured)| Pair { estimate, measured }).collect()
    }

    #[test]
    fn published_analytic_model() {
        let found = published(Device { rate: 3.25e12, bandwidth: 9.0e9, floor: 0.22e-3, setup: 0.0 });
        for (error, percent) in found.errors.iter().zip([-0.48, 15.15, -16.98, 15.60]) {
            prints(100.0 * error, percent, 2);
        }
        prints(100.0 * found.median_absolute, 15.375, 3);
        assert_eq!(found.within_band, 1.0);
        assert_eq!(found.order, Order { concordant: 5, discordant: 1, tied: 0 });
        prints(found.tau.unwrap(), 0.666667, 6);
        assert_eq!(found.verdict, Verdict::Usable);
    }

    #[test]
    fn published_coarse_model() {
        let found = published(Device { rate: 0.8e12, bandwidth: 50e9, floor: 0.0, setup: 0.0 });
        assert_eq!(found.order, Order { concordant: 1, discordant: 2, tied: 3 });
        prints(found.tau.unwrap(), -0.235702, 6);
        assert_eq!(found.verdict, Verdict::NotUsable);
    }

    #[test]
    fn published_corpus_share_within_the_band() {
        let of_68: Vec<Pair> =
            (0..68).map(|i| Pair { estimate: if i < 11 { 1.0 } else { 1.31 }, measured: 1.0 }).collect();
        let found = compare(&of_68, BAND).unwrap();
        prints(100.0 * found.within_band, 16.2, 1);
        prints(100.0 * found.median_absolute, 31.0, 0);
    }

    #[test]
    fn a_model_that_is_off_by_a_factor_still_ranks() {
        let found = compare(&pairs(&[(10.0, 1.0), (20.0, 2.0), (30.0, 3.0)]), BAND).unwrap();
        assert_eq!((found.tau, found.verdict), (Some(1.0), Verdict::RankingOnly));
        let two = compare(&pairs(&[(10.0, 1.0), (20.0, 2.0)]), BAND).unwrap();
        assert_eq!((two.tau, two.verdict), (Some(1.0), Verdict::NotUsable));
        let backwards = compare(&pairs(&[(30.0, 1.0), (20.0, 2.0), (10.0, 3.0)]), BAND).unwrap();
        assert_eq!((backwards.tau, backwards.verdict), (Some(-1.0), Verdict::NotUsable));
    }

    #[test]
    fn order_that_cannot_be_told() {
        assert_eq!(compare(&pairs(&[(1.0, 1.0)]), BAND).unwrap().tau, None);
        assert_eq!(compare(&pairs(&[(1.0, 1.0), (1.0, 2.0)]), BAND).unwrap().tau, None);
        assert_eq!(compare(&pairs(&[(1.0, 2.0), (3.0, 2.0)]), BAND).unwrap().tau, None);
    }

    #[test]
    fn median_of_odd_and_even_numbers() {
        assert_eq!(compare(&pairs(&[(1.5, 1.0), (1.0, 1.0), (0.75, 1.0)]), BAND).unwrap().median_absolute, 0.25);
        assert_eq!(compare(&pairs(&[(1.5, 1.0), (0.75, 1.0)]), BAND).unwrap().median_absolute, 0.375);
    }

    #[test]
    fn impossible_figures_are_named() {
        let refused = |values: &[(f64, f64)]| compare(&pairs(values), BAND).unwrap_err().to_string();
        assert_eq!(refused(&[]), "there are no pairs of estimate and measured value");
        assert_eq!(refused(&[(1.0, 1.0), (1.0, 0.0)]), "measured value of pair 1 must be positive, is 0");
        assert_eq!(refused(&[(-1.0, 1.0)]), "estimate of pair 0 must not be negative, is -1");
    }

    /// Tau-b by its definition: every comparison looked at.
    fn by_definition(pairs: &[Pair]) -> (Order, Option<f64>) {
        let mut order = Order { concordant: 0, discordant: 0, tied: 0 };
        let (mut estimates_differ, mut measured_differ) = (0u64, 0u64);
        for (i, a) in pairs.iter().enumerate() {
            for b in &pairs[i + 1..] {
                let (e, m) = (a.estimate - b.estimate, a.measured - b.measured);
                estimates_differ += u64::from(e != 0.0);
                measured_differ += u64::from(m != 0.0);
                match e * m {
                    product if product > 0.0 => order.concordant += 1,
                    product if product < 0.0 => order.discordant += 1,
                    _ => order.tied += 1,
                }
            }
        }
        let scale = (estimates_differ as f64 * measured_differ as f64).sqrt();
        let tau = (scale > 0.0).then(|| (order.concordant as f64 - order.discordant as f64) / scale);
        (order, tau)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn tau_is_what_its_definition_says(values in prop::collection::vec((0u8..12, 1u8..12), 1..60)) {
            let pairs: Vec<Pair> = values
                .into_iter()
                .map(|(estimate, measured)| Pair { estimate: estimate.into(), measured: measured.into() })
                .collect();
            let found = compare(&pairs, BAND).unwrap();
            prop_assert_eq!((found.order, found.tau), by_definition(&pairs));
        }
    }
}
