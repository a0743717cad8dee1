//! Whether a variant does the same as the baseline.
//!
//! Takes what both runs left, gives the largest absolute difference of their results: 0 if they are equal, infinite
//! with a reason in words if they cannot be set against each other. Exit codes must be equal. If the baseline declares
//! outputs (`dmdprof_output`), their bytes are the result, else what it prints.

use super::Evidence;
use super::difference::Difference;
use super::elements::Elements;
use super::text;

/// How results are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Largest difference that is acceptable; 0: only equal bytes are equal.
    pub tolerance: f64,
    /// What declared outputs consist of.
    pub elements: Elements,
}

#[must_use]
pub fn compare(baseline: &Evidence, variant: &Evidence, how: Comparison) -> Difference {
    let (expected, found) = (baseline.exit(), variant.exit());
    if expected != found {
        return Difference::because(format!("exit code {found} instead of {expected}"));
    }
    if baseline.outputs.is_empty() {
        return text::compare(&baseline.stdout, &variant.stdout, how.tolerance > 0.0);
    }
    outputs(&baseline.outputs, &variant.outputs, how)
}

fn outputs(expected: &[Vec<u8>], found: &[Vec<u8>], how: Comparison) -> Difference {
    if expected.len() != found.len() {
        let plural = if found.len() == 1 { "" } else { "s" };
        let why = format!("declares {} output{plural} instead of {}", found.len(), expected.len());
        return Difference::because(why);
    }
    let mut largest = 0.0;
    for (number, (a, b)) in expected.iter().zip(found).enumerate() {
        let difference = output(number + 1, a, b, how);
        if difference.why.is_some() {
            return difference;
        }
        largest = f64::max(largest, difference.size);
    }
    Difference::from_size(largest)
}

/// `number` counts from 1.
fn output(number: usize, expected: &[u8], found: &[u8], how: Comparison) -> Difference {
    if expected.len() != found.len() {
        let why = format!("output {number} has {} bytes instead of {}", found.len(), expected.len());
        return Difference::because(why);
    }
    if expected == found {
        return Difference::none();
    }
    match how.elements.largest(expected, found) {
        None if how.tolerance > 0.0 => Difference::because(format!(
            "output {number} has {} bytes, which is no whole number of {} (--elements)",
            found.len(),
            how.elements.word()
        )),
        // Not the type that was said, or zeros of both signs; without a tolerance only equal bits are equal.
        None => Difference::because(other_bits(number, expected, found)),
        Some(largest) if largest.difference == 0.0 && how.tolerance == 0.0 => {
            Difference::because(other_bits(number, expected, found))
        }
        Some(largest) if largest.difference.is_infinite() => Difference::because(format!(
            "output {number} is infinitely different, or a NaN on one side, at element {} (counted from 0)",
            largest.element
        )),
        Some(largest) => Difference::from_size(largest.difference),
    }
}

fn other_bits(number: usize, expected: &[u8], found: &[u8]) -> String {
    let same = expected.iter().zip(found).take_while(|(a, b)| a == b).count();
    format!("output {number} has other bits from byte {same} on (counted from 0)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::model::Outcome;
    use crate::profile::sample;

    fn evidence(exit: i32, stdout: &str, outputs: &[&[u8]]) -> Evidence {
        let mut profile = sample::small();
        profile.meta.outcome = Outcome::Exited(exit);
        Evidence { profile, stdout: stdout.into(), outputs: outputs.iter().map(|o| o.to_vec()).collect() }
    }

    fn compared(tolerance: f64, a: &Evidence, b: &Evidence) -> Difference {
        compare(a, b, Comparison { tolerance, elements: Elements::F64 })
    }

    #[test]
    fn exit_codes_go_first() {
        let found = compared(1.0, &evidence(0, "a", &[]), &evidence(1, "b", &[]));
        assert_eq!(found, Difference::because("exit code 1 instead of 0".into()));
        assert_eq!(compared(0.0, &evidence(3, "a", &[]), &evidence(3, "a", &[])), Difference::none());
    }

    #[test]
    fn declared_outputs_go_before_what_is_printed() {
        let (one, more) = (1f64.to_le_bytes(), 1.5f64.to_le_bytes());
        let baseline = evidence(0, "took 3 s", &[&one]);
        assert_eq!(compared(0.0, &baseline, &evidence(0, "took 4 s", &[&one])), Difference::none());
        assert_eq!(compared(0.0, &baseline, &evidence(0, "", &[&more])), Difference::from_size(0.5));
        let why = |outputs: &[&[u8]]| compared(0.0, &baseline, &evidence(0, "", outputs)).why.expect("a reason");
        assert_eq!(why(&[]), "declares 0 outputs instead of 1");
        assert_eq!(why(&[&one, &one]), "declares 2 outputs instead of 1");
        assert_eq!(why(&[&one[..4]]), "output 1 has 4 bytes instead of 8");
        let nan = f64::NAN.to_le_bytes();
        assert!(why(&[&nan]).contains("a NaN on one side, at element 0"));
    }

    #[test]
    fn without_a_tolerance_only_equal_bits_are_equal() {
        let (plus, minus) = (0f64.to_le_bytes(), (-0f64).to_le_bytes());
        let (a, b) = (evidence(0, "", &[&plus]), evidence(0, "", &[&minus]));
        assert_eq!(compared(1e-9, &a, &b), Difference::none());
        assert_eq!(
            compared(0.0, &a, &b).why.as_deref(),
            Some("output 1 has other bits from byte 7 on (counted from 0)")
        );
        let (a, b) = (evidence(0, "", &[b"abc"]), evidence(0, "", &[b"abd"]));
        assert!(compared(0.0, &a, &b).why.expect("a reason").contains("from byte 2 on"));
        assert!(compared(1.0, &a, &b).why.expect("a reason").contains("no whole number of f64"));
    }
}
