//! Flows: of every byte read, which access wrote it last, and which touched it last.
//!
//! Takes the accesses of one ring in program order, then what the engine found for the loads among them; gives bytes,
//! cost and depths per (writer, toucher, reader). The *state* of a byte is (site that wrote it last, site that read or
//! wrote it last); a write by S makes it (S, S), a read by R in state (W, T) is one byte of the flow (W, T, R) and
//! makes it (W, R). A byte has a state while it is on the stack: what was neither written nor read in this life of the
//! byte has none, and neither does a declared input before its first read. Other threads' accesses are not seen.
//!
//! Memory: 4 bytes per touched byte, in pages of 16 KiB for 4096 addresses, and a counter per flow. An access to bytes
//! of one state, as most are, costs one look at the shadow and one at what its site did last.

use super::{
    counters::FlowCounters,
    first_pass::FirstPass,
    parts::{Parts, Piece},
    run::Run,
    second_pass::SecondPass,
    sites::Sites,
    states::NOBODY,
    transitions::{State, Transitions},
};
use crate::{
    counts::cell::CellCounters,
    decode::{context::ContextNumber, ring::RingSite},
    engine::{Access, AccessTag, Kind, clamped},
    objects::ObjectNumber,
    observe::patterns::{Pattern, Patterns, SiteNumber, between::Between},
    oplog::Op,
    shadow::{ByteLabel, Shadow, UNTOUCHED},
};

/// What went from one access to another.
pub struct Flow {
    /// Who wrote last; none: nobody did.
    pub writer: Option<RingSite>,
    /// Who touched last.
    pub toucher: Option<RingSite>,
    /// Who reads.
    pub reader: RingSite,
    /// Calling contexts of the toucher and of the reader, if they are followed.
    pub contexts: Option<(Option<ContextNumber>, ContextNumber)>,
    /// What the bytes are part of, for the reader; `None` if objects are not followed.
    pub object: Option<ObjectNumber>,
    /// What the reads found.
    pub found: CellCounters,
    /// Bytes touched since the byte's last touch, for some of the reads: in all, and by the static accesses that
    /// touched most.
    pub between: Between<RingSite>,
}

/// How a site used an object.
pub struct Use {
    /// The site.
    pub site: RingSite,
    /// The object.
    pub object: ObjectNumber,
    /// In which order, and how much of its lines.
    pub pattern: Pattern,
}

/// Everything that was followed.
pub struct Followed {
    /// Every flow.
    pub flows: Vec<Flow>,
    /// Every use of an object by a site.
    pub uses: Vec<Use>,
}

/// What is followed: a whole run, or slices of one in the first or the second pass over them.
#[derive(Default)]
pub(super) enum Role {
    #[default]
    Whole,
    FirstPass(Box<FirstPass>),
    SecondPass(Box<SecondPass>),
}

/// Who wrote and who touched each byte last, and what came of it.
#[derive(Default)]
pub struct Flows {
    /// Who accesses.
    pub sites: Sites,
    /// Flows of parts of the run.
    pub others: Vec<Flow>,
    pub(super) role: Role,
    pub(super) states: Shadow,
    pub(super) transitions: Transitions,
    pub(super) found: FlowCounters,
    pub(super) run: Run,
    /// States of a range that has several; kept to save allocations. Whoever looks at a range takes it out, fills it
    /// and puts it back; nobody reads it later.
    runs: Vec<(ByteLabel, u64)>,
}

/// What happens to states.
impl Flows {
    /// Nothing was followed; with `patterns` also how sites use data, with `contexts` by calling context.
    #[must_use]
    pub fn new(patterns: bool, contexts: bool) -> Self {
        Self { sites: Sites::new(patterns, contexts), ..Self::default() }
    }

    /// Follows an operation of a batch.
    pub fn op(&mut self, op: Op<'_>, parts: &mut Parts) {
        match op {
            Op::Accesses { accesses, labels } => {
                for (access, &label) in accesses.iter().zip(labels) {
                    parts.next_access();
                    self.access(access, label, &mut parts.pieces);
                }
            }
            Op::Run { streams, labels, iterations } => {
                let mut run = std::mem::take(&mut self.run);
                run.follow(self, streams, labels, iterations, parts);
                self.run = run;
            }
            Op::Move { from, to, len } => self.relocate(from, to, len),
            Op::Input { addr, len } => self.input(addr, len),
            Op::Output { .. } | Op::Life(_) | Op::Sync(_) => {}
        }
    }

    #[inline]
    pub(super) fn access(&mut self, access: &Access, label: AccessTag, pieces: &mut Vec<Piece>) {
        let len = clamped(access.addr, u64::from(access.len));
        if len == 0 {
            return;
        }
        match access.kind {
            Kind::Load | Kind::Last => self.read(access.addr, len, label, pieces),
            Kind::Store | Kind::Fresh => self.write(access.addr, len, label),
            Kind::Remove => self.end(access.addr, len),
        }
    }

    /// The bytes' lives end.
    fn end(&mut self, address: u64, len: u64) {
        self.forget_patterns(address, len);
        match &mut self.role {
            Role::FirstPass(pass) => pass.end(&mut self.states, address, len),
            Role::Whole | Role::SecondPass(_) => self.states.forget(address, len),
        }
    }

    /// The bytes' lives start again as inputs.
    fn input(&mut self, address: u64, len: u64) {
        let len = clamped(address, len);
        if !matches!(self.role, Role::SecondPass(_)) {
            return self.end(address, len);
        }
        // Those that a slice's stack has stay there.
        self.change(address, len, |flows, label| if flows.transitions.is_before(label) { UNTOUCHED } else { NOBODY });
    }

    /// What patterns know of bytes is over.
    fn forget_patterns(&mut self, address: u64, len: u64) {
        if self.sites.patterns.is_some() {
            self.end_states(address, len);
            self.sites.patterns.as_mut().into_iter().for_each(|patterns| patterns.forget(address, len));
        }
    }

    /// The states of bytes end: who wrote them for nothing, who read them last.
    fn end_states(&mut self, address: u64, len: u64) {
        let (Some(patterns), pairs) = (&mut self.sites.patterns, &self.transitions.pairs) else { return };
        self.states.each_run(address, len, |state, _, bytes| end(patterns, pairs[state as usize], bytes));
    }

    /// The bytes keep their states at another address.
    fn relocate(&mut self, from: u64, to: u64, len: u64) {
        let len = clamped(from, len).min(clamped(to, len));
        if from == to {
            return;
        }
        match &mut self.role {
            Role::FirstPass(pass) => pass.relocate(&mut self.states, from, to, len),
            Role::Whole | Role::SecondPass(_) => self.states.relocate(from, to, len),
        }
    }

    /// Puts other states in the place of those of a range.
    pub(super) fn change(&mut self, address: u64, len: u64, after: impl Fn(&mut Self, ByteLabel) -> ByteLabel) {
        let mut states = std::mem::take(&mut self.runs);
        self.states.runs(address, len, &mut states);
        let mut at = address;
        for (state, len) in states.drain(..) {
            let next = after(self, state);
            if next != state {
                self.states.fill(at, len, next);
            }
            at = at.wrapping_add(len);
        }
        self.runs = states;
    }

    #[inline]
    fn read(&mut self, address: u64, len: u64, label: AccessTag, pieces: &mut Vec<Piece>) {
        let (Some(site), counted) = self.sites.of(label) else { return self.read_by_nobody(address, len) };
        let state = self.states.uniform(address, len);
        if self.sites.patterns.is_some() {
            // A read of bytes with several states is looked at as one of the first byte's.
            let first = state.unwrap_or_else(|| self.states.label(address));
            self.note_read(address, len, first, site, counted);
        }
        match state {
            Some(state) => {
                let piece = self.read_one_state(address, len, state, site);
                pieces.extend(counted.then_some(piece));
            }
            None => {
                let mut states = std::mem::take(&mut self.runs);
                self.states.runs(address, len, &mut states);
                let mut at = address;
                for (state, len) in states.drain(..) {
                    let piece = self.read_one_state(at, len, state, site);
                    pieces.extend(counted.then_some(piece));
                    at = at.wrapping_add(len);
                }
                self.runs = states;
            }
        }
    }

    /// Whoever has no site reads: no flow, but bytes from before a slice are on its stack now.
    #[cold]
    fn read_by_nobody(&mut self, address: u64, len: u64) {
        if matches!(self.role, Role::SecondPass(_)) {
            self.change(address, len, |flows, label| match flows.transitions.is_before(label) {
                true => flows.transitions.label(flows.transitions.pairs[label as usize]),
                false => label,
            });
        }
    }

    /// Whoever has no site writes.
    #[cold]
    fn write_by_nobody(&mut self, address: u64, len: u64) {
        self.forget_patterns(address, len);
        match self.role {
            Role::Whole => self.states.forget(address, len),
            Role::FirstPass(_) | Role::SecondPass(_) => self.states.fill(address, len, NOBODY),
        }
    }

    #[inline(never)]
    fn note_read(&mut self, address: u64, len: u64, state: ByteLabel, site: SiteNumber, counted: bool) {
        let flow = counted.then(|| self.transitions.step(state, site).flow);
        let Some(patterns) = &mut self.sites.patterns else { return };
        flow.into_iter().for_each(|flow| patterns.sample(address, flow));
        patterns.read(address, len, site);
    }

    #[inline]
    fn read_one_state(&mut self, address: u64, len: u64, state: ByteLabel, site: SiteNumber) -> Piece {
        let step = self.transitions.step(state, site);
        if step.next != state {
            self.states.fill(address, len, step.next);
        }
        Piece { flow: step.flow, bytes: len as u32 }
    }

    fn write(&mut self, address: u64, len: u64, label: AccessTag) {
        let (Some(site), _) = self.sites.of(label) else { return self.write_by_nobody(address, len) };
        if self.sites.patterns.is_some() {
            self.end_states(address, len);
            self.sites.patterns.as_mut().into_iter().for_each(|patterns| patterns.touch(address, len, site));
        }
        let written = self.transitions.written(site);
        self.states.fill(address, len, written);
    }
}

/// What the engine found.
impl Flows {
    /// By flow, what reads found.
    pub fn counters(&mut self) -> &mut FlowCounters {
        self.found.grow(self.transitions.flows.len());
        &mut self.found
    }

    /// Everything that was counted, in no particular order. A flow may come in two parts.
    pub fn finish(mut self) -> Followed {
        let mut uses = Vec::new();
        let mut between = Vec::new();
        if self.sites.patterns.is_some() {
            for (address, len) in self.states.touched() {
                self.end_states(address, len);
            }
        }
        if let Some(patterns) = self.sites.patterns.take() {
            let found = patterns.finish();
            between = found.between;
            let used = self.sites.list.iter().zip(found.patterns);
            uses.extend(
                used.filter_map(|(site, pattern)| Some(Use { site: site.place, object: site.object?, pattern })),
            );
        }
        let Self { sites: Sites { list: sites, .. }, transitions, found, others, .. } = self;
        let Transitions { pairs, flows, .. } = transitions;
        let place = |site: SiteNumber| sites[site.index()].place;
        let access = |site: u32| sites[site as usize].place;
        let context = |site: SiteNumber| sites[site.index()].context;
        let flow = |(number, ((state, reader), mut found)): (usize, ((ByteLabel, SiteNumber), CellCounters))| {
            found.flush();
            let (writer, last_reader) = pairs[state as usize];
            let toucher = last_reader.or(writer);
            found.depths.iter().next()?;
            Some(Flow {
                writer: writer.map(place),
                toucher: toucher.map(place),
                reader: place(reader),
                contexts: context(reader).map(|reader| (toucher.and_then(context), reader)),
                object: sites[reader.index()].object,
                found,
                between: between.get_mut(number).map(std::mem::take).unwrap_or_default().named(access),
            })
        };
        let own = flows.into_iter().zip(found.finish()).enumerate().filter_map(flow);
        Followed { flows: own.chain(others).collect(), uses }
    }

    /// Memory held for the states of bytes, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.states.heap_bytes()
    }
}

/// The state of some bytes ends.
pub(super) fn end(patterns: &mut Patterns, state: State, bytes: u64) {
    match state {
        (_, Some(reader)) => patterns.read_last(reader, bytes),
        (Some(writer), None) => patterns.never_read(writer, bytes),
        (None, None) => {}
    }
}
