//! Lines and bytes by a few accesses that can be followed by hand.

use super::*;

fn access(kind: Kind, addr: u64, len: u32) -> Access {
    Access { addr, len, kind }
}

fn lines(sharing: Sharing) -> Vec<Line> {
    sharing.finish().0.lines.into_iter().map(|found| found.line).collect()
}

#[test]
fn counters_in_one_line_change_hands_for_nothing() {
    let mut sharing = Sharing::new(64);
    for round in 0..100u32 {
        for thread in 0..4 {
            sharing.access(access(Kind::Load, 4096 + 8 * u64::from(thread), 8), thread, 0);
            sharing.access(access(Kind::Store, 4096 + 8 * u64::from(thread), 8), thread, round % 2);
        }
    }
    let (found, ..) = sharing.finish();
    assert!(found.moved.is_empty(), "nobody read what another wrote");
    let [line] = &found.lines[..] else { panic!("one line") };
    // The first of 400 stores takes the line from nobody.
    let expected = Line { changes: 399, false_changes: 399, invalidations: 399, transfers: 399 };
    assert_eq!(line.line, expected);
    assert_eq!(line.writers.len(), 8);
}

#[test]
fn counters_in_lines_of_their_own_stay_where_they_are() {
    let mut sharing = Sharing::new(64);
    for _ in 0..100 {
        for thread in 0..4u32 {
            sharing.access(access(Kind::Store, 4096 + 64 * u64::from(thread), 8), thread, 0);
        }
    }
    assert!(lines(sharing).is_empty());
}

#[test]
fn one_word_between_two_threads_is_no_false_sharing() {
    let mut sharing = Sharing::new(64);
    for turn in 0..20u32 {
        sharing.access(access(Kind::Load, 4096, 8), turn % 2, 0);
        sharing.access(access(Kind::Store, 4096, 8), turn % 2, 0);
    }
    let (found, ..) = sharing.finish();
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
    let mut sharing = Sharing::new(128);
    for thread in [3, 70, 200] {
        sharing.access(access(Kind::Store, 4096 + 100, 64), thread, 0);
    }
    let mut found = lines(sharing);
    found.sort_by_key(|line| line.changes);
    let once = Line { changes: 2, false_changes: 0, invalidations: 2, transfers: 0 };
    assert_eq!(found, [once, once]);
}

#[test]
fn what_was_freed_has_no_writer() {
    let mut sharing = Sharing::new(64);
    sharing.access(access(Kind::Store, 4096, 16), 0, 0);
    sharing.access(access(Kind::Remove, 4096, 8), 0, UNCOUNTED);
    sharing.relocate(4096, 8192, 16);
    sharing.access(access(Kind::Load, 8192, 16), 1, 5);
    let (found, ..) = sharing.finish();
    assert_eq!(found.moved, [((0, 0), (1, 5), 0, 8)]);
}
