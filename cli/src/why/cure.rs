//! One thing that would help, and what it is worth.

/// Part of the pair's bytes that must lie beyond fast memory for a cure that brings touches together.
pub const DEEP: f64 = 0.25;

/// Half of the lines and less is a waste.
pub const POOR_USE: f64 = 0.5;

/// Times that a reader goes over its object before blocks of it are worth their loops.
pub const PASSES: f64 = 3.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Cure {
    pub name: &'static str,
    /// The counts that speak for it.
    pub because: String,
    pub promise: f64,
}
