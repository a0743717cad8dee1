//! Replays a part of a trace on its own.
//!
//! Takes a trace and the range of its bytes that the part is: of the blocks that begin there. Everything before is gone
//! over, to know what runs. Gives a [`Summary`]. Refuses damaged traces, and those whose programs are not there any
//! more.

use std::{collections::BTreeMap, io::Read, ops::Range};

use super::{
    super::{
        analyzer::Analyzer,
        modules::{ModuleTable, Source},
        options::Options,
        replay::{ReplayError, check},
        scan::{Scanned, Stop},
        slices::part::{Known, Part, Start},
    },
    summary::{Counts, RingPart, Summary},
};
use crate::engine::Frontier;
use crate::trace::{Block, Ring, TraceError, TraceReader};

/// Words that are replayed at a time.
const WORDS: usize = 1 << 20;

/// A ring, and its part once that has begun.
struct CutRing {
    ring: Ring,
    /// Its process, then those that it was forked from.
    processes: Vec<u32>,
    scanner: Analyzer,
    part: Option<Open>,
    is_ended: bool,
}

/// The part of a ring.
struct Open {
    part: Part,
    known: Known,
    contexts_before: usize,
    /// Words that are still to be replayed, and what runs when they begin.
    start: Start,
    words: Vec<u64>,
    used: bool,
}

/// Replays a part.
///
/// # Errors
/// [`ReplayError`].
pub fn slice<R: Read>(
    reader: &mut TraceReader<R>,
    options: &Options,
    range: &Range<u64>,
) -> Result<Summary, ReplayError> {
    let table = ModuleTable::default();
    let mut summary = Summary { modules: Vec::new(), rings: Vec::new(), end: None, cut_at: None };
    let mut rings: BTreeMap<u32, CutRing> = BTreeMap::new();
    loop {
        let place = reader.place();
        if place >= range.end {
            break;
        }
        let is_in = place >= range.start;
        match reader.next_block() {
            Ok(Some(Block::Module(module))) => {
                check(&module)?;
                let named = module.module();
                table.register(&named, &named.path);
                summary.modules.push(module);
            }
            Ok(Some(Block::Ring(number, ring))) => {
                let scanner = Analyzer::new(options.clone());
                let processes = ring.processes();
                rings.insert(number, CutRing { ring, processes, scanner, part: None, is_ended: false });
            }
            Ok(Some(Block::Words(number, words))) => {
                if let Some(ring) = rings.get_mut(&number) {
                    ring.words(&words, is_in, options, &table);
                }
            }
            Ok(Some(Block::RingEnd(number))) if is_in => {
                if let Some(ring) = rings.get_mut(&number) {
                    ring.open(options);
                    ring.is_ended = true;
                }
            }
            Ok(Some(Block::RingEnd(number))) => _ = rings.remove(&number),
            Ok(Some(Block::End(end))) => summary.end = is_in.then_some(end),
            Ok(None) => break,
            Err(TraceError::Cut { at }) => {
                summary.cut_at = Some(at);
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    if summary.cut_at.is_some() {
        // Their threads were there, even if nothing of them is in this part.
        rings.values_mut().for_each(|ring| ring.open(options));
    }
    summary.rings = rings.into_iter().filter_map(|(number, ring)| ring.finish(number)).collect();
    Ok(summary)
}

impl CutRing {
    fn words(&mut self, words: &[u64], is_in: bool, options: &Options, table: &ModuleTable) {
        if is_in {
            self.open(options);
        }
        let mut source = Source { processes: &self.processes, table };
        let (mut rest, mut lost) = (words, 0);
        while !rest.is_empty() {
            let Scanned { words, stop, .. } = self.scanner.scan(rest, u64::MAX, &mut source);
            let (scanned, others) = rest.split_at(words);
            rest = others;
            if let Some(open) = &mut self.part {
                open.words.extend_from_slice(scanned);
                if open.words.len() >= WORDS || stop == Stop::NewModule {
                    open.replay(&self.scanner);
                }
            }
            if stop == Stop::Lost {
                lost = rest.len();
                break;
            }
        }
        if let Some(open) = &mut self.part {
            open.used |= !words.is_empty();
            self.scanner.core.totals.replayed(words, lost as u64);
        }
    }

    /// The part begins, if it has not.
    fn open(&mut self, options: &Options) {
        if self.part.is_some() {
            return;
        }
        self.part = Some(Open {
            part: Part::new(0, options),
            known: Known::default(),
            contexts_before: self.scanner.core.contexts.nodes.len(),
            start: Start::of(&self.scanner),
            words: Vec::new(),
            used: false,
        });
    }

    fn finish(mut self, number: u32) -> Option<RingPart> {
        let mut open = self.part.take()?;
        open.replay(&self.scanner);
        let Open { mut part, contexts_before, used, .. } = open;
        let frontier = part.end(Frontier::default());
        let mut counts = Counts::new(part.analyzer.into_counted(), self.scanner.core.totals.active);
        counts.lose(self.scanner.core.totals.lost_words);
        let contexts = &self.scanner.core.contexts.nodes[contexts_before..];
        Some(RingPart {
            number,
            ring: self.ring,
            used,
            is_ended: self.is_ended,
            placed: self.scanner.locator.modules.iter().map(|module| (module.placed.id, module.placed.low)).collect(),
            contexts_before: contexts_before as u32,
            contexts: contexts.iter().map(|node| (node.parent, node.function)).collect(),
            frontier,
            counts,
        })
    }
}

impl Open {
    /// Replays the words that are there; the scanner has gone over them and no others.
    fn replay(&mut self, scanner: &Analyzer) {
        self.known.learn(scanner);
        self.part.prepare(&self.start, &self.known);
        self.part.go_on(&self.words);
        self.words.clear();
        self.start = Start::of(scanner);
    }
}
