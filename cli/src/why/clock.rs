//! The time that lines take by the clock, beside what is said of them.
//!
//! Takes a profile with samples, gives shares of them by line as the others here name it. Samples on lines that nothing
//! is said of are only in the whole.

use std::collections::HashMap;

use crate::{
    profile::Profile,
    report::{Analysis, Grouping, Inlined, Row},
};

use super::places::place;

/// Samples by line; empty where there is no clock.
#[derive(Default)]
pub struct Shares {
    lines: HashMap<String, u64>,
    all: u64,
}

impl Shares {
    pub fn of(profile: &Profile) -> Self {
        if profile.clock.is_none() {
            return Self::default();
        }
        let analysis = Analysis::new(profile, Grouping::Lines(Inlined::Own));
        let lines = analysis.rows.iter().map(|row| (place(row), row.own.clock)).collect();
        Self { lines, all: analysis.total.clock }
    }

    /// Whether there are any.
    pub fn are_known(&self) -> bool {
        self.all > 0
    }

    /// Of a row of lines; none where there is no clock, and of code without a line, which a clock counts for the line
    /// before it.
    pub fn row(&self, row: &Row) -> Option<f64> {
        self.line(&place(row)).filter(|_| row.line > 0)
    }

    /// Of a line; none where there is no clock.
    pub fn line(&self, place: &str) -> Option<f64> {
        self.are_known().then(|| self.lines.get(place).copied().unwrap_or(0) as f64 / self.all as f64)
    }
}
