//! The first of two passes over slices of a ring, for flows: in which states slices find the bytes that they touch.
//!
//! Takes slices in the order of the run; gives them back in that order, with states, for the second pass. Refuses what
//! `turns` refuses.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    super::options::Options,
    common::{Shared, Slice},
    part::Part,
    turns::Slices,
};
use crate::observe::flows::{Flows, Touched};

pub struct FirstPass {
    options: Options,
    shared: Arc<Mutex<Shared>>,
    done: Mutex<VecDeque<Slice>>,
}

impl FirstPass {
    pub fn new(options: &Options, shared: &Arc<Mutex<Shared>>) -> Self {
        Self { options: options.clone(), shared: shared.clone(), done: Mutex::default() }
    }

    /// The next slice that has its states, if it is done.
    pub fn next(&self) -> Option<Slice> {
        self.done().pop_front()
    }

    fn done(&self) -> MutexGuard<'_, VecDeque<Slice>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slices for FirstPass {
    type Part = Part;
    type Task = Slice;
    type Done = (Slice, Option<Touched>);
    type Whole = Flows;

    fn part(&self, number: usize) -> Part {
        Part::for_first_pass(number, &self.options)
    }

    fn go(&self, part: &mut Part, slice: Slice) -> Self::Done {
        let before = part.analyzer.engine_bytes();
        part.prepare(slice.start.clone(), &Shared::lock(&self.shared).known);
        part.go_on(&slice.words);
        let touched = part.end_first_pass();
        Shared::lock(&self.shared).holds(part.analyzer.engine_bytes(), before);
        (slice, touched)
    }

    fn settle(&self, flows: &mut Flows, (slice, touched): Self::Done) {
        let before = flows.heap_bytes();
        let states = touched.map(|touched| flows.settle(&touched));
        Shared::lock(&self.shared).holds(flows.heap_bytes(), before);
        self.done().push_back(Slice { states, ..slice });
    }
}
