//! Which functions run in a ring, and whether what they do counts.
//!
//! Takes what records say of functions and regions; gives the context at hand, and what becomes of those who run.
//! Refuses nothing.

use super::options::Options;
use crate::{
    abi::segment_flag,
    decode::{
        context::{ContextNumber, Contexts, Left},
        locator::{FunctionNumber, Module, SegmentNumber},
        sequences::Sequences,
    },
};

/// Analyzer-wide numbers of a segment and its function.
#[derive(Clone, Copy)]
pub(super) struct RingSegment {
    pub segment: SegmentNumber,
    pub function: FunctionNumber,
    /// The function is a region of interest.
    pub roi: bool,
}

/// The running functions of one ring.
pub(super) struct Calls {
    pub(super) contexts: Contexts,
    pub(super) has_roi: bool,
    /// Declared regions that match the region of interest and are open.
    pub(super) open_regions: u64,
    pub(super) sequences: Option<Box<Sequences>>,
}

/// What a record does to the running functions.
pub(super) enum Step {
    /// The function at hand goes on.
    Stays,
    /// A function starts, in this context.
    Enters(ContextNumber),
    /// An outer function goes on; of so many frames it is not known whether their variables have ended.
    Resumes(u64),
    /// Control arrives in a frame from one that was left without a return.
    Lands(Left),
}

impl Calls {
    /// Nothing runs.
    pub(super) fn new(options: &Options) -> Self {
        Self {
            contexts: Contexts::default(),
            has_roi: options.roi.is_some(),
            open_regions: 0,
            sequences: options.sequence.clone().map(|chosen| Box::new(Sequences::new(chosen))),
        }
    }

    /// Takes note of a module.
    pub(super) fn add(&mut self, module: &Module) {
        self.sequences.iter_mut().for_each(|sequences| sequences.add_module(module));
    }

    /// Whether what happens is counted.
    #[inline]
    pub(super) fn counting(&self) -> bool {
        !self.has_roi || self.contexts.roi_depth + self.open_regions > 0
    }

    /// Brings the context to where a record with these flags is.
    #[inline]
    pub(super) fn step(&mut self, flags: u8, record: &[u64], place: RingSegment) -> Step {
        let cookie = || record[record.len() - 1];
        if flags & segment_flag::ENTER != 0 {
            let cookie = if flags & segment_flag::COOKIE != 0 { cookie() } else { 0 };
            Step::Enters(self.contexts.enter(place.function, cookie, place.roi))
        } else if flags & segment_flag::LANDING != 0 {
            Step::Lands(self.contexts.land(place.function, cookie()))
        } else if self.contexts.function() != Some(place.function) {
            Step::Resumes(self.contexts.resume(place.function))
        } else {
            Step::Stays
        }
    }

    /// Tells who wants to know of sequences that a function has started.
    #[inline]
    pub(super) fn note_call(&mut self, function: FunctionNumber) {
        if self.sequences.is_some() {
            self.note_call_in_sequence(function);
        }
    }

    #[cold]
    fn note_call_in_sequence(&mut self, function: FunctionNumber) {
        let counts = self.counting();
        if let Some(sequences) = &mut self.sequences {
            sequences.entered(self.contexts.caller(), function, counts);
        }
    }

    /// A region of interest begins or ends.
    pub(super) fn region(&mut self, begins: bool) {
        self.open_regions = if begins { self.open_regions + 1 } else { self.open_regions.saturating_sub(1) };
    }
}
