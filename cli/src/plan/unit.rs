//! What an input or a figure of a plan counts, how it is written and read.
//!
//! Takes texts as in `24 h`, `429 g/kWh` or `5 %`, gives numbers in base units (seconds, bytes, joules, grams, litres,
//! USD, watts, operations, or a plain number), and back. Units that machine files know are read as there. Refuses a
//! missing unit, one of another kind, and values that the input cannot have, with an example of what to write.

use crate::shared::quantity::{self, Kind};

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    /// Whole things, at least one.
    Count,
    Number,
    /// A part of 1, also written in per cent.
    Share,
    Bytes,
    BytesPerSecond,
    Ops,
    OpsPerSecond,
    OpsPerByte,
    Seconds,
    PerSecond,
    Hertz,
    Watts,
    Joules,
    JoulesPerOp,
    JoulesPerByte,
    Grams,
    GramsPerJoule,
    Litres,
    LitresPerJoule,
    Dollars,
    DollarsPerJoule,
    DollarsPerSecond,
    /// A point in time, as in 2019.8.
    Year,
    /// One of these words; its number is the value.
    Word(&'static [&'static str]),
    /// Names and lists that are no number; never swept.
    Text,
}

/// Which values an input may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    Positive,
    /// Also infinite.
    Lasting,
    NotNegative,
    /// At least 1.
    AtLeastOne,
    /// Any finite number.
    Any,
}

const YEAR: f64 = dmdprof_models::facility::YEAR;
const KWH: f64 = dmdprof_models::facility::KWH;

/// Carbon of grids, grams per kilowatt-hour (mlsysim's defaults).
const GRIDS: [(&str, f64); 6] =
    [("norway", 10.0), ("quebec", 20.0), ("france", 50.0), ("eu", 270.0), ("us", 429.0), ("poland", 820.0)];

impl Unit {
    /// Units besides those of machine files: name and how many base units it is.
    fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Unit::Share => &[("%", 0.01), ("", 1.0)],
            Unit::Ops => &[
                ("op", 1.0),
                ("kop", 1e3),
                ("Mop", 1e6),
                ("Gop", 1e9),
                ("Top", 1e12),
                ("Pop", 1e15),
                ("Eop", 1e18),
                ("flop", 1.0),
                ("Mflop", 1e6),
                ("Gflop", 1e9),
                ("Tflop", 1e12),
            ],
            Unit::OpsPerByte => &[("op/B", 1.0)],
            Unit::Seconds => &[
                ("min", 60.0),
                ("h", 3600.0),
                ("hours", 3600.0),
                ("d", 86_400.0),
                ("days", 86_400.0),
                ("weeks", 604_800.0),
                ("years", YEAR),
                ("year", YEAR),
            ],
            Unit::PerSecond => &[
                ("1/s", 1.0),
                ("/s", 1.0),
                ("/min", 1.0 / 60.0),
                ("/h", 1.0 / 3600.0),
                ("/day", 1.0 / 86_400.0),
                ("/year", 1.0 / YEAR),
            ],
            Unit::Hertz => &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)],
            Unit::Joules => &[
                ("J", 1.0),
                ("pJ", 1e-12),
                ("nJ", 1e-9),
                ("uJ", 1e-6),
                ("mJ", 1e-3),
                ("kJ", 1e3),
                ("MJ", 1e6),
                ("Wh", 3600.0),
                ("kWh", KWH),
                ("MWh", 1e3 * KWH),
                ("GWh", 1e6 * KWH),
            ],
            Unit::Grams => &[("g", 1.0), ("ug", 1e-6), ("mg", 1e-3), ("kg", 1e3), ("t", 1e6), ("kt", 1e9)],
            Unit::GramsPerJoule => &[("g/kWh", 1.0 / KWH), ("kg/kWh", 1e3 / KWH), ("g/J", 1.0)],
            Unit::Litres => &[("l", 1.0), ("ml", 1e-3), ("m3", 1e3)],
            Unit::LitresPerJoule => &[("l/kWh", 1.0 / KWH)],
            Unit::DollarsPerJoule => &[("USD/kWh", 1.0 / KWH), ("USD/MWh", 1e-3 / KWH)],
            Unit::DollarsPerSecond => &[
                ("USD/h", 1.0 / 3600.0),
                ("USD/day", 1.0 / 86_400.0),
                ("USD/month", 12.0 / YEAR),
                ("USD/year", 1.0 / YEAR),
            ],
            Unit::Dollars => &[("kUSD", 1e3), ("MUSD", 1e6)],
            _ => &[],
        }
    }

    /// The kind of machine files that has the same units, if there is one.
    fn kind(self) -> Option<Kind> {
        Some(match self {
            Unit::Bytes => Kind::Bytes,
            Unit::BytesPerSecond => Kind::BytesPerSecond,
            Unit::OpsPerSecond => Kind::OpsPerSecond,
            Unit::Seconds => Kind::Seconds,
            Unit::Watts => Kind::Watts,
            Unit::JoulesPerOp => Kind::JoulesPerOp,
            Unit::JoulesPerByte => Kind::JoulesPerByte,
            Unit::Dollars => Kind::Dollars,
            Unit::Number | Unit::Count | Unit::Year => Kind::Number,
            _ => return None,
        })
    }

    /// As an error message names it, with one to imitate.
    fn wanted(self) -> String {
        let (what, example) = match self {
            Unit::Count => ("a whole number", "8"),
            Unit::Number => ("a number without a unit", "1.5"),
            Unit::Share => ("a part of 1", "5 % or 0.05"),
            Unit::Bytes => ("an amount of data", "1 GB or 32 KiB"),
            Unit::BytesPerSecond => ("a bandwidth", "50 GB/s"),
            Unit::Ops => ("a number of operations", "925 Mop"),
            Unit::OpsPerSecond => ("a rate of operations", "989 Top/s"),
            Unit::OpsPerByte => ("operations per byte", "7.2 op/B"),
            Unit::Seconds => ("a time", "500 ns, 24 h or 3 years"),
            Unit::PerSecond => ("a rate", "20 /s or 100000 /year"),
            Unit::Hertz => ("a clock", "1.43 GHz"),
            Unit::Watts => ("a power", "700 W"),
            Unit::Joules => ("an energy", "4.8 MWh"),
            Unit::JoulesPerOp => ("an energy per operation", "25 pJ/op"),
            Unit::JoulesPerByte => ("an energy per byte", "360 pJ/B"),
            Unit::Grams => ("a mass", "150 kg"),
            Unit::GramsPerJoule => ("a carbon intensity", "429 g/kWh, or norway, quebec, france, eu, us, poland"),
            Unit::Litres => ("a volume", "10 l"),
            Unit::LitresPerJoule => ("water per energy", "1.8 l/kWh"),
            Unit::Dollars => ("a price", "30000 USD"),
            Unit::DollarsPerJoule => ("a price of energy", "0.12 USD/kWh"),
            Unit::DollarsPerSecond => ("a price per time", "100 USD/day"),
            Unit::Year => ("a year", "2026"),
            Unit::Word(words) => return format!("one of {}", words.join(", ")),
            Unit::Text => ("a text", "\"...\""),
        };
        format!("{what}, as in {example}")
    }

    /// The base unit, as programs get it.
    #[must_use]
    pub fn base(self) -> &'static str {
        match self {
            Unit::Count | Unit::Number | Unit::Share => "1",
            Unit::Bytes => "B",
            Unit::BytesPerSecond => "B/s",
            Unit::Ops => "op",
            Unit::OpsPerSecond => "op/s",
            Unit::OpsPerByte => "op/B",
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::Hertz => "Hz",
            Unit::Watts => "W",
            Unit::Joules => "J",
            Unit::JoulesPerOp => "J/op",
            Unit::JoulesPerByte => "J/B",
            Unit::Grams => "g",
            Unit::GramsPerJoule => "g/J",
            Unit::Litres => "l",
            Unit::LitresPerJoule => "l/J",
            Unit::Dollars => "USD",
            Unit::DollarsPerJoule => "USD/J",
            Unit::DollarsPerSecond => "USD/s",
            Unit::Year => "year",
            Unit::Word(_) | Unit::Text => "",
        }
    }

    /// What a text with this unit means, in base units.
    ///
    /// # Errors
    /// When it is no number, has no unit, one of another kind, or is no word that is known.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let refuse = |why: String| format!("{why}; write {}", self.wanted());
        if let Unit::Word(words) = self {
            let found = words.iter().position(|word| *word == text);
            return found.map(|i| i as f64).ok_or_else(|| refuse(format!("{text:?} is unknown")));
        }
        if let (Unit::GramsPerJoule, Some((_, grams))) = (self, GRIDS.iter().find(|(name, _)| *name == text)) {
            return Ok(grams / KWH);
        }
        if text == "infinite" {
            return Ok(f64::INFINITY);
        }
        let split = number_end(text);
        let (number, unit) = (text[..split].trim(), text[split..].trim());
        if let Some((_, scale)) = self.units().iter().find(|(name, _)| *name == unit) {
            let number: f64 = number.parse().map_err(|_| refuse(format!("{text:?} does not begin with a number")))?;
            // By division where that is exact: 5 % is the double nearest to 0.05.
            let value = if *scale < 1.0 { number / scale.recip().round() } else { number * scale };
            return if value.is_finite() { Ok(value) } else { Err(refuse(format!("{text:?} is too large"))) };
        }
        let Some(kind) = self.kind() else {
            let why = if unit.is_empty() { "has no unit".into() } else { format!("has the unit {unit:?}") };
            return Err(refuse(format!("{text:?} {why}")));
        };
        let value = quantity::parse(text, kind).map_err(|error| {
            let message = error.to_string();
            refuse(message.split_once("; write ").map_or(message.clone(), |(why, _)| why.to_owned()))
        })?;
        if self == Unit::Count && value.fract() != 0.0 {
            return Err(refuse(format!("{text:?} is not whole")));
        }
        Ok(value)
    }

    /// For people: four significant digits and the unit.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        if value.is_infinite() && !matches!(self, Unit::Word(_)) {
            return if value > 0.0 { "infinite".into() } else { "-infinite".into() };
        }
        match self {
            Unit::Word(words) => words.get(value as usize).copied().unwrap_or("?").into(),
            Unit::Share => format!("{} %", digits(value * 100.0)),
            Unit::Count => crate::shared::human::grouped(value as u128),
            Unit::Number => digits(value),
            Unit::Year => format!("{value:.1}"),
            Unit::Seconds if value.abs() >= 300.0 => {
                let step = match value.abs() {
                    v if v >= YEAR => ("years", YEAR),
                    v if v >= 3.0 * 86_400.0 => ("days", 86_400.0),
                    v if v >= 3.0 * 3600.0 => ("h", 3600.0),
                    _ => ("s", 1.0),
                };
                format!("{} {}", digits(value / step.1), step.0)
            }
            Unit::GramsPerJoule => format!("{} g/kWh", digits(value * KWH)),
            Unit::LitresPerJoule => format!("{} l/kWh", digits(value * KWH)),
            Unit::DollarsPerJoule => format!("{} USD/kWh", digits(value * KWH)),
            Unit::DollarsPerSecond => format!("{} USD/day", digits(value * 86_400.0)),
            Unit::Dollars => format!("{} USD", digits(value)),
            Unit::PerSecond => format!("{} /s", digits(value)),
            Unit::OpsPerByte => format!("{} op/B", digits(value)),
            Unit::Joules if value.abs() >= KWH => {
                scaled(value, &[("kWh", KWH), ("MWh", 1e3 * KWH), ("GWh", 1e6 * KWH)])
            }
            Unit::Joules => scaled(
                value,
                &[("pJ", 1e-12), ("nJ", 1e-9), ("uJ", 1e-6), ("mJ", 1e-3), ("J", 1.0), ("kJ", 1e3), ("MJ", 1e6)],
            ),
            Unit::Grams => scaled(value, &[("ug", 1e-6), ("mg", 1e-3), ("g", 1.0), ("kg", 1e3), ("t", 1e6)]),
            Unit::Litres => scaled(value, &[("ml", 1e-3), ("l", 1.0), ("m3", 1e3)]),
            Unit::Hertz => scaled(value, &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)]),
            Unit::Ops => scaled(
                value,
                &[("op", 1.0), ("kop", 1e3), ("Mop", 1e6), ("Gop", 1e9), ("Top", 1e12), ("Pop", 1e15), ("Eop", 1e18)],
            ),
            _ => self.kind().map_or_else(|| digits(value), |kind| quantity::rounded(value, kind)),
        }
    }
}

/// Where a number at the start of a text ends.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let exponent = |at: usize| {
        matches!(bytes[at], b'e' | b'E')
            && (digit(at + 1) || (matches!(bytes.get(at + 1), Some(b'+' | b'-')) && digit(at + 2)))
    };
    let of_number = |at: usize| {
        digit(at)
            || bytes[at] == b'.'
            || exponent(at)
            || (matches!(bytes[at], b'+' | b'-') && (at == 0 || matches!(bytes[at - 1], b'e' | b'E')))
    };
    (0..bytes.len()).find(|at| !of_number(*at)).unwrap_or(bytes.len())
}

/// With the largest step that is not above the value.
fn scaled(value: f64, steps: &[(&str, f64)]) -> String {
    let fitting = steps.iter().rev().find(|(_, step)| value.abs() >= *step);
    let (name, step) = if value == 0.0 { steps.iter().find(|s| s.1 == 1.0) } else { fitting }.unwrap_or(&steps[0]);
    format!("{} {name}", digits(value / step))
}

/// Four significant digits, without zeros that say nothing; powers of ten where it gets long.
#[must_use]
pub fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let exponent = value.abs().log10().floor() as i32;
    if !(-4..9).contains(&exponent) {
        let text = format!("{value:.3e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", trimmed(mantissa));
    }
    trimmed(&format!("{value:.*}", usize::try_from(3 - exponent).unwrap_or(0)))
}

fn trimmed(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text.into() }
}

impl Allowed {
    /// # Errors
    /// When the value is not allowed; `unit` says how it is written.
    pub fn check(self, value: f64, unit: Unit) -> Result<f64, String> {
        let shown = || unit.show(value);
        match self {
            _ if value.is_nan() => Err("is no number".into()),
            Allowed::Lasting if value == f64::INFINITY => Ok(value),
            _ if value.is_infinite() => Err("must be finite".into()),
            Allowed::Positive | Allowed::Lasting if value <= 0.0 => Err(format!("must be above 0, is {}", shown())),
            Allowed::NotNegative if value < 0.0 => Err(format!("must not be negative, is {}", shown())),
            Allowed::AtLeastOne if value < 1.0 => Err(format!("must be at least 1, is {}", digits(value))),
            _ if unit == Unit::Share && value > 1.0 && self != Allowed::Any => {
                Err(format!("must be at most 1 (100 %), is {}", digits(value)))
            }
            // Beyond this not every whole number is a double.
            _ if unit == Unit::Count && value > 9e15 => Err(format!("is too many: {}", digits(value))),
            _ => Ok(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_mean_what_they_say() {
        let good = [
            ("24 h", Unit::Seconds, 86_400.0),
            ("500 ns", Unit::Seconds, 500e-9),
            ("3 years", Unit::Seconds, 3.0 * YEAR),
            ("1 GB", Unit::Bytes, 1e9),
            ("2 KiB", Unit::Bytes, 2048.0),
            ("5 %", Unit::Share, 0.05),
            ("0.05", Unit::Share, 0.05),
            ("8", Unit::Count, 8.0),
            ("8e3", Unit::Count, 8000.0),
            ("429 g/kWh", Unit::GramsPerJoule, 429.0 / KWH),
            ("us", Unit::GramsPerJoule, 429.0 / KWH),
            ("0.12 USD/kWh", Unit::DollarsPerJoule, 0.12 / KWH),
            ("1.43 GHz", Unit::Hertz, 1.43e9),
            ("100 /s", Unit::PerSecond, 100.0),
            ("infinite", Unit::Seconds, f64::INFINITY),
            ("-5", Unit::Number, -5.0),
            ("tree", Unit::Word(&["ring", "tree"]), 1.0),
            ("4.8 MWh", Unit::Joules, 4.8 * 1e3 * KWH),
        ];
        for (text, unit, value) in good {
            assert_eq!(unit.parse(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn wrong_units_do_not_parse() {
        let bad = [
            ("24", Unit::Seconds),
            ("24 GB", Unit::Seconds),
            ("1 GB/s", Unit::Bytes),
            ("1", Unit::Bytes),
            ("8 B", Unit::Count),
            ("1.5", Unit::Count),
            ("12 %", Unit::Number),
            ("429", Unit::GramsPerJoule),
            ("429 g", Unit::GramsPerJoule),
            ("mars", Unit::GramsPerJoule),
            ("many", Unit::Seconds),
            ("star", Unit::Word(&["ring", "tree"])),
            ("1e999 GHz", Unit::Hertz),
        ];
        let messages: Vec<String> = bad.iter().map(|(text, unit)| unit.parse(text).expect_err(text)).collect();
        insta::assert_snapshot!(messages.join("\n"));
    }

    #[test]
    fn figures_for_people() {
        let cases = [
            (0.035007, Unit::Seconds, "35.01 ms"),
            (36_000.0, Unit::Seconds, "10 h"),
            (1.734e10, Unit::Joules, "4.817 MWh"),
            (2_066_448.384, Unit::Grams, "2.066 t"),
            (7591.72615, Unit::Dollars, "7592 USD"),
            (204.8, Unit::Number, "204.8"),
            (1e-7, Unit::Dollars, "1e-7 USD"),
            (0.05, Unit::Share, "5 %"),
            (100_000.0, Unit::Count, "100,000"),
            (f64::INFINITY, Unit::Seconds, "infinite"),
            (0.0, Unit::Joules, "0 J"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(unit.show(value), text);
        }
    }
}
