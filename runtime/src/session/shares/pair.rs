//! Makes one part of two neighbouring ones.
//!
//! Takes their [`Summary`]s; gives that of both, which asks of the run before it what the first had asked, and what the
//! second had and the first did not know either. Any tree of this comes to the same in the end. Refuses parts that do
//! not fit.

use std::collections::BTreeMap;

use super::{
    super::{
        fast_paths::FastPaths,
        ranked::Ranked,
        slices::whole::{Below, Whole},
    },
    counts::Counts,
    summary::{NO_FIT, RingPart, Summary, SummaryError},
};
use crate::{
    counts::{cell::file_lines, lines::OfCells},
    decode::block::CellNumber,
    engine::Label,
    observe::lines::{LineFrontier, Lines},
};

impl Summary {
    /// Puts a part behind this one.
    ///
    /// # Errors
    /// [`SummaryError`].
    pub fn join(self, behind: Self) -> Result<Self, SummaryError> {
        let modules = [self.modules, behind.modules].into_iter().max_by_key(Vec::len).unwrap_or_default();
        let mut rings: BTreeMap<u32, RingPart> = self.rings.into_iter().map(|ring| (ring.number, ring)).collect();
        for ring in behind.rings {
            let both = match rings.remove(&ring.number) {
                Some(before) => before.join(ring)?,
                None => ring,
            };
            rings.insert(both.number, both);
        }
        Ok(Self {
            modules,
            rings: rings.into_values().collect(),
            end: self.end.or(behind.end),
            cut_at: self.cut_at.or(behind.cut_at),
        })
    }
}

impl RingPart {
    fn join(mut self, behind: Self) -> Result<Self, SummaryError> {
        let fits = !self.is_ended
            && behind.contexts_before as usize == self.known_contexts()
            && behind.placed.starts_with(&self.placed)
            && self.is_sound(usize::MAX, usize::MAX)
            && behind.is_sound(usize::MAX, usize::MAX);
        if !fits {
            return Err(NO_FIT);
        }
        let asked = self.frontier.asks.len();
        let mut ranked = Ranked::new(&FastPaths::default());
        ranked.engine_mut().go_on_with_slice(std::mem::take(&mut self.frontier));
        let mut whole = Whole::new(ranked, false);
        whole.settle(&behind.frontier, 0, behind.counts.cells());
        let Below { cells, .. } = std::mem::take(&mut whole.found[0]);
        let mut frontier = whole.ranked.engine_mut().end_slice();
        let active = self.counts.active | behind.counts.active;
        let (mut counted, numbers) = self.counts.join(behind.counts, cells).ok_or(NO_FIT)?;
        let (lines, found) = join_lines(&self.lines, &behind.lines, &numbers).ok_or(NO_FIT)?;
        file_lines(&mut counted.cells, found);
        for ask in frontier.asks[asked..].iter_mut().filter(|ask| ask.label != Label::UNCOUNTED) {
            ask.label = numbers.get(ask.label.cell().index()).map_or(ask.label, |cell| Label::of(*cell));
        }
        self.contexts.extend(behind.contexts);
        let objects = match (self.objects.take(), behind.objects) {
            (Some(before), Some(behind)) => Some(before.join(behind).ok_or(NO_FIT)?),
            (None, None) => None,
            _ => return Err(NO_FIT),
        };
        Ok(Self {
            used: self.used | behind.used,
            is_ended: behind.is_ended,
            placed: behind.placed,
            objects,
            frontier,
            lines,
            counts: Counts::new(counted, active),
            ..self
        })
    }
}

/// The same of lines, by size; with what the part behind found in this one, by cell. `numbers` are those of its cells.
/// Nothing if the sizes differ.
fn join_lines(
    before: &[LineFrontier],
    behind: &[LineFrontier],
    numbers: &[CellNumber],
) -> Option<(Vec<LineFrontier>, OfCells)> {
    let (mut joined, mut found) = (Vec::new(), OfCells::new());
    if !before.iter().map(|lines| lines.bytes).eq(behind.iter().map(|lines| lines.bytes)) {
        return None;
    }
    for (before, behind) in before.iter().zip(behind) {
        let mut both = Lines::new(before.bytes);
        both.start_slices();
        both.settle(before, |cell| cell);
        both.settle(behind, |cell| numbers[cell.index()]);
        joined.push(both.end_slice());
        found.push(both.finish());
    }
    Some((joined, found))
}
