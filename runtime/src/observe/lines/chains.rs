//! Groups that follow each other through the same lines: a *chain*. Its leader comes to each line first, its tail
//! leaves it last.
//!
//! Takes the groups of a run after an iteration. Refuses steps that do not cross lines at regular times, chains that
//! meet, and iterations in which a line is touched again from a depth that counts.

use super::{
    front::{FRONT, PLACES},
    groups::{Group, Groups},
};
use crate::observe::writer::WriterNumber;

/// Visits to lines in a period at most.
const MOST_VISITS: u64 = 128;

/// Groups with one step that are always in one line, or in two neighbours.
#[derive(Clone, Copy)]
pub struct Chain {
    pub stride: i64,
    /// Iterations from line to line; 0 if it never leaves its line.
    pub period: u64,
    /// The group that comes to a line first, and in which iteration it does next.
    pub leader: usize,
    pub comes: u64,
    /// The iteration in which the tail leaves its line next, and its place among the last accesses of an iteration.
    pub leaves: u64,
    pub rank: usize,
    /// Who has written a line when all groups have left it, plus one; 0 if nobody has.
    pub writer: Option<WriterNumber>,
    groups: usize,
}

impl Chain {
    /// Whether it is in two lines after an iteration.
    #[inline(always)]
    fn is_in_two(&self, after: u64) -> bool {
        let since = |iteration: u64| (iteration + self.period - self.comes % self.period) % self.period;
        self.period > 0 && since(after) < since(self.leaves)
    }

    /// Whether it comes to a line in an iteration.
    #[inline(always)]
    pub fn comes_in(&self, iteration: u64) -> bool {
        self.period > 0 && iteration % self.period == self.comes % self.period
    }

    /// Whether its groups are in two lines now.
    #[inline(always)]
    pub fn is_split(&self) -> bool {
        self.leaves < self.comes
    }

    /// When the line to which it comes next is left.
    #[inline(always)]
    pub fn leaves_at(&self) -> u64 {
        self.leaves + self.period * (1 + u64::from(self.is_split()))
    }
}

/// The chains of a run; kept for its memory. [`Self::find`] fills it, and the long run reads it: valid until the next
/// call, if that gave `true`.
#[derive(Default)]
pub struct Chains {
    pub all: Vec<Chain>,
    /// Of each group, its chain.
    pub of: Vec<usize>,
    /// Iterations after which everything comes again, some lines further.
    pub period: u64,
}

impl Chains {
    /// Finds the chains of groups that are followed up to before an iteration; false if they are not regular.
    #[inline(always)]
    pub fn find(&mut self, groups: &Groups, from: u64, iterations: u64, shift: u32) -> bool {
        let Groups { all, by_last, by_store } = groups;
        self.all.clear();
        self.of.clear();
        let size = 1u64 << shift;
        self.period = 1;
        if all.len() > PLACES {
            return false;
        }
        for (number, group) in all.iter().enumerate() {
            let step = group.stride.unsigned_abs();
            let period = match step {
                0 => 0,
                _ if step >= size => 1,
                _ if step.is_power_of_two() => size / step,
                _ => return false,
            };
            self.period = self.period.max(period);
            let is_near = |chain: &Chain| {
                period > 1 && chain.stride == group.stride && all[chain.leader].addr.abs_diff(group.addr) < size
            };
            let chain = self.all.iter().position(is_near).unwrap_or(self.all.len());
            if chain == self.all.len() {
                self.all.push(Chain {
                    stride: group.stride,
                    period,
                    leader: number,
                    comes: 0,
                    leaves: 0,
                    rank: 0,
                    writer: None,
                    groups: 0,
                });
            }
            self.all[chain].groups += 1;
            self.of.push(chain);
        }
        if self.all.len() > FRONT || self.period * 3 > iterations - from {
            return false;
        }
        self.all.iter().map(|chain| self.period / chain.period.max(1)).sum::<u64>() <= MOST_VISITS
            && self.are_apart(all, from, iterations, shift)
            && (0..self.all.len()).all(|chain| self.complete(chain, all, by_last, by_store, from, shift))
            && self.are_above(all, from)
    }

    /// Whether no two chains are ever in one line, and no chain comes to a line within two periods after another one.
    #[inline(always)]
    fn are_apart(&self, all: &[Group], from: u64, iterations: u64, shift: u32) -> bool {
        let size = 1u64 << shift;
        let ends = |group: &Group| {
            let [one, other] = [group.address_at(from - 1) >> shift, group.address_at(iterations - 1) >> shift];
            [one.min(other), one.max(other)]
        };
        let reach = 2 * self.period as i64 + 1;
        let are_apart = |number: usize, other: usize| {
            let (a, b) = (&all[number], &all[other]);
            if a.stride == b.stride && a.stride != 0 {
                let distance = a.addr.wrapping_sub(b.addr) as i64;
                let step = a.stride;
                let iterations = distance.wrapping_div(step).clamp(-reach, reach);
                let is_far =
                    |iterations: i64| distance.wrapping_sub(step.wrapping_mul(iterations)).unsigned_abs() >= size;
                return (iterations - 1..=iterations + 1).all(is_far);
            }
            let [a, b] = [ends(a), ends(b)];
            a[0] > b[1] || b[0] > a[1]
        };
        (0..all.len())
            .all(|number| (0..number).all(|other| self.of[number] == self.of[other] || are_apart(number, other)))
    }

    /// Finds the ends of a chain, and its writer; false if it is so long that a line could be left before all have come
    /// to it.
    #[inline(always)]
    fn complete(
        &mut self,
        number: usize,
        all: &[Group],
        by_last: &[u8],
        by_store: &[u8],
        from: u64,
        shift: u32,
    ) -> bool {
        let size = 1u64 << shift;
        let Self { all: chains, of, .. } = self;
        let chain = &mut chains[number];
        if chain.period == 0 {
            return true;
        }
        let is_here = |group: &usize| of[*group] == number;
        // Of equal distances, the first access comes first.
        let ahead = |group: usize| (all[group].addr as i64).wrapping_mul(chain.stride.signum());
        let mut members = (0..all.len()).filter(is_here);
        let Some(mut first) = members.next() else { return false };
        let mut last = first;
        for group in members {
            first = if ahead(group) > ahead(first) { group } else { first };
            last = if ahead(group) < ahead(last) { group } else { last };
        }
        if chain.period > 1 && all[first].addr.abs_diff(all[last].addr) > size - chain.stride.unsigned_abs() {
            return false;
        }
        (chain.comes, chain.leaves) = (all[first].next, all[last].next);
        let line = |group: usize| all[group].address_at(from - 1) >> shift;
        let front = line(first);
        let Some(leader) = (0..all.len()).filter(is_here).find(|group| all[*group].next == chain.comes) else {
            return false;
        };
        chain.leader = leader;
        let Some(rank) = by_last
            .iter()
            .rposition(|&group| is_here(&usize::from(group)) && all[usize::from(group)].next == chain.leaves)
        else {
            return false;
        };
        chain.rank = rank;
        let mut latest = 0;
        for group in by_store.iter().map(|&group| usize::from(group)).filter(is_here) {
            let leaves = all[group].next + if line(group) == front { 0 } else { chain.period };
            if leaves >= latest {
                (latest, chain.writer) = (leaves, all[group].writer);
            }
        }
        true
    }

    /// Whether lines that are touched in two iterations one after another are always so few that their depths do not
    /// count.
    #[inline(always)]
    fn are_above(&self, all: &[Group], from: u64) -> bool {
        let most: usize = self.all.iter().map(|chain| 1 + usize::from(chain.comes != chain.leaves)).sum();
        if most > FRONT {
            return false;
        }
        let moving = self.all.iter().filter(|chain| chain.period > 0).count();
        if most + moving <= FRONT || self.all.iter().all(|chain| chain.groups == 1) {
            return true;
        }
        let lines = |after: u64| self.all.iter().map(|chain| 1 + usize::from(chain.is_in_two(after))).sum::<usize>();
        let come = |iteration: u64| self.all.iter().filter(|chain| chain.comes_in(iteration)).count();
        let is_few = |iteration: u64| lines(iteration - 1) + come(iteration) <= FRONT;
        all.iter().zip(&self.of).all(|(group, &chain)| {
            let chain = &self.all[chain];
            chain.groups == 1
                || (0..self.period / chain.period).all(|times| is_few(group.next.max(from) + times * chain.period))
        })
    }
}
