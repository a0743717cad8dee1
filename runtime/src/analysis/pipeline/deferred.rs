//! Accesses that wait for an engine that several rings have.

use super::{BATCH_THERE, Backend, EngineSlot, Items, Pipeline};

impl Pipeline {
    /// Keeps what an engine would be asked to do.
    #[must_use]
    pub fn deferring(wants_lives: bool) -> Self {
        let items = Items::new(wants_lives);
        Self { place: Backend::Deferred(items), limit: BATCH_THERE, ..Self::with_engine(EngineSlot::default()) }
    }

    /// What was kept; call after `flush`.
    pub fn deferred_items(&mut self) -> Option<&mut Items> {
        if let Backend::Deferred(items) = &mut self.place { Some(items) } else { None }
    }

    /// Whether lives of memory are kept.
    #[inline]
    #[must_use]
    pub fn wants_lives(&self) -> bool {
        matches!(&self.place, Backend::Deferred(items) if items.wants_lives)
    }
}
