//! Numbers with units, as in `84.07 GB/s`: what machine files say and what reports print.
//!
//! Takes a decimal number, a prefix (k M G T P, m u n p; for bytes also Ki Mi Gi Ti) and the unit of the field; gives
//! SI units. Refuses another field's unit, no unit, and anything else with an example of what to write. A size may be a
//! letter, as in other tools (`32K` is `32 KiB`), and one that is typed ([`parse_size`]) a number of bytes. Parsing is
//! exact to the last bit: prefixes move the decimal point before the number is rounded, so that [`exact`] reads back as
//! what it was.

use std::fmt;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bytes,
    BytesPerSecond,
    OpsPerSecond,
    Seconds,
    JoulesPerByte,
    JoulesPerOp,
    Watts,
    Dollars,
    Years,
    /// Has no unit and is written as a number.
    Number,
}

const KINDS: [Kind; 9] = [
    Kind::Bytes,
    Kind::BytesPerSecond,
    Kind::OpsPerSecond,
    Kind::Seconds,
    Kind::JoulesPerByte,
    Kind::JoulesPerOp,
    Kind::Watts,
    Kind::Dollars,
    Kind::Years,
];

// Of prefixes that mean the same the last is printed.
const LARGE: &[(&str, i32)] = &[("", 0), ("K", 3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const SMALL: &[(&str, i32)] = &[("", 0), ("m", -3), ("µ", -6), ("u", -6), ("n", -9), ("p", -12), ("f", -15)];
const BOTH: &[(&str, i32)] = &[("", 0), ("m", -3), ("k", 3), ("M", 6)];
const NO_PREFIX: &[(&str, i32)] = &[("", 0)];
const BINARY: &[(&str, i32)] = &[("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40)];
/// Of bytes, without the `B`.
const LETTERS: &[(&str, i32)] = &[("k", 10), ("m", 20), ("g", 30), ("t", 40)];

impl Kind {
    /// As an error message names it.
    fn name(self) -> &'static str {
        match self {
            Kind::Bytes => "an amount of data",
            Kind::BytesPerSecond => "a bandwidth",
            Kind::OpsPerSecond => "a rate of operations",
            Kind::Seconds => "a time",
            Kind::JoulesPerByte => "an energy per byte",
            Kind::JoulesPerOp => "an energy per operation",
            Kind::Watts => "a power",
            Kind::Dollars => "a price",
            Kind::Years => "a number of years",
            Kind::Number => "a number without a unit",
        }
    }

    /// One to imitate.
    #[must_use]
    pub fn example(self) -> &'static str {
        match self {
            Kind::Bytes => "\"32 KiB\" or \"2.7 MB\"",
            Kind::BytesPerSecond => "\"84.07 GB/s\"",
            Kind::OpsPerSecond => "\"1.03 Top/s\"",
            Kind::Seconds => "\"0.23 ms\"",
            Kind::JoulesPerByte => "\"5 pJ/B\"",
            Kind::JoulesPerOp => "\"3.7 pJ/op\"",
            Kind::Watts => "\"700 W\"",
            Kind::Dollars => "\"30000 USD\"",
            Kind::Years => "\"2.0 years\"",
            Kind::Number => "0.5",
        }
    }

    /// The first is the one that is printed.
    fn units(self) -> &'static [&'static str] {
        match self {
            Kind::Bytes => &["B"],
            Kind::BytesPerSecond => &["B/s"],
            Kind::OpsPerSecond => &["op/s", "flop/s", "FLOP/s"],
            Kind::Seconds => &["s"],
            Kind::JoulesPerByte => &["J/B"],
            Kind::JoulesPerOp => &["J/op", "J/flop"],
            Kind::Watts => &["W"],
            Kind::Dollars => &["USD"],
            Kind::Years => &["years", "year"],
            Kind::Number => &[""],
        }
    }

    /// Powers of ten.
    fn prefixes(self) -> &'static [(&'static str, i32)] {
        match self {
            Kind::Bytes | Kind::BytesPerSecond | Kind::OpsPerSecond => LARGE,
            Kind::Seconds | Kind::JoulesPerByte | Kind::JoulesPerOp => SMALL,
            Kind::Watts => BOTH,
            Kind::Dollars | Kind::Years | Kind::Number => NO_PREFIX,
        }
    }

    /// Powers of two.
    fn binary_prefixes(self) -> &'static [(&'static str, i32)] {
        if matches!(self, Kind::Bytes | Kind::BytesPerSecond) { BINARY } else { &[] }
    }

    fn scale_of(self, unit: &str) -> Option<Scale> {
        if self == Kind::Bytes
            && let Some((_, e)) = LETTERS.iter().find(|(letter, _)| letter.eq_ignore_ascii_case(unit))
        {
            return Some(Scale::Two(*e));
        }
        let prefix_is = |prefix: &str| {
            let bare = unit.strip_prefix(prefix);
            bare.is_some_and(|bare| self.units().contains(&bare))
        };
        let decimal = self.prefixes().iter().find(|(prefix, _)| prefix_is(prefix)).map(|(_, e)| Scale::Ten(*e));
        let mut binary = self.binary_prefixes().iter();
        let without_b = |prefix: &str| self == Kind::Bytes && prefix == unit;
        decimal.or_else(|| binary.find(|(p, _)| prefix_is(p) || without_b(p)).map(|(_, e)| Scale::Two(*e)))
    }
}

#[derive(Clone, Copy)]
enum Scale {
    Ten(i32),
    Two(i32),
}

/// Why a text is no quantity of the kind that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError(String);

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for QuantityError {}

/// What a number with this unit counts: the value in SI units.
///
/// # Errors
/// When it is no number, has no unit, or one of another kind.
pub fn parse(text: &str, kind: Kind) -> Result<f64, QuantityError> {
    let (number, unit) = split(text.trim());
    let refuse = |why: String| Err(QuantityError(format!("{why}; write {}, as in {}", kind.name(), kind.example())));
    let Some(number) = Decimal::parse(number) else { return refuse(format!("{text:?} does not begin with a number")) };
    if unit.is_empty() && kind != Kind::Number {
        return refuse(format!("{text:?} has no unit"));
    }
    match kind.scale_of(unit) {
        Some(scale) => match number.scaled(scale) {
            value if value.is_finite() => Ok(value),
            _ => refuse(format!("{text:?} is too large")),
        },
        None => refuse(match KINDS.iter().find(|other| other.scale_of(unit).is_some()) {
            Some(other) => format!("{text:?} is {}", other.name()),
            None => format!("{text:?} has the unknown unit {unit:?}"),
        }),
    }
}

/// The number's characters, and what follows. An `e` belongs to the number if digits follow.
fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_exponent = |at: usize| {
        matches!(bytes[at], b'e' | b'E')
            && (digit(at + 1) || (matches!(bytes.get(at + 1), Some(b'+' | b'-')) && digit(at + 2)))
    };
    let of_number = |at: usize| digit(at) || matches!(bytes[at], b'.' | b'+' | b'-') || is_exponent(at);
    let end = (0..bytes.len()).find(|at| !of_number(*at)).unwrap_or(bytes.len());
    (&text[..end], text[end..].trim_start())
}

/// `mantissa * 10^exponent`, not yet rounded to binary.
struct Decimal<'a> {
    mantissa: &'a str,
    exponent: i32,
}

impl<'a> Decimal<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        text.parse::<f64>().ok()?;
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        Some(Decimal { mantissa, exponent: exponent.parse().ok()? })
    }

    fn scaled(&self, scale: Scale) -> f64 {
        let at = |exponent: i32| {
            let text = format!("{}e{}", self.mantissa, self.exponent.saturating_add(exponent));
            text.parse::<f64>().expect("the parts were numbers")
        };
        match scale {
            Scale::Ten(exponent) => at(exponent),
            Scale::Two(exponent) => at(0) * 2f64.powi(exponent),
        }
    }
}

/// The shortest text that [`parse`] turns into exactly this value.
#[must_use]
pub fn exact(value: f64, kind: Kind) -> String {
    let decimal = format!("{value:e}");
    // Capacities are powers of two, rates are not.
    let binary_prefixes = if kind == Kind::Bytes { kind.binary_prefixes() } else { &[] };
    let binary = binary_prefixes.iter().rev().find_map(|(prefix, exponent)| {
        let scaled = value / 2f64.powi(*exponent);
        (scaled >= 1.0).then(|| format!("{scaled} {prefix}{}", kind.units()[0]))
    });
    let decimal = with_prefix(&decimal, kind);
    binary.filter(|binary| binary.len() <= decimal.len()).unwrap_or(decimal)
}

/// For people: four significant digits; counts and whole prices in full.
#[must_use]
pub fn rounded(value: f64, kind: Kind) -> String {
    let text = exact(value, kind);
    if kind.prefixes().len() == 1 && value.fract() == 0.0 {
        return text;
    }
    let digits = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').filter(u8::is_ascii_digit).count();
    if digits <= 4 { text } else { with_prefix(&format!("{value:.3e}"), kind) }
}

/// `d.ddde±x` with the prefix that leaves one to three digits before the point.
fn with_prefix(scientific: &str, kind: Kind) -> String {
    let (mantissa, exponent) = scientific.split_once('e').expect("written with an exponent");
    let exponent: i32 = exponent.parse().expect("a whole number");
    let fitting = kind.prefixes().iter().filter(|(_, e)| *e <= exponent).max_by_key(|(_, e)| *e);
    let smallest = kind.prefixes().iter().min_by_key(|(_, e)| *e);
    let (prefix, step) = fitting.or(smallest).expect("every kind has a prefix, if an empty one");
    let number = moved(mantissa, exponent - step);
    match kind.units()[0] {
        "" => number,
        unit => format!("{number} {prefix}{unit}"),
    }
}

/// Moves the decimal point to the right (to the left if negative), and drops zeros that say nothing.
fn moved(mantissa: &str, places: i32) -> String {
    let (sign, digits) = mantissa.strip_prefix('-').map_or(("", mantissa), |digits| ("-", digits));
    let mut digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    let point = places + 1;
    if point <= 0 {
        digits.insert_str(0, &"0".repeat(1 + point.unsigned_abs() as usize));
    }
    let point = point.max(1) as usize;
    digits.extend(std::iter::repeat_n('0', point.saturating_sub(digits.len())));
    let (whole, fraction) = digits.split_at(point);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// A size of at least a byte: `64`, `64B`, `32 KiB`, `32K`, `2.7 MB`.
///
/// # Errors
/// What to write instead.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let is_bare = split(text.trim()).1.is_empty();
    let bytes = if is_bare { parse(&format!("{text} B"), Kind::Bytes) } else { parse(text, Kind::Bytes) };
    let bytes = bytes.map_err(|e| e.to_string())?;
    match bytes {
        _ if bytes < 1.0 => Err("must be at least 1 B".into()),
        _ if is_bare && bytes.fract() != 0.0 => {
            Err(format!("{text:?} is no whole number of bytes; a unit makes it one, as in 1.5 KiB"))
        }
        _ => Ok(bytes as u64),
    }
}

/// As [`parse_size`], of what is never large, such as a line.
///
/// # Errors
/// What to write instead.
pub fn parse_small_size(text: &str) -> Result<u32, String> {
    parse_size(text)?.try_into().map_err(|_| format!("{text:?} is too large"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units_and_prefixes() {
        let good = [
            ("84.07 GB/s", Kind::BytesPerSecond, 84.07e9),
            ("32 KiB", Kind::Bytes, 32768.0),
            ("27.5MiB", Kind::Bytes, 28_835_840.0),
            ("2.7 MB", Kind::Bytes, 2.7e6),
            ("1 EB", Kind::Bytes, 1e18),
            ("128 B", Kind::Bytes, 128.0),
            ("1.03 Top/s", Kind::OpsPerSecond, 1.03e12),
            ("173 Gop/s", Kind::OpsPerSecond, 173e9),
            ("67 Tflop/s", Kind::OpsPerSecond, 67e12),
            ("0.23 ms", Kind::Seconds, 0.23e-3),
            ("347.8 ns", Kind::Seconds, 347.8e-9),
            ("10 us", Kind::Seconds, 1e-5),
            ("10 µs", Kind::Seconds, 1e-5),
            ("5 pJ/B", Kind::JoulesPerByte, 5e-12),
            ("3.7 pJ/op", Kind::JoulesPerOp, 3.7e-12),
            ("700 W", Kind::Watts, 700.0),
            ("1.2e1 kW", Kind::Watts, 12e3),
            ("30000 USD", Kind::Dollars, 30000.0),
            ("2.0 years", Kind::Years, 2.0),
            ("1 year", Kind::Years, 1.0),
            ("-1 s", Kind::Seconds, -1.0),
        ];
        for (text, kind, value) in good {
            assert_eq!(parse(text, kind), Ok(value), "{text}");
        }
    }

    #[test]
    fn mistakes_say_what_to_write() {
        let bad = [
            ("84 GB", Kind::BytesPerSecond),
            ("84 GB/s", Kind::OpsPerSecond),
            ("84", Kind::Bytes),
            ("84 MX", Kind::Bytes),
            ("84", Kind::Seconds),
            ("84 K", Kind::Seconds),
            ("84 Gb/s", Kind::BytesPerSecond),
            ("many GB", Kind::Bytes),
            ("inf s", Kind::Seconds),
            ("1e999 s", Kind::Seconds),
            ("1.2.3 s", Kind::Seconds),
            ("5 pJ", Kind::JoulesPerByte),
            ("3 KiUSD", Kind::Dollars),
            ("", Kind::Watts),
        ];
        let messages: Vec<String> =
            bad.iter().map(|(text, kind)| parse(text, *kind).expect_err(text).to_string()).collect();
        insta::assert_snapshot!(messages.join("\n"));
    }

    #[test]
    fn printing_is_short_and_exact() {
        let cases = [
            (84.07e9, Kind::BytesPerSecond, "84.07 GB/s", "84.07 GB/s"),
            (32768.0, Kind::Bytes, "32 KiB", "32 KiB"),
            (2.7e6, Kind::Bytes, "2.7 MB", "2.7 MB"),
            (28_835_840.0, Kind::Bytes, "27.5 MiB", "27.5 MiB"),
            (63_888_000.0 * 1024.0 / 1000.0, Kind::Bytes, "65.421312 MB", "65.42 MB"),
            (0.0, Kind::Seconds, "0 s", "0 s"),
            (1e-17, Kind::Seconds, "0.01 fs", "0.01 fs"),
            (3e25, Kind::OpsPerSecond, "30000000 Eop/s", "30000000 Eop/s"),
            (16_896.0, Kind::Number, "16896", "16896"),
            (0.5, Kind::Number, "0.5", "0.5"),
            (0.000_012_345_6, Kind::Seconds, "12.3456 us", "12.35 us"),
        ];
        for (value, kind, long, short) in cases {
            assert_eq!((exact(value, kind).as_str(), rounded(value, kind).as_str()), (long, short));
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_to_the_bit(mantissa in 1.0f64..10.0, exponent in -18i32..20, kind in 0usize..KINDS.len()) {
            let value = mantissa * 10f64.powi(exponent);
            prop_assert_eq!(parse(&exact(value, KINDS[kind]), KINDS[kind]), Ok(value));
        }
    }

    #[test]
    fn sizes() {
        let sizes = [
            ("64", 64),
            ("64B", 64),
            ("64 B", 64),
            ("24 MiB", 24 << 20),
            ("32KiB", 32 << 10),
            ("32Ki", 32 << 10),
            ("32K", 32 << 10),
            ("32k", 32 << 10),
            ("1.5M", 3 << 19),
            ("4G", 4 << 30),
            ("1T", 1 << 40),
            ("1kB", 1000),
            ("1KB", 1000),
            ("2.7 MB", 2_700_000),
            ("1e6", 1_000_000),
        ];
        for (text, bytes) in sizes {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "K", "much", "3X", "0", "0 B", "-1", "64b", "64 Bytes", "1.5"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert_eq!((parse_small_size("64B"), parse_small_size("4G").is_err()), (Ok(64), true));
    }
}
