//! What one site read, estimated from a sample, and by how much that may be off.
//!
//! Takes costs with their weights and the random group that each was seen by; gives the sum and the spread of groups.
//! Amounts are integers of 1/256, so that the order in which they are added up does not matter.

use serde::{Deserialize, Serialize};

use super::Merge;

/// Random groups that a sample is made of.
pub const GROUPS: usize = 16;
/// Groups that must have seen something, so that an estimate is told.
pub(super) const LEAST_GROUPS: u32 = 12;
/// A class with a smaller part of cost and bytes may have been seen by fewer: one that few groups saw spreads all the
/// more.
const MINOR: f64 = 0.25;
/// Student's t for 15 degrees of freedom: 95 % lie between its negative and it.
pub(super) const T_95: f64 = 2.131;
/// Parts of one unit of cost.
pub(super) const PARTS: f64 = 256.0;

/// How long ago the bytes were touched, by which the sample is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Seen by bursts.
    Short,
    /// Seen by sets of lines that take turns quickly.
    Middle,
    /// Seen by those that take turns slowly.
    Far,
    /// Seen by a set of lines for the whole run, as first touches are.
    Long,
}

/// Of one class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ClassCounts {
    cost: i128,
    bytes: i128,
    /// What each group adds to the cost: by what it saw, and by what it says about the depth of what others saw.
    groups: [i128; GROUPS],
    seen: u16,
}

/// What one site read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct SampleCounts {
    /// Bytes read, exact.
    pub read: u64,
    /// Most sites have one or two, and programs have a hundred thousand sites.
    classes: [Option<Box<ClassCounts>>; 4],
}

/// The counts of a sample as files have them.
#[derive(Serialize, Deserialize)]
struct Written {
    read: u64,
    classes: [ClassCounts; 4],
}

impl From<SampleCounts> for Written {
    fn from(SampleCounts { read, classes }: SampleCounts) -> Self {
        Self { read, classes: classes.map(|class| class.map_or_else(ClassCounts::default, |class| *class)) }
    }
}

impl From<Written> for SampleCounts {
    fn from(Written { read, classes }: Written) -> Self {
        Self { read, classes: classes.map(|class| (class != ClassCounts::default()).then(|| Box::new(class))) }
    }
}

/// An estimated cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The cost.
    pub cost: f64,
    /// What 19 of 20 runs with other seeds are off by, at most; nothing if too few groups saw something.
    pub within: Option<f64>,
}

/// One read, as the sample has it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// How long ago.
    pub class: Class,
    /// The group that saw it.
    pub group: usize,
    /// Its cost times its weight.
    pub cost: f64,
    /// Its bytes times its weight.
    pub bytes: f64,
}

/// A half goes up. Of one read it always fits: its cost is below 2^40, its weight below 2^12.
pub(super) fn parts(amount: f64) -> i128 {
    i128::from((amount * PARTS + 0.5) as i64)
}

impl SampleCounts {
    /// A class, and how many bytes are held for it that were not before.
    fn class(&mut self, class: Class) -> (&mut ClassCounts, usize) {
        let place = &mut self.classes[class as usize];
        let more = if place.is_none() { size_of::<ClassCounts>() } else { 0 };
        (place.get_or_insert_default(), more)
    }

    fn classes(&self) -> impl Iterator<Item = &ClassCounts> {
        self.classes.iter().flatten().map(Box::as_ref)
    }

    /// Adds a read that was seen. Says how many bytes are held for that which were not before.
    pub fn add(&mut self, seen: Seen) -> usize {
        let (class, more) = self.class(seen.class);
        let cost = parts(seen.cost);
        class.cost += cost;
        class.bytes += parts(seen.bytes);
        class.groups[seen.group] += cost;
        class.seen |= 1 << seen.group;
        more
    }

    /// Notes what a group says about the depth of a read: so much of the cost hangs on it. Says what `add` says.
    pub fn lean(&mut self, class: Class, group: usize, cost: f64) -> usize {
        let (class, more) = self.class(class);
        class.groups[group] += parts(cost);
        more
    }

    /// Adds what another site read.
    pub fn merge(&mut self, other: &Self) {
        self.read += other.read;
        for (class, more) in self.classes.iter_mut().zip(&other.classes) {
            let Some(more) = more else { continue };
            let class = class.get_or_insert_default();
            class.cost += more.cost;
            class.bytes += more.bytes;
            class.groups.iter_mut().zip(more.groups).for_each(|(sum, more)| *sum += more);
            class.seen |= more.seen;
        }
    }

    /// Whether sums of millions of such counts are within what integers can hold; of counts that nobody has checked.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        const MOST: i128 = 1 << 96;
        let amounts = |class: &ClassCounts| [class.cost, class.bytes].into_iter().chain(class.groups);
        self.read < 1 << 56 && self.classes().flat_map(amounts).all(|amount| (-MOST..MOST).contains(&amount))
    }

    /// The estimate of the bytes read, which are known exactly: for tests of the sample.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.classes().map(|class| class.bytes as f64).sum::<f64>() / PARTS
    }

    /// The cost; `exact` is that of reads that need no sample.
    #[must_use]
    pub fn estimate(&self, exact: u128) -> Estimate {
        let cost = exact as f64 + self.classes().map(|class| class.cost as f64).sum::<f64>() / PARTS;
        if self.read == 0 {
            return Estimate { cost, within: Some(0.0) };
        }
        let seen = self.classes().fold(0, |all, class| all | class.seen);
        let none = ClassCounts::default();
        let mut classes = self.classes.iter().map(|class| class.as_deref().unwrap_or(&none));
        let enough = seen.count_ones() >= LEAST_GROUPS && classes.all(|class| self.is_enough(class, cost));
        let variance: f64 = self.classes().map(|class| variance(&class.groups)).sum();
        Estimate { cost, within: enough.then(|| T_95 * variance.sqrt()) }
    }

    /// Whether many groups saw a class, or it matters little: by its cost, and by what is left to it of the bytes read,
    /// which it may not have seen.
    fn is_enough(&self, class: &ClassCounts, cost: f64) -> bool {
        let left = 1.0 - (self.bytes() - class.bytes as f64 / PARTS) / self.read as f64;
        let is_minor = (class.cost as f64 / PARTS) < MINOR * cost && left < MINOR;
        class.seen.count_ones() >= LEAST_GROUPS || is_minor
    }
}

impl Merge for SampleCounts {
    fn merge(&mut self, other: &Self) {
        Self::merge(self, other);
    }
}

/// Of a sum over groups, in parts, from how the groups differ.
pub(super) fn variance(groups: &[i128; GROUPS]) -> f64 {
    let groups = groups.map(|group| group as f64 / PARTS);
    let mean = groups.iter().sum::<f64>() / GROUPS as f64;
    groups.iter().map(|group| (group - mean).powi(2)).sum::<f64>() * GROUPS as f64 / (GROUPS - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(group: usize, cost: f64) -> Seen {
        Seen { class: Class::Short, group, cost, bytes: 8.0 }
    }

    #[test]
    fn groups_that_agree_leave_no_doubt_and_few_groups_no_estimate() {
        let mut counts = SampleCounts { read: 16 * 8, ..SampleCounts::default() };
        (0..GROUPS).for_each(|group| _ = counts.add(seen(group, 10.0)));
        assert_eq!(counts.estimate(5), Estimate { cost: 165.0, within: Some(0.0) });
        let mut few = SampleCounts { read: 88, ..SampleCounts::default() };
        (0..11).for_each(|group| _ = few.add(seen(group, 10.0)));
        assert_eq!(few.estimate(0), Estimate { cost: 110.0, within: None });
        few.add(seen(11, 10.0));
        assert!(few.estimate(0).within.is_some_and(|within| within > 0.0));
        // Of half of the bytes nothing was seen: another class may have them.
        few.read = 2 * 96;
        assert_eq!(few.estimate(0).within, None);
        few.read = 100;
        assert!(few.estimate(0).within.is_some());
        // Most of the cost was seen by one group only.
        few.add(Seen { class: Class::Long, group: 3, cost: 900.0, bytes: 8.0 });
        assert_eq!(few.estimate(0).within, None);
    }

    #[test]
    fn a_site_without_reads_costs_what_is_exact_and_one_that_was_not_seen_is_not_known() {
        let none = SampleCounts::default();
        assert_eq!(none.estimate(7), Estimate { cost: 7.0, within: Some(0.0) });
        let unseen = SampleCounts { read: 8, ..none };
        assert_eq!(unseen.estimate(7), Estimate { cost: 7.0, within: None });
    }

    #[test]
    fn order_does_not_matter() {
        let (mut a, mut b) = (SampleCounts::default(), SampleCounts::default());
        let costs: Vec<f64> = (1..100).map(|n| f64::from(n).sqrt() * 1e9).collect();
        costs.iter().for_each(|cost| _ = a.add(seen(3, *cost)));
        costs.iter().rev().for_each(|cost| _ = b.add(seen(3, *cost)));
        assert_eq!(a, b);
    }

    #[test]
    fn counts_are_possible_if_sums_of_millions_are() {
        let of = |read, cost, group| {
            let class = ClassCounts { cost, groups: [group; GROUPS], ..ClassCounts::default() };
            SampleCounts { read, classes: [None, Some(Box::new(class)), None, None] }.is_possible()
        };
        assert!(SampleCounts::default().is_possible());
        assert!(of((1 << 56) - 1, (1 << 96) - 1, -(1 << 96)) && of(0, -(1 << 96), (1 << 96) - 1));
        assert!(!of(1 << 56, 0, 0) && !of((1 << 56) + 1, 0, 0), "bytes");
        assert!(!of(0, 1 << 96, 0) && !of(0, 0, 1 << 96) && !of(0, 0, -(1 << 96) - 1), "amounts");
    }

    #[test]
    fn counts_that_are_read_are_those_that_were_written_and_add_up() {
        let mut counts = SampleCounts { read: 24, ..SampleCounts::default() };
        counts.add(seen(2, 10.0));
        counts.lean(Class::Far, 5, 3.0);
        let written = postcard::to_stdvec(&counts).expect("a few counts");
        let read: SampleCounts = postcard::from_bytes(&written).expect("the same counts");
        assert_eq!(read, counts);
        let mut sum = Some(Box::new(read));
        Merge::merge(&mut sum, &Some(Box::new(counts)));
        let sum = sum.expect("counts");
        assert_eq!((sum.read, sum.estimate(0).cost, sum.bytes()), (48, 20.0, 16.0));
    }

    #[test]
    fn how_groups_differ_says_how_far_an_estimate_may_be_off() {
        let mut counts = SampleCounts { read: 16 * 8, ..SampleCounts::default() };
        (0..GROUPS).for_each(|group| _ = counts.add(seen(group, group as f64)));
        // The squares of the distances from 7.5 come to 340.
        let within = T_95 * (340.0f64 * 16.0 / 15.0).sqrt();
        let estimate = counts.estimate(0);
        assert_eq!(estimate.cost, 120.0);
        assert!(estimate.within.is_some_and(|found| (found - within).abs() < 1e-9), "{estimate:?}, expected {within}");
        // What another class says of the depth adds to it.
        (0..GROUPS).for_each(|group| _ = counts.lean(Class::Far, group, 2.0 * group as f64));
        let both = T_95 * (5.0f64 * 340.0 * 16.0 / 15.0).sqrt();
        let minor = counts.classes[Class::Far as usize].as_deref().map(|class| counts.is_enough(class, 120.0));
        assert_eq!(minor, Some(true), "it has no cost, and nothing is left to it");
        assert!(counts.estimate(0).within.is_some_and(|found| (found - both).abs() < 1e-9));
    }

    #[test]
    fn parts_of_a_sample_come_to_the_whole() {
        let classes = [Class::Short, Class::Middle, Class::Far, Class::Long];
        let add = |counts: &mut SampleCounts, n: usize| {
            counts.read += n as u64;
            counts.add(Seen { class: classes[n % 3], ..seen(n * n % GROUPS, n as f64) });
            counts.lean(classes[(n + 1) % 4], n % GROUPS, -(n as f64));
        };
        let (mut whole, mut parts) = (SampleCounts::default(), [SampleCounts::default(), SampleCounts::default()]);
        (0..50).for_each(|n| add(&mut whole, n));
        (0..50).for_each(|n| add(&mut parts[n / 20 % 2], n));
        let [mut sum, other] = parts;
        sum.merge(&other);
        assert_eq!(sum, whole);
    }

    #[test]
    fn a_class_that_few_groups_saw_matters_little_by_its_cost_and_by_what_it_may_not_have_seen() {
        // 16 groups saw 8 bytes of a class at 10 each, and one group so much of another.
        let is_enough = |read: u64, cost: f64, bytes: f64| {
            let mut counts = SampleCounts { read, ..SampleCounts::default() };
            (0..GROUPS).for_each(|group| _ = counts.add(seen(group, 10.0)));
            _ = counts.add(Seen { class: Class::Far, group: 3, cost, bytes });
            counts.estimate(0).within.is_some()
        };
        assert!(is_enough(136, 10.0, 8.0));
        // A quarter of what is read may be of the class, and a quarter of the cost.
        assert_eq!([170, 171].map(|read| is_enough(read, 10.0, 8.0)), [true, false]);
        assert_eq!([53.0, 54.0].map(|cost| is_enough(136, cost, 8.0)), [true, false]);
        assert_eq!([40.0, 44.0].map(|bytes| is_enough(170, 10.0, bytes)), [true, true], "what it saw is not left");
    }
}
