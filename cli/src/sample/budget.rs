//! From a budget to what is drawn, and when.
//!
//! Takes how many times as long as a native run all may take. Gives the rate of long runs and, for shorter ones, denser
//! samples and an exact analysis, each with the number of accesses up to which it is made. Only counts decide, so that
//! a seed gives one profile; what an access takes is assumed. Refuses budgets below what gates take.

use std::str::FromStr;

use dmdprof_runtime::{
    analysis::Early,
    observe::sample::{Design, RATES},
};

use crate::shared::human;

/// Native code takes so long for an access, in picoseconds; of the seven programs of docs/sampling.md.
const NATIVE: u64 = 1_000;
/// The analysis of a sample takes so long for an access that it looks at.
const LOOKED_AT: u64 = 150_000;
/// An exact analysis takes so long for an access.
const EXACT: u64 = 30_000;
/// Of the accesses so many parts are looked at, each one in N: bursts, quick sets, slow ones, and the fixed set.
const PARTS: u64 = 4;
/// Bursts that a sample should have. Fewer than 16 leave groups without one.
const BURSTS: u64 = 32;
/// Denser samples are a factor of this apart, so that all of them take little more than the densest.
const FACTOR: u32 = 4;

/// How many times as long as a native run a run may take, with its analysis: a hundredth is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(u64);

impl Budget {
    /// The usual one.
    pub const DEFAULT: Budget = Budget(300);
    /// Gates alone take about twice as long as native code.
    const LEAST: u64 = 200;
    /// An exact analysis takes no longer.
    const MOST: u64 = 100 * EXACT / NATIVE;

    /// The rate of long runs: the densest one that keeps to the budget, or the sparsest one.
    #[must_use]
    pub fn one_in(self) -> u32 {
        let sparsest = *RATES.end();
        let rates = RATES.start().ilog2()..=sparsest.ilog2();
        let keeps_to_it = |rate: &u32| hundredths(*rate) <= self.0;
        rates.map(|power| 1 << power).find(keeps_to_it).unwrap_or(sparsest)
    }

    /// Analyses for runs that are shorter, shortest first.
    #[must_use]
    pub fn early(self, seed: u64) -> Vec<Early> {
        let mut early = Vec::new();
        let mut next = self.one_in();
        loop {
            let until = BURSTS * Design::new(next, seed).period();
            let denser = (next / FACTOR).max(1);
            let is_worth_it = PARTS * LOOKED_AT < EXACT * u64::from(denser);
            let sample = is_worth_it.then(|| Design::new(denser, seed));
            early.push(Early { sample, until });
            if sample.is_none() {
                early.reverse();
                return early;
            }
            next = denser;
        }
    }

    /// What to tell a person whose budget is less than a sample can do with.
    #[must_use]
    pub fn warning(self) -> Option<String> {
        let needed = hundredths(self.one_in());
        (needed > self.0).then(|| {
            format!(
                "a budget of {self} is less than the sparsest sample, 1 in {}, takes: about {}",
                self.one_in(),
                Budget(needed)
            )
        })
    }
}

/// What the analysis of a sample takes of the time of native code, in hundredths; it runs beside the program.
fn hundredths(one_in: u32) -> u64 {
    (100 * PARTS * LOOKED_AT).div_ceil(NATIVE * u64::from(one_in))
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.0 / 100, self.0 % 100) {
            (whole, 0) => write!(f, "{whole}x"),
            (whole, rest) if rest % 10 == 0 => write!(f, "{whole}.{}x", rest / 10),
            (whole, rest) => write!(f, "{whole}.{rest:02}x"),
        }
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let times: Option<f64> = text.strip_suffix('x').and_then(|times| times.parse().ok());
        let hundredths = times.filter(|times| times.is_finite()).map(|times| (times * 100.0).round());
        let (least, most) = (Budget(Self::LEAST), Budget(Self::MOST));
        match hundredths {
            Some(hundredths) if hundredths < Self::LEAST as f64 => Err(format!(
                "a program that draws a sample takes about twice as long as without hooks: from {least} on, as in {}",
                Self::DEFAULT
            )),
            Some(hundredths) if hundredths < Self::MOST as f64 => Ok(Budget(hundredths as u64)),
            Some(_) => Err(format!("an exact analysis takes about {most}: leave --sample and --budget out")),
            None => Err(format!("expected how many times as long as a native run, as in {}", Self::DEFAULT)),
        }
    }
}

/// Says of a run that it was too short for a sample.
#[must_use]
pub fn exact_note(accesses: u64) -> String {
    format!(
        "the run has {} accesses, too few for a sample: it was measured exactly, and nothing is estimated",
        human::count(accesses.into())
    )
}

#[cfg(test)]
mod tests {
    use dmdprof_runtime::abi::sample::STAGES;

    use super::*;

    #[test]
    fn budgets_are_read_as_they_are_written_and_impossible_ones_are_refused() {
        for text in ["2x", "3x", "2.5x", "12.25x"] {
            assert_eq!(text.parse::<Budget>().map(|budget| budget.to_string()), Ok(text.to_owned()));
        }
        for text in ["1x", "1.99x", "0x", "-3x"] {
            assert!(text.parse::<Budget>().is_err_and(|error| error.contains("from 2x on")), "{text}");
        }
        for text in ["", "3", "x", "NaNx", "infx", "1/64", "3 x"] {
            assert!(text.parse::<Budget>().is_err_and(|error| error.contains("as in 3x")), "{text}");
        }
        for text in ["30x", "1000x", "1e300x"] {
            assert!(text.parse::<Budget>().is_err_and(|error| error.contains("leave --sample")), "{text}");
        }
    }

    /// What all analyses of a run of so many accesses take, in picoseconds.
    fn takes(budget: Budget, accesses: u64) -> u64 {
        let last = Early { sample: Some(Design::new(budget.one_in(), 1)), until: u64::MAX };
        let all = budget.early(1).into_iter().chain([last]);
        let each = |early: Early| match early.sample {
            None => EXACT * accesses.min(early.until),
            Some(design) => PARTS * LOOKED_AT * accesses.min(early.until) / u64::from(design.one_in),
        };
        all.map(each).sum()
    }

    #[test]
    fn short_runs_are_exact_and_long_ones_keep_to_the_budget() {
        for budget in (Budget::LEAST..Budget::MOST).map(Budget) {
            let early = budget.early(1);
            assert!(!early.is_empty() && early.len() < STAGES, "{budget}: {early:?}");
            assert_eq!(early[0].sample, None, "{budget}");
            let rates: Vec<u32> = early.iter().map(|early| early.sample.map_or(1, |design| design.one_in)).collect();
            assert!(rates.is_sorted() && rates[rates.len() - 1] < budget.one_in(), "{budget}: {early:?}");
            assert!(early.is_sorted_by_key(|early| early.until), "{budget}: {early:?}");
            // Beside what the last sample takes, at most some seconds.
            let long = 1 << 40;
            let last = long / u64::from(budget.one_in()) * PARTS * LOOKED_AT;
            assert!(takes(budget, long) - last < 4_000_000_000_000, "{budget}: {early:?}");
            assert_eq!(budget.warning().is_some(), last / 10 > budget.0 * long / 1000 * NATIVE, "{budget}");
        }
        assert_eq!(Budget(300).one_in(), 256);
        assert_eq!(Budget(1500).one_in(), 64);
    }
}
