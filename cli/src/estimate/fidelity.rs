//! How good estimates are where times were measured, and estimates corrected by them.
//!
//! Takes pairs of estimate and measured time with names. The correction is fitted to the same pairs, so that its own
//! error says nothing; the error that is reported leaves each pair out of the fit that predicts it.

use dmdprof_models::fidelity::{BAND, Fidelity, Pair, Verdict, compare};
use dmdprof_models::{isotonic, leaves};

use crate::document::{Column, Sheet, Value};
use crate::shared::human;

/// How estimates are corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Calibration {
    /// The monotone function nearest to the measured times: keeps the order
    Isotonic,
    /// A regression tree with at most seven splits
    Tree,
}

/// A function from estimates to times.
pub enum Fit {
    Isotonic(isotonic::Isotonic),
    Tree(leaves::Tree),
}

impl Calibration {
    /// Fits `pairs`; `None` if there are too few to fit anything.
    #[must_use]
    pub fn fit(self, pairs: &[Pair]) -> Option<Fit> {
        let points: Vec<(f64, f64)> = pairs.iter().map(|p| (p.estimate, p.measured)).collect();
        match self {
            Calibration::Isotonic => isotonic::Isotonic::fit(&points).ok().map(Fit::Isotonic),
            Calibration::Tree => leaves::Tree::fit(&points, leaves::Limits::default()).ok().map(Fit::Tree),
        }
    }

    /// Median absolute error of predictions, each by a fit without the pair it predicts; `None` for fewer than three
    /// pairs.
    #[must_use]
    pub fn error_of_left_out(self, pairs: &[Pair]) -> Option<f64> {
        if pairs.len() < 3 {
            return None;
        }
        let predicted = (0..pairs.len()).map(|out| {
            let mut others = pairs.to_vec();
            let left_out = others.remove(out);
            Some(Pair { estimate: self.fit(&others)?.predict(left_out.estimate), measured: left_out.measured })
        });
        compare(&predicted.collect::<Option<Vec<_>>>()?, BAND).ok().map(|f| f.median_absolute)
    }
}

impl Fit {
    #[must_use]
    pub fn predict(&self, estimate: f64) -> f64 {
        match self {
            Fit::Isotonic(fit) => fit.predict(estimate),
            Fit::Tree(tree) => tree.predict(estimate),
        }
    }
}

/// The summary that follows estimates for which there are times; `None` without pairs. Calibrations come with the pairs
/// that they were fitted to.
#[must_use]
pub fn sheet(
    machine: &str,
    pairs: &[Pair],
    calibration: Option<(Calibration, &[Pair])>,
    without_time: usize,
) -> Option<Sheet> {
    let found = compare(pairs, BAND).ok()?;
    let columns = vec![
        Column::new("pairs", ["", "pairs"], 0),
        Column::new("median_absolute_error", ["median", "error"], 0),
        Column::new("within_band", ["within", "17%"], 0),
        Column::new("tau_b", ["Kendall", "tau-b"], 0),
        Column::new("concordant", ["pairs in", "order"], 1),
        Column::new("discordant", ["in opposite", "order"], 1),
        Column::new("tied", ["", "tied"], 1),
        Column::new("verdict", ["", "verdict"], 0),
    ];
    let title = format!("{machine}: Fidelity: estimates beside measured times");
    let mut sheet = Sheet::new(format!("{machine}.fidelity"), title, columns);
    let count = |n: u64| Value::Count(n.into());
    sheet.row([
        count(pairs.len() as u64),
        Value::Share(found.median_absolute),
        Value::Share(found.within_band),
        Value::or_empty(found.tau, Value::Ratio),
        count(found.order.concordant),
        count(found.order.discordant),
        count(found.order.tied),
        Value::Text(word(found.verdict).into()),
    ]);
    sheet.remarks.push(advice(&found));
    if without_time > 0 {
        sheet.remarks.push(format!("{} of the estimates above without a measured time.", without_time));
    }
    if let Some((calibration, fitted)) = calibration {
        const OF: &str = "Calibrated times are fitted to functions and regions; the program, the sum of many, has none";
        sheet.remarks.push(match calibration.error_of_left_out(fitted) {
            Some(error) => {
                format!("{OF}. For a pair left out of the fit the median error is {}.", human::share(error))
            }
            None => format!("{OF}. They are too few to say how well the fit predicts others."),
        });
    }
    Some(sheet)
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Usable => "usable",
        Verdict::RankingOnly => "ranking only",
        Verdict::NotUsable => "not usable",
    }
}

fn advice(found: &Fidelity) -> String {
    match found.verdict {
        Verdict::Usable => "The median error is at most 25%: the estimates may be used as they are.",
        Verdict::RankingOnly => "Ranking only: the estimates put things in the right order, but their sizes are off by more than 25%.",
        Verdict::NotUsable => "Neither the sizes nor the order of the estimates agree with the measured times (or there are too few pairs to say).",
    }
    .into()
}
