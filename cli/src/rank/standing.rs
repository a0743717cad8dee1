//! Who may win by one criterion, and who does.
//!
//! Takes the cost of each variant and how far its result is from the baseline's, the baseline first; gives ranks, the
//! pick, and in words why cheaper ones were passed over. The rule is [`dmdprof_models::variants`]. Refuses costs of 0.

use anyhow::bail;
use dmdprof_models::variants::{self, Ranking, Rule, Run, Standing};

use super::difference::Difference;
use crate::shared::human;

/// What variants are ranked by.
#[derive(Clone, Debug, PartialEq)]
pub struct Criterion {
    /// `ByteDMD`, or a machine.
    pub name: String,
    /// Of each variant, in one unit.
    pub costs: Vec<f64>,
    pub ranking: Ranking,
    rule: Rule,
}

impl Criterion {
    /// `zero` says of a variant why a cost of 0 means nothing.
    ///
    /// # Errors
    /// A cost of 0; a rule that is none.
    pub fn new(
        name: impl Into<String>,
        costs: Vec<f64>,
        differences: &[Difference],
        rule: Rule,
        zero: impl FnOnce(usize) -> String,
    ) -> anyhow::Result<Self> {
        if let Some(index) = costs.iter().position(|cost| *cost == 0.0) {
            bail!(zero(index));
        }
        let run = |(cost, difference): (&f64, &Difference)| Run { cost: *cost, difference: difference.size };
        let runs: Vec<Run> = costs.iter().zip(differences).map(run).collect();
        let ranking = variants::rank(&runs, rule)?;
        Ok(Criterion { name: name.into(), costs, ranking, rule })
    }

    /// From 1; `None` for a variant that may not win.
    #[must_use]
    pub fn rank_of(&self, variant: usize) -> Option<usize> {
        self.ranking.order.iter().position(|i| *i == variant).map(|at| at + 1)
    }

    /// All variants: those that may win, the best first, then the others as they were given.
    #[must_use]
    pub fn order(&self) -> Vec<usize> {
        let others = (0..self.costs.len()).filter(|i| self.rank_of(*i).is_none());
        self.ranking.order.iter().copied().chain(others).collect()
    }

    /// Cost as a multiple of the baseline's.
    #[must_use]
    pub fn times_baseline(&self, variant: usize) -> f64 {
        self.costs[variant] / self.costs[0]
    }

    /// A sentence for each variant that is cheaper than the pick.
    #[must_use]
    pub fn passed_over(&self, names: &[String], differences: &[Difference]) -> Vec<String> {
        let pick = self.ranking.winner();
        let cheaper = (0..self.costs.len()).filter(|i| self.costs[*i] < self.costs[pick]);
        cheaper.filter_map(|i| self.reason(&names[i], i, &differences[i])).collect()
    }

    /// `None` for a variant that may win.
    fn reason(&self, name: &str, variant: usize, difference: &Difference) -> Option<String> {
        let size = number(difference.size);
        let why = match (self.ranking.standings[variant], &difference.why) {
            (Standing::Eligible, _) => return None,
            (Standing::TooDifferent, Some(why)) => why.clone(),
            (Standing::TooDifferent, None) => {
                format!("its difference of {size} is above the tolerance of {}", number(self.rule.tolerance))
            }
            (Standing::WithinMargin, _) => format!(
                "it has a difference ({size}) and does not cost {} less than the best without one",
                human::share(self.rule.margin)
            ),
        };
        Some(format!("{}: {name} is cheaper, but may not win: {why}.", self.name))
    }
}

/// A difference or tolerance, as people write it.
#[must_use]
pub fn number(value: f64) -> String {
    if value == 0.0 { "0".into() } else { human::ratio(value) }
}

/// In tables.
#[must_use]
pub fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Eligible => "eligible",
        Standing::TooDifferent => "too different",
        Standing::WithinMargin => "not chosen: within margin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn criterion(runs: &[(f64, Difference)], tolerance: f64) -> anyhow::Result<Criterion> {
        let (costs, differences): (Vec<f64>, Vec<Difference>) = runs.iter().cloned().unzip();
        let rule = Rule { tolerance, ..Rule::default() };
        Criterion::new("ByteDMD", costs, &differences, rule, |i| format!("{i} reads nothing"))
    }

    fn passed_over(runs: &[(f64, Difference)], tolerance: f64) -> Vec<String> {
        let names = ["base", "a", "b", "c"].map(String::from);
        let differences: Vec<Difference> = runs.iter().map(|(_, d)| d.clone()).collect();
        criterion(runs, tolerance).expect("a ranking").passed_over(&names, &differences)
    }

    fn runs() -> [(f64, Difference); 4] {
        [
            (10.0, Difference::none()),
            (9.0, Difference::none()),
            (8.0, Difference::from_size(1e-3)),
            (7.0, Difference::because("exit code 1 instead of 0".into())),
        ]
    }

    #[test]
    fn those_that_may_not_win_come_last_without_a_rank() {
        let found = criterion(&runs(), 0.0).expect("a ranking");
        assert_eq!(found.order(), [1, 0, 2, 3]);
        assert_eq!([0, 1, 2, 3].map(|i| found.rank_of(i)), [Some(2), Some(1), None, None]);
        assert_eq!(found.times_baseline(1), 0.9);
    }

    #[test]
    fn cheaper_ones_are_passed_over_for_a_reason() {
        assert_eq!(
            passed_over(&runs(), 0.0),
            [
                "ByteDMD: b is cheaper, but may not win: its difference of 1.0e-3 is above the tolerance of 0.",
                "ByteDMD: c is cheaper, but may not win: exit code 1 instead of 0.",
            ]
        );
        assert_eq!(passed_over(&runs()[..3], 1e-2), Vec::<String>::new());
        let near = [(10.0, Difference::none()), (9.8, Difference::from_size(1e-9))];
        assert_eq!(
            passed_over(&near, 1e-2),
            [
                "ByteDMD: a is cheaper, but may not win: it has a difference (1.0e-9) and does not cost 5.0% less than the best \
                 without one."
            ]
        );
    }

    #[test]
    fn nothing_is_no_cost() {
        let error = criterion(&[(1.0, Difference::none()), (0.0, Difference::none())], 0.0).expect_err("refused");
        assert_eq!(error.to_string(), "1 reads nothing");
    }
}
