//! Bytes read from beyond each capacity, estimated from a sample: the miss ratio curve.
//!
//! Takes reads that were seen, with their weights and groups; gives for capacities that are powers of two how many
//! bytes come from deeper, between which limits. Depths that are estimates themselves may lie on the other side of a
//! capacity: the limits are what is read from beyond a somewhat larger and a somewhat smaller one. Nothing is told of
//! capacities that too few sampled lines fill, or beyond which too few groups saw anything.

use serde::{Deserialize, Serialize};

use super::sampled::{Class, GROUPS, LEAST_GROUPS, PARTS, Seen, T_95, parts, variance};
use crate::abi::sample::LINE;

/// Depths are told apart by so many steps per power of two.
const STEPS: usize = 4;
/// Sampled lines that a capacity must hold.
const LEAST_LINES: u64 = 16;

/// Bytes of a step, in 1/256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Step {
    groups: [i128; GROUPS],
    seen: u16,
}

impl Step {
    fn merge(&mut self, other: &Self) {
        self.groups.iter_mut().zip(other.groups).for_each(|(sum, more)| *sum += more);
        self.seen |= other.seen;
    }

    fn bytes(&self) -> f64 {
        self.groups.iter().sum::<i128>() as f64 / PARTS
    }
}

/// Bytes read, by depth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissCurve {
    /// At depths that are known.
    known: Vec<Step>,
    /// At depths that are estimates.
    estimated: Vec<Step>,
}

/// What is read from beyond a capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beyond {
    /// The capacity.
    pub capacity: u64,
    /// The estimate.
    pub bytes: f64,
    /// What it is at least in 19 of 20 samples.
    pub least: f64,
    /// What it is at most.
    pub most: f64,
}

impl MissCurve {
    /// Adds a read that was seen.
    pub fn add(&mut self, seen: &Seen) {
        // A price is a whole number, on average half above the root of the depth.
        let depth = (seen.cost / seen.bytes - 0.5).max(1.0).powi(2);
        let step = (depth.log2() * STEPS as f64).ceil() as usize;
        let steps = if seen.class == Class::Short { &mut self.known } else { &mut self.estimated };
        if steps.len() <= step {
            steps.resize(step + 1, Step::default());
        }
        steps[step].groups[seen.group] += parts(seen.bytes);
        steps[step].seen |= 1 << seen.group;
    }

    /// Adds what others read.
    pub fn merge(&mut self, other: &Self) {
        for (own, more) in [(&mut self.known, &other.known), (&mut self.estimated, &other.estimated)] {
            own.resize(own.len().max(more.len()), Step::default());
            own.iter_mut().zip(more).for_each(|(sum, more)| sum.merge(more));
        }
    }

    /// Whether it can be of a run; of what nobody has checked.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        let steps = || self.known.iter().chain(&self.estimated);
        let is_small = |step: &Step| step.groups.iter().all(|bytes| (0..1 << 96).contains(bytes));
        self.known.len().max(self.estimated.len()) <= 64 * STEPS && steps().all(is_small)
    }

    /// What is read from beyond all capacities that a sample of one in so many tells of; `read` are all bytes read.
    #[must_use]
    pub fn curve(&self, one_in: u32, read: u64) -> Vec<Beyond> {
        (0..64).map(|power| 1 << power).filter_map(|capacity| self.beyond(capacity, one_in, read)).collect()
    }

    fn beyond(&self, capacity: u64, one_in: u32, read: u64) -> Option<Beyond> {
        let lines = capacity / LINE / u64::from(one_in);
        if lines < LEAST_LINES {
            return None;
        }
        let first = capacity.ilog2() as usize * STEPS + 1;
        let mut all = above(&self.known, first);
        let known = all.bytes();
        all.merge(&above(&self.estimated, first));
        if all.seen.count_ones() < LEAST_GROUPS {
            return None;
        }
        // Of so many lines, a sample has more or fewer by two of their root in 19 of 20.
        let margin = ((1.0 + 2.0 / (lines as f64).sqrt()).log2() * STEPS as f64).ceil() as usize;
        let within = T_95 * variance(&all.groups).sqrt();
        let (fewer, more) =
            (above(&self.estimated, first + margin), above(&self.estimated, first.saturating_sub(margin)));
        Some(Beyond {
            capacity,
            bytes: all.bytes(),
            least: (known + fewer.bytes() - within).max(0.0),
            most: (known + more.bytes() + within).min(read as f64),
        })
    }
}

/// The sum of steps from one on.
fn above(steps: &[Step], first: usize) -> Step {
    let mut sum = Step::default();
    steps.iter().skip(first).for_each(|step| sum.merge(step));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(class: Class, group: usize, depth: f64, bytes: f64) -> Seen {
        Seen { class, group, cost: (depth.sqrt() + 0.5) * bytes, bytes }
    }

    #[test]
    fn a_capacity_that_few_lines_fill_or_beyond_which_few_groups_saw_is_not_told() {
        let mut sum = MissCurve::default();
        for group in 0..GROUPS {
            sum.add(&seen(Class::Long, group, 1e6, 64.0));
            sum.add(&seen(Class::Short, group, 100.0, 640.0));
        }
        (0..5).for_each(|group| sum.add(&seen(Class::Long, group, 1e9, 64.0)));
        let curve = sum.curve(8, 16 * 704 + 5 * 64);
        let capacities: Vec<u64> = curve.iter().map(|beyond| beyond.capacity).collect();
        let expected: Vec<u64> = (13..20).map(|power| 1 << power).collect();
        assert_eq!(capacities, expected, "from 16 lines of 64 bytes times 8 to below a million");
        let first = curve[0];
        assert_eq!(first.bytes, 21.0 * 64.0, "what is near is not beyond");
        assert!(first.least <= first.bytes && first.bytes <= first.most);
    }

    #[test]
    fn depths_beside_a_capacity_leave_wide_limits_if_they_are_estimates() {
        let curve = |class| {
            let mut sum = MissCurve::default();
            (0..GROUPS).for_each(|group| sum.add(&seen(class, group, 65_000.0, 64.0)));
            (0..GROUPS).for_each(|group| sum.add(&seen(class, group, 1e7, 64.0)));
            sum.curve(8, 2 * 16 * 64).into_iter().find(|beyond| beyond.capacity == 1 << 16).expect("it is told")
        };
        let (known, estimated) = (curve(Class::Short), curve(Class::Long));
        assert_eq!((known.least, known.bytes, known.most), (1024.0, 1024.0, 1024.0));
        assert_eq!((estimated.least, estimated.bytes, estimated.most), (1024.0, 1024.0, 2048.0));
    }

    #[test]
    fn order_does_not_matter() {
        let all: Vec<Seen> = (1..100).map(|n| seen(Class::Middle, n % GROUPS, (n * n * n) as f64, 8.0)).collect();
        let of = |all: &[Seen]| {
            let mut sum = MissCurve::default();
            all.iter().for_each(|seen| sum.add(seen));
            sum
        };
        let mut parts = of(&all[50..]);
        parts.merge(&of(&all[..50]));
        assert_eq!(parts, of(&all));
    }

    #[test]
    fn a_curve_is_possible_if_no_run_is_too_long_for_it() {
        let of = |steps, bytes| {
            let step = Step { groups: [bytes; GROUPS], seen: 0 };
            let (long, short) = (vec![step; steps], vec![Step::default(); 2]);
            let possible = |known, estimated| MissCurve { known, estimated }.is_possible();
            let ways = [possible(long.clone(), short.clone()), possible(short, long)];
            assert_eq!(ways[0], ways[1], "the same of known and of estimated depths");
            ways[0]
        };
        assert!(MissCurve::default().is_possible() && of(64 * STEPS, 0) && of(1, (1 << 96) - 1));
        assert!(!of(64 * STEPS + 1, 0) && !of(1, 1 << 96) && !of(1, -1));
    }

    #[test]
    fn limits_are_as_wide_as_groups_differ_and_no_more_than_all_is_read() {
        let mut sum = MissCurve::default();
        (0..GROUPS).for_each(|group| sum.add(&seen(Class::Short, group, 1e6, 8.0 + group as f64)));
        let bytes = 16.0 * 15.5;
        let within = T_95 * (340.0f64 * 16.0 / 15.0).sqrt();
        let at = |read| sum.curve(1, read).into_iter().find(|beyond| beyond.capacity == 1 << 12).expect("it is told");
        let beyond = at(1000);
        assert!((beyond.least - (bytes - within)).abs() < 0.1 && (beyond.most - (bytes + within)).abs() < 0.1);
        assert_eq!((beyond.bytes, at(bytes as u64).most), (bytes, bytes));
        let told: Vec<u64> = sum.curve(1, 1000).iter().map(|beyond| beyond.capacity).collect();
        assert_eq!(told, (10..20).map(|power| 1 << power).collect::<Vec<_>>(), "16 lines to less than a million bytes");
        assert!(sum.curve(1 << 20, 1000).is_empty());
    }
}
