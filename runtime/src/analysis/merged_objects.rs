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
    objects::{Life, Object, ObjectNumber, PARTS, Parts},
    observe::{objects::RingObjects, patterns::Pattern},
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
    /// One of a ring's objects, in the numbers of the measurement, of which `nodes` are the ring's contexts.
    pub(super) fn key_of(&self, object: ObjectNumber, all: &RingObjects, nodes: &[ContextNumber]) -> ObjectKey {
        self.object_key(all.list[object.index()], &all.files, nodes)
    }

    /// The same of an object that is at hand; `files` are the paths of mapped ones.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        abi::ItemKind,
        tests::program::{Function, Image, Program, Segment, item},
    };

    #[test]
    fn lives_and_parts_of_several_threads_are_added_up() {
        let mut all = MergedObjects::default();
        let key = || ObjectKey::Datum { table: 0, datum: 1 };
        let parts = |first| {
            let mut parts: Parts = Box::new([0; PARTS]);
            (parts[0], parts[PARTS - 1]) = (first, 1);
            Some(parts)
        };
        all.add(key(), Life { times: 1, bytes: 100, live: 7, peak: 60 }, Some(&parts(5)));
        all.add(key(), Life { times: 2, bytes: 10, live: 7, peak: 6 }, Some(&None));
        all.add(key(), Life { times: 4, bytes: 1, live: 7, peak: 1 }, Some(&parts(6)));
        all.add(ObjectKey::Unknown, Life::default(), None);
        assert_eq!(all.lives[&key()], Life { times: 7, bytes: 111, live: 0, peak: 67 });
        assert_eq!((all.parts[&key()][0], all.parts[&key()][PARTS - 1]), (11, 2));
        assert_eq!(all.parts.len(), 1, "of the others nothing is known");
    }

    #[test]
    fn objects_are_named_by_tables_and_by_contexts_of_the_measurement() {
        let image = |segments: usize| {
            let segments = vec![Segment::block(1, vec![item(ItemKind::Load, 1, 0, 8)]); segments];
            let functions = vec![Function { name: "main".into(), segments }];
            Image { functions, variables: Vec::new() }
        };
        let ring = Program { images: vec![image(2), image(3)] }.ring(&[]);
        let nodes = [0, 5, 4].map(ContextNumber::new);
        let files = ["first".to_owned(), "second".to_owned()];
        let key = |object| ring.object_key(object, &files, &nodes);
        let (context, segment) = (ContextNumber::new(2), Some(SegmentNumber::new(3)));
        let block = ObjectKey::Block { context: ContextNumber::new(4), site: Some((1, 1)) };
        assert_eq!(key(Object::Block { context, segment }), block, "the second segment of the second image");
        let mapping = |file| Object::Mapping { context: ContextNumber::new(1), segment: None, file };
        let named = |file: Option<&str>| {
            let file = file.map(str::to_owned);
            ObjectKey::Mapping { context: ContextNumber::new(5), site: None, file }
        };
        assert_eq!((key(mapping(Some(1))), key(mapping(None))), (named(Some("second")), named(None)));
    }
}
