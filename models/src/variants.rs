//! Variant ranking: which of several programs that claim the same result to keep.
//!
//! Takes runs, the baseline first, each with its cost and how far its output is from the baseline's, gives who may win
//! and who does. Equal inputs give equal winners. Refuses costs that are not positive and differences that are negative
//! or NaN; an infinite difference is a result like any other.
//!
//! Source: Apple Neural Engine book, chapter 18 (autotuner), which asks for "a speedup margin"; its size is our choice.
//!
//! Rule: a run is eligible if its difference is at most the tolerance. One whose difference is not 0 must in addition
//! cost at most `(1 - margin)` times the cheapest run without difference, which the baseline is one of. The cheapest
//! eligible run wins; of equal costs the earlier one, so that the baseline stays unless something is better.
//!
//! Units: costs in any, the same for all (seconds, cost units); differences in the unit of the output.

use crate::error::{InputError, at_least, at_most, not_empty, not_negative, positive};

/// What may win.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Largest absolute difference of an output to the baseline's that is acceptable.
    pub tolerance: f64,
    /// Share by which a run with a difference must be cheaper than the best one without, 0 to 1.
    pub margin: f64,
}

impl Default for Rule {
    fn default() -> Rule {
        Rule { tolerance: 0.0, margin: 0.05 }
    }
}

/// One run of the baseline or of a variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Estimated or measured, in any unit.
    pub cost: f64,
    /// Largest absolute difference of an output to the baseline's.
    pub difference: f64,
}

/// Whether a run may win, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    Eligible,
    /// The difference is above the tolerance.
    TooDifferent,
    /// The difference is tolerated, but the run is not cheaper by the margin.
    WithinMargin,
}

/// Who may win and who does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranking {
    /// Of each run, in the order given.
    pub standings: Vec<Standing>,
    /// Eligible runs, best first; never empty, because the baseline is eligible.
    pub order: Vec<usize>,
}

impl Ranking {
    /// The run to keep; 0 is the baseline.
    #[must_use]
    pub fn winner(&self) -> usize {
        self.order[0]
    }
}

/// Ranks runs; the first is the baseline.
///
/// # Errors
///
/// If there are no runs, the baseline has a difference, a cost is not positive, a difference is negative or NaN, the
/// tolerance is negative, or the margin is outside 0 to 1.
pub fn rank(runs: &[Run], rule: Rule) -> Result<Ranking, InputError> {
    check(runs, rule)?;
    let exact = runs.iter().filter(|run| run.difference == 0.0);
    let cheapest_exact = exact.map(|run| run.cost).fold(f64::INFINITY, f64::min);
    let limit = (1.0 - rule.margin) * cheapest_exact;
    let standings: Vec<Standing> = runs.iter().map(|run| standing(run, rule.tolerance, limit)).collect();
    let mut order: Vec<usize> = (0..runs.len()).filter(|&i| standings[i] == Standing::Eligible).collect();
    // The sort is stable: equal costs keep the earlier run first.
    order.sort_by(|&a, &b| runs[a].cost.total_cmp(&runs[b].cost));
    Ok(Ranking { standings, order })
}

fn check(runs: &[Run], rule: Rule) -> Result<(), InputError> {
    not_empty("runs", runs)?;
    not_negative("tolerance", rule.tolerance)?;
    at_most("margin", 1.0, not_negative("margin", rule.margin)?)?;
    for (i, run) in runs.iter().enumerate() {
        positive(format_args!("cost of run {i}"), run.cost)?;
        at_least(format_args!("difference of run {i}"), 0.0, run.difference)?;
    }
    at_most("difference of the baseline", 0.0, runs[0].difference)?;
    Ok(())
}

fn standing(run: &Run, tolerance: f64, limit: f64) -> Standing {
    if run.difference > tolerance {
        Standing::TooDifferent
    } else if run.difference > 0.0 && run.cost > limit {
        Standing::WithinMargin
    } else {
        Standing::Eligible
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Standing::{Eligible, TooDifferent, WithinMargin};

    fn runs(runs: &[(f64, f64)]) -> Vec<Run> {
        runs.iter().map(|&(cost, difference)| Run { cost, difference }).collect()
    }

    fn tolerating(tolerance: f64) -> Rule {
        Rule { tolerance, ..Rule::default() }
    }

    const BASE_A_B_C: [(f64, f64); 4] = [(10.0, 0.0), (9.0, 0.0), (8.0, 1e-3), (9.0, 0.0)];

    #[test]
    fn the_cheapest_exact_run_wins_and_the_earlier_of_equals() {
        let ranking = rank(&runs(&BASE_A_B_C), Rule::default()).unwrap();
        assert_eq!(ranking.winner(), 1);
        assert_eq!(ranking.order, [1, 3, 0]);
        assert_eq!(ranking.standings, [Eligible, Eligible, TooDifferent, Eligible]);
    }

    #[test]
    fn a_tolerated_difference_must_pay_by_the_margin() {
        assert_eq!(rank(&runs(&BASE_A_B_C), tolerating(1e-2)).unwrap().winner(), 2);
        let mut too_dear = BASE_A_B_C;
        too_dear[2].0 = 8.6;
        let ranking = rank(&runs(&too_dear), tolerating(1e-2)).unwrap();
        assert_eq!((ranking.winner(), ranking.standings[2]), (1, WithinMargin));
    }

    #[test]
    fn the_baseline_stays_unless_something_is_better() {
        assert_eq!(rank(&runs(&[(10.0, 0.0), (10.0, 0.0), (9.9, 1e-9)]), tolerating(1.0)).unwrap().winner(), 0);
        assert_eq!(rank(&runs(&[(10.0, 0.0)]), Rule::default()).unwrap().order, [0]);
    }

    #[test]
    fn an_overflowed_output_is_too_different() {
        let ranking = rank(&runs(&[(10.0, 0.0), (1.0, f64::INFINITY)]), tolerating(1e300)).unwrap();
        assert_eq!((ranking.winner(), ranking.standings[1]), (0, TooDifferent));
    }

    #[test]
    fn impossible_figures_are_named() {
        let refused = |list: &[(f64, f64)], rule| rank(&runs(list), rule).unwrap_err().to_string();
        assert_eq!(refused(&[], Rule::default()), "there are no runs");
        assert_eq!(refused(&[(1.0, 0.5)], Rule::default()), "difference of the baseline must be at most 0, is 0.5");
        assert_eq!(
            refused(&[(1.0, 0.0), (1.0, f64::NAN)], Rule::default()),
            "difference of run 1 must be at least 0, is NaN"
        );
        assert_eq!(refused(&[(1.0, 0.0), (0.0, 0.0)], Rule::default()), "cost of run 1 must be positive, is 0");
        let rule = Rule { tolerance: 0.0, margin: 1.5 };
        assert_eq!(refused(&[(1.0, 0.0)], rule), "margin must be at most 1, is 1.5");
    }
}
