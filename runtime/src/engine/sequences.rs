//! Where the words of a block's streams were before it: streams whose words lay among each other go together, so that
//! one look at the timeline does for all of them.
//!
//! Takes a sequence per stream; gives groups of sequences that have the same step and whose first words lie within one
//! step, so that their positions repeat together. An unrolled or vectorised loop that comes after another leaves many
//! of these. Refuses nothing.

use std::ops::Range;

/// Words of a sequence further apart are looked at one by one.
pub const WIDE_STEP: u64 = 256;

/// Positions of a stream's words, from the lowest one upwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sequence {
    /// From one word to the next.
    pub step: u64,
    pub low: u64,
    pub len: u64,
    pub stream: usize,
}

#[derive(Default)]
pub struct Sequences {
    /// In order, so that those of a group are neighbours.
    all: Vec<Sequence>,
    groups: Vec<Range<usize>>,
}

impl Sequences {
    pub fn find(&mut self, sequences: impl Iterator<Item = Sequence>) {
        let Sequences { all, groups } = self;
        all.clear();
        all.extend(sequences);
        all.sort_unstable();
        groups.clear();
        for (number, sequence) in all.iter().enumerate() {
            let takes_turns =
                |first: &Sequence| first.step == sequence.step && sequence.low - first.low < sequence.step;
            match groups.last_mut() {
                Some(group) if takes_turns(&all[group.start]) => group.end = number + 1,
                _ => groups.push(number..number + 1),
            }
        }
    }

    pub fn groups(&self) -> impl Iterator<Item = &[Sequence]> {
        self.groups.iter().map(|group| &self.all[group.clone()])
    }
}

/// Whether the words of a group lie so close that the timeline between them is worth going over.
#[inline(always)]
pub fn are_close(group: &[Sequence]) -> bool {
    group.first().is_some_and(|first| first.step <= WIDE_STEP * group.len() as u64)
}

/// The lowest of `count` positions that are `step` apart.
#[inline(always)]
pub fn lowest(position: u64, step: i64, count: usize) -> u64 {
    if step < 0 { position.wrapping_add_signed(step * (count as i64 - 1)) } else { position }
}
