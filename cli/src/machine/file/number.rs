//! What a number of a machine file may be.

use toml::de::DeValue;

use crate::shared::quantity::Kind;

/// Which values a number may have.
#[derive(Clone, Copy)]
pub(super) enum Allowed {
    Positive,
    NotNegative,
    /// More than 0, at most 1.
    Share,
}

/// A number that is not a text.
pub(super) fn bare_number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(n) if n.radix() == 10 => n.as_str().parse().ok(),
        DeValue::Float(n) => n.as_str().parse().ok(),
        _ => None,
    }
}

pub(super) fn in_range(number: f64, range: Allowed) -> Result<(), String> {
    let (good, wanted) = match range {
        Allowed::Positive => (number > 0.0, "more than 0"),
        Allowed::NotNegative => (number >= 0.0, "0 or more"),
        Allowed::Share => (number > 0.0 && number <= 1.0, "more than 0 and at most 1"),
    };
    if good && number.is_finite() { Ok(()) } else { Err(format!("must be {wanted}")) }
}

pub(super) fn first_example(kind: Kind) -> &'static str {
    kind.example().split(" or ").next().unwrap_or_default()
}
