//! States that bytes are in, and which of them an access turns into which.
//!
//! Takes states and whoever reads or writes bytes in them; gives a label for each state, and a flow for each state and
//! reader. Labels and flows are numbered as they come. Refuses nothing.

use std::collections::HashMap;

use super::{parts::ASKED, states::NOBODY};
use crate::{
    hash::FastHash,
    observe::patterns::SiteNumber,
    shadow::{ByteLabel, UNTOUCHED},
};

/// Who wrote bytes last, and who has read them last since then.
pub(super) type State = (Option<SiteNumber>, Option<SiteNumber>);

/// A read of one site of bytes in one state: where it is counted, and the state that it leaves.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub state: ByteLabel,
    pub next: ByteLabel,
    pub flow: u32,
}

/// What a site did last.
#[derive(Clone, Copy, Default)]
struct Latest {
    /// The state that it leaves when it writes, if it has written.
    written: ByteLabel,
    read: Option<Step>,
}

/// All states and flows so far.
pub(super) struct Transitions {
    /// By label. In a whole run, the first is that of bytes without a state.
    pub pairs: Vec<State>,
    /// By flow: state of the bytes, and reader.
    pub flows: Vec<(ByteLabel, SiteNumber)>,
    labels: HashMap<State, ByteLabel, FastHash>,
    steps: HashMap<(ByteLabel, SiteNumber), Step, FastHash>,
    /// By site, as far as any did something.
    latest: Vec<Latest>,
    /// By label, as far as there are such: whether bytes in this state were not touched in the slice at hand.
    before: Vec<bool>,
}

impl Default for Transitions {
    fn default() -> Self {
        Self::starting_with(vec![(None, None)], UNTOUCHED)
    }
}

impl Transitions {
    /// The first labels are those of these states; that of bytes that nobody touched is among them.
    pub fn starting_with(pairs: Vec<State>, untouched: ByteLabel) -> Self {
        let labels = std::iter::once(((None, None), untouched)).collect();
        Self { pairs, flows: Vec::new(), labels, steps: HashMap::default(), latest: Vec::new(), before: Vec::new() }
    }

    /// Those of slices in the second pass: bytes without a label are from before the slice.
    pub fn of_slices() -> Self {
        Self { before: vec![true], ..Self::starting_with(vec![(None, None), (None, None)], NOBODY) }
    }

    /// A label for a state from before a slice, apart from those of the same accesses within.
    pub fn add_before(&mut self, state: State) -> ByteLabel {
        let label = self.pairs.len();
        self.pairs.push(state);
        self.before.resize(label, false);
        self.before.push(true);
        label as ByteLabel
    }

    /// Whether bytes in this state were not touched in the slice at hand.
    pub fn is_before(&self, label: ByteLabel) -> bool {
        self.before.get(label as usize).copied().unwrap_or(false)
    }

    /// The label of a state.
    pub fn label(&mut self, state: State) -> ByteLabel {
        let next = self.pairs.len() as ByteLabel;
        let label = *self.labels.entry(state).or_insert(next);
        if label == next {
            self.pairs.push(state);
        }
        label
    }

    /// The label of bytes that were in a state and that somebody read since.
    pub fn read_by(&mut self, state: ByteLabel, reader: Option<SiteNumber>) -> ByteLabel {
        self.label((self.pairs[state as usize].0, reader))
    }

    /// The state that a site leaves when it writes.
    #[inline]
    pub fn written(&mut self, site: SiteNumber) -> ByteLabel {
        match self.latest.get(site.index()) {
            Some(latest) if latest.written != UNTOUCHED => latest.written,
            _ => {
                let written = self.label((Some(site), None));
                self.latest(site).written = written;
                written
            }
        }
    }

    /// What a read makes of bytes.
    #[inline]
    pub fn step(&mut self, state: ByteLabel, reader: SiteNumber) -> Step {
        match self.latest.get(reader.index()) {
            Some(&Latest { read: Some(step), .. }) if step.state == state => step,
            _ => self.another_step(state, reader),
        }
    }

    #[inline(never)]
    fn another_step(&mut self, state: ByteLabel, reader: SiteNumber) -> Step {
        let step = match self.steps.get(&(state, reader)) {
            Some(&known) => known,
            None => {
                let next = self.read_by(state, Some(reader));
                let asked = if self.is_before(state) { ASKED } else { 0 };
                let step = Step { state, next, flow: self.flows.len() as u32 | asked };
                self.flows.push((state, reader));
                self.steps.insert((state, reader), step);
                step
            }
        };
        self.latest(reader).read = Some(step);
        step
    }

    fn latest(&mut self, site: SiteNumber) -> &mut Latest {
        if self.latest.len() <= site.index() {
            self.latest.resize(site.index() + 1, Latest::default());
        }
        &mut self.latest[site.index()]
    }
}
