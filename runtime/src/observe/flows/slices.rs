//! Flows of a run that is cut into slices, in two passes over each.
//!
//! In the first pass slices are gone over side by side, without a stack. A slice does not know who touched bytes before
//! it, but what it makes of that: a write by S makes it (S, S) in any case, a read by R of bytes that W wrote makes it
//! (W, R), whoever W is. What slices made of bytes is put together in the order of the run (`resolve`), which tells in
//! which states each slice finds the bytes that it touches.
//!
//! The second pass begins with these states. How deep bytes lie that a slice reads first, only the stack before it can
//! tell, and whether it has to, the states tell: those from before a slice are apart from others of the same accesses.
//!
//! Takes the accesses of slices; gives their flows, and the flows of what they ask. Refuses nothing.

use super::{
    bytes::{Flows, Followed, Role, Site, State},
    counters::FlowCounters,
    first_pass::{FirstPass, Happened, Touched},
    parts::Parts,
    second_pass::{AskedFlows, SecondPass},
    states::{Bytes, NOBODY, NamedState, States, Who},
};
use crate::{
    engine::Boundary,
    observe::patterns::SiteNumber,
    pieces::together,
    shadow::{ByteLabel, UNTOUCHED},
};

/// The site of whoever wrote or read before a slice, in the first pass, which does not know.
const BEFORE: SiteNumber = SiteNumber::new(0);

/// States by names.
impl Flows {
    /// The states of all bytes of ranges that have one.
    fn states_of(&mut self, ranges: impl IntoIterator<Item = (u64, u64)>) -> States {
        const NONE: u32 = u32::MAX;
        let mut found = States::default();
        let mut numbers = vec![NONE; self.pairs.len()];
        let Self { states, pairs, sites, role, .. } = self;
        let who = |site: Option<SiteNumber>| match site {
            None => Who::Nobody,
            Some(BEFORE) if matches!(role, Role::FirstPass(_)) => Who::Before,
            Some(site) => Who::Access((sites[site.index()].place, sites[site.index()].context)),
        };
        for (first, len) in ranges {
            states.each_run(first, len, |label, first, len| {
                let number = &mut numbers[label as usize];
                if *number == NONE {
                    *number = found.names.len() as u32;
                    let (writer, reader): State = pairs[label as usize];
                    found.names.push((who(writer), who(reader)));
                }
                // A run is in one page.
                found.bytes.push(Bytes { first, len: len as u32, state: *number });
            });
        }
        found
    }

    /// The site of an access by its name; the access may have another one as well.
    fn site_of(&mut self, who: Who) -> Option<SiteNumber> {
        let Who::Access((place, context)) = who else { return None };
        let sites = &mut self.sites;
        Some(*self.named.entry((place, context)).or_insert_with(|| {
            sites.push(Site { place, context, object: None, written: UNTOUCHED, last: None });
            SiteNumber::new(sites.len() - 1)
        }))
    }
}

/// The first pass over slices.
impl Flows {
    /// Does the first pass over slices. There are no sites yet.
    pub fn start_first_pass(&mut self) {
        self.role = Role::FirstPass(Box::default());
        self.sites.push(Site::default());
        self.pairs = vec![(Some(BEFORE), Some(BEFORE)), (None, None)];
        self.state_of.insert((None, None), NOBODY);
    }

    /// Ends a slice; the next one begins.
    pub fn end_first_pass(&mut self) -> Touched {
        let mut pages = self.states.touched();
        pages.sort_unstable();
        let left = self.states_of(pages);
        self.states.reset();
        let FirstPass { touched, happened } = match &mut self.role {
            Role::FirstPass(pass) => std::mem::take(&mut **pass),
            Role::Whole | Role::SecondPass(_) => FirstPass::default(),
        };
        Touched { before: touched, happened, left }
    }
}

/// The side of the run before a slice.
impl Flows {
    /// Goes on behind a slice; gives the states in which it found what it touched.
    pub fn resolve(&mut self, slice: &Touched) -> States {
        let Touched { before, happened, left: States { names, bytes } } = slice;
        let left = bytes.iter().map(|bytes| (bytes.first, u64::from(bytes.len)));
        let found = self.states_of(together(before.iter().copied().chain(left), 0));
        for happened in happened {
            match *happened {
                Happened::Ended { address, len } => self.states.forget(address, len),
                Happened::Moved { from, to, len } => self.states.relocate(from, to, len),
            }
        }
        let after: Vec<_> = names.iter().map(|&name| self.after(name)).collect();
        for &Bytes { first, len, state } in bytes {
            match after[state as usize] {
                After::AccessTag(label) => self.states.fill(first, len.into(), label),
                After::ReadBy(reader) => {
                    self.change(first, len.into(), |flows, label| flows.state((flows.pairs[label as usize].0, reader)));
                }
            }
        }
        found
    }

    fn after(&mut self, (writer, reader): NamedState) -> After {
        let reader = self.site_of(reader);
        if writer == Who::Before {
            return After::ReadBy(reader);
        }
        let writer = self.site_of(writer);
        After::AccessTag(self.state((writer, reader)))
    }
}

/// What a slice made of bytes, in the labels of the run before it.
#[derive(Clone, Copy)]
enum After {
    AccessTag(ByteLabel),
    /// Whoever wrote them before is still their writer.
    ReadBy(Option<SiteNumber>),
}

/// The second pass.
impl Flows {
    /// Does the second pass over slices. There are no sites yet.
    pub fn start_second_pass(&mut self) {
        let is_before = vec![true, false];
        self.role = Role::SecondPass(Box::new(SecondPass { is_before, ..SecondPass::default() }));
        self.pairs = vec![(None, None), (None, None)];
        self.state_of.insert((None, None), NOBODY);
    }

    /// Begins a slice with bytes in these states.
    pub fn begin_slice(&mut self, States { names, bytes }: &States) {
        self.states.reset();
        let labels: Vec<ByteLabel> = names.iter().map(|&name| self.label_before(name)).collect();
        for &Bytes { first, len, state } in bytes {
            self.states.fill(first, len.into(), labels[state as usize]);
        }
    }

    /// The label of a state from before a slice.
    fn label_before(&mut self, name: NamedState) -> ByteLabel {
        let Role::SecondPass(pass) = &mut self.role else { return UNTOUCHED };
        if let Some(&label) = pass.before.get(&name) {
            return label;
        }
        let label = self.pairs.len();
        pass.before.insert(name, label as ByteLabel);
        pass.is_before.resize(label, false);
        pass.is_before.push(true);
        let state = (self.site_of(name.0), self.site_of(name.1));
        self.pairs.push(state);
        label as ByteLabel
    }

    /// Notes the flows of what was asked for reads of a batch.
    pub fn note_asked(&mut self, boundary: &mut Boundary, parts: &mut Parts) {
        if let Role::SecondPass(pass) = &mut self.role {
            pass.asked.note(boundary, parts);
        }
    }

    /// Ends a slice.
    pub fn end_slice(&mut self) -> AskedFlows {
        let Role::SecondPass(pass) = &mut self.role else { return AskedFlows::default() };
        let mut asked = std::mem::take(&mut pass.asked);
        asked.flows = self.keys.len();
        asked
    }

    /// Adds what the stack before slices found, by flow.
    pub fn add(&mut self, found: FlowCounters) {
        self.found.add(found);
    }

    /// Adds the flows of a part.
    pub fn absorb(&mut self, part: Followed) {
        self.others.extend(part.flows);
    }
}
