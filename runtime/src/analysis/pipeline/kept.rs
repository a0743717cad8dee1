//! Accesses that wait for an engine that several rings have.

use super::{BATCH_THERE, Items, Pipeline, Place, Ranked};

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
}
