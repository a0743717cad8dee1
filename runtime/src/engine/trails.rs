//! Where the words of a block's streams were before it: streams whose words lay among each other go together, so that one look at the timeline
//! does for all of them.
//!
//! Takes a trail per stream; gives groups of trails that have the same step and whose first words lie within one step, so that their places
//! repeat together. An unrolled or vectorised loop that comes after another leaves many of these. Refuses nothing.

use std::ops::Range;

/// Words of a trail further apart are looked at one by one.
pub const WIDE_STEP: u64 = 256;

/// Places of a stream's words, from the lowest one upwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trail {
    /// From one word to the next.
    pub step: u64,
    pub low: u64,
    pub len: u64,
    pub stream: usize,
}

#[derive(Default)]
pub struct Trails {
    /// In order, so that those of a group are neighbours.
    all: Vec<Trail>,
    groups: Vec<Range<usize>>,
}

impl Trails {
    pub fn find(&mut self, trails: impl Iterator<Item = Trail>) {
        let Trails { all, groups } = self;
        all.clear();
        all.extend(trails);
        all.sort_unstable();
        groups.clear();
        for (number, trail) in all.iter().enumerate() {
            let takes_turns = |first: &Trail| first.step == trail.step && trail.low - first.low < trail.step;
            match groups.last_mut() {
                Some(group) if takes_turns(&all[group.start]) => group.end = number + 1,
                _ => groups.push(number..number + 1),
            }
        }
    }

    pub fn groups(&self) -> impl Iterator<Item = &[Trail]> {
        self.groups.iter().map(|group| &self.all[group.clone()])
    }
}

/// Whether the words of a group lie so close that the timeline between them is worth going over.
#[inline(always)]
pub fn are_close(group: &[Trail]) -> bool {
    group.first().is_some_and(|first| first.step <= WIDE_STEP * group.len() as u64)
}
