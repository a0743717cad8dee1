//! Absolute limits: how large a number may be, whatever it was before.
//!
//! Takes what `dmdprof.toml` or the command line says, gives a [`Ceiling`] per metric of the program and of functions
//! that match a pattern. A soft ceiling warns, a hard one fails. Of metrics of which more is better it is the least
//! that must be reached. Refuses what is no whole number in the metric's unit. Metrics are known by name only, so that
//! one that is added where they are declared can be limited at once.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::metric::{Metric, decimal};
use super::pattern::Pattern;
use crate::report::numbers::Unit;

/// The largest number that is fine, and the largest that is let through with a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceiling {
    pub soft: Option<u128>,
    pub hard: Option<u128>,
}

/// Ceilings by metric.
pub type OfMetric = BTreeMap<Metric, Ceiling>;

/// All ceilings of a case.
#[derive(Clone, Debug, Default)]
pub struct Ceilings {
    /// Of the program.
    pub total: OfMetric,
    /// Of each function that matches, in the order of the file.
    pub rules: Vec<(Pattern, OfMetric)>,
}

/// What of a ceiling was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    Soft(u128),
    Hard(u128),
}

impl Ceiling {
    /// What a number passes; the hard one if both.
    #[must_use]
    pub fn passed(self, metric: Metric, n: u128) -> Option<Passed> {
        let beyond = |bound: &u128| if metric.more_is_better() { n < *bound } else { n > *bound };
        let hard = self.hard.filter(beyond).map(Passed::Hard);
        hard.or_else(|| self.soft.filter(beyond).map(Passed::Soft))
    }

    /// The bound that is met first.
    #[must_use]
    pub fn first(self) -> u128 {
        self.soft.or(self.hard).unwrap_or_default()
    }

    /// With what a later one says.
    fn and(self, later: Ceiling) -> Ceiling {
        Ceiling { soft: later.soft.or(self.soft), hard: later.hard.or(self.hard) }
    }
}

impl Ceilings {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total.is_empty() && self.rules.is_empty()
    }

    /// Adds later ones, which win over these.
    pub fn extend(&mut self, later: Ceilings) {
        for (metric, ceiling) in later.total {
            let own = self.total.entry(metric).or_default();
            *own = own.and(ceiling);
        }
        self.rules.extend(later.rules);
    }
}

/// The bound of a metric that a text says: `40 MiB`, `2e8`, `<= 1_000`, `50%` of utilisation.
///
/// # Errors
/// What to write instead.
pub fn bound(metric: Metric, text: &str) -> Result<u128, String> {
    let sign = if metric.more_is_better() { ">=" } else { "<=" };
    let unit = metric.kind().unit;
    let number = text.trim().strip_prefix(sign).unwrap_or(text).trim();
    let found = match number.strip_suffix('%') {
        Some(percent) if unit == Unit::Share => decimal(percent.trim_end(), 2),
        None if unit != Unit::Share => metric.number(number).or_else(|| scientific(number).filter(|_| unit.is_whole())),
        _ => None,
    };
    found.ok_or_else(|| {
        let example = if unit == Unit::Count { "2e8, without a unit" } else { unit.example() };
        format!("{text:?} is no bound of {metric}; use a number such as {example}")
    })
}

/// `2e8`, `1.5e9`: whole numbers only, without rounding.
fn scientific(text: &str) -> Option<u128> {
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    decimal(mantissa, exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?)
}

/// A bound on the command line: `fills(32KiB)<=40MiB`, `utilisation>=50%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated(pub Metric, pub u128);

impl FromStr for Stated {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let form = "expected METRIC<=NUMBER, as in 'cost<=2e8' or 'fills(32KiB)<=40MiB'";
        let (at, sign) = ["<=", ">="].iter().find_map(|sign| Some((text.find(sign)?, *sign))).ok_or(form)?;
        let metric: Metric = text[..at].trim().parse()?;
        if metric.more_is_better() != (sign == ">=") {
            let right = if metric.more_is_better() { "at least (>=)" } else { "at most (<=)" };
            return Err(format!("{metric} is to be {right} a number"));
        }
        Ok(Stated(metric, bound(metric, &text[at + sign.len()..])?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_whole_numbers_in_the_metrics_unit() {
        let of = |metric: &str, text: &str| bound(metric.parse().unwrap(), text);
        assert_eq!(of("fills(32KiB)", "40 MiB"), Ok(40 << 20));
        assert_eq!(of("fills(32KiB)", "<= 40MiB"), Ok(40 << 20));
        assert_eq!(
            (of("cost", "2e8"), of("cost", "1.25e2"), of("cost", "1_000")),
            (Ok(200_000_000), Ok(125), Ok(1000))
        );
        assert_eq!((of("utilisation", "50%"), of("utilisation", ">= 12.5%")), (Ok(5000), Ok(1250)));
        for (metric, text) in [
            ("cost", "40MiB"),
            ("cost", "1.5"),
            ("cost", "1.255e2"),
            ("cost", "2e-8"),
            ("cost", "1e99"),
            ("cost", ""),
            ("cost", "5%"),
            ("cost", ">= 5"),
            ("read", "-1"),
            ("utilisation", "50"),
            ("utilisation", "0.001%"),
        ] {
            assert!(of(metric, text).unwrap_err().contains("no bound"), "{metric} {text}");
        }
    }

    #[test]
    fn the_command_line_states_a_direction() {
        assert_eq!("cost <= 2e8".parse(), Ok(Stated(Metric::COST, 200_000_000)));
        assert!("cost>=2".parse::<Stated>().unwrap_err().contains("at most"));
        assert!("utilisation<=50%".parse::<Stated>().unwrap_err().contains("at least"));
        assert!("cost=2".parse::<Stated>().unwrap_err().contains("expected METRIC<=NUMBER"));
        assert!("costs<=2".parse::<Stated>().unwrap_err().contains("there is no metric"));
    }

    #[test]
    fn the_edge_is_fine_and_the_hard_one_is_told() {
        let both = Ceiling { soft: Some(10), hard: Some(20) };
        let of = |n| both.passed(Metric::COST, n);
        assert_eq!(
            (of(10), of(11), of(20), of(21)),
            (None, Some(Passed::Soft(10)), Some(Passed::Soft(10)), Some(Passed::Hard(20)))
        );
        let least = Ceiling { soft: None, hard: Some(5000) };
        let share = Metric::Utilisation(1 << 15);
        assert_eq!((least.passed(share, 5000), least.passed(share, 4999)), (None, Some(Passed::Hard(5000))));
    }

    #[test]
    fn later_ones_win_by_metric_and_kind() {
        let of = |soft, hard| Ceilings { total: [(Metric::COST, Ceiling { soft, hard })].into(), rules: Vec::new() };
        let mut all = of(Some(1), Some(2));
        all.extend(of(None, Some(3)));
        assert_eq!(all.total[&Metric::COST], Ceiling { soft: Some(1), hard: Some(3) });
    }
}
