//! What a person asks of a sample.
//!
//! Takes `1/N` or a budget, gives what to draw. Refuses rates that mean nothing, with those that do.

use clap::{ArgGroup, Args};
use dmdprof_runtime::{
    analysis::Options,
    observe::sample::{Design, RATES},
};

use super::{budget::Budget, file::Drawn};

/// What to draw of a recording if only `--sample` is said.
const DEFAULT_RATE: &str = "1/64";
const USUAL_ONE_IN: u32 = 64;
/// What stands for `--sample` alone.
const ALONE: &str = "auto";

/// How much to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// What keeps to the budget.
    ByBudget,
    OneIn(u32),
}

const NO_BUDGET: &str = "--budget is for programs with hooks, which look at less to keep to it: an emulated program tells \
                         everything, and --sample=1/N says how much of that is looked at";

/// The options that ask for a sample.
const SAMPLING: &str = "sampling";

/// What to draw.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Sample options", group = ArgGroup::new(SAMPLING).multiple(true))]
pub struct SampleArgs {
    /// Estimate costs, with intervals, from a sample of the lines and of the time
    ///
    /// It looks at one in N of both; without =1/N, of a recording at 1/64, of a run at what keeps to --budget, and at
    /// all of it if it is short.
    #[arg(long, value_name = "1/N", num_args = 0..=1, require_equals = true, default_missing_value = ALONE)]
    #[arg(value_parser = parse_rate, group = SAMPLING)]
    pub sample: Option<Rate>,

    /// With --sample: which sample; the same number gives the same
    #[arg(long, value_name = "N", requires = SAMPLING, default_value_t = 1)]
    pub seed: u64,
}

impl SampleArgs {
    /// What to draw of a recording, if that was asked for.
    #[must_use]
    pub fn design(&self) -> Option<Design> {
        self.sample.map(|rate| match rate {
            Rate::ByBudget => Design::new(USUAL_ONE_IN, self.seed),
            Rate::OneIn(one_in) => Design::new(one_in, self.seed),
        })
    }
}

/// What a program is to draw while it runs.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Sample options")]
pub struct RunSampleArgs {
    #[command(flatten)]
    of: SampleArgs,

    /// Draw a sample with which the run and its analysis take about N times as long as a native run [default: 3x]
    #[arg(long, value_name = "Nx", group = SAMPLING)]
    pub budget: Option<Budget>,
}

impl RunSampleArgs {
    /// Whether a sample was asked for.
    #[must_use]
    pub fn are_given(&self) -> bool {
        self.of.sample.is_some() || self.budget.is_some()
    }

    /// Has an analysis be of a sample, if that was asked for.
    ///
    /// # Errors
    /// A rate and a budget at once, and a budget of a program that does not draw the sample itself.
    pub fn apply(&self, options: &mut Options, drawn: Drawn) -> Result<(), &'static str> {
        if drawn == Drawn::FromRecording {
            options.sample = self.of.design();
            return if self.budget.is_some() { Err(NO_BUDGET) } else { Ok(()) };
        }
        let seed = self.of.seed;
        let one_in = match (self.of.sample, self.budget) {
            (None, None) => return Ok(()),
            (Some(Rate::OneIn(_)), Some(_)) => return Err("--sample=1/N and --budget are two ways to say how much"),
            (Some(Rate::OneIn(one_in)), None) => one_in,
            (Some(Rate::ByBudget) | None, budget) => {
                if let Some(warning) = budget.and_then(Budget::warning) {
                    eprintln!("dmdprof: note: {warning}");
                }
                let budget = budget.unwrap_or(Budget::DEFAULT);
                options.early = budget.early(seed);
                budget.one_in()
            }
        };
        options.sample = Some(Design::new(one_in, seed));
        options.filtered = true;
        Ok(())
    }
}

/// One in how many.
///
/// # Errors
/// What it must be.
fn parse_rate(text: &str) -> Result<Rate, String> {
    if text == ALONE {
        return Ok(Rate::ByBudget);
    }
    let (least, most) = (RATES.start(), RATES.end());
    let one_in = text.strip_prefix("1/").and_then(|one_in| one_in.parse().ok());
    match one_in {
        Some(one_in) if RATES.contains(&one_in) => Ok(Rate::OneIn(one_in)),
        Some(1) => Err("everything is an exact analysis: leave --sample out".into()),
        _ => Err(format!("expected a part from 1/{least} to 1/{most}, as in {DEFAULT_RATE}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is drawn with a rate, a budget and a seed.
    fn drawn(sample: Option<Rate>, budget: Option<&str>) -> Result<Options, &'static str> {
        drawn_by(Drawn::ByProgram, sample, budget)
    }

    fn drawn_by(by: Drawn, sample: Option<Rate>, budget: Option<&str>) -> Result<Options, &'static str> {
        let budget = budget.map(|budget| budget.parse().expect("a budget"));
        let mut options = Options::default();
        let args = RunSampleArgs { of: SampleArgs { sample, seed: 7 }, budget };
        args.apply(&mut options, by).map(|()| options)
    }

    #[test]
    fn a_rate_or_a_budget_says_how_much() {
        let none = drawn(None, None).expect("nothing");
        assert!(none.sample.is_none() && !none.filtered && none.early.is_empty());
        let rate = drawn(Some(Rate::OneIn(16)), None).expect("a rate");
        assert_eq!((rate.sample, rate.early.len()), (Some(Design::new(16, 7)), 0));
        for (sample, budget) in [(Some(Rate::ByBudget), None), (Some(Rate::ByBudget), Some("3x")), (None, Some("3x"))] {
            let by_budget = drawn(sample, budget).expect("a budget");
            assert!(by_budget.filtered && by_budget.early[0].sample.is_none(), "a short run is exact");
            assert_eq!(by_budget.sample.map(|design| design.seed), Some(7));
        }
        assert!(drawn(Some(Rate::OneIn(16)), Some("3x")).is_err_and(|error| error.contains("two ways")));
    }

    #[test]
    fn of_a_program_that_tells_everything_the_analysis_draws() {
        let rate = drawn_by(Drawn::FromRecording, Some(Rate::OneIn(16)), None).expect("a rate");
        assert_eq!((rate.sample, rate.filtered), (Some(Design::new(16, 7)), false));
        let usual = drawn_by(Drawn::FromRecording, Some(Rate::ByBudget), None).expect("the usual rate");
        assert_eq!((usual.sample, usual.early.len()), (Some(Design::new(USUAL_ONE_IN, 7)), 0));
        assert_eq!(drawn_by(Drawn::FromRecording, None, Some("3x")).err(), Some(NO_BUDGET));
    }

    #[test]
    fn rates_are_parts() {
        for (text, one_in) in [("1/64", 64), ("1/2", 2), ("1/256", 256)] {
            assert_eq!(parse_rate(text), Ok(Rate::OneIn(one_in)));
        }
        for wrong in ["0", "1/0", "2", "1/257", "0.5", "1/-3", "64", "", "1/64x", "-1/64"] {
            assert!(parse_rate(wrong).is_err_and(|error| error.contains("1/2 to 1/256")), "{wrong}");
        }
        assert!(parse_rate("1/1").is_err_and(|error| error.contains("leave --sample out")));
    }
}
