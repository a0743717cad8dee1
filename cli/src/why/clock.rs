//! The time that lines take by the clock, beside what is said of them.
//!
//! Takes a profile with samples, gives shares of them by line as the others here name it. Samples on lines that nothing
//! is said of are only in the whole.

use std::collections::HashMap;

use crate::{
    document::Value,
    profile::Profile,
    report::{Analysis, Grouping, Inlined},
};

use super::places::place;

/// Samples by line; empty where there is no clock.
#[derive(Default)]
pub struct Shares {
    lines: HashMap<String, u64>,
    all: u64,
}

impl Shares {
    pub fn from_profile(profile: &Profile) -> Self {
        if profile.clock.is_none() {
            return Self::default();
        }
        let analysis = Analysis::new(profile, Grouping::Lines(Inlined::Own));
        let with_line = analysis.rows.iter().filter(|row| row.line > 0);
        let lines = with_line.map(|row| (place(row), row.own.clock)).collect();
        Self { lines, all: analysis.total.clock }
    }

    /// Whether there are any.
    pub fn are_known(&self) -> bool {
        self.all > 0
    }

    /// Of a line; none where there is no clock, and of code without a line, which a clock counts for the line before
    /// it.
    pub fn line(&self, place: &str) -> Option<f64> {
        self.lines.get(place).filter(|_| self.are_known()).map(|samples| *samples as f64 / self.all as f64)
    }

    /// The share of a line as a cell, where there is a column for it.
    pub fn cell(&self, place: &str) -> Option<Value> {
        self.are_known().then(|| Value::or_empty(self.line(place), Value::Share))
    }
}
