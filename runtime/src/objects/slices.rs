//! The objects of a ring that is replayed in slices.
//!
//! Whoever goes over all records knows what lies where at the start of each slice
//! ([`super::layout::LayoutSnapshot`]), and which number each object has ([`LearnedObjects`]). Who replays a slice
//! begins with that; its records then say the same as they said before, and give the same numbers. Takes and gives
//! both. Lives of memory are those of who goes over all records. Files have the same as [`super::layout_delta`].

use super::{Object, ObjectNumber, Objects};

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
        let table = &objects.table;
        self.list.extend(&table.list[self.list.len()..]);
        self.files.extend_from_slice(&table.files[self.files.len()..]);
        self.large.extend(&objects.layout.extents.large()[self.large.len()..]);
    }
}

impl Objects {
    /// Learns objects, those of later slices too: they have the same numbers.
    pub fn learn(&mut self, known: &LearnedObjects) {
        let (table, extents) = (&mut self.table, &mut self.layout.extents);
        for object in &known.list[table.list.len()..] {
            table.number(*object);
        }
        table.files.extend_from_slice(&known.files[table.files.len()..]);
        extents.add_large(&known.large[extents.large().len()..]);
    }
}
