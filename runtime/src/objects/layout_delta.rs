//! What two places of a run differ in, as files have it.
//!
//! Takes the objects of a ring at a place, and a [`Mark`] of an earlier one; gives the [`LayoutDelta`] of what is
//! known, and the [`Changes`] of what lies where. Whoever stands at the earlier place and learns both stands at the
//! later one. Refuses to learn what does not fit.
//!
//! Both are in postcard. A range is its distance from the end of the one before it, its bytes, and its object's number
//! plus one. [`Changes`] of two ranges, 16 bytes of object 2 at 0x1000 and 8 bytes of object 3 at 0x1020:
//!
//! ```text
//!   02              2 ranges
//!   80 20 | 10 | 03   at 0 + 0x1000, 16 bytes, object 2
//!   10 | 08 | 04      at 0x1010 + 0x10, 8 bytes, object 3
//!   00              no large blocks
//! ```

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{Life, Object, ObjectNumber, Objects, layout::LayoutSnapshot, map::Filled};
use crate::decode::{
    context::ContextNumber,
    locator::{Module, SegmentNumber},
};

/// No count of a life is so high, so that whoever adds some need not fear.
const MOST: u64 = 1 << 60;
/// Bytes of a block are fewer; see [`super::extents`].
const MOST_BYTES: u64 = 1 << 58;

/// What is known of objects at a place.
#[derive(Clone)]
pub struct Mark {
    /// By number.
    lives: Vec<Life>,
    files: usize,
    large: usize,
}

/// The start of a run.
impl Default for Mark {
    fn default() -> Self {
        Self { lives: vec![Life::default()], files: 0, large: 0 }
    }
}

/// Objects that are new since a place, and lives that are others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LayoutDelta {
    /// Objects, files and objects with large blocks that were known.
    before: [u32; 3],
    list: Vec<Object>,
    files: Vec<String>,
    large: Vec<ObjectNumber>,
    /// Lives that are others than at the earlier place, with what they are now.
    lives: BTreeMap<ObjectNumber, Life>,
}

/// What lies elsewhere than before.
#[derive(Debug, Serialize, Deserialize)]
pub struct Changes {
    /// How far behind the end of the one before it a range begins, its bytes, and whose it is now; in order.
    filled: Vec<Filled>,
    /// First address and bytes of large blocks; those that have ended have none.
    large: Vec<(u64, u64)>,
}

impl LayoutDelta {
    /// Objects, files and objects with large blocks that are known now.
    fn known_counts(&self) -> [usize; 3] {
        let more = [self.list.len(), self.files.len(), self.large.len()];
        std::array::from_fn(|kind| self.before[kind] as usize + more[kind])
    }

    /// Objects that are known now.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.known_counts()[0]
    }

    /// The news of two neighbouring stretches of a run; nothing if they are no neighbours.
    #[must_use]
    pub fn join(mut self, behind: Self) -> Option<Self> {
        let fits = self.known_counts() == behind.before.map(|before| before as usize);
        self.list.extend(behind.list);
        self.files.extend(behind.files);
        self.large.extend(behind.large);
        self.lives.extend(behind.lives);
        fits.then_some(self)
    }

    /// Whether all numbers are of something, those of contexts and segments below these limits.
    #[must_use]
    pub fn is_sound(&self, contexts: usize, segments: usize) -> bool {
        let [objects, files, _] = self.known_counts();
        let is_origin = |context: ContextNumber, segment: Option<SegmentNumber>| {
            context.index() < contexts && segment.is_none_or(|segment| segment.index() < segments)
        };
        let is_object = |object: &Object| match *object {
            Object::Unknown => false,
            Object::Block { context, segment } => is_origin(context, segment),
            Object::Mapping { context, segment, file } => {
                is_origin(context, segment) && file.is_none_or(|file| (file as usize) < files)
            }
            Object::Datum { .. } | Object::Slot { .. } => true,
        };
        let is_life = |life: &Life| [life.times, life.bytes, life.live, life.peak].iter().all(|count| *count < MOST);
        self.list.iter().all(is_object)
            && self.large.iter().chain(self.lives.keys()).all(|object| object.index() < objects)
            && self.lives.values().all(is_life)
    }

    /// Whether all variables are some of these modules.
    #[must_use]
    pub fn is_of(&self, modules: &[Module]) -> bool {
        let has = |table: u32, variable: u32, count: fn(&Module) -> usize| {
            modules.iter().any(|module| module.placed.id == table && (variable as usize) < count(module))
        };
        self.list.iter().all(|object| match *object {
            Object::Datum { table, datum } => has(table, datum, |module| module.placed.table.data.len()),
            Object::Slot { table, slot } => has(table, slot, |module| module.placed.table.slots.len()),
            _ => true,
        })
    }
}

impl Objects {
    /// What is known now.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark {
            lives: self.table.lives.clone(),
            files: self.table.files.len(),
            large: self.layout.extents.large().len(),
        }
    }

    /// What is new since a mark.
    #[must_use]
    pub fn delta_since(&self, since: &Mark) -> LayoutDelta {
        let Mark { lives, files, large } = since;
        let changed = self.table.lives.iter().enumerate().filter(|(number, life)| lives.get(*number) != Some(life));
        LayoutDelta {
            before: [lives.len() as u32, *files as u32, *large as u32],
            list: self.table.list[lives.len()..].to_vec(),
            files: self.table.files[*files..].to_vec(),
            large: self.layout.extents.large()[*large..].to_vec(),
            lives: changed.map(|(number, life)| (ObjectNumber::new(number), *life)).collect(),
        }
    }

    /// Learns what is new; `false` if it does not fit what is known.
    pub fn learn_news(&mut self, news: &LayoutDelta) -> bool {
        let known = |objects: &Self| {
            [objects.table.list.len(), objects.table.files.len(), objects.layout.extents.large().len()]
        };
        if known(self) != news.before.map(|before| before as usize) || !news.is_sound(usize::MAX, usize::MAX) {
            return false;
        }
        news.list.iter().for_each(|object| _ = self.table.number(*object));
        if self.table.list.len() != news.objects() {
            return false;
        }
        self.table.files.extend_from_slice(&news.files);
        self.layout.extents.add_large(&news.large);
        news.lives.iter().for_each(|(number, life)| self.table.lives[number.index()] = *life);
        known(self) == news.known_counts()
    }

    /// Whether all variables of a module are known.
    #[must_use]
    pub fn knows(&self, module: &Module) -> bool {
        let (table, data) = (module.placed.id, module.placed.table.data.len());
        (0..data as u32).all(|datum| self.table.has(Object::Datum { table, datum }))
    }

    /// What lies elsewhere than it did.
    #[must_use]
    pub fn changes(&self, since: LayoutSnapshot) -> Changes {
        let (mut filled, mut end) = (self.layout.map.since(since.map), 0u64);
        for (address, len, _) in &mut filled {
            (*address, end) = (address.wrapping_sub(end), *address + *len);
        }
        let now = self.layout.extents.live();
        let mut large = Vec::new();
        if !Arc::ptr_eq(&now, &since.large) {
            let is_new = |(start, len): &(&u64, &u64)| since.large.get(start) != Some(len);
            large.extend(since.large.keys().filter(|start| !now.contains_key(start)).map(|start| (*start, 0)));
            large.extend(now.iter().filter(is_new).map(|(start, len)| (*start, *len)));
        }
        Changes { filled, large }
    }

    /// Lays everything where it is now; `false` if it is of objects that are not known.
    pub fn lay(&mut self, changes: &Changes) -> bool {
        let is_sound = changes.filled.iter().all(|(.., number)| number.index() < self.table.list.len())
            && changes.large.iter().all(|(start, len)| *len < MOST_BYTES && start.checked_add(*len).is_some());
        if !is_sound {
            return false;
        }
        let mut end = 0u64;
        for &(gap, len, number) in &changes.filled {
            let address = end.wrapping_add(gap);
            self.layout.map.fill(address, len, number);
            end = address.wrapping_add(len);
        }
        self.layout.extents.change(&changes.large);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Origin;
    use super::*;
    use crate::{
        abi::Slot,
        tests::program::{Function, Image, Program, Segment},
    };

    #[derive(Clone, Debug)]
    enum Op {
        Begins(u64, u64, usize),
        Maps(u64, u64, usize),
        Slot(u64, u32),
        Ends(u64, u64),
        Moves(u64, u64, u64),
    }

    fn any_op() -> impl Strategy<Value = Op> {
        let (address, len) = (|| (0u64..2000).prop_map(|at| at * 24), || prop_oneof![1u64..200, 4000u64..100_000]);
        prop_oneof![
            (address(), len(), 1usize..6).prop_map(|(at, len, site)| Op::Begins(at, len, site)),
            (address(), len(), 1usize..4).prop_map(|(at, len, site)| Op::Maps(at, len, site)),
            (address(), 0u32..5).prop_map(|(at, slot)| Op::Slot(at, slot)),
            (address(), len()).prop_map(|(at, len)| Op::Ends(at, len)),
            (address(), address(), len()).prop_map(|(from, to, len)| Op::Moves(from, to, len)),
        ]
    }

    fn go(objects: &mut Objects, ops: &[Op]) {
        let origin = |site| Origin { context: ContextNumber::new(site), segment: Some(SegmentNumber::new(site)) };
        for op in ops {
            match *op {
                Op::Begins(at, len, site) => objects.allocated(at, len, origin(site)),
                Op::Maps(at, len, site) => objects.mapped(at, len, ["", "a", "b"][site % 3], origin(site)),
                Op::Slot(at, slot) => objects.slot_starts(0, slot, at, 12),
                Op::Ends(at, len) => objects.ended(at, len),
                Op::Moves(from, to, len) => objects.relocated(from, 48, to, len, origin(9)),
            }
        }
    }

    /// Addresses at which something may lie on the one side and not on the other.
    fn edges(op: &Op) -> Vec<u64> {
        let (places, len) = match *op {
            Op::Begins(at, len, _) | Op::Maps(at, len, _) | Op::Ends(at, len) => ([at, at], len),
            Op::Slot(at, _) => ([at, at], 12),
            Op::Moves(from, to, len) => ([from, to], len),
        };
        let around = |at: u64| [at.saturating_sub(1), at, at + 48, at + len - 1, at + len];
        places.into_iter().flat_map(around).collect()
    }

    fn read<T: Serialize + for<'a> Deserialize<'a>>(what: &T) -> T {
        postcard::from_bytes(&postcard::to_stdvec(what).expect("bytes")).expect("what they were made of")
    }

    proptest! {
        /// Two stretches, learned one by one or as one: all the same afterwards.
        #[test]
        fn who_learns_the_news_knows_as_much(
            first in prop::collection::vec(any_op(), 0..40),
            second in prop::collection::vec(any_op(), 0..40),
        ) {
            let (mut own, mut learned) = (Objects::default(), Objects::default());
            let (mut mark, mut laid, mut both) = (Mark::default(), LayoutSnapshot::default(), None::<LayoutDelta>);
            for ops in [&first, &second] {
                go(&mut own, ops);
                let (news, changes) = (read(&own.delta_since(&mark)), read(&own.changes(laid)));
                prop_assert!(learned.learn_news(&news) && learned.lay(&changes));
                (mark, laid) = (own.mark(), own.layout.snapshot());
                both = Some(match both {
                    Some(before) => before.join(news).expect("neighbours"),
                    None => news,
                });
            }
            let mut at_once = Objects::default();
            prop_assert!(at_once.learn_news(&both.expect("two")) && at_once.lay(&own.changes(LayoutSnapshot::default())));
            for other in [&mut learned, &mut at_once] {
                prop_assert_eq!((&other.table.list, &other.table.lives, &other.table.files), (&own.table.list, &own.table.lives, &own.table.files));
                prop_assert_eq!(other.layout.extents.large(), own.layout.extents.large());
                prop_assert_eq!(other.layout.extents.live(), own.layout.extents.live());
                for address in first.iter().chain(&second).flat_map(edges) {
                    prop_assert_eq!(other.layout.object_at(address), own.layout.object_at(address), "{}", address);
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_learned() {
        let mut own = Objects::default();
        go(&mut own, &[Op::Begins(4096, 8192, 1), Op::Maps(1 << 20, 4096, 1)]);
        let (news, changes) = (own.delta_since(&Mark::default()), own.changes(LayoutSnapshot::default()));
        let mut other = Objects::default();
        assert!(!other.lay(&changes), "of objects that are not known");
        let damaged: [fn(&mut LayoutDelta); 6] = [
            |news| news.before[0] = 2,
            |news| news.list[1] = news.list[0],
            |news| news.list[0] = Object::Unknown,
            |news| news.list[1] = Object::Mapping { context: ContextNumber::ROOT, segment: None, file: Some(1) },
            |news| news.large.push(ObjectNumber::new(3)),
            |news| news.lives.values_mut().for_each(|life| life.bytes = u64::MAX),
        ];
        for damage in damaged {
            let mut news = news.clone();
            damage(&mut news);
            assert!(!Objects::default().learn_news(&news), "{news:?}");
        }
        assert!(!news.is_sound(1, 9) && !news.is_sound(9, 1) && news.is_sound(9, 9));
        assert!(other.learn_news(&news) && other.lay(&changes));
        assert!(!other.learn_news(&news), "once more");
        assert!(news.clone().join(news).is_none());
    }

    #[test]
    fn variables_are_of_modules_that_are_known() {
        let function = Function {
            name: "main".into(),
            segments: vec![Segment {
                slots: vec![Slot { word: 1, size: 8, ..Default::default() }],
                ..Segment::block(1, Vec::new())
            }],
        };
        let image = Image { functions: vec![function], variables: vec![8, 16] };
        let modules = Program { images: vec![image] }.modules();
        let (data, slots) = (modules[0].placed.table.data.len() as u32, modules[0].placed.table.slots.len() as u32);
        let is_of = |object| {
            let (before, files, large, lives) = ([0; 3], Vec::new(), Vec::new(), BTreeMap::new());
            LayoutDelta { before, list: vec![object], files, large, lives }.is_of(&modules)
        };
        assert!(data > 1 && slots == 1 && is_of(Object::Unknown));
        assert!(is_of(Object::Datum { table: 0, datum: data - 1 }) && is_of(Object::Slot { table: 0, slot: 0 }));
        assert!(!is_of(Object::Datum { table: 0, datum: data }) && !is_of(Object::Slot { table: 0, slot: 1 }));
        assert!(!is_of(Object::Datum { table: 1, datum: 0 }) && !is_of(Object::Slot { table: 1, slot: 0 }));
    }
}
