//! Repeated measurements of one number: the median, and how far they are apart.

use std::fmt;

use crate::machine::model::{Confidence, Figure};

/// Spread above which a number is not trusted.
pub const SPREAD_LIMIT: f64 = 0.1;

/// Not empty, in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// `None` if there are none.
    #[must_use]
    pub fn from_values(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then_some(Samples(values))
    }

    #[must_use]
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Interquartile range over median: the width of the middle half.
    #[must_use]
    pub fn spread(&self) -> f64 {
        (self.quantile(0.75) - self.quantile(0.25)) / self.median()
    }

    /// A number that follows from them, measured in this way. It is an estimate if it is doubtful, or they do not
    /// repeat well enough.
    #[must_use]
    pub fn figure(&self, value: f64, is_doubtful: bool, how: &str) -> Figure {
        let is_shaky = is_doubtful || self.spread() > SPREAD_LIMIT;
        Figure {
            value: four_digits(value),
            confidence: if is_shaky { Confidence::Estimated } else { Confidence::Measured },
            source: format!("{self}, {how}"),
        }
    }

    /// Between samples it is interpolated.
    fn quantile(&self, share: f64) -> f64 {
        let place = share * (self.0.len() - 1) as f64;
        let (below, above) = (self.0[place.floor() as usize], self.0[place.ceil() as usize]);
        below + (above - below) * place.fract()
    }
}

/// `median of 9, spread 2.1 %`.
impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "median of {}, spread {:.1} %", self.0.len(), self.spread() * 100.0)
    }
}

/// As many as a measurement is worth.
fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("written as a number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_spread() {
        let samples = Samples::from_values(vec![4.0, 1.0, 3.0, 2.0, 5.0]).expect("five");
        assert_eq!((samples.median(), samples.spread()), (3.0, 2.0 / 3.0));
        assert_eq!(samples.to_string(), "median of 5, spread 66.7 %");
        let even = Samples::from_values(vec![1.0, 2.0]).expect("two");
        assert_eq!(even.median(), 1.5);
        assert_eq!(Samples::from_values(vec![7.0]).expect("one").spread(), 0.0);
        assert_eq!(Samples::from_values(Vec::new()), None);
    }
}
