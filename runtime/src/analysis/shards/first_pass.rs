//! The first of two passes over slices of a ring, for flows: in which states slices find the bytes that they touch.
//!
//! Takes slices in the order of the run; leaves them in that order, with states, for the second pass. Refuses what
//! `turns` refuses.

use std::sync::{Arc, Mutex};

use super::{
    super::options::Options,
    common::{Shared, Slice},
    slice_replayer::SliceReplayer,
    turns::Slices,
};
use crate::observe::flows::{Flows, Touched};

pub struct FirstPass {
    options: Options,
    shared: Arc<Mutex<Shared>>,
}

impl FirstPass {
    pub fn new(options: &Options, shared: &Arc<Mutex<Shared>>) -> Self {
        Self { options: options.clone(), shared: shared.clone() }
    }
}

impl Slices for FirstPass {
    type Part = SliceReplayer;
    type Task = Slice;
    type Done = (Slice, Option<Touched>);
    type Whole = Flows;

    fn part(&self, number: usize) -> SliceReplayer {
        SliceReplayer::for_first_pass(number, &self.options)
    }

    fn go(&self, part: &mut SliceReplayer, slice: Slice) -> Self::Done {
        let before = part.analyzer.engine_bytes();
        part.prepare(slice.start.clone(), &Shared::lock(&self.shared).known);
        part.go_on(&slice.words);
        let touched = part.end_first_pass();
        Shared::lock(&self.shared).holds(part.analyzer.engine_bytes(), before);
        (slice, touched)
    }

    fn resolve(&self, flows: &mut Flows, (slice, touched): Self::Done) {
        let before = flows.heap_bytes();
        let states = touched.map(|touched| flows.resolve(&touched));
        let mut shared = Shared::lock(&self.shared);
        shared.holds(flows.heap_bytes(), before);
        shared.seen.push_back(Slice { states, ..slice });
    }
}
