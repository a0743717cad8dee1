//! Affine runs by lines: what happens between two iterations in which some stream comes to another line is left out.
//!
//! Takes streams whose accesses lie within a line each; the iterations in between touch the lines of the one before
//! them, so that only their order counts, which is that of the last iteration. Streams that are always in one line are
//! one *group*. Refuses runs with more lines than are in front.

use super::{
    front::{FRONT, PLACES},
    groups::{Group, Groups},
    long_runs::Parts,
    stack::Lines,
};
use crate::engine::{AccessTag, Stream};

/// The groups that come to their next lines before all others, in one iteration.
struct Coming {
    next: u64,
    groups: usize,
    /// The number of the last one.
    last: usize,
}

impl Coming {
    #[inline(always)]
    fn from_groups(all: &[Group]) -> Self {
        let mut coming = Self { next: u64::MAX, groups: 0, last: 0 };
        for (number, group) in all.iter().enumerate() {
            if group.next < coming.next {
                coming = Self { next: group.next, groups: 1, last: number };
            } else if group.next == coming.next {
                (coming.groups, coming.last) = (coming.groups + 1, number);
            }
        }
        coming
    }
}

impl Group {
    /// The address of its first access in an iteration.
    #[inline(always)]
    pub(super) fn address_at(&self, iteration: u64) -> u64 {
        self.addr.wrapping_add_signed(self.stride.wrapping_mul(iteration as i64))
    }

    /// The iterations after one, in which it is at an address, that it stays in that line.
    #[inline(always)]
    fn stays(&self, address: u64, shift: u32) -> u64 {
        // Whatever address of the block that is never cut: the block is in the line as long as the first access is.
        let mask = (1u64 << shift) - 1;
        let offset = address & mask;
        let room = if self.stride < 0 { offset } else { mask - offset };
        let step = self.stride.unsigned_abs();
        match step {
            0 => u64::MAX,
            _ if step > room => 0,
            _ => u64::from(room as u32 / step as u32),
        }
    }
}

impl Lines {
    /// Follows an affine run by groups; false, and nothing done, if that cannot be.
    #[inline(always)]
    pub(super) fn follow_groups(&mut self, streams: &[Stream], labels: &[AccessTag], iterations: u64) -> bool {
        let mut groups = std::mem::take(&mut self.groups);
        let can = iterations > 0 && groups.find(streams, labels, self.shift, |cell| self.ledger.countable(cell));
        if can {
            self.all_groups(&mut groups, streams, labels, iterations);
        }
        self.groups = groups;
        can
    }

    /// Follows the groups in periods from an iteration on; gives the first one that is not done.
    #[inline(always)]
    pub(super) fn follow_long_run(&mut self, groups: &mut Groups, from: u64, iterations: u64) -> u64 {
        let Self { front, back, ledger, long_run, shift, .. } = self;
        long_run.follow(Parts { front, back, ledger }, groups, from, iterations, *shift)
    }

    /// The order in front is kept exactly for lines that were left. The lines of the groups are above them, which is
    /// told to the front only where it matters: before a line is found there, and before one of theirs could sink too
    /// far.
    #[inline(always)]
    fn all_groups(&mut self, groups: &mut Groups, streams: &[Stream], labels: &[AccessTag], iterations: u64) {
        let mut lines = self.whole_iteration(&mut groups.all, streams, labels, 0);
        let mut now = 0;
        if lines <= FRONT && iterations > 1 {
            now = self.follow_long_run(groups, 1, iterations) - 1;
            lines = distinct(&groups.all);
        }
        let Groups { all, by_last, by_store } = groups;
        // Lines that may have come above those of the groups since these were raised.
        let mut above = 0;
        while lines <= FRONT {
            let coming = Coming::from_groups(all);
            // Of those in one line, the last one to store has written it.
            if by_store.len() > 1 {
                for group in by_store.iter().map(|&number| &all[usize::from(number)]) {
                    self.front.written_by(group.place, group.writer);
                }
            }
            if coming.next >= iterations {
                self.raise(all, by_last);
                return;
            }
            now = coming.next;
            if lines + coming.groups > FRONT {
                // A line that was left may come again from a depth that counts: the order within the iteration matters.
                self.raise(all, by_last);
                above = 0;
                lines = distinct(all);
                if lines + coming.groups > FRONT {
                    lines = self.whole_iteration(all, streams, labels, now);
                    continue;
                }
            }
            if above + 2 * coming.groups + lines >= PLACES {
                self.raise(all, by_last);
                above = 0;
            }
            above += 2 * coming.groups;
            if coming.groups == 1 {
                self.front.raise(all[coming.last].place);
                self.come_to_next(all, by_last, coming.last, now);
            } else {
                for &number in &*by_last {
                    if all[usize::from(number)].next == now {
                        self.front.raise(all[usize::from(number)].place);
                    }
                }
                for number in 0..all.len() {
                    if all[number].next == now {
                        self.come_to_next(all, by_last, number, now);
                    }
                }
            }
            // At most: some may have come to the lines of others.
            lines = all.len().min(lines + coming.groups);
        }
        for now in now + 1..iterations {
            self.whole_iteration(all, streams, labels, now);
        }
    }

    /// A group comes to its next line.
    #[inline(always)]
    fn come_to_next(&mut self, all: &mut [Group], by_last: &[u8], number: usize, now: u64) {
        let Group { cell, is_store, writer, .. } = all[number];
        let address = all[number].address_at(now);
        let line = address >> self.shift;
        let is_shared = |place| {
            all.iter().enumerate().any(|(other, group)| other != number && group.place == place && group.next != now)
        };
        let place = if let Some(place) = self.front.find(line) {
            if is_shared(place) {
                // Another group is in it, so that it is not deep enough to count.
                place
            } else {
                // The lines that groups still leave are in their order already.
                let stays = |number: &&u8| all[usize::from(**number)].next != now;
                by_last.iter().filter(stays).for_each(|&number| _ = self.front.raise(all[usize::from(number)].place));
                self.come(line, is_store, cell)
            }
        } else {
            self.enter(line, is_store, cell)
        };
        if let Some(writer) = writer {
            self.write(place, writer);
        }
        let group = &mut all[number];
        group.place = place;
        group.next = now.saturating_add(group.stays(address, self.shift)).saturating_add(1);
    }

    /// The lines have the order in which an iteration touched them last.
    fn raise(&mut self, all: &[Group], by_last: &[u8]) {
        for &number in by_last {
            self.front.raise(all[usize::from(number)].place);
        }
    }

    /// Does an iteration access by access; gives the number of its lines, or very many if not all of them are in front
    /// now.
    pub(super) fn whole_iteration(
        &mut self,
        all: &mut [Group],
        streams: &[Stream],
        labels: &[AccessTag],
        now: u64,
    ) -> usize {
        for (stream, &label) in streams.iter().zip(labels) {
            self.access(stream.address_at(now), stream.len, stream.kind, label.cell());
        }
        for group in &mut *all {
            let address = group.address_at(now);
            group.next = now.saturating_add(group.stays(address, self.shift)).saturating_add(1);
            let Some(place) = self.front.find(address >> self.shift) else { return usize::MAX };
            group.place = place;
        }
        distinct(all)
    }
}

/// The number of lines that groups are in.
fn distinct(all: &[Group]) -> usize {
    all.iter().fold(0u16, |places, group| places | 1 << group.place).count_ones() as usize
}
