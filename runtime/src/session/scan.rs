//! Goes over records without counting anything: what runs afterwards, and where a run may be cut.
//!
//! Takes the words of a chunk; follows calls, returns and regions as the replay does, and tells how far it went and why
//! it stopped there. A part of a run that is replayed on its own starts with what this knows. Whatever else a record
//! does changes nothing that a later record depends on, but for bytes, which are the engine's.

use super::{
    analyzer::{Analyzer, added},
    core::Dense,
};
use crate::{
    abi::{SegmentKind, segment_flag},
    decode::{
        event::{Event, EventRecord},
        locator::{CallSite, Located, ModuleSource},
    },
};

/// Accesses of a loop that has one record, which take about as long as a single one.
const LOOP_WEIGHT: u64 = 16;

/// How far a scan went.
pub(super) struct Scanned {
    pub words: usize,
    /// About as many accesses as take as long.
    pub work: u64,
    pub stop: Stop,
}

/// Why it went no further.
#[derive(PartialEq, Eq)]
pub(super) enum Stop {
    /// Nothing is left.
    End,
    /// It has gone over as much as was asked for.
    Full,
    /// The next record is of a module that was not known before it.
    NewModule,
    /// The next record cannot be decoded.
    Lost,
}

impl Analyzer {
    /// Goes over whole records from the start of `words`, until these are `room` of work.
    pub(super) fn scan(&mut self, words: &[u64], room: u64, source: &mut impl ModuleSource) -> Scanned {
        let (mut at, mut work) = (0, 0);
        let stop = loop {
            if at == words.len() {
                break Stop::End;
            }
            if work >= room {
                break Stop::Full;
            }
            let known = self.locator.modules.len();
            let rest = &words[at..];
            let scanned = if rest[0] >> 48 == 0 {
                self.scan_segment(rest, known, source)
            } else {
                self.scan_event(rest, known, source)
            };
            match scanned {
                Ok((len, more)) => (at, work) = (at + len, work + more),
                Err(stop) => break stop,
            }
        };
        Scanned { words: at, work, stop }
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
        if self.locator.modules.len() > known {
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
        if found.flags != 0 || Some(function) != self.core.contexts.function() {
            let roi = self.core.has_roi && self.tables.is_roi[function.index()];
            let flags = found.flags;
            self.core.follow(flags, &rest[..words], Dense { segment: module.segment_number(segment), function, roi });
            if flags & segment_flag::EXIT != 0 {
                self.core.contexts.exit(function);
            }
        }
        Ok((words, work))
    }

    /// The same of an event.
    fn scan_event(&mut self, rest: &[u64], known: usize, source: &mut impl ModuleSource) -> Result<(usize, u64), Stop> {
        let Some(EventRecord { site, words, event }) = EventRecord::of(rest) else { return Err(Stop::Lost) };
        let site = self.locator.call_site(site, source, added(&mut self.tables, &mut self.core));
        if self.locator.modules.len() > known {
            return Err(Stop::NewModule);
        }
        let Some(site) = site else { return Err(Stop::Lost) };
        match event {
            Event::Read { .. } | Event::Write { .. } | Event::Copy { .. } => {
                if let Some(CallSite { function, .. }) = site
                    && Some(function) != self.core.contexts.function()
                {
                    self.core.contexts.resume(function);
                }
            }
            Event::RegionBegin { name } => self.scan_mark(&name, true),
            Event::RegionEnd { name } => self.scan_mark(&name, false),
            Event::Restart => self.core.contexts.restart(),
            Event::Alloc { .. }
            | Event::Mapped { .. }
            | Event::Free { .. }
            | Event::FreeUnknown
            | Event::Relocate { .. }
            | Event::Input { .. }
            | Event::Output { .. }
            | Event::Clock { .. }
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
