//! The objects of several rings that share memory.
//!
//! Takes lives of memory from rings, in an order that holds for all; gives what [`Objects`] gives. Contexts and call
//! sites of an object are numbers of this whole until they are asked for in the numbers of their ring.

use std::{collections::HashMap, hash::Hash};

use super::{Life, Object, ObjectNumber, Objects, Origin, Parts};
use crate::{
    decode::{context::ContextNumber, locator::SegmentNumber},
    hash::FastHash,
};

/// Number of a ring, whoever numbers them.
pub type RingNumber = u32;

/// What lies where, for all rings.
#[derive(Default)]
pub struct CommonObjects {
    /// Their origins are numbers of the lists below, the context's plus one.
    pub objects: Objects,
    contexts: Numbered<ContextNumber>,
    sites: Numbered<Option<SegmentNumber>>,
}

/// Things of rings, with numbers of the whole.
#[derive(Default)]
struct Numbered<T> {
    list: Vec<(RingNumber, T)>,
    numbers: HashMap<(RingNumber, T), usize, FastHash>,
}

impl<T: Copy + Eq + Hash> Numbered<T> {
    fn number(&mut self, ring: RingNumber, of_ring: T) -> usize {
        let list = &mut self.list;
        *self.numbers.entry((ring, of_ring)).or_insert_with(|| {
            list.push((ring, of_ring));
            list.len() - 1
        })
    }
}

/// What is left when all rings have ended.
pub struct Ended {
    /// By number: whose origin it has, and in the numbers of that ring.
    pub list: Vec<(RingNumber, Object)>,
    /// By number.
    pub lives: Vec<Life>,
    /// Bytes read of each part of large blocks, by number; not of all objects.
    pub parts: Vec<Option<Parts>>,
    /// Paths of mapped files.
    pub files: Vec<String>,
}

impl CommonObjects {
    /// An origin of a ring's, in the numbers of the whole.
    pub fn origin(&mut self, ring: RingNumber, origin: Origin) -> Origin {
        let Origin { context, segment } = origin;
        let context = ContextNumber::new(1 + self.contexts.number(ring, context));
        Origin { context, segment: Some(SegmentNumber::new(self.sites.number(ring, segment))) }
    }

    /// An object in the numbers of the ring that it is of.
    #[must_use]
    pub fn of_ring(&self, number: ObjectNumber) -> (RingNumber, Object) {
        self.named(self.objects.table.object(number))
    }

    fn named(&self, object: Object) -> (RingNumber, Object) {
        let own = |context: ContextNumber, segment: Option<SegmentNumber>| {
            let (ring, segment) = segment.map_or((0, None), |segment| self.sites.list[segment.index()]);
            let of_ring = |context: usize| self.contexts.list[context].1;
            let context = context.index().checked_sub(1).map_or(ContextNumber::ROOT, of_ring);
            (ring, context, segment)
        };
        match object {
            Object::Block { context, segment } => {
                let (ring, context, segment) = own(context, segment);
                (ring, Object::Block { context, segment })
            }
            Object::Mapping { context, segment, file } => {
                let (ring, context, segment) = own(context, segment);
                (ring, Object::Mapping { context, segment, file })
            }
            other => (0, other),
        }
    }

    /// Ends all of it.
    #[must_use]
    pub fn finish(self) -> Ended {
        let list = self.objects.table.list().iter().map(|object| self.named(*object)).collect();
        let (_, lives, parts, files) = self.objects.into_parts();
        Ended { list, lives, parts, files }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_several_rings_keep_their_origins() {
        let mut common = CommonObjects::default();
        let segment = |ring: RingNumber| Some(SegmentNumber::new(9 + ring as usize));
        for ring in [3, 1] {
            let origin = common.origin(ring, Origin { context: ContextNumber::new(7), segment: segment(ring) });
            common.objects.allocated(u64::from(ring) * 0x1000, 64, origin);
        }
        for ring in [1, 3] {
            let number = common.objects.layout.object_at(u64::from(ring) * 0x1000 + 5);
            assert_eq!(
                common.of_ring(number),
                (ring, Object::Block { context: ContextNumber::new(7), segment: segment(ring) })
            );
        }
    }
}
