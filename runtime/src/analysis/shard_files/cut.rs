//! Replays a part of a trace on its own.
//!
//! Takes a trace and the range of its bytes that the part is: of the blocks that begin there. What is before is gone
//! over, to know what runs; only from a point on, if an index has one. Gives a [`Summary`]. Refuses damaged traces, and
//! those whose programs are not there any more.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    io::{Read, Seek},
    ops::Range,
};

use super::{
    super::{
        analyzer::Analyzer,
        options::Options,
        replay::ReplayError,
        scan::{Scanned, Stop},
        shards::slice_replayer::{LearnedTables, SliceReplayer, Start},
    },
    counts::Counts,
    summary::{PartCycles, RingPart, Summary},
    walk::{Point, Walk, Walked},
};
use crate::{
    objects::layout_delta::Mark,
    trace::{Block, TraceError, TraceReader},
};

/// Why a part cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum SliceError {
    /// The trace, or the recorded programs.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// What an index says cannot be so.
    #[error(
        "the index does not fit the trace or the programs; make it again with `dmdprof slice --index`, or remove it"
    )]
    Index,
}

/// Words that are replayed at a time.
const WORDS: usize = 1 << 20;

/// The part of a ring.
struct Open {
    part: SliceReplayer,
    known: LearnedTables,
    contexts_before: usize,
    objects_before: Option<Mark>,
    /// Words that are still to be replayed, and what runs when they begin.
    start: Start,
    words: Vec<u64>,
    used: bool,
    is_ended: bool,
}

/// Replays a part. The reader is at the start of the trace; `point` is one before the part.
///
/// # Errors
/// [`SliceError`].
pub fn slice<R: Read + Seek>(
    reader: &mut TraceReader<R>,
    options: &Options,
    range: &Range<u64>,
    point: Option<Point>,
) -> Result<Summary, SliceError> {
    // Cores have to follow from the start.
    let mut walk = match point.filter(|_| options.cycles.is_none()) {
        Some(point) => {
            let midway = point.midway.clone();
            let walk = Walk::from(point, options)?.ok_or(SliceError::Index)?;
            reader.go_on(midway).map_err(|error| ReplayError::from(TraceError::from(error)))?;
            walk
        }
        None => Walk::new(options),
    };
    let mut parts: BTreeMap<u32, Open> = BTreeMap::new();
    let mut modules_before = walk.modules.len();
    let (mut end, mut cut_at, mut is_over) = (None, None, false);
    while reader.block_offset() < range.end {
        let is_in = reader.block_offset() >= range.start;
        match reader.next_block() {
            Ok(Some(Block::Words(number, words))) if is_in => {
                let Some(open) = open(&mut parts, &mut walk, options, number) else { continue };
                let lost = walk.words(number, &words, |scanner, words, found| open.go_on(scanner, words, found));
                if let Some(ring) = walk.rings.get_mut(&number) {
                    ring.scanner.core.charging.totals.replayed(&words, lost);
                }
                open.used |= !words.is_empty();
            }
            Ok(Some(Block::RingEnd(number, _))) if is_in => {
                if let Some(open) = open(&mut parts, &mut walk, options, number) {
                    open.is_ended = true;
                }
            }
            Ok(Some(Block::End(how))) => end = is_in.then_some(how),
            Ok(Some(block)) => {
                walk.block(block)?;
                if !is_in {
                    modules_before = walk.modules.len();
                }
            }
            Ok(None) => {
                is_over = true;
                break;
            }
            Err(TraceError::Cut { at }) => {
                (cut_at, is_over) = (Some(at), true);
                break;
            }
            Err(error) => return Err(ReplayError::from(error).into()),
        }
    }
    if is_over {
        // Their threads were there, even if nothing of them is in this part.
        let all: Vec<u32> = walk.rings.keys().copied().collect();
        for number in all {
            _ = open(&mut parts, &mut walk, options, number);
        }
    }
    let Walk { mut modules, mut rings, .. } = walk;
    let modules = modules.split_off(modules_before);
    let finish = |(number, open): (u32, Open)| Some(open.finish(number, rings.remove(&number)?, options, is_over));
    let modules_before = modules_before as u32;
    Ok(Summary { modules_before, modules, rings: parts.into_iter().filter_map(finish).collect(), end, cut_at })
}

/// The part of a ring, which begins now if it has not.
fn open<'a>(
    parts: &'a mut BTreeMap<u32, Open>,
    walk: &mut Walk<'_>,
    options: &Options,
    number: u32,
) -> Option<&'a mut Open> {
    let Walked { scanner, cycles, .. } = walk.rings.get_mut(&number)?;
    Some(match parts.entry(number) {
        Entry::Occupied(open) => open.into_mut(),
        Entry::Vacant(place) => {
            // Those of before are in other parts.
            cycles.iter_mut().for_each(|follower| _ = follower.cut());
            place.insert(Open {
                part: SliceReplayer::new(0, options),
                known: LearnedTables::default(),
                contexts_before: scanner.core.calls.contexts.nodes.len(),
                objects_before: scanner.core.charging.objects.as_ref().map(|objects| objects.mark()),
                start: Start::from_analyzer(scanner),
                words: Vec::new(),
                used: false,
                is_ended: false,
            })
        }
    })
}

impl Open {
    /// Takes words that the scanner has just gone over.
    fn go_on(&mut self, scanner: &Analyzer, words: &[u64], found: &Scanned) {
        self.words.extend_from_slice(words);
        self.start.modules = found.modules;
        if self.words.len() >= WORDS || found.stop == Stop::NewModule {
            self.replay(scanner);
        }
    }

    /// Replays the words that are there; the scanner has gone over them and no others.
    fn replay(&mut self, scanner: &Analyzer) {
        self.known.learn(scanner);
        self.part.prepare(std::mem::replace(&mut self.start, Start::from_analyzer(scanner)), &self.known);
        self.part.go_on(&self.words);
        self.words.clear();
    }

    /// `is_over`: nothing comes behind this part.
    fn finish(mut self, number: u32, ring: Walked, options: &Options, is_over: bool) -> RingPart {
        let Walked { ring, scanner, cycles, .. } = ring;
        self.replay(&scanner);
        let Self { mut part, contexts_before, objects_before, used, is_ended, .. } = self;
        let boundaries = part.end();
        let mut counts = Counts::new(part.analyzer.into_counted(), scanner.core.charging.totals.active);
        counts.lose(scanner.core.charging.totals.lost_words);
        let contexts = &scanner.core.calls.contexts.nodes[contexts_before..];
        let objects = scanner.core.charging.objects.as_ref().zip(objects_before);
        RingPart {
            number,
            ring,
            used,
            is_ended,
            placed: scanner.locator.modules.iter().map(|module| (module.placed.id, module.placed.low)).collect(),
            contexts_before: contexts_before as u32,
            contexts: contexts.iter().map(|node| (node.parent, node.function.unwrap_or_default())).collect(),
            objects: objects.map(|(objects, before)| objects.delta_since(&before)),
            boundaries,
            counts,
            cycles: options.cycles.as_deref().zip(cycles).map(|(options, mut follower)| PartCycles {
                cores: options.hashes(),
                cycles: if is_ended || is_over { follower.finish() } else { follower.cut() },
            }),
        }
    }
}
