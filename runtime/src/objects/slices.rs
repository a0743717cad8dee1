//! The objects of a ring that is replayed in slices.
//!
//! Whoever goes over all records knows what lies where at the start of each slice ([`LayoutSnapshot`]), and which
//! number each object has ([`LearnedObjects`]). Who replays a slice begins with that; its records then say the same as
//! they said before, and give the same numbers. Takes and gives both. Lives of memory are those of who goes over all
//! records. Files have the same as [`super::layout_delta`].

use super::{AddressMap, Object, ObjectNumber, Objects, Parts, extents::LargeBlocks};

/// What lies where, at one place of a run. It shares its memory with what it is a copy of.
#[derive(Clone, Default)]
pub struct LayoutSnapshot {
    pub(super) map: AddressMap,
    pub(super) large: LargeBlocks,
}

/// What grows while a ring is gone over.
#[derive(Clone, Default)]
pub struct LearnedObjects {
    list: Vec<Object>,
    files: Vec<String>,
    /// Objects with large blocks.
    large: Vec<ObjectNumber>,
}

impl LearnedObjects {
    /// Learns what is known more.
    pub fn learn(&mut self, objects: &Objects) {
        self.list.extend(&objects.list[self.list.len()..]);
        self.files.extend_from_slice(&objects.files[self.files.len()..]);
        self.large.extend(&objects.extents.large()[self.large.len()..]);
    }
}

impl Objects {
    /// What lies where now.
    #[must_use]
    pub fn laid(&self) -> LayoutSnapshot {
        LayoutSnapshot { map: self.map.clone(), large: self.extents.live() }
    }

    /// Learns objects, those of later slices too: they have the same numbers.
    pub fn learn(&mut self, known: &LearnedObjects) {
        for object in &known.list[self.list.len()..] {
            self.number(*object);
        }
        self.files.extend_from_slice(&known.files[self.files.len()..]);
        self.extents.add_large(&known.large[self.extents.large().len()..]);
    }

    /// Goes on where this lies.
    pub fn go_on(&mut self, laid: LayoutSnapshot) {
        let LayoutSnapshot { map, large } = laid;
        self.map = map;
        self.extents.set_live(large);
    }

    /// What was read of parts of large blocks.
    #[must_use]
    pub fn into_reads(self) -> Vec<(ObjectNumber, Parts)> {
        self.extents.into_reads()
    }

    /// Adds what was read of them in a slice.
    pub fn add_reads(&mut self, reads: &[(ObjectNumber, Parts)]) {
        self.extents.add(reads);
    }
}
