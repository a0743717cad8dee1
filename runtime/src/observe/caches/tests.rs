//! Against a plain simulator: a map of lines per level with the time of their last use, and trees as lists of choices
//! by depth.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::{
    counts::caches::CacheCounts,
    engine::{Access, Kind, Label},
    observe::follower::Follower,
};

/// A level; what is in it, when it was used last, where it is and who wrote it last.
struct Plain {
    geometry: Geometry,
    lines: HashMap<u64, (u64, usize, Option<u32>)>,
    /// By set and depth in its tree: whether the upper half is older.
    trees: HashMap<u64, Vec<Vec<bool>>>,
    counts: Vec<CacheCounts>,
}

impl Plain {
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

    fn insert(&mut self, line: u64, time: u64) -> Option<(u64, Option<u32>)> {
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

/// The counts of four cells at each level.
fn simulate(levels: &[Geometry], accesses: &[Access]) -> Vec<Vec<CacheCounts>> {
    let plain = |&geometry| Plain {
        geometry,
        lines: HashMap::new(),
        trees: HashMap::new(),
        counts: vec![CacheCounts::default(); 4],
    };
    let mut levels: Vec<Plain> = levels.iter().map(plain).collect();
    let mut time = 0;
    for (number, access) in accesses.iter().enumerate() {
        let (cell, size) = (number as u32 % 4, u64::from(levels[0].geometry.line));
        let is_store = access.kind == Kind::Store;
        for line in access.addr / size..=(access.addr + u64::from(access.len) - 1) / size {
            time += 1;
            let hit = (0..levels.len()).find(|&level| levels[level].touch(line, time)).unwrap_or(levels.len());
            for level in (0..hit).rev() {
                let counts = &mut levels[level].counts[cell as usize];
                *(if is_store { &mut counts.stores } else { &mut counts.loads }) += 1;
                let Some((gone, mut writer)) = levels[level].insert(line, time) else { continue };
                for before in (0..level).rev() {
                    if let Some((_, _, Some(late))) = levels[before].lines.remove(&gone) {
                        levels[before].counts[late as usize].write_backs += 1;
                        writer = Some(late);
                    }
                }
                if let Some(writer) = writer {
                    levels[level].counts[writer as usize].write_backs += 1;
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
        let dirty: Vec<(u64, u32)> = levels[level].lines.iter().filter_map(|(&line, l)| Some((line, l.2?))).collect();
        for (line, writer) in dirty {
            levels[level].counts[writer as usize].write_backs += 1;
            if let Some(behind) = levels.get_mut(level + 1) {
                behind.lines.get_mut(&line).expect("it holds all").2 = Some(writer);
            }
        }
    }
    levels.into_iter().map(|level| level.counts).collect()
}

fn hierarchy() -> impl Strategy<Value = Vec<Geometry>> {
    let policy = || prop::sample::select(vec![Policy::Lru, Policy::TreePlru]);
    let level = move |ways: u32| (0u32..4, policy()).prop_map(move |(sets, policy)| (ways << sets, ways, policy));
    let one = prop::sample::select(vec![1u32, 2, 4, 8]).prop_flat_map(level);
    let lru = prop::sample::select(vec![3u32, 6]).prop_map(|ways| (ways * 4, ways, Policy::Lru));
    prop::collection::vec(prop_oneof![4 => one, 1 => lru], 1..4).prop_map(|mut levels| {
        levels.sort_unstable_by_key(|level| level.0);
        levels.dedup_by_key(|level| level.0);
        let geometry = |(lines, ways, policy)| Geometry { bytes: u64::from(lines) * 64, ways, line: 64, policy };
        levels.into_iter().map(geometry).collect()
    })
}

fn access() -> impl Strategy<Value = Access> {
    let kind = prop_oneof![2 => Just(Kind::Load), 1 => Just(Kind::Store)];
    let place = prop_oneof![0u64..1024, 0u64..16_384];
    (place, prop_oneof![9 => 1u32..9, 1 => 1u32..200], kind).prop_map(|(addr, len, kind)| Access { addr, len, kind })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn levels_move_what_a_plain_simulator_does(levels in hierarchy(), accesses in prop::collection::vec(access(), 1..400)) {
        prop_assert_eq!(check(&levels), Ok(()));
        let expected = simulate(&levels, &accesses);
        let mut caches = Caches::new(&levels);
        caches.set_known(4);
        for (number, access) in accesses.iter().enumerate() {
            caches.accesses(&[*access], &[Label::new(number % 4)]);
        }
        let found = caches.finish();
        for (cell, counts) in found.iter().enumerate() {
            for (level, expected) in expected.iter().enumerate() {
                let counts = counts.as_ref().map_or(CacheCounts::default(), |counts| counts[level]);
                prop_assert_eq!(counts, expected[cell], "cell {} at level {}", cell, level);
            }
        }
    }
}

#[test]
fn impossible_caches_are_refused() {
    let level = |bytes, ways, line, policy| Geometry { bytes, ways, line, policy };
    let good = level(32 << 10, 8, 64, Policy::Lru);
    assert_eq!(good.sets(), Ok(64));
    assert_eq!(level(48 << 10, 12, 64, Policy::Lru).sets(), Ok(64));
    for (bad, why) in [
        (level(32 << 10, 8, 48, Policy::Lru), "power of two"),
        (level(32 << 10, 0, 64, Policy::Lru), "at least one way"),
        (level(0, 8, 64, Policy::Lru), "must be from 1 to"),
        (level(32 << 10, 7, 64, Policy::Lru), "cannot be divided"),
        (level(48 << 10, 8, 64, Policy::Lru), "96 sets"),
        (level(1 << 40, 8, 64, Policy::Lru), "must be from 1 to"),
        (level(48 << 10, 12, 64, Policy::TreePlru), "plru with 12 ways"),
    ] {
        let message = bad.sets().expect_err("it is impossible");
        assert!(message.contains(why), "{message}");
    }
    let far = |bytes, line| check(&[good, level(bytes, 8, line, Policy::Lru)]);
    assert!(far(16 << 10, 64).is_err_and(|why| why.contains("behind one of")));
    assert!(far(32 << 10, 64).is_err_and(|why| why.contains("must be larger")));
    assert!(far(1 << 20, 128).is_err_and(|why| why.contains("the same")));
    assert_eq!(far(1 << 20, 64), Ok(()));
}
