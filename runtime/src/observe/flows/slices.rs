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
    bytes::{Flows, Role},
    first_pass::{FirstPass, Happened, Touched},
    parts::Parts,
    second_pass::AskedFlows,
    sites::{Site, Sites},
    states::{Bytes, NOBODY, NamedState, States, Who},
    transitions::{State, Transitions},
};
use crate::{engine::Boundary, observe::patterns::SiteNumber, pieces::together, shadow::ByteLabel};

/// The site of whoever wrote or read before a slice, in the first pass, which does not know.
const BEFORE: SiteNumber = SiteNumber::new(0);

/// The states of all bytes of ranges that have one.
fn states_of(flows: &mut Flows, ranges: impl IntoIterator<Item = (u64, u64)>) -> States {
    const NONE: u32 = u32::MAX;
    let mut found = States::default();
    let Flows { states, transitions: Transitions { pairs, .. }, sites, role, .. } = flows;
    let mut numbers = vec![NONE; pairs.len()];
    let who = |site: Option<SiteNumber>| match site {
        None => Who::Nobody,
        Some(BEFORE) if matches!(role, Role::FirstPass(_)) => Who::Before,
        Some(site) => sites.name(site),
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

/// The first pass over slices.
impl Flows {
    /// Does the first pass over slices. There are no sites yet.
    pub fn start_first_pass(&mut self) {
        self.role = Role::FirstPass(Box::default());
        self.sites.list.push(Site::default());
        self.transitions = Transitions::starting_with(vec![(Some(BEFORE), Some(BEFORE)), (None, None)], NOBODY);
    }

    /// Ends a slice; the next one begins.
    pub fn end_first_pass(&mut self) -> Touched {
        let mut pages = self.states.touched();
        pages.sort_unstable();
        let left = states_of(self, pages);
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
        let found = states_of(self, together(before.iter().copied().chain(left), 0));
        for happened in happened {
            match *happened {
                Happened::Ended { address, len } => self.states.forget(address, len),
                Happened::Moved { from, to, len } => self.states.relocate(from, to, len),
            }
        }
        let Self { sites, transitions, .. } = self;
        let after: Vec<_> = names.iter().map(|&name| After::new(name, sites, transitions)).collect();
        for &Bytes { first, len, state } in bytes {
            match after[state as usize] {
                After::Label(label) => self.states.fill(first, len.into(), label),
                After::ReadBy(reader) => {
                    self.change(first, len.into(), |flows, label| flows.transitions.read_by(label, reader));
                }
            }
        }
        found
    }
}

/// What a slice made of bytes, in the labels of the run before it.
#[derive(Clone, Copy)]
enum After {
    Label(ByteLabel),
    /// Whoever wrote them before is still their writer.
    ReadBy(Option<SiteNumber>),
}

impl After {
    fn new((writer, reader): NamedState, sites: &mut Sites, transitions: &mut Transitions) -> Self {
        let reader = sites.named(reader);
        match writer {
            Who::Before => After::ReadBy(reader),
            writer => After::Label(transitions.label((sites.named(writer), reader))),
        }
    }
}

/// The second pass.
impl Flows {
    /// Does the second pass over slices. There are no sites yet.
    pub fn start_second_pass(&mut self) {
        self.role = Role::SecondPass(Box::default());
        self.transitions = Transitions::of_slices();
    }

    /// Begins a slice with bytes in these states.
    pub fn begin_slice(&mut self, States { names, bytes }: &States) {
        self.states.reset();
        let Self { role: Role::SecondPass(pass), sites, transitions, .. } = self else { return };
        let mut label = |&(writer, reader): &NamedState| {
            let add = || transitions.add_before((sites.named(writer), sites.named(reader)));
            *pass.before.entry((writer, reader)).or_insert_with(add)
        };
        let labels: Vec<ByteLabel> = names.iter().map(&mut label).collect();
        for &Bytes { first, len, state } in bytes {
            self.states.fill(first, len.into(), labels[state as usize]);
        }
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
        asked.flows = self.transitions.flows.len();
        asked
    }
}
