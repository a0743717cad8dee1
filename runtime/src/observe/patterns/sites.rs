//! How sites use data, beyond depths: what explains the depths, and what was moved for nothing.
//!
//! Takes the accesses of one ring in program order, with the number of the site (here: static access and data object);
//! gives, per site, the step between its reads, how much it used of the 64-byte lines that it fetched into a fast
//! memory of [`FAST`] bytes, what it wrote that nobody read, and of what it was the last reader; and per flow, for some
//! of its reads, which sites touched how many bytes since the byte's last touch.
//!
//! Memory: 4 KiB for every 4 KiB in which anything was touched, about 10 bytes per line touched, and for each of the
//! latest epochs of 1024 accesses a list of the sites that ran.

use std::collections::HashMap;

use super::{between::Between, epochs::Epochs};
use crate::{
    decode::ring::RingSite,
    engine::{DepthSink, Engine, boxed},
    hash::FastHash,
    numbers::niche_number,
    pages::Pages,
    pieces::pieces,
    sums::Sums,
};

/// Fast memory whose lines are watched, in bytes.
pub const FAST: u64 = 32 << 10;
/// Bytes of a line, for how much of it is used.
pub const LINE: u64 = 64;
/// Bytes that stand for a line on the stack of lines: so many cost the engine least.
pub(super) const LINE_BYTES: u64 = 4;
/// Accesses that are not told apart in time.
pub(super) const EPOCH: u32 = 1024;
pub(super) const WORD: u64 = 8;
pub(super) const PAGE_WORDS: usize = 512;
pub(super) const PAGE_LINES: usize = 64;
/// An epoch before all others.
const NEVER: u32 = u32::MAX;

niche_number! {
    /// A static access, numbered as it is first seen: of one object, and if contexts are followed, in one of them.
    SiteNumber
}

/// What one site did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pattern {
    /// Reads.
    pub reads: u64,
    /// The step, in bytes, that most of its reads make from the one before, and how many seem to make it.
    pub stride: i64,
    /// Reads that seem to make that step.
    pub strided: u64,
    /// Lines that it fetched, bytes of them that were used before they were fetched again, and fetches that used other
    /// bytes than the fetch of the same line by this site before.
    pub lines: u64,
    /// Bytes of them that were used before they were fetched again.
    pub used: u64,
    /// Fetches that used other bytes than the fetch of the same line before.
    pub renewed: u64,
    /// Bytes that it wrote and nobody read, and that it was the last to read before they were overwritten or ended.
    pub unread: u64,
    /// Bytes that it was the last to read before they were overwritten or ended.
    pub last_read: u64,
}

impl Pattern {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.strided > self.strided {
            self.stride = other.stride;
        }
        self.strided = if other.stride == self.stride { self.strided + other.strided } else { self.strided };
        self.reads += other.reads;
        self.lines += other.lines;
        self.used += other.used;
        self.renewed += other.renewed;
        self.unread += other.unread;
        self.last_read += other.last_read;
    }
}

/// Where a site's reads were, to tell its steps.
#[derive(Clone, Copy, Default)]
pub(super) struct Steps {
    pub(super) last: u64,
    /// The candidate's votes: more than half of all steps are found to be most of them.
    pub(super) votes: u64,
}

impl Steps {
    /// Some reads in a row make one step.
    #[inline]
    pub(super) fn vote(&mut self, pattern: &mut Pattern, step: i64, times: u64) {
        if pattern.stride == step {
            pattern.strided += times;
            self.votes += times;
        } else if self.votes < times {
            let votes = times - self.votes;
            (pattern.stride, pattern.strided, self.votes) = (step, votes, votes);
        } else {
            self.votes -= times;
        }
    }
}

/// A line in fast memory, or what it was when it was there. Of no site if nobody used it.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    /// The site that fetched it.
    site: Option<SiteNumber>,
    /// Bytes used since, and by the visit before of the same site; none if that is not known.
    used: u64,
    before: u64,
    /// The other site that fetched it last, and bytes used then: two loops may take turns with the same lines.
    other: Option<SiteNumber>,
    other_used: u64,
}

const UNUSED: Visit = Visit { site: None, used: 0, before: 0, other: None, other_used: 0 };

impl Visit {
    /// The next one, which begins with these bytes.
    fn next(self, site: SiteNumber, used: u64) -> Self {
        if Some(site) == self.site {
            return Self { used, before: self.used, ..self };
        }
        let before = if Some(site) == self.other { self.other_used } else { 0 };
        Self { site: Some(site), used, before, other: self.site, other_used: self.used }
    }
}

/// What is known of 4 KiB.
pub(super) struct Page {
    /// Epoch of the last touch of each word.
    pub(super) epochs: [u32; PAGE_WORDS],
    pub(super) visits: [Visit; PAGE_LINES],
}

impl Page {
    fn new() -> Box<Self> {
        boxed(Self { epochs: [NEVER; PAGE_WORDS], visits: [UNUSED; PAGE_LINES] })
    }
}

/// Steps, lines and last reads of every site.
#[derive(Default)]
pub struct Patterns {
    pub(super) sites: Vec<(Pattern, Steps)>,
    /// Stack of lines.
    pub(super) lines: Engine,
    pub(super) pages: Pages<Page>,
    pub(super) epochs: Epochs,
    /// Bytes by static access in the epoch at hand.
    pub(super) touched: Sums,
    /// The site that touched last, and bytes of it that are not in `touched` yet.
    pub(super) running: (Option<SiteNumber>, u64),
    pub(super) accesses: u32,
    /// By flow: its samples, and its reads.
    pub(super) between: Vec<Between<u32>>,
    pub(super) flow_reads: Vec<u64>,
    /// The sample at hand.
    pub(super) sums: Sums,
    /// By site: its static access, as the first of the sites that have it, which is known by static access too.
    pub(super) access_of: Vec<u32>,
    pub(super) first_site: HashMap<RingSite, u32, FastHash>,
}

/// How deep a line lies on the stack of lines, in lines; `MAX` if it is not there.
struct LineDepth(u64);

impl DepthSink for LineDepth {
    fn warm(&mut self, above: u64, len: u64) {
        self.0 = (above + len) / LINE_BYTES;
    }

    fn cold(&mut self, _above: u64, _len: u64) {
        self.0 = u64::MAX;
    }
}

/// Place of a line on the stack of lines.
pub(super) fn place(line: u64) -> u64 {
    line * LINE_BYTES
}

/// What was found.
pub struct FoundPatterns {
    /// By site.
    pub patterns: Vec<Pattern>,
    /// By flow, as far as there were samples; a static access is the first of its sites.
    pub between: Vec<Between<u32>>,
}

/// Who accesses.
impl Patterns {
    /// The next site is of a static access.
    pub fn add_site(&mut self, access: RingSite) {
        let next = self.access_of.len() as u32;
        self.access_of.push(*self.first_site.entry(access).or_insert(next));
    }
}

/// Following accesses.
impl Patterns {
    pub(super) fn site(&mut self, site: SiteNumber) -> &mut (Pattern, Steps) {
        let at = site.index();
        if self.sites.len() <= at {
            self.sites.resize(at + 1, Default::default());
        }
        &mut self.sites[at]
    }

    /// A site reads. Call after `sample`.
    pub fn read(&mut self, address: u64, len: u64, site: SiteNumber) {
        let (pattern, steps) = self.site(site);
        if pattern.reads > 0 {
            steps.vote(pattern, address.wrapping_sub(steps.last) as i64, 1);
        }
        steps.last = address;
        pattern.reads += 1;
        self.touch(address, len, site);
    }

    /// A site writes, or has read.
    pub fn touch(&mut self, address: u64, len: u64, site: SiteNumber) {
        let last = address + (len - 1);
        for line in address / LINE..=last / LINE {
            let start = line * LINE;
            let (from, to) = (address.max(start) - start, last.min(start + (LINE - 1)) - start + 1);
            let mask = (u64::MAX >> (64 - (to - from))) << from;
            let depth = self.line_depth(line);
            self.visit(line, mask, site, depth);
        }
        self.note(address, len, site);
    }

    /// How deep a line lies, which then is on top.
    pub(super) fn line_depth(&mut self, line: u64) -> u64 {
        let mut depth = LineDepth(0);
        self.lines.load(place(line), LINE_BYTES, &mut depth);
        depth.0
    }

    /// A site uses bytes of a line that lay so deep.
    pub(super) fn visit(&mut self, line: u64, mask: u64, site: SiteNumber, depth: u64) {
        let page = self.pages.get_or_insert(line / PAGE_LINES as u64, Page::new);
        let visit = &mut page.visits[line as usize % PAGE_LINES];
        if depth <= FAST / LINE {
            visit.used |= mask;
            return;
        }
        let next = visit.next(site, mask);
        let ended = std::mem::replace(visit, next);
        self.end_visit(ended);
        self.site(site).0.lines += 1;
    }

    fn end_visit(&mut self, visit: Visit) {
        if let Some(site) = visit.site {
            let pattern = &mut self.site(site).0;
            pattern.used += u64::from(visit.used.count_ones());
            pattern.renewed += u64::from(visit.before != 0 && visit.used & !visit.before != 0);
        }
    }

    /// A site touches bytes now.
    fn note(&mut self, address: u64, len: u64, site: SiteNumber) {
        if self.running.0 != Some(site) {
            self.file_running();
            self.running.0 = Some(site);
        }
        self.running.1 += len;
        self.note_epoch(address, len, self.epochs.len() as u32);
        self.went_by(1);
    }

    /// Bytes are touched in an epoch, which is no earlier than any that was noted before.
    #[inline]
    pub(super) fn note_epoch(&mut self, address: u64, len: u64, epoch: u32) {
        let (first, last) = (address / WORD, (address + (len - 1)) / WORD);
        for (number, from, part) in pieces(first, last - first + 1, PAGE_WORDS as u64) {
            let page = self.pages.get_or_insert(number, Page::new);
            page.epochs[from as usize..(from + part) as usize].fill(epoch);
        }
    }

    /// So many accesses, no more than are left of the epoch, have been.
    pub(super) fn went_by(&mut self, accesses: u32) {
        self.accesses += accesses;
        if self.accesses == EPOCH {
            self.accesses = 0;
            self.file_running();
            let mut touched = self.touched.take();
            touched.sort_unstable();
            self.epochs.push(touched.into());
        }
    }

    pub(super) fn file_running(&mut self) {
        if let (Some(site), bytes) = std::mem::take(&mut self.running) {
            self.touched.add(self.access_of[site.index()], bytes);
        }
    }

    /// A read of a flow is next: some are looked at, ever fewer.
    pub fn sample(&mut self, address: u64, flow: u32) {
        if !self.pass(flow, 1).is_power_of_two() {
            return;
        }
        let word = address / WORD;
        let Some(page) = self.pages.find(word / PAGE_WORDS as u64) else { return };
        let epoch = page.epochs[word as usize % PAGE_WORDS];
        if epoch == NEVER {
            return;
        }
        // The epoch of the touch itself is counted whole, and the one at hand as far as it has gone.
        self.file_running();
        let sums = &mut self.sums;
        self.epochs.since(epoch.into()).chain(self.touched.iter()).for_each(|(access, bytes)| sums.add(access, bytes));
        let at = flow as usize;
        if self.between.len() <= at {
            self.between.resize(at + 1, Between::default());
        }
        self.between[at].add(sums);
    }

    /// Reads of a flow, with how many there were by then; none of them is a sample unless it is the only one.
    pub fn pass(&mut self, flow: u32, reads: u64) -> u64 {
        let at = flow as usize;
        if self.flow_reads.len() <= at {
            self.flow_reads.resize(at + 1, 0);
        }
        self.flow_reads[at] += reads;
        self.flow_reads[at]
    }

    /// Reads of a flow before the next one that is looked at.
    pub fn until_sample(&self, flow: u32) -> u64 {
        let next = self.flow_reads.get(flow as usize).map_or(1, |reads| reads + 1);
        next.next_power_of_two() - next
    }

    /// Bytes that a site wrote are overwritten or end without having been read.
    pub fn never_read(&mut self, site: SiteNumber, bytes: u64) {
        self.site(site).0.unread += bytes;
    }

    /// Bytes that a site was the last to read are overwritten or end.
    pub fn read_last(&mut self, site: SiteNumber, bytes: u64) {
        self.site(site).0.last_read += bytes;
    }

    /// The bytes mean something else from now on. Lines stay where they are, but who fetched one is of no meaning when
    /// all of it goes.
    pub fn forget(&mut self, address: u64, len: u64) {
        let lines = address.div_ceil(LINE)..address.saturating_add(len) / LINE;
        let mut gone = Vec::new();
        self.pages.each_part(lines.start, lines.end.saturating_sub(lines.start), PAGE_LINES as u64, |page, _, part| {
            let visits = page.visits[part].iter_mut();
            gone.extend(visits.map(|visit| std::mem::replace(visit, UNUSED)).filter(|visit| visit.site.is_some()));
        });
        gone.into_iter().for_each(|visit| self.end_visit(visit));
    }

    /// What was found.
    #[must_use]
    pub fn finish(mut self) -> FoundPatterns {
        for page in std::mem::take(&mut self.pages).drain() {
            page.visits.into_iter().for_each(|visit| self.end_visit(visit));
        }
        FoundPatterns { patterns: self.sites.into_iter().map(|(pattern, _)| pattern).collect(), between: self.between }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::locator::SegmentNumber;

    const A: SiteNumber = SiteNumber::new(1);
    const B: SiteNumber = SiteNumber::new(2);

    fn of_two_sites() -> Patterns {
        let mut patterns = Patterns::default();
        (0..3).for_each(|item| patterns.add_site((SegmentNumber::default(), item)));
        patterns
    }

    #[test]
    fn a_column_walk_uses_a_part_of_each_line_and_another_each_time() {
        let mut patterns = of_two_sites();
        for column in 0..8u64 {
            for row in 0..1024u64 {
                patterns.read((1 << 20) + row * 4096 + column * 8, 8, A);
            }
        }
        let pattern = patterns.finish().patterns[A.index()];
        assert_eq!((pattern.stride, pattern.lines, pattern.used), (4096, 8192, 65_536));
        assert_eq!(pattern.renewed, 7 * 1024);
        assert!(pattern.strided > 8100);
    }

    #[test]
    fn a_column_walk_is_one_too_if_two_loops_take_turns_and_in_every_pass() {
        let mut patterns = of_two_sites();
        for column in (0..3).flat_map(|_| 0..8u64) {
            for site in [A, B] {
                for row in 0..1024u64 {
                    patterns.read((1 << 20) + row * 4096 + column * 8, 8, site);
                }
            }
        }
        let found = patterns.finish().patterns;
        for site in [A, B] {
            let pattern = found[site.index()];
            assert_eq!((pattern.lines, pattern.renewed), (24 * 1024, 23 * 1024), "{site:?}");
        }
    }

    #[test]
    fn two_fields_of_two_loops_are_the_same_part_each_time() {
        let mut patterns = of_two_sites();
        for _ in 0..3 {
            for site in [A, B] {
                for element in 0..1024u64 {
                    patterns.read((1 << 20) + element * 64 + 16 * site.index() as u64, 4, site);
                }
            }
        }
        let found = patterns.finish().patterns;
        assert_eq!([A, B].map(|site| found[site.index()].renewed), [0, 0]);
    }

    #[test]
    fn one_field_of_many_is_the_same_part_of_each_line() {
        let mut patterns = of_two_sites();
        for _ in 0..3 {
            for element in 0..1024u64 {
                patterns.read((1 << 20) + element * 64 + 16, 4, A);
            }
        }
        let pattern = patterns.finish().patterns[A.index()];
        assert_eq!((pattern.stride, pattern.lines, pattern.used, pattern.renewed), (64, 3072, 4 * 3072, 0));
    }

    #[test]
    fn what_runs_between_two_touches_is_sampled() {
        let mut patterns = of_two_sites();
        patterns.add_site((SegmentNumber::default(), B.index() as u32));
        patterns.touch(4096, 8, A);
        for i in 0..4000u64 {
            // Two sites of one static access.
            patterns.read((1 << 20) + i * 8, 8, if i % 3 == 0 { B } else { SiteNumber::new(3) });
        }
        patterns.sample(4096, 7);
        let found = patterns.finish();
        assert_eq!(found.between[7], Between { all: 32_008, largest: vec![(1, 8), (2, 32_000)] });
        assert_eq!(found.between[..7], vec![Between::default(); 7]);
    }

    #[test]
    fn patterns_add_up_and_have_the_step_that_most_reads_make() {
        let of = |stride, strided, n| Pattern {
            reads: n,
            stride,
            strided,
            lines: n + 1,
            used: n + 2,
            renewed: n + 3,
            unread: n + 4,
            last_read: n + 5,
        };
        let merged = |mut one: Pattern, other: &Pattern| {
            one.merge(other);
            one
        };
        let sum = |stride, strided| Pattern {
            lines: 32,
            used: 34,
            renewed: 36,
            unread: 38,
            last_read: 40,
            ..of(stride, strided, 30)
        };
        assert_eq!(merged(of(8, 5, 10), &of(8, 7, 20)), sum(8, 12), "the same step");
        assert_eq!(merged(of(8, 7, 10), &of(16, 6, 20)), sum(8, 7));
        assert_eq!(merged(of(8, 7, 10), &of(16, 7, 20)), sum(8, 7), "as many: the first one's");
        assert_eq!(merged(of(8, 6, 10), &of(16, 9, 20)).stride, 16);
    }

    #[test]
    fn the_step_that_most_make_is_found_by_votes() {
        let (mut pattern, mut steps) = (Pattern::default(), Steps::default());
        let expected = [
            ((8, 3), (8, 3, 3)),
            ((16, 1), (8, 3, 2)),
            ((16, 2), (8, 3, 0)),
            ((24, 1), (24, 1, 1)),
            ((24, 4), (24, 5, 5)),
            ((8, 7), (8, 2, 2)),
        ];
        for ((step, times), found) in expected {
            steps.vote(&mut pattern, step, times);
            assert_eq!((pattern.stride, pattern.strided, steps.votes), found, "{times} times {step}");
        }
    }
}
