//! How far a result is from another.

/// How far a result is from the baseline's.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Largest absolute difference, in the unit of the output.
    pub size: f64,
    /// Why it is infinite.
    pub why: Option<String>,
}

impl Difference {
    #[must_use]
    pub fn none() -> Self {
        Self::from_size(0.0)
    }

    #[must_use]
    pub fn from_size(size: f64) -> Self {
        Difference { size, why: None }
    }

    /// An infinite one.
    #[must_use]
    pub fn because(why: String) -> Self {
        Difference { size: f64::INFINITY, why: Some(why) }
    }
}
