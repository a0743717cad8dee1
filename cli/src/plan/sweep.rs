//! Ranges and lists: several values for one input, and all combinations of several such inputs.
//!
//! Takes a text, gives values. `1, 2, 4` is a list; `A..B` a range, evenly on a logarithmic scale with whole numbers
//! for counts; `A..B by S` has steps of S, `A..B by xF` factors of F, `A..B in N` N points. What B has as a unit, A may
//! leave out. Refuses ranges that do not go up, lists of nothing, and more than a million combinations.

use anyhow::bail;

use super::input::Input;
use super::unit::Unit;

/// Most points of all inputs together.
pub const MOST: u128 = 1_000_000;
/// Points of a range that does not say how many.
const POINTS: usize = 26;

/// The values that a text means for an input.
///
/// # Errors
/// Values that do not parse or are not allowed; ranges that are none.
pub fn parse(input: &Input, text: &str) -> anyhow::Result<Vec<f64>> {
    let mut values = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once("..") {
            Some((from, rest)) => values.extend(range(input, from, rest)?),
            None => values.push(one(input, part)?),
        }
        too_many(values.len() as u128)?;
    }
    Ok(values)
}

fn one(input: &Input, text: &str) -> anyhow::Result<f64> {
    let value = input.unit.parse(text).map_err(|why| anyhow::anyhow!("{}: {why}", input.key))?;
    input.check(value)
}

fn range(input: &Input, from: &str, rest: &str) -> anyhow::Result<Vec<f64>> {
    let key = input.key;
    if matches!(input.unit, Unit::Word(_)) {
        bail!("{key}: words have no range; write a list");
    }
    let (to, step) = match rest.split_once(" by ").or_else(|| rest.split_once(" in ")) {
        Some((to, step)) => (to.trim(), step.trim()),
        None => (rest.trim(), ""),
    };
    let end = one(input, to)?;
    let unit = to.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | '+' | '-'));
    let start = one(input, from).or_else(|first| one(input, &format!("{from} {unit}")).map_err(|_| first))?;
    if start >= end {
        bail!("{key}: {from}..{to} does not go up; write the smaller one first");
    }
    let values: Vec<f64> = if rest.contains(" in ") {
        let points: usize = step.parse().ok().filter(|n| *n >= 2).ok_or_else(|| {
            anyhow::anyhow!("{key}: {step:?} is no number of points; write at least 2, as in 1..100 in 10")
        })?;
        too_many(points as u128)?;
        spaced(start, end, points)
    } else if let Some(factor) = step.strip_prefix('x') {
        let factor: f64 = factor.trim().parse().unwrap_or(0.0);
        if factor <= 1.0 || !factor.is_finite() || start <= 0.0 {
            bail!("{key}: a factor must be above 1 and the range begin above 0, as in 1..1024 by x2");
        }
        too_many(((end / start).ln() / factor.ln()) as u128)?;
        // A power too large by rounding is still the end.
        (0..).map(|i| start * factor.powi(i)).take_while(|v| *v <= end * (1.0 + 1e-12)).collect()
    } else if !step.is_empty() {
        let step =
            input.unit.parse(step).or_else(|first| input.unit.parse(&format!("{step} {unit}")).map_err(|_| first));
        let step = step.map_err(|why| anyhow::anyhow!("{key}: the step {why}"))?;
        if step <= 0.0 || !step.is_finite() {
            bail!("{key}: the step must be above 0");
        }
        too_many(((end - start) / step) as u128)?;
        (0..).map(|i| start + step * f64::from(i)).take_while(|v| *v <= end + step * 1e-9).collect()
    } else {
        spaced(start, end, POINTS)
    };
    let mut values = values;
    if input.unit == Unit::Count {
        values.iter_mut().for_each(|v| *v = v.round());
    }
    values.dedup();
    Ok(values)
}

/// Evenly, on a logarithmic scale where that is possible.
fn spaced(start: f64, end: f64, points: usize) -> Vec<f64> {
    let last = (points - 1) as f64;
    let at = |i: usize| match i {
        0 => start,
        _ if i + 1 == points => end,
        _ if start > 0.0 => start * (end / start).powf(i as f64 / last),
        _ => start + (end - start) * (i as f64 / last),
    };
    (0..points).map(at).collect()
}

/// # Errors
/// Above [`MOST`].
pub fn too_many(points: u128) -> anyhow::Result<()> {
    if points > MOST {
        bail!("more than a million points ({points}); make the ranges shorter or their steps longer");
    }
    Ok(())
}

/// All combinations, the last axis changing fastest: positions on each axis.
///
/// # Errors
/// More than [`MOST`].
pub fn combinations(lengths: &[usize]) -> anyhow::Result<impl Iterator<Item = Vec<usize>> + use<>> {
    let count = lengths.iter().try_fold(1u128, |all, n| all.checked_mul(*n as u128)).unwrap_or(u128::MAX);
    too_many(count)?;
    let lengths = lengths.to_vec();
    Ok((0..count as usize).map(move |mut number| {
        let mut at = vec![0; lengths.len()];
        for (i, length) in lengths.iter().enumerate().rev() {
            at[i] = number % length;
            number /= length;
        }
        at
    }))
}

#[cfg(test)]
mod tests {
    use super::super::input::Default;
    use super::super::unit::Allowed;
    use super::*;

    const COUNT: Input = Input::new("devices", Unit::Count, Allowed::Positive, Default::Required, "devices");
    const SIZE: Input = Input::new("message", Unit::Bytes, Allowed::NotNegative, Default::Required, "bytes");

    #[test]
    fn lists_and_ranges() {
        assert_eq!(parse(&COUNT, "1, 2, 4").unwrap(), [1.0, 2.0, 4.0]);
        assert_eq!(parse(&COUNT, "1..16 by x2").unwrap(), [1.0, 2.0, 4.0, 8.0, 16.0]);
        assert_eq!(parse(&COUNT, "10..20 by 5, 100").unwrap(), [10.0, 15.0, 20.0, 100.0]);
        assert_eq!(parse(&COUNT, "1..10 in 3").unwrap(), [1.0, 3.0, 10.0]);
        assert_eq!(parse(&SIZE, "1..3 GB by 1 GB").unwrap(), [1e9, 2e9, 3e9]);
        assert_eq!(parse(&SIZE, "1 MB..1 GB by x10").unwrap(), [1e6, 1e7, 1e8, 1e9]);
        let wide = parse(&COUNT, "1..100000").unwrap();
        assert_eq!((wide[0], *wide.last().unwrap()), (1.0, 100_000.0));
        assert!(wide.windows(2).all(|pair| pair[0] < pair[1] && pair[1].fract() == 0.0));
    }

    #[test]
    fn mistakes_are_told() {
        let error = |input, text| parse(input, text).unwrap_err().to_string();
        assert_eq!(error(&COUNT, "8..1"), "devices: 8..1 does not go up; write the smaller one first");
        assert_eq!(
            error(&SIZE, "1 B..10000000 B by 1 B"),
            "more than a million points (9999999); make the ranges shorter or their steps longer"
        );
        assert_eq!(error(&SIZE, "-1 GB"), "message must not be negative, is -1 GB");
        assert!(error(&SIZE, "1..2").contains("has no unit"), "{}", error(&SIZE, "1..2"));
        assert!(combinations(&[1001, 1000]).is_err());
        assert_eq!(combinations(&[2, 2]).unwrap().collect::<Vec<_>>(), [[0, 0], [0, 1], [1, 0], [1, 1]]);
    }
}
