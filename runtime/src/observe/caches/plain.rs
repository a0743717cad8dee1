//! A plain simulator of caches, for tests only: a map of lines per level with the time of their last use, and trees as
//! lists of choices by depth.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use super::{Geometry, Policy};
use crate::counts::caches::CacheCounts;

/// A level; what is in it, when it was used last, where it is and who wrote it last.
struct Plain<C> {
    geometry: Geometry,
    lines: HashMap<u64, (u64, usize, Option<C>)>,
    /// By set and depth in its tree: whether the upper half is older.
    trees: HashMap<u64, Vec<Vec<bool>>>,
    counts: BTreeMap<C, CacheCounts>,
}

impl<C: Copy + Ord> Plain<C> {
    fn set(&self, line: u64) -> u64 {
        line % self.geometry.sets().expect("a possible cache")
    }

    fn used(&mut self, line: u64, time: u64) {
        let (set, ways) = (self.set(line), self.geometry.ways as usize);
        let entry = self.lines.get_mut(&line).expect("it is there");
        entry.0 = time;
        if self.geometry.policy == Policy::Lru {
            return;
        }
        let depths = ways.ilog2() as usize;
        let tree = self.trees.entry(set).or_insert_with(|| (0..depths).map(|depth| vec![false; 1 << depth]).collect());
        for (depth, choices) in tree.iter_mut().enumerate() {
            let prefix = entry.1 >> (depths - depth);
            choices[prefix] = entry.1 >> (depths - depth - 1) & 1 == 0;
        }
    }

    fn touch(&mut self, line: u64, time: u64) -> bool {
        let is_there = self.lines.contains_key(&line);
        if is_there {
            self.used(line, time);
        }
        is_there
    }

    fn insert(&mut self, line: u64, time: u64) -> Option<(u64, Option<C>)> {
        let (set, ways) = (self.set(line), self.geometry.ways as usize);
        let mates: Vec<(u64, u64, usize)> =
            self.lines.iter().filter(|(other, _)| self.set(**other) == set).map(|(&l, &(t, w, _))| (t, l, w)).collect();
        let mut gone = None;
        let way = match (0..ways).find(|way| mates.iter().all(|mate| mate.2 != *way)) {
            Some(way) => way,
            None => {
                let leaves = match self.geometry.policy {
                    Policy::Lru => *mates.iter().min().expect("a full set"),
                    Policy::TreePlru => {
                        let tree = &self.trees[&set];
                        let way = tree.iter().fold(0, |way, choices| 2 * way + usize::from(choices[way]));
                        *mates.iter().find(|mate| mate.2 == way).expect("a full set")
                    }
                };
                let (_, way, writer) = self.lines.remove(&leaves.1).expect("it is there");
                gone = Some((leaves.1, writer));
                way
            }
        };
        self.lines.insert(line, (time, way, None));
        self.used(line, time);
        gone
    }
}

/// What accesses move at each level, by who is charged for it; each with its bytes, and whether it is a store.
pub fn simulate<C: Copy + Ord>(
    levels: &[Geometry],
    accesses: impl Iterator<Item = (Range<u64>, bool, C)>,
) -> Vec<BTreeMap<C, CacheCounts>> {
    let plain = |&geometry| Plain { geometry, lines: HashMap::new(), trees: HashMap::new(), counts: BTreeMap::new() };
    let mut levels: Vec<Plain<C>> = levels.iter().map(plain).collect();
    let mut time = 0;
    let size = u64::from(levels[0].geometry.line);
    for (bytes, is_store, cell) in accesses {
        for line in bytes.start / size..=(bytes.end - 1) / size {
            time += 1;
            let hit = (0..levels.len()).find(|&level| levels[level].touch(line, time)).unwrap_or(levels.len());
            for level in (0..hit).rev() {
                let counts = levels[level].counts.entry(cell).or_default();
                *(if is_store { &mut counts.stores } else { &mut counts.loads }) += 1;
                let Some((gone, mut writer)) = levels[level].insert(line, time) else { continue };
                for before in (0..level).rev() {
                    if let Some((_, _, Some(late))) = levels[before].lines.remove(&gone) {
                        levels[before].counts.entry(late).or_default().write_backs += 1;
                        writer = Some(late);
                    }
                }
                if let Some(writer) = writer {
                    levels[level].counts.entry(writer).or_default().write_backs += 1;
                    if let Some(behind) = levels.get_mut(level + 1) {
                        behind.lines.get_mut(&gone).expect("it holds all").2 = Some(writer);
                    }
                }
            }
            if is_store {
                levels[0].lines.get_mut(&line).expect("brought in").2 = Some(cell);
            }
        }
    }
    for level in 0..levels.len() {
        let dirty: Vec<(u64, C)> = levels[level].lines.iter().filter_map(|(&line, l)| Some((line, l.2?))).collect();
        for (line, writer) in dirty {
            levels[level].counts.entry(writer).or_default().write_backs += 1;
            if let Some(behind) = levels.get_mut(level + 1) {
                behind.lines.get_mut(&line).expect("it holds all").2 = Some(writer);
            }
        }
    }
    levels.into_iter().map(|level| level.counts).collect()
}
