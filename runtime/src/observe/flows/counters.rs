//! What reads found, by flow.
//!
//! Takes reads one by one; prices short ones many at a time. Gives their counters. Refuses nothing.

use crate::{
    counts::{
        cell::CellCounters,
        many::{Many, takes},
    },
    engine::Progression,
};

/// What reads found, by flow.
#[derive(Default)]
pub struct FlowCounters {
    found: Vec<CellCounters>,
    /// Reads that wait for their prices.
    many: Many<u32>,
}

impl FlowCounters {
    /// At least so many flows.
    pub fn grow(&mut self, flows: usize) {
        self.found.resize_with(self.found.len().max(flows), CellCounters::default);
    }

    /// A read of `len` bytes right below `above` live ones.
    #[inline]
    pub(super) fn read(&mut self, flow: u32, above: u64, len: u64) {
        if !takes(above, len) {
            self.found[flow as usize].read(above, len);
        } else if !self.many.push(flow, above, len) {
            self.price();
        }
    }

    /// Reads, given by the bytes above each.
    #[inline]
    pub(super) fn read_row(&mut self, flow: u32, row: Progression) {
        self.found[flow as usize].read_row(row);
    }

    /// The bytes of a read that was told of were below so many free places as well.
    pub(super) fn below_holes(&mut self, flow: u32, above: u64, holes: u64, len: u64) {
        self.found[flow as usize].below_holes(Progression::one(above, len), holes);
    }

    fn price(&mut self) {
        let Self { found, many } = self;
        many.each(|flow, read| found[flow as usize].read_priced(read));
    }

    /// Adds what was found elsewhere for the same flows.
    pub fn add(&mut self, other: Self) {
        self.found.iter_mut().zip(other.finish()).for_each(|(own, mut found)| own.merge(&mut found));
    }

    /// Everything that was found, by flow.
    #[must_use]
    pub fn finish(mut self) -> Vec<CellCounters> {
        self.price();
        self.found
    }
}
