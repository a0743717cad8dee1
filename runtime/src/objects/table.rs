//! Which objects there are: their numbers, their lives, the files that are mapped.
//!
//! Takes objects as memory of them begins to live; gives a number for each, in the order in which they came. Refuses
//! nothing; beyond 65,536 it no longer tells the calling contexts of a call site apart.

use std::collections::HashMap;

use super::{
    map::ObjectNumber,
    object::{Life, Object},
};
use crate::hash::FastHash;

/// More objects than this are not kept apart per ring: blocks then are one object per call site, whatever the context.
pub(super) const MANY: usize = 1 << 16;

/// All objects of a ring.
pub struct ObjectTable {
    pub(super) list: Vec<Object>,
    /// By number.
    pub(super) lives: Vec<Life>,
    numbers: HashMap<Object, ObjectNumber, FastHash>,
    pub(super) files: Vec<String>,
}

impl Default for ObjectTable {
    fn default() -> Self {
        let (list, lives) = (vec![Object::Unknown], vec![Life::default()]);
        Self { list, lives, numbers: HashMap::default(), files: Vec::new() }
    }
}

impl ObjectTable {
    /// What an object is.
    #[must_use]
    pub fn object(&self, number: ObjectNumber) -> Object {
        self.list[number.index()]
    }

    /// All objects, by number.
    #[must_use]
    pub fn list(&self) -> &[Object] {
        &self.list
    }

    /// Path of a mapped file.
    #[must_use]
    pub fn file(&self, file: u32) -> &str {
        &self.files[file as usize]
    }

    /// Whether an object has a number.
    pub(super) fn has(&self, object: Object) -> bool {
        self.numbers.contains_key(&object)
    }

    /// The number of an object, a new one if it has none.
    pub(super) fn number(&mut self, object: Object) -> ObjectNumber {
        let (list, lives) = (&mut self.list, &mut self.lives);
        *self.numbers.entry(object).or_insert_with(|| {
            list.push(object);
            lives.push(Life::default());
            ObjectNumber::new(list.len() - 1)
        })
    }

    /// The number of an object, or that of a coarser one if there are too many.
    pub(super) fn number_of_origin(&mut self, object: Object, coarse: Object) -> ObjectNumber {
        match self.numbers.get(&object) {
            Some(known) => *known,
            None if self.list.len() < MANY => self.number(object),
            None => self.number(coarse),
        }
    }

    /// The number of a file by its path, a new one if it has none.
    pub(super) fn file_number(&mut self, file: &str) -> u32 {
        let known = self.files.iter().position(|known| known == file);
        known.unwrap_or_else(|| {
            self.files.push(file.to_owned());
            self.files.len() - 1
        }) as u32
    }
}
