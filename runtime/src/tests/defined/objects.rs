//! Data objects: which object each byte of memory is of, as a map of bytes.

use std::collections::BTreeMap;

use super::{Cell, Stack};
use crate::{
    objects::PARTS,
    tests::history::{Access, Happening, Object, Site},
};

/// How often memory of an object began to live, and how much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Life {
    pub times: u64,
    pub bytes: u64,
    pub peak: u64,
}

/// What is known of objects that were accessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    pub lives: BTreeMap<Object, Life>,
    /// By object, and by static access.
    pub uses: BTreeMap<(Object, (u32, u32), u32), Cell>,
    /// Bytes read of each 64th of blocks of 4 KiB and more, by where accesses begin.
    pub parts: BTreeMap<Object, Vec<u64>>,
}

impl Objects {
    /// Together with those of other threads.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        for (object, life) in other.lives {
            let all = self.lives.entry(object).or_default();
            (all.times, all.bytes, all.peak) = (all.times + life.times, all.bytes + life.bytes, all.peak + life.peak);
        }
        other.uses.into_iter().for_each(|(at, cell)| self.uses.entry(at).or_default().add(&cell));
        for (object, parts) in other.parts {
            let all = self.parts.entry(object).or_insert_with(|| vec![0; PARTS]);
            all.iter_mut().zip(parts).for_each(|(all, more)| *all += more);
        }
        self
    }
}

/// What lies where, block by block.
#[derive(Default)]
pub struct Map {
    /// By first byte: bytes, and the object; of parts of blocks that were cut too.
    blocks: Vec<(u64, u64, Object, bool)>,
}

impl Map {
    /// The object that an access goes to: that of its first byte.
    #[must_use]
    pub fn object_at(&self, address: u64) -> Object {
        self.block(address).map_or(Object::Unknown, |block| block.2.clone())
    }

    fn block(&self, address: u64) -> Option<&(u64, u64, Object, bool)> {
        self.blocks.iter().find(|(start, len, ..)| (*start..start + len).contains(&address))
    }

    /// The block around an address, if it is whole.
    fn whole(&self, address: u64) -> Option<(u64, u64)> {
        self.block(address).filter(|block| block.3).map(|(start, len, ..)| (*start, *len))
    }

    /// Nothing lies there any more; what is left of blocks at its borders is cut.
    fn clear(&mut self, address: u64, len: u64) {
        let end = address + len;
        let mut left = Vec::new();
        for (start, bytes, object, is_whole) in std::mem::take(&mut self.blocks) {
            if start + bytes <= address || end <= start {
                left.push((start, bytes, object, is_whole));
                continue;
            }
            if start < address {
                left.push((start, address - start, object.clone(), false));
            }
            if end < start + bytes {
                left.push((end, start + bytes - end, object, false));
            }
        }
        self.blocks = left;
    }

    fn put(&mut self, address: u64, len: u64, object: Object) {
        self.clear(address, len);
        self.blocks.push((address, len, object, true));
    }

    /// Goes on behind a happening.
    pub fn follow(&mut self, happening: &Happening) {
        match happening {
            Happening::Begins { address, len, object } => self.put(*address, *len, object.clone()),
            Happening::Ends { address, len } => self.clear(*address, *len),
            Happening::Becomes { from, from_len, to, to_len, object } => {
                let known = self.object_at(*from);
                let object = if known == Object::Unknown { object.clone() } else { known };
                self.clear(*from, *from_len);
                self.put(*to, *to_len, object);
            }
            _ => {}
        }
    }
}

/// Live bytes of objects.
#[derive(Default)]
struct Lives(BTreeMap<Object, (Life, u64)>);

impl Lives {
    fn begins(&mut self, object: Object, len: u64) {
        let (life, live) = self.0.entry(object).or_default();
        *live += len;
        (life.times, life.bytes, life.peak) = (life.times + 1, life.bytes + len, life.peak.max(*live));
    }

    fn ends(&mut self, object: &Object, len: u64) {
        if let Some((_, live)) = self.0.get_mut(object) {
            *live = live.saturating_sub(len);
        }
    }

    /// A block is of another size.
    fn becomes(&mut self, object: &Object, from_len: u64, to_len: u64) {
        self.ends(object, from_len);
        let (life, live) = self.0.entry(object.clone()).or_default();
        *live += to_len;
        (life.bytes, life.peak) = (life.bytes + to_len.saturating_sub(from_len), life.peak.max(*live));
    }

    fn follow(&mut self, happening: &Happening, map: &Map) {
        match happening {
            Happening::Begins { len, object, .. } => self.begins(object.clone(), *len),
            Happening::Ends { address, len } => self.ends(&map.object_at(*address), *len),
            Happening::Becomes { from, from_len, to_len, object, .. } => match map.object_at(*from) {
                Object::Unknown => self.begins(object.clone(), *to_len),
                known => self.becomes(&known, *from_len, *to_len),
            },
            _ => {}
        }
    }
}

/// The objects of one thread.
#[must_use]
pub fn objects(history: &[Happening], hints: bool) -> Objects {
    const LEAST: u64 = 4096;
    let (mut map, mut lives, mut stack, mut objects) =
        (Map::default(), Lives::default(), Stack::new(hints), Objects::default());
    let at = |map: &Map, access: &Access, site: &Site| (map.object_at(access.address), site.segment, site.item);
    for happening in history {
        let found = stack.follow(happening);
        match happening {
            Happening::Load(load) => {
                let Some(site) = load.charged() else { continue };
                let cell = objects.uses.entry(at(&map, load, site)).or_default();
                found.iter().for_each(|byte| cell.found.byte(*byte));
                if let Some((start, len)) = map.whole(load.address).filter(|(_, len)| *len >= LEAST) {
                    let parts = objects.parts.entry(map.object_at(load.address)).or_insert_with(|| vec![0; PARTS]);
                    parts[((load.address - start) * PARTS as u64 / len) as usize] += load.len;
                }
            }
            Happening::Store(store) => {
                let Some(site) = store.charged() else { continue };
                objects.uses.entry(at(&map, store, site)).or_default().written += store.len;
            }
            _ => {}
        }
        lives.follow(happening, &map);
        map.follow(happening);
    }
    objects.uses.retain(|_, cell| *cell != Cell::default());
    for (object, ..) in objects.uses.keys() {
        let life = lives.0.get(object).map(|(life, _)| life.clone()).unwrap_or_default();
        objects.lives.insert(object.clone(), life);
    }
    objects
}
