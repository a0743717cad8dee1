//! Numbers for people: three or four significant digits with a unit. Machine formats never pass through here.

const COUNT: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
const BYTES: [&str; 7] = [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"];

/// `9999`, `12.35k`, `2.485M`: decimal steps, four digits.
#[must_use]
pub fn count(n: u128) -> String {
    if n < 10_000 { n.to_string() } else { scaled(n, 1000.0, &COUNT, 4) }
}

/// `512 B`, `12.3 KiB`, `1.24 MiB`: steps of 1024, three digits.
#[must_use]
pub fn bytes(n: u128) -> String {
    if n < 1024 { format!("{n} B") } else { scaled(n, 1024.0, &BYTES, 3) }
}

fn scaled(n: u128, base: f64, units: &[&str], digits: usize) -> String {
    let mut value = n as f64;
    let mut unit = 0;
    // The second condition: what would be printed as a full next unit is printed in the next unit.
    while value >= base || fixed(value, digits).parse::<f64>().is_ok_and(|v| v >= base) {
        if unit + 1 == units.len() {
            return format!("{value:.*e}{}", digits - 1, units[unit]);
        }
        value /= base;
        unit += 1;
    }
    format!("{}{}", fixed(value, digits), units[unit])
}

/// So many significant digits, without an exponent.
fn fixed(value: f64, digits: usize) -> String {
    let before = if value < 10.0 {
        1
    } else if value < 100.0 {
        2
    } else if value < 1000.0 {
        3
    } else {
        4
    };
    format!("{value:.*}", digits.saturating_sub(before))
}

/// `0.33`, `12.3`, `1235`, `1.0e-3`: for means and ratios.
#[must_use]
pub fn ratio(value: f64) -> String {
    if value.is_infinite() {
        "inf".into()
    } else if value >= 1e6 {
        scaled(value as u128, 1000.0, &COUNT, 4)
    } else if value != 0.0 && value.abs() < 0.01 {
        format!("{value:.1e}")
    } else {
        fixed(value, 3)
    }
}

/// `45.2%`; a part that rounds to nothing is `<0.1%`, and one that rounds to all is not.
#[must_use]
pub fn percent(part: u128, whole: u128) -> String {
    if whole == 0 {
        return "-".into();
    }
    let value = part as f64 / whole as f64 * 100.0;
    if part > 0 && value < 0.05 { "<0.1%".into() } else { format!("{value:.1}%") }
}

/// [`percent`] of a part of 1.
#[must_use]
pub fn share(part: f64) -> String {
    let value = part * 100.0;
    if part > 0.0 && value < 0.05 { "<0.1%".into() } else { format!("{value:.1}%") }
}

/// `1.65 us`, `231 s`: three digits.
#[must_use]
pub fn seconds(value: f64) -> String {
    decimal(value, "s")
}

/// `2.00 Gop/s`.
#[must_use]
pub fn rate(value: f64) -> String {
    decimal(value, "op/s")
}

/// `84.1 GB/s`: decimal, as vendors and peers count it.
#[must_use]
pub fn bandwidth(value: f64) -> String {
    decimal(value, "B/s")
}

const DECIMAL: [&str; 13] = ["a", "f", "p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// Three digits, decimal prefix, unit.
fn decimal(value: f64, unit: &str) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value} {unit}");
    }
    let plain = DECIMAL.len() / 2;
    let mut step = (value.abs().log10() / 3.0).floor();
    // What would be printed as 1000 of a unit is printed in the next one.
    if fixed(value.abs() / 1000f64.powf(step), 3).parse::<f64>().is_ok_and(|v| v >= 1000.0) {
        step += 1.0;
    }
    match usize::try_from(step as i64 + plain as i64).ok().and_then(|i| DECIMAL.get(i)) {
        Some(prefix) => format!("{} {prefix}{unit}", fixed(value / 1000f64.powf(step), 3)),
        None => format!("{value:.2e} {unit}"),
    }
}

/// `12,345,678`.
#[must_use]
pub fn grouped(n: u128) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `1 function`, `2 functions`.
#[must_use]
pub fn plural(n: u64, one: &str) -> String {
    let s = if n == 1 {
        ""
    } else if one.ends_with("ss") {
        "es"
    } else {
        "s"
    };
    format!("{} {one}{s}", grouped(u128::from(n)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_units() {
        let counts = [
            (0, "0"),
            (9999, "9999"),
            (12_345, "12.35k"),
            (999_949, "999.9k"),
            (999_960, "1.000M"),
            (u128::MAX, "3.403e20E"),
        ];
        for (n, s) in counts {
            assert_eq!(count(n), s);
        }
        let sizes = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (12_600, "12.3 KiB"),
            (1_048_570, "1.00 MiB"),
            (1_000 << 10, "1000 KiB"),
        ];
        for (n, s) in sizes {
            assert_eq!(bytes(n), s);
        }
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123), "123");
        assert_eq!(
            (percent(1, 3), percent(1, 100_000), percent(0, 5), percent(1, 0)),
            ("33.3%".into(), "<0.1%".into(), "0.0%".into(), "-".into())
        );
        assert_eq!(
            (ratio(0.3333), ratio(1234.6), ratio(0.00012), ratio(f64::INFINITY)),
            ("0.33".into(), "1235".into(), "1.2e-4".into(), "inf".into())
        );
        assert_eq!((ratio(0.001), ratio(-0.3333), ratio(0.0)), ("1.0e-3".into(), "-0.33".into(), "0.00".into()));
        let rates =
            [(0.0, "0 s"), (1.6508e-5, "16.5 us"), (9.996e-4, "1.00 ms"), (231.4, "231 s"), (1e-20, "1.00e-20 s")];
        for (value, text) in rates {
            assert_eq!(seconds(value), text);
        }
        assert_eq!((rate(1.536e12), bandwidth(84.07e9)), ("1.54 Top/s".into(), "84.1 GB/s".into()));
        assert_eq!((share(0.5), share(1e-6), share(0.0)), ("50.0%".into(), "<0.1%".into(), "0.0%".into()));
        assert_eq!(
            (plural(1, "access"), plural(2, "access"), plural(3, "module")),
            ("1 access".into(), "2 accesses".into(), "3 modules".into())
        );
    }
}
