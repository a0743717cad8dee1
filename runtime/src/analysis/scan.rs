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
    core::Core,
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

impl Analyzer {
    /// Goes over whole records from the start of `words`, until these are `room` of work.
    pub(super) fn scan(&mut self, words: &[u64], room: u64, source: &mut impl ModuleSource) -> Scanned {
        // What is counted, the replay of the same records counts.
        let counted = self.core.charging.totals;
        let (mut at, mut work, mut known) = (0, 0, self.locator.modules.len());
        let stop = loop {
            if at == words.len() {
                break Stop::End;
            }
            if work >= room {
                break Stop::Full;
            }
            let rest = &words[at..];
            let scanned = if rest[0] >> 48 == 0 {
                self.scan_segment(rest, known, source)
            } else {
                self.scan_event(rest, known, source)
            };
            match scanned {
                Ok((len, more)) => (at, work, known) = (at + len, work + more, self.locator.modules.len()),
                Err(stop) => break stop,
            }
        };
        let roi_seen = self.core.charging.totals.roi_seen;
        self.core.charging.totals = RingTotals { roi_seen, ..counted };
        Scanned { words: at, work, modules: known, stop }
    }

    /// Whether there are files among the modules behind so many. Sites of emulated programs have addresses of their
    /// own: who knows them early knows nothing wrong.
    #[inline]
    fn met_file(&self, known: usize) -> bool {
        self.locator.modules[known..].iter().any(|module| emulated::area_of(module.placed.low).is_none())
    }

    /// Words and work of a segment's record.
    #[inline]
    fn scan_segment(
        &mut self,
        rest: &[u64],
        known: usize,
        source: &mut impl ModuleSource,
    ) -> Result<(usize, u64), Stop> {
        let located = self.locator.record(rest, source, added(&mut self.tables, &mut self.core));
        if self.met_file(known) {
            return Err(Stop::NewModule);
        }
        let Some(Located { module, segment, words }) = located else { return Err(Stop::Lost) };
        let module = &self.locator.modules[module];
        let found = module.segment(segment);
        let function = module.function_number(found.function);
        let items = u64::from(found.items.end - found.items.start);
        let work = match found.kind == SegmentKind::Loop as u8 {
            true => 1 + items.saturating_mul(rest[1]) / LOOP_WEIGHT,
            false => items,
        };
        if self.core.charging.objects.is_some() {
            if !found.slots.is_empty() {
                self.core.slots_start(module, found, &rest[..words]);
            }
            if found.kills {
                self.core.lives_end(module.items(found), &rest[..words]);
            }
        }
        if found.flags != 0 || Some(function) != self.core.calls.contexts.function() {
            let roi = self.core.calls.has_roi && self.tables.is_roi[function.index()];
            let at = RingSegment { segment: module.segment_number(segment), function, roi };
            let Core { calls, charging, .. } = &mut self.core;
            match calls.step(found.flags, &rest[..words], at) {
                Step::Enters(_) => calls.note_call(function),
                Step::Lands(left) => end_variables(left, charging),
                Step::Stays | Step::Resumes(_) => {}
            }
            if found.flags & segment_flag::EXIT != 0 {
                calls.contexts.exit(function);
            }
        }
        if !found.slots.is_empty() {
            self.core.slots_held(module, found, &rest[..words]);
        }
        Ok((words, work))
    }

    /// Takes note of an event: how many words it has, and how much work it is.
    fn scan_event(&mut self, rest: &[u64], known: usize, source: &mut impl ModuleSource) -> Result<(usize, u64), Stop> {
        let Some(EventRecord { site, words, event }) = EventRecord::from_words(rest) else { return Err(Stop::Lost) };
        let site = self.locator.call_site(site, source, added(&mut self.tables, &mut self.core));
        if self.met_file(known) {
            return Err(Stop::NewModule);
        }
        let Some(site) = site else { return Err(Stop::Lost) };
        let site = site.map(|CallSite { segment, function }| RingSegment { segment, function, roi: false });
        let core = &mut self.core;
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
            Event::RegionBegin { name } => self.scan_mark(&name, true),
            Event::RegionEnd { name } => self.scan_mark(&name, false),
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
    fn scan_mark(&mut self, name: &str, begins: bool) {
        self.regions.mark(name, begins);
        if self.tables.is_region(name) {
            self.core.region(begins);
        }
    }
}

/// Variables of frames that were left without a return.
fn end_variables(left: Left, charging: &mut Charging) {
    left.slots.into_iter().for_each(|(address, len)| charging.life_ends(address, len));
}

impl Core {
    /// Lives that end in a record of a segment.
    fn lives_end(&mut self, items: &[Item], record: &[u64]) {
        for item in items.iter().filter(|item| item.kind == ItemKind::Kill as u8) {
            let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
            // The kind is known.
            let _ = effects(item, record, address, &mut Ends(&mut self.charging));
        }
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
