//! Makes one part of two neighbouring ones.
//!
//! Takes their [`Summary`]s; gives that of both, which asks of the run before it what the first had asked, and what the
//! second had and the first did not know either. Any tree of this comes to the same in the end. Refuses parts that do
//! not fit.

use std::collections::BTreeMap;

use super::{
    super::shards::whole::{PrefixHits, Whole},
    counts::Counts,
    summary::{NO_FIT, RingPart, Summary, SummaryError},
};
use crate::engine::AccessTag;

impl Summary {
    /// Puts a part behind this one.
    ///
    /// # Errors
    /// [`SummaryError`].
    pub fn join(self, behind: Self) -> Result<Self, SummaryError> {
        if (self.modules_before as usize).checked_add(self.modules.len()) != Some(behind.modules_before as usize) {
            return Err(NO_FIT);
        }
        let modules = [self.modules, behind.modules].concat();
        let mut rings: BTreeMap<u32, RingPart> = self.rings.into_iter().map(|ring| (ring.number, ring)).collect();
        for ring in behind.rings {
            let both = match rings.remove(&ring.number) {
                Some(before) => before.join(ring)?,
                None => ring,
            };
            rings.insert(both.number, both);
        }
        Ok(Self {
            modules_before: self.modules_before,
            modules,
            rings: rings.into_values().collect(),
            end: self.end.or(behind.end),
            cut_at: self.cut_at.or(behind.cut_at),
        })
    }
}

impl RingPart {
    fn join(mut self, mut behind: Self) -> Result<Self, SummaryError> {
        let fits = !self.is_ended
            && behind.contexts_before as usize == self.known_contexts()
            && behind.placed.starts_with(&self.placed)
            && self.is_sound(usize::MAX, usize::MAX)
            && behind.is_sound(usize::MAX, usize::MAX);
        if !fits {
            return Err(NO_FIT);
        }
        let asked = self.boundaries.bytes.asks.len();
        let mut whole = Whole::continuing(std::mem::take(&mut self.boundaries));
        if !whole.beside.fit(&behind.boundaries.beside) {
            return Err(NO_FIT);
        }
        whole.resolve(&mut behind.boundaries, 0, behind.counts.cells());
        let PrefixHits { cells, .. } = std::mem::take(&mut whole.found[0]);
        let active = self.counts.active | behind.counts.active;
        let (mut counted, numbers) = self.counts.join(behind.counts, cells).ok_or(NO_FIT)?;
        whole.beside.resolve(&behind.boundaries.beside, |cell| numbers[cell.index()]);
        let mut boundaries = whole.cut();
        let pairs = whole.beside.finish(&mut counted.cells);
        counted.pairs.add(pairs, |cell| cell);
        for ask in boundaries.bytes.asks[asked..].iter_mut().filter(|ask| ask.label != AccessTag::UNCOUNTED) {
            ask.label = numbers.get(ask.label.cell().index()).map_or(ask.label, |cell| AccessTag::for_cell(*cell));
        }
        self.contexts.extend(behind.contexts);
        let objects = match (self.objects.take(), behind.objects) {
            (Some(before), Some(behind)) => Some(before.join(behind).ok_or(NO_FIT)?),
            (None, None) => None,
            _ => return Err(NO_FIT),
        };
        let cycles = match (self.cycles.take(), behind.cycles) {
            (Some(before), Some(behind)) => Some(before.join(behind).ok_or(NO_FIT)?),
            (None, None) => None,
            _ => return Err(NO_FIT),
        };
        Ok(Self {
            used: self.used | behind.used,
            is_ended: behind.is_ended,
            placed: behind.placed,
            objects,
            boundaries,
            counts: Counts::new(counted, active),
            cycles,
            ..self
        })
    }
}
