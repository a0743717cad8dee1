//! Counts of one array at one level, in elements, under a policy.

use clap::ValueEnum;

use super::model::{Array, Row};

/// What the tile before the first of an entry into a loop is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// The last iteration of the entry before: what it left in the buffer is still there
    #[default]
    Wrap,
    /// Nothing: each entry into the loop starts with an empty buffer
    Reset,
}

impl Policy {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Wrap => "wrap",
            Self::Reset => "reset",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub element: u64,
    pub accesses: u64,
    /// Elements accessed: more than `accesses` where vectors are.
    pub accessed: u64,
    pub fills: u64,
    pub fill_bytes: u64,
    pub refills: u64,
    pub refill_bytes: u64,
    pub footprint: u64,
    pub footprint_bytes: u64,
    pub peak: u64,
    pub peak_bytes: u64,
}

impl Counts {
    #[must_use]
    pub fn from_row(row: &Row, array: &Array, policy: Policy) -> Self {
        let fill_bytes = row.fills + if policy == Policy::Reset { row.kept } else { 0 };
        let refill_bytes = fill_bytes.saturating_sub(row.footprint);
        // An element of which only some bytes were touched is one all the same.
        let elements = |bytes: u64| bytes.div_ceil(array.element.max(1));
        Self {
            element: array.element,
            accesses: row.accesses,
            accessed: elements(row.accessed),
            fills: elements(fill_bytes),
            fill_bytes,
            refills: elements(refill_bytes),
            refill_bytes,
            footprint: elements(row.footprint),
            footprint_bytes: row.footprint,
            peak: elements(row.peak),
            peak_bytes: row.peak,
        }
    }

    /// How often an element is brought in.
    #[must_use]
    pub fn refill_factor(&self) -> Option<f64> {
        (self.footprint_bytes > 0).then(|| self.fill_bytes as f64 / self.footprint_bytes as f64)
    }

    /// How often an element is used each time it is brought in.
    #[must_use]
    pub fn reuse(&self) -> Option<f64> {
        (self.fills > 0).then(|| self.accessed as f64 / self.fills as f64)
    }
}
