//! Goes over records without counting anything: what runs afterwards, and where a run may be cut.
//!
//! Takes the words of a chunk; follows calls, returns and regions as the replay does, and tells how far it went and why
//! it stopped there. If objects are measured, also what lies where; if sequences are, what chosen functions call. A
//! part of a run that is replayed on its own starts with what this knows. Whatever else a record does changes nothing
//! that a later record depends on, but for bytes, which are the engine's.

use super::{
    analyzer::{Analyzer, added},
    calls::{RingSegment, Step},
    charge::Charging,
    library::{hold_slots, start_slots},
};
use crate::{
    abi::{Item, ItemKind, SegmentKind, emulated, segment_flag},
    decode::{
        context::Left,
        effects::{Effects, effects},
        event::{Event, EventRecord},
        locator::{CallSite, Located, ModuleSource},
        ring::RingTotals,
    },
};

/// Accesses of a loop that has one record, which take about as long as a single one.
const LOOP_WEIGHT: u64 = 16;

/// How far a scan went.
pub(super) struct Scanned {
    pub words: usize,
    /// About as many accesses as take as long.
    pub work: u64,
    /// Modules that these words can name.
    pub modules: usize,
    pub stop: Stop,
}

/// Why it went no further.
#[derive(PartialEq, Eq)]
pub(super) enum Stop {
    /// Nothing is left.
    End,
    /// It has gone over as much as was asked for.
    Full,
    /// The next record is of a file that was not known before it, and may lie where another one did.
    NewModule,
    /// The next record cannot be decoded.
    Lost,
}

/// Goes over the records of one ring.
struct Scan<'a, Source> {
    analyzer: &'a mut Analyzer,
    source: &'a mut Source,
    /// Modules that the words so far could name.
    known: usize,
}

impl Analyzer {
    /// Goes over whole records from the start of `words`, until these are `room` of work.
    pub(super) fn scan(&mut self, words: &[u64], room: u64, source: &mut impl ModuleSource) -> Scanned {
        // What is counted, the replay of the same records counts.
        let counted = self.core.charging.totals;
        let known = self.locator.modules.len();
        let scanned = Scan { analyzer: &mut *self, source, known }.words(words, room);
        let roi_seen = self.core.charging.totals.roi_seen;
        self.core.charging.totals = RingTotals { roi_seen, ..counted };
        scanned
    }
}

impl<Source: ModuleSource> Scan<'_, Source> {
    fn words(&mut self, words: &[u64], room: u64) -> Scanned {
        let (mut at, mut work) = (0, 0);
        let stop = loop {
            if at == words.len() {
                break Stop::End;
            }
            if work >= room {
                break Stop::Full;
            }
            let rest = &words[at..];
            let scanned = if rest[0] >> 48 == 0 { self.segment(rest) } else { self.event(rest) };
            match scanned {
                Ok((len, more)) => (at, work) = (at + len, work + more),
                Err(stop) => break stop,
            }
            self.known = self.analyzer.locator.modules.len();
        };
        Scanned { words: at, work, modules: self.known, stop }
    }

    /// Whether there are files among the modules that were not known. Sites of emulated programs have addresses of
    /// their own: who knows them early knows nothing wrong.
    #[inline]
    fn met_file(&self) -> bool {
        let new = &self.analyzer.locator.modules[self.known..];
        new.iter().any(|module| emulated::area_of(module.placed.low).is_none())
    }

    /// Words and work of a segment's record.
    #[inline]
    fn segment(&mut self, rest: &[u64]) -> Result<(usize, u64), Stop> {
        let Analyzer { locator, tables, core, .. } = &mut *self.analyzer;
        let located = locator.record(rest, self.source, added(tables, core));
        if self.met_file() {
            return Err(Stop::NewModule);
        }
        let Some(Located { module, segment, words }) = located else { return Err(Stop::Lost) };
        let Analyzer { locator, tables, core, .. } = &mut *self.analyzer;
        let module = &locator.modules[module];
        let found = module.segment(segment);
        let function = module.function_number(found.function);
        let items = u64::from(found.items.end - found.items.start);
        let work = match found.kind == SegmentKind::Loop as u8 {
            true => 1 + items.saturating_mul(rest[1]) / LOOP_WEIGHT,
            false => items,
        };
        if core.charging.objects.is_some() {
            if !found.slots.is_empty() {
                start_slots(&mut core.charging, module, found, &rest[..words]);
            }
            if found.kills {
                lives_end(module.items(found), &rest[..words], &mut core.charging);
            }
        }
        if found.flags != 0 || Some(function) != core.calls.contexts.function() {
            let roi = core.calls.has_roi && tables.is_roi[function.index()];
            let at = RingSegment { segment: module.segment_number(segment), function, roi };
            match core.calls.step(found.flags, &rest[..words], at) {
                Step::Enters(_) => core.calls.note_call(function),
                Step::Lands(left) => end_variables(left, &mut core.charging),
                Step::Stays | Step::Resumes(_) => {}
            }
            if found.flags & segment_flag::EXIT != 0 {
                core.calls.contexts.exit(function);
            }
        }
        if !found.slots.is_empty() {
            hold_slots(&mut core.calls.contexts, module, found, &rest[..words]);
        }
        Ok((words, work))
    }

    /// Takes note of an event: how many words it has, and how much work it is.
    fn event(&mut self, rest: &[u64]) -> Result<(usize, u64), Stop> {
        let Some(EventRecord { site, words, event }) = EventRecord::from_words(rest) else { return Err(Stop::Lost) };
        let Analyzer { locator, tables, core, .. } = &mut *self.analyzer;
        let site = locator.call_site(site, self.source, added(tables, core));
        if self.met_file() {
            return Err(Stop::NewModule);
        }
        let Some(site) = site else { return Err(Stop::Lost) };
        let site = site.map(|CallSite { segment, function }| RingSegment { segment, function, roi: false });
        let core = &mut self.analyzer.core;
        match event {
            Event::Read { .. } | Event::Write { .. } | Event::Copy { .. } => {
                if let Some(RingSegment { function, .. }) = site
                    && Some(function) != core.calls.contexts.function()
                {
                    core.calls.contexts.resume(function);
                }
            }
            Event::Alloc { address, len } => {
                core.charging.life_ends(address, len);
                core.life_begins(site, address, len);
            }
            Event::Mapped { address, len, file } => core.mapped(site, address, len, &file),
            Event::Free { address, len } => core.charging.life_ends(address, len),
            Event::Relocate { from, from_len, to, to_len } => {
                core.life_moves(site, from, from_len, to, to_len);
            }
            Event::RegionBegin { name } => self.region(&name, true),
            Event::RegionEnd { name } => self.region(&name, false),
            Event::Restart => {
                let left = core.calls.contexts.restart();
                end_variables(left, &mut core.charging);
            }
            Event::FreeUnknown
            | Event::Input { .. }
            | Event::Output { .. }
            | Event::Clock { .. }
            | Event::Executed { .. }
            | Event::Paged { .. }
            | Event::Synchronise(_) => {}
        }
        Ok((words, 1))
    }

    #[cold]
    fn region(&mut self, name: &str, begins: bool) {
        let Analyzer { regions, tables, core, .. } = &mut *self.analyzer;
        regions.mark(name, begins);
        if tables.is_region(name) {
            core.region(begins);
        }
    }
}

/// Variables of frames that were left without a return.
fn end_variables(left: Left, charging: &mut Charging) {
    left.slots.into_iter().for_each(|(address, len)| charging.life_ends(address, len));
}

/// Lives that end in a record of a segment.
fn lives_end(items: &[Item], record: &[u64], charging: &mut Charging) {
    for item in items.iter().filter(|item| item.kind == ItemKind::Kill as u8) {
        let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
        // The kind is known.
        let _ = effects(item, record, address, &mut Ends(&mut *charging));
    }
}

/// Takes note of lives that end.
struct Ends<'a>(&'a mut Charging);

impl Effects for Ends<'_> {
    fn load(&mut self, _: u64, _: u64) {}
    fn store(&mut self, _: u64, _: u64) {}
    fn update(&mut self, _: u64, _: u64) {}
    fn copy(&mut self, _: u64, _: u64, _: u64) {}
    fn fill(&mut self, _: u64, _: u64) {}

    fn kill(&mut self, address: u64, len: u64) {
        self.0.life_ends(address, len);
    }
}
