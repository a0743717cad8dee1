//! Where a value is on an axis, and the ticks of the axis.
//!
//! Takes an [`Axis`] with any bounds, gives positions from 0 (low end) to 1 (high end), and ticks with labels.

use super::chart::{Axis, Unit};
use super::text::printable;
use crate::shared::human;

/// Ranges below this many decades have no distinct labels; they are widened.
const NARROWEST: f64 = 0.01;
const DECIMAL_STEPS: [i32; 8] = [1, 2, 3, 6, 12, 30, 60, 150];
const BINARY_STEPS: [i32; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const DECIMAL: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];
const BINARY: [&str; 7] = [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"];

pub(super) struct Scale {
    /// Decimal logarithms of the bounds.
    low: f64,
    high: f64,
    binary: bool,
}

/// Positions from 0 to 1.
pub(super) struct Ticks {
    pub major: Vec<(f64, String)>,
    /// Between the labelled ones.
    pub minor: Vec<f64>,
}

impl Scale {
    pub(super) fn new(axis: &Axis) -> Self {
        let logarithm = |v: f64| if v.is_normal() && v > 0.0 { v.log10() } else { 0.0 };
        let (a, b) = (logarithm(axis.min), logarithm(axis.max));
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        let room = if high - low < NARROWEST { 1.0 } else { 0.0 };
        Scale { low: low - room, high: high + room, binary: axis.unit == Unit::BinaryBytes }
    }

    /// 0 and 1 are the ends of the axis; infinite for 0 and infinity, no number for what has no logarithm.
    pub(super) fn position_of(&self, value: f64) -> f64 {
        (value.log10() - self.low) / (self.high - self.low)
    }

    /// Ticks of which at most `most` have labels (but always the two ends, if nothing rounder fits between them).
    pub(super) fn ticks(&self, most: usize) -> Ticks {
        let steps: &[i32] = if self.binary { &BINARY_STEPS } else { &DECIMAL_STEPS };
        let powers = |step| self.powers(step);
        let step = steps.iter().copied().find(|&s| powers(s).len() <= most).unwrap_or(steps[steps.len() - 1]);
        let labelled = powers(step);
        if labelled.len() < 2 {
            return self.narrow_ticks(most);
        }
        let major = labelled.iter().map(|&n| (self.power_at(n), power_label(self.binary, n))).collect();
        let minor = if step > 1 {
            powers(1).into_iter().filter(|n| n % step != 0).map(|n| self.power_at(n)).collect()
        } else if self.binary {
            Vec::new()
        } else {
            self.within_decades(&[2, 3, 4, 5, 6, 7, 8, 9]).iter().map(|&(m, n)| self.digit_at(m, n)).collect()
        };
        Ticks { major, minor }
    }

    /// Ticks of a range with fewer than two powers in it.
    fn narrow_ticks(&self, most: usize) -> Ticks {
        let digits = if self.binary { Vec::new() } else { self.within_decades(&[1, 2, 5]) };
        let major = if (2..=most).contains(&digits.len()) {
            digits.iter().map(|&(m, n)| (self.digit_at(m, n), decimal_label(m, n))).collect()
        } else {
            [(0.0, self.low), (1.0, self.high)].map(|(at, l)| (at, end_label(self.binary, 10f64.powf(l)))).into()
        };
        Ticks { major, minor: Vec::new() }
    }

    /// Exponents, multiples of `step`, of the powers on the axis.
    fn powers(&self, step: i32) -> Vec<i32> {
        let width = f64::from(step) * self.power();
        let first = (self.low / width - 1e-9).ceil() as i32;
        let last = (self.high / width + 1e-9).floor() as i32;
        (first..=last).map(|k| k * step).collect()
    }

    /// Decades from one power to the next.
    fn power(&self) -> f64 {
        if self.binary { 2f64.log10() } else { 1.0 }
    }

    fn power_at(&self, n: i32) -> f64 {
        self.position(f64::from(n) * self.power())
    }

    fn digit_at(&self, digit: u32, n: i32) -> f64 {
        self.position(f64::from(digit).log10() + f64::from(n))
    }

    fn position(&self, logarithm: f64) -> f64 {
        ((logarithm - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Digit and exponent of all `digits` times a power of ten on the axis, ascending.
    fn within_decades(&self, digits: &[u32]) -> Vec<(u32, i32)> {
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let all = decades.flat_map(|n| digits.iter().map(move |&digit| (digit, n)));
        let inside = |&(digit, n): &(u32, i32)| {
            let logarithm = f64::from(digit).log10() + f64::from(n);
            (self.low - 1e-9..=self.high + 1e-9).contains(&logarithm)
        };
        all.filter(inside).collect()
    }
}

/// The label of an axis with its unit.
pub(super) fn caption(axis: &Axis) -> String {
    let unit = match axis.unit {
        Unit::Bytes => "B",
        Unit::PerSecond => "op/s",
        Unit::OpsPerByte => "op/B",
        Unit::BinaryBytes | Unit::Plain => return printable(&axis.label),
    };
    if axis.label.is_empty() { unit.into() } else { format!("{} ({unit})", printable(&axis.label)) }
}

/// A value of an axis, to three digits.
pub(super) fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::BinaryBytes | Unit::Bytes => human::bytes(value as u128),
        Unit::PerSecond => human::rate(value),
        Unit::OpsPerByte => format!("{} op/B", human::ratio(value)),
        Unit::Plain => human::ratio(value),
    }
}

fn power_label(binary: bool, n: i32) -> String {
    if !binary {
        return decimal_label(1, n);
    }
    match usize::try_from(n / 10).ok().and_then(|i| BINARY.get(i)) {
        Some(unit) if n >= 0 => format!("{}{unit}", 1 << (n % 10)),
        _ => format!("2^{n} B"),
    }
}

/// `0.05`, `2`, `100 k`, `1 G`; `1e-6`.
fn decimal_label(digit: u32, n: i32) -> String {
    match usize::try_from(n / 3).ok().and_then(|i| DECIMAL.get(i)) {
        Some(prefix) if n >= 0 => format!("{}{prefix}", digit * 10u32.pow((n % 3) as u32)),
        _ if (-3..0).contains(&n) => format!("{:.*}", n.unsigned_abs() as usize, f64::from(digit) * 10f64.powi(n)),
        _ => format!("{digit}e{n}"),
    }
}

fn end_label(binary: bool, value: f64) -> String {
    if !(1e-3..1e15).contains(&value) {
        format!("{value:.2e}")
    } else if binary {
        human::bytes(value.round() as u128)
    } else {
        human::ratio(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(unit: Unit, min: f64, max: f64, most: usize) -> Vec<String> {
        let axis = Axis { label: String::new(), unit, min, max };
        Scale::new(&axis).ticks(most).major.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        let kib = 1024.0;
        assert_eq!(labels(Unit::BinaryBytes, 64.0, kib, 9), ["64 B", "128 B", "256 B", "512 B", "1 KiB"]);
        assert_eq!(
            labels(Unit::BinaryBytes, 64.0, 64.0 * kib * kib, 9),
            ["1 KiB", "32 KiB", "1 MiB", "32 MiB"],
            "steps of five powers include the units"
        );
        assert_eq!(labels(Unit::PerSecond, 1e8, 1e12, 9), ["100 M", "1 G", "10 G", "100 G", "1 T"]);
        assert_eq!(labels(Unit::OpsPerByte, 0.001, 100.0, 9), ["0.001", "0.01", "0.1", "1", "10", "100"]);
        assert_eq!(labels(Unit::Plain, 1e-9, 1e21, 9), ["1e-6", "1", "1 M", "1 T", "1 E"]);
        assert_eq!(labels(Unit::Bytes, 2e6, 7e6, 9), ["2 M", "5 M"]);
        assert_eq!(labels(Unit::Plain, 2.2, 2.4, 9), ["2.20", "2.40"]);
        assert_eq!(labels(Unit::BinaryBytes, 33_000.0, 60_000.0, 9), ["32.2 KiB", "58.6 KiB"]);
        assert_eq!(labels(Unit::Plain, 5.0, 5.0, 9), ["1", "10"], "widened to 0.5 to 50");
    }

    #[test]
    fn values_have_their_place() {
        let scale = Scale::new(&Axis { label: String::new(), unit: Unit::Bytes, min: 10.0, max: 1e5 });
        assert_eq!((scale.position_of(10.0), scale.position_of(1e3), scale.position_of(1e5)), (0.0, 0.5, 1.0));
        assert_eq!((scale.position_of(0.0), scale.position_of(f64::INFINITY)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(scale.position_of(-1.0).is_nan());
    }
}
