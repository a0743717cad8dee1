//! Lines and bytes by a few accesses that can be followed by hand.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{owners::Owners, *};
use crate::{
    abi::sample::Draws,
    decode::{context::ContextNumber, locator::SegmentNumber},
    objects::{NOTHING, Origin, change::Change},
    pieces::pieces,
};

fn access(kind: Kind, addr: u64, len: u32) -> Access {
    Access { addr, len, kind }
}

fn touch(sharing: &mut Sharing, access: Access, ring: u32, cell: usize) {
    sharing.access(access, ring, AccessTag::new(cell), &mut Objects::default());
}

fn lines(sharing: Sharing) -> Vec<Line> {
    sharing.finish().lines.into_iter().map(|found| found.line).collect()
}

#[test]
fn counters_in_one_line_change_hands_for_nothing() {
    let mut sharing = Sharing::new(64, false);
    for round in 0..100u32 {
        for thread in 0..4 {
            touch(&mut sharing, access(Kind::Load, 4096 + 8 * u64::from(thread), 8), thread, 0);
            touch(&mut sharing, access(Kind::Store, 4096 + 8 * u64::from(thread), 8), thread, round as usize % 2);
        }
    }
    let found = sharing.finish();
    assert!(found.moved.is_empty(), "nobody read what another wrote");
    let [line] = &found.lines[..] else { panic!("one line") };
    // The first of 400 stores takes the line from nobody.
    let expected = Line { changes: 399, false_changes: 399, invalidations: 399, transfers: 399 };
    assert_eq!(line.line, expected);
    assert_eq!(line.writers.len(), 8);
}

#[test]
fn counters_in_lines_of_their_own_stay_where_they_are() {
    let mut sharing = Sharing::new(64, false);
    for _ in 0..100 {
        for thread in 0..4u32 {
            touch(&mut sharing, access(Kind::Store, 4096 + 64 * u64::from(thread), 8), thread, 0);
        }
    }
    assert!(lines(sharing).is_empty());
}

#[test]
fn one_word_between_two_threads_is_no_false_sharing() {
    let mut sharing = Sharing::new(64, false);
    for turn in 0..20u32 {
        touch(&mut sharing, access(Kind::Load, 4096, 8), turn % 2, 0);
        touch(&mut sharing, access(Kind::Store, 4096, 8), turn % 2, 0);
    }
    let found = sharing.finish();
    let expected = Line { changes: 19, false_changes: 0, invalidations: 19, transfers: 19 };
    assert_eq!(found.lines[0].line, expected);
    let mut moved: Vec<(u32, u32, u64)> =
        found.moved.iter().map(|(from, to, _, bytes)| (from.0, to.0, *bytes)).collect();
    moved.sort_unstable();
    // Ten reads by the second, nine by the first of what the other wrote.
    assert_eq!(moved, [(0, 1, 80), (1, 0, 72)]);
}

#[test]
fn many_threads_and_wide_accesses() {
    let mut sharing = Sharing::new(128, false);
    for thread in [3, 70, 200] {
        touch(&mut sharing, access(Kind::Store, 4096 + 100, 64), thread, 0);
    }
    let mut found = lines(sharing);
    found.sort_by_key(|line| line.changes);
    let once = Line { changes: 2, false_changes: 0, invalidations: 2, transfers: 0 };
    assert_eq!(found, [once, once]);
}

#[test]
fn what_was_freed_has_no_writer() {
    let mut sharing = Sharing::new(64, false);
    touch(&mut sharing, access(Kind::Store, 4096, 16), 0, 0);
    sharing.access(access(Kind::Remove, 4096, 8), 0, AccessTag::UNCOUNTED, &mut Objects::default());
    sharing.op(Op::Move { from: 4096, to: 8192, len: 16 }, 0, &mut Objects::default());
    touch(&mut sharing, access(Kind::Load, 8192, 16), 1, 5);
    let found = sharing.finish();
    assert_eq!(found.moved, [((0, AccessTag::new(0)), (1, AccessTag::new(5)), NOTHING, 8)]);
}

#[test]
fn first_touches_of_what_another_wrote_count_once_per_stack() {
    let mut sharing = Sharing::new(64, true);
    touch(&mut sharing, access(Kind::Store, 4096, 16), 0, 0);
    touch(&mut sharing, access(Kind::Store, 4096 + 12, 8), 1, 0);
    // Bytes 0 to 11 of the first ring's; 12 to 19 it wrote itself; 20 to 23 nobody did.
    touch(&mut sharing, access(Kind::Load, 4096, 24), 1, 0);
    touch(&mut sharing, access(Kind::Load, 4096, 24), 1, 0);
    // The first has 16 of them; the others wrote four more.
    touch(&mut sharing, access(Kind::Load, 4096, 24), 0, 0);
    // Read while nothing counts: on the stack all the same.
    sharing.access(access(Kind::Load, 4096, 12), 2, AccessTag::UNCOUNTED, &mut Objects::default());
    touch(&mut sharing, access(Kind::Load, 4096, 16), 2, 0);
    // What is freed and read again is a first touch, but nobody wrote it since.
    sharing.access(access(Kind::Remove, 4096, 16), 2, AccessTag::UNCOUNTED, &mut Objects::default());
    touch(&mut sharing, access(Kind::Load, 4096, 24), 2, 0);
    assert_eq!(sharing.finish().handed, BTreeMap::from([(0, 4), (1, 12), (2, 4 + 4)]));
}

#[test]
fn parts_of_a_line_are_of_the_objects_that_lay_there() {
    let mut sharing = Sharing::new(64, false);
    let mut objects = Objects::default();
    objects.layout.keep_starts();
    let origin = |segment| Origin { context: ContextNumber::new(1), segment: Some(SegmentNumber::new(segment)) };
    let store = |at| access(Kind::Store, at, 8);
    objects.allocated(4096 + 8, 16, origin(1));
    sharing.access(store(4096 + 8), 0, AccessTag::new(0), &mut objects);
    sharing.access(store(4096 + 16), 1, AccessTag::new(0), &mut objects);
    objects.ended(4096 + 8, 16);
    sharing.changes_objects(4096 + 8, 16);
    objects.allocated(4096, 64, origin(2));
    sharing.access(store(4096 + 16), 1, AccessTag::new(0), &mut objects);
    let found = sharing.finish();
    let [line] = &found.lines[..] else { panic!("one line") };
    let parts: Vec<_> = line.writers.iter().map(|w| (w.site.0, w.object.index(), w.offset, w.mask)).collect();
    assert_eq!(parts, [(0, 1, Some(-8), 0xff00), (1, 1, Some(-8), 0xff_0000), (1, 2, Some(0), 0xff_0000)]);
}

/// A line, byte by byte.
#[derive(Default)]
struct Plain {
    owner: Option<u32>,
    holders: BTreeSet<u32>,
    /// Bytes that the owner wrote and touched, and those that the one before it wrote.
    wrote: BTreeSet<u32>,
    touched: BTreeSet<u32>,
    before: BTreeSet<u32>,
    /// Bytes that each site wrote, and those that it wrote since the line first changed hands.
    sites: BTreeMap<u32, [u128; 2]>,
    line: Line,
}

impl Plain {
    fn load(&mut self, byte: u32, thread: u32) {
        if self.owner == Some(thread) {
            self.touched.insert(byte);
        } else if self.holders.insert(thread) && self.owner.is_some() {
            self.line.transfers += 1;
        }
        self.holders.insert(thread);
    }

    fn store(&mut self, bytes: Range<u32>, thread: u32, site: u32) {
        self.line.invalidations += u64::from(self.holders.iter().any(|other| *other != thread));
        self.holders = [thread].into();
        if self.owner != Some(thread) {
            self.give_up();
            self.line.changes += u64::from(self.owner.is_some());
            self.before = if self.owner.is_some() { std::mem::take(&mut self.wrote) } else { BTreeSet::new() };
            (self.owner, self.wrote, self.touched) = (Some(thread), BTreeSet::new(), BTreeSet::new());
        }
        self.wrote.extend(bytes.clone());
        self.touched.extend(bytes.clone());
        let [all, since] = self.sites.entry(site).or_default();
        let mask = bytes.fold(0u128, |mask, byte| mask | 1 << byte);
        *all |= mask;
        *since |= if self.line.changes > 0 { mask } else { 0 };
    }

    fn give_up(&mut self) {
        let is_false = !self.before.is_empty() && self.touched.is_disjoint(&self.before);
        self.line.false_changes += u64::from(is_false);
    }
}

#[test]
fn lines_change_hands_as_their_bytes_are_written_and_read() {
    let mut draws = Draws::new(41);
    for size in [16u32, 64, 128] {
        let (mut owners, mut objects) = (Owners::new(size), Objects::default());
        let mut plain: BTreeMap<u64, Plain> = BTreeMap::new();
        for _ in 0..30_000 {
            // Numbers on both sides of 64, of which a few have most lines.
            let most = if draws.below(3) == 0 { 6 } else { 4 };
            let thread = [0, 1, 63, 64, 65, 130][draws.below(most) as usize];
            let (address, len) = (draws.below(40) * u64::from(size) + draws.below(size.into()), 1 + draws.below(12));
            let (site, is_store) = (draws.below(3) as u32, draws.below(3) == 0);
            if is_store {
                owners.store(address, len as u32, thread, site, &mut objects);
            } else {
                owners.load(address, len as u32, thread);
            }
            for (line, from, bytes) in pieces(address, len, size.into()) {
                let (plain, bytes) = (plain.entry(line).or_default(), from as u32..(from + bytes) as u32);
                if is_store {
                    plain.store(bytes, thread, site);
                } else {
                    bytes.for_each(|byte| plain.load(byte, thread));
                }
            }
        }
        let numbers = |line: &Line| [line.changes, line.false_changes, line.invalidations, line.transfers];
        let mut found: Vec<_> = owners
            .finish()
            .map(|(line, writers)| {
                let sites = writers.into_iter().map(|writer| (writer.site, [writer.mask, writer.since]));
                (numbers(&line), sites.collect::<BTreeMap<_, _>>())
            })
            .collect();
        plain.values_mut().for_each(Plain::give_up);
        let mut expected: Vec<_> = plain.into_values().map(|plain| (numbers(&plain.line), plain.sites)).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "lines of {size}");
    }
}

#[test]
fn what_is_written_where_other_objects_lie_now_is_of_those() {
    const BASE: u64 = 1 << 20;
    // The sites of lines that were written, and are again when another block lies there and a range was forgotten.
    let renewed = |address: u64, len: u64| {
        let (mut owners, mut objects) = (Owners::new(64), Objects::default());
        let begins = |context| {
            let origin = Origin { context: ContextNumber::new(context), segment: None };
            Change::Begins { address: BASE, len: 640, origin }
        };
        for context in [1, 2] {
            objects.change(&begins(context));
            for site in 0..10 {
                (0..2).for_each(|thread| owners.store(BASE + 64 * u64::from(site), 8, thread, site, &mut objects));
            }
            owners.forget_objects(address, len);
        }
        let object = objects.layout.object_at(BASE);
        let writers = owners.finish().flat_map(|(_, writers)| writers);
        writers.filter(|writer| writer.object == object).map(|writer| writer.site).collect::<BTreeSet<_>>()
    };
    assert_eq!(renewed(BASE + 2 * 64 + 5, 3 * 64), (2..=5).collect());
    assert_eq!(renewed(BASE + 64, 64), [1].into());
    assert_eq!(renewed(BASE + 64, 0), [1].into(), "the line of a byte");
    assert_eq!(renewed(0, BASE), BTreeSet::new());
    assert_eq!(renewed(0, u64::MAX), (0..10).collect(), "more lines than there are");
}
