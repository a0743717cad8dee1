//! Data objects of a whole run: those of rings, by keys that all rings have in common.
//!
//! Takes objects in the numbers of a ring, with what was done to them; gives sums by object.

use std::collections::BTreeMap;

use crate::{
    counts::{
        cell::CellCounters,
        keys::{ObjectKey, SiteKey},
    },
    decode::{context::ContextNumber, locator::SegmentNumber, ring::DecodedRing},
    objects::{Life, Object, PARTS, Parts},
    observe::patterns::Pattern,
};

/// Data objects, and what was done to them.
#[derive(Debug, Default)]
pub struct MergedObjects {
    /// Of those that were accessed. Peaks of several threads are added up.
    pub lives: BTreeMap<ObjectKey, Life>,
    /// Bytes read of each part of large blocks; not of all objects.
    pub parts: BTreeMap<ObjectKey, Parts>,
    /// What each site did to each object.
    pub uses: BTreeMap<(ObjectKey, SiteKey), CellCounters>,
    /// How sites used objects; empty unless flows were measured too.
    pub patterns: BTreeMap<(ObjectKey, SiteKey), Pattern>,
}

impl MergedObjects {
    pub(super) fn add_life(&mut self, key: ObjectKey, life: Life) {
        let known = self.lives.entry(key).or_default();
        known.times += life.times;
        known.bytes += life.bytes;
        known.peak += life.peak;
    }

    pub(super) fn add(&mut self, key: ObjectKey, life: Life, parts: Option<&Option<Parts>>) {
        if let Some(Some(parts)) = parts {
            self.add_parts(key.clone(), parts);
        }
        self.add_life(key, life);
    }

    pub(super) fn add_parts(&mut self, key: ObjectKey, parts: &Parts) {
        let known = self.parts.entry(key).or_insert_with(|| Box::new([0; PARTS]));
        known.iter_mut().zip(parts.iter()).for_each(|(known, more)| *known += more);
    }
}

impl DecodedRing {
    /// An object in the numbers of the measurement, of which `nodes` are the ring's contexts; `files` are the paths of
    /// mapped ones.
    pub(super) fn object_key(&self, object: Object, files: &[String], nodes: &[ContextNumber]) -> ObjectKey {
        let site = |segment: Option<SegmentNumber>| segment.map(|segment| self.segment(segment));
        match object {
            Object::Unknown => ObjectKey::Unknown,
            Object::Block { context, segment } => {
                ObjectKey::Block { context: nodes[context.index()], site: site(segment) }
            }
            Object::Mapping { context, segment, file } => {
                let file = file.map(|file| files[file as usize].clone());
                ObjectKey::Mapping { context: nodes[context.index()], site: site(segment), file }
            }
            Object::Datum { table, datum } => ObjectKey::Datum { table, datum },
            Object::Slot { table, slot } => ObjectKey::Slot { table, slot },
        }
    }
}
