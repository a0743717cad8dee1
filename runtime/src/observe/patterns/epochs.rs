//! Which static accesses touched how many bytes in each of the latest epochs, with sums over rows of them.
//!
//! Takes a list per epoch, sorted by access; gives the lists and sums that together are everything since an epoch, as
//! far back as [`LOOK_BACK`]. What is older is forgotten.

use std::collections::VecDeque;

use crate::sums::sum_up;

/// Epochs that one look goes back over.
const LOOK_BACK: u64 = 1 << 14;
/// Lists of one level that make one of the next, and levels.
const FAN: u64 = 16;
const LEVELS: u32 = 4;

type List = Box<[(u32, u64)]>;

/// Lists of as many epochs each, side by side.
#[derive(Default)]
struct Level {
    /// Lists that are forgotten.
    gone: u64,
    lists: VecDeque<List>,
}

#[derive(Default)]
pub struct Epochs {
    len: u64,
    levels: [Level; LEVELS as usize],
}

impl Epochs {
    /// Epochs that have ended.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// An epoch ends: accesses and the bytes that they touched, sorted.
    pub fn push(&mut self, touched: List) {
        self.len += 1;
        self.levels[0].lists.push_back(touched);
        for level in 1..LEVELS {
            if self.len.is_multiple_of(FAN.pow(level)) {
                let parts = self.levels[level as usize - 1].lists.iter().rev().take(FAN as usize);
                let mut sum: Vec<(u32, u64)> = parts.flatten().copied().collect();
                sum_up(&mut sum);
                self.levels[level as usize].lists.push_back(sum.into());
            }
        }
        for (level, width) in self.levels.iter_mut().zip((0..).map(|level| FAN.pow(level))) {
            while (level.gone + 1) * width + LOOK_BACK <= self.len {
                level.lists.pop_front();
                level.gone += 1;
            }
        }
    }

    /// Accesses and bytes of the epochs since `first`; an access may come several times.
    pub fn since(&self, first: u64) -> impl Iterator<Item = (u32, u64)> {
        let mut at = first.max(self.len.saturating_sub(LOOK_BACK));
        let next = move || {
            if at >= self.len {
                return None;
            }
            let is_whole = |level: &u32| at.is_multiple_of(FAN.pow(*level)) && at + FAN.pow(*level) <= self.len;
            let level = (0..LEVELS).rev().find(is_whole)?;
            let width = FAN.pow(level);
            let Level { gone, lists } = &self.levels[level as usize];
            let list = lists.get((at / width - gone) as usize)?;
            at += width;
            Some(list)
        };
        std::iter::from_fn(next).flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn sums_are_those_of_the_epochs() {
        let (mut epochs, mut all) = (Epochs::default(), Vec::new());
        let mut seed = 5u64;
        for len in 1..=40_000u64 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let list: List =
                (0..4).filter(|site| seed >> (40 + site) & 1 == 1).map(|site| (site, seed >> 50)).collect();
            epochs.push(list.clone());
            all.push(list);
            if len % 397 != 0 {
                continue;
            }
            for first in [len, len - 1, len - len.min(20), (seed >> 30) % len, len.saturating_sub(LOOK_BACK), 0] {
                let mut found = BTreeMap::new();
                epochs.since(first).for_each(|(site, bytes)| *found.entry(site).or_insert(0) += bytes);
                let mut expected = BTreeMap::new();
                let past = all[first as usize..].iter().rev().take(LOOK_BACK as usize).flatten();
                past.for_each(|(site, bytes)| *expected.entry(*site).or_insert(0) += bytes);
                assert_eq!(found, expected, "{first}.. of {len}");
            }
        }
        let lists: usize = epochs.levels.iter().map(|level| level.lists.len()).sum();
        assert!(lists < 20_000, "{lists} lists are kept");
    }
}
