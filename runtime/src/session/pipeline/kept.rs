//! Accesses that wait for an engine that several rings have.

use super::{BATCH_THERE, Item, Items, Pipeline, Place, Ranked};
use crate::{
    decode::event::Synchronised,
    observe::files::Files,
    session::lives::{Life, LifeMark},
};

impl Pipeline {
    /// Keeps what an engine would be asked to do.
    #[must_use]
    pub fn keeping(wants_lives: bool) -> Self {
        let items = Items::new(wants_lives);
        Self { place: Place::Kept(items), limit: BATCH_THERE, ..Self::of(Ranked::default()) }
    }

    /// What was kept; call after `flush`.
    pub fn kept(&mut self) -> Option<&mut Items> {
        if let Place::Kept(items) = &mut self.place { Some(items) } else { None }
    }

    /// Whether lives of memory are kept.
    #[inline]
    #[must_use]
    pub fn wants_lives(&self) -> bool {
        matches!(&self.place, Place::Kept(items) if items.wants_lives)
    }

    /// Memory begins to live, ends or moves: of no meaning for the engine.
    pub fn life(&mut self, life: Life, files: &mut Files<'_>) {
        if self.open.queue.size >= self.limit {
            self.flush(files);
        }
        let queue = &mut self.open.queue;
        queue.lives.push(LifeMark { accesses: queue.accesses.len(), runs: queue.runs.len(), life });
        queue.size += 1;
    }

    /// Threads wait for each other: of no meaning for one ring alone.
    pub fn synchronise(&mut self, event: Synchronised, files: &mut Files<'_>) {
        if matches!(self.place, Place::Kept(_)) {
            self.flush(files);
            self.kept().into_iter().for_each(|items| items.push(Item::Synchronise(event)));
        }
    }
}
