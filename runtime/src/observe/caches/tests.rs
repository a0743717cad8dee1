//! Against a plain simulator.

use proptest::prelude::*;

use super::{plain::simulate, *};
use crate::{
    counts::{caches::CacheCounts, cell::CellCounters},
    engine::{Access, AccessTag, Kind},
    observe::observer::Observer,
    oplog::Op,
    tests::random::cases,
};

fn hierarchy() -> impl Strategy<Value = Vec<Geometry>> {
    let policy = || prop::sample::select(vec![Policy::Lru, Policy::TreePlru]);
    let level = move |ways: u32| (0u32..4, policy()).prop_map(move |(sets, policy)| (ways << sets, ways, policy));
    let one = prop::sample::select(vec![1u32, 2, 4, 8]).prop_flat_map(level);
    let lru = prop::sample::select(vec![3u32, 6]).prop_map(|ways| (ways * 4, ways, Policy::Lru));
    prop::collection::vec(prop_oneof![4 => one, 1 => lru], 1..4).prop_map(|mut levels| {
        levels.sort_unstable_by_key(|level| level.0);
        levels.dedup_by_key(|level| level.0);
        let geometry = |(lines, ways, policy)| Geometry { bytes: u64::from(lines) * 64, ways, line: 64, policy };
        levels.into_iter().map(geometry).collect()
    })
}

fn access() -> impl Strategy<Value = Access> {
    let kind = prop_oneof![2 => Just(Kind::Load), 1 => Just(Kind::Store)];
    let place = prop_oneof![0u64..1024, 0u64..16_384];
    (place, prop_oneof![9 => 1u32..9, 1 => 1u32..200], kind).prop_map(|(addr, len, kind)| Access { addr, len, kind })
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn levels_move_what_a_plain_simulator_does(levels in hierarchy(), accesses in prop::collection::vec(access(), 1..400)) {
        prop_assert_eq!(check(&levels), Ok(()));
        let touches = accesses.iter().enumerate().map(|(number, access)| {
            (access.addr..access.addr + u64::from(access.len), access.kind == Kind::Store, number % 4)
        });
        let expected = simulate(&levels, touches);
        let mut caches = Caches::new(&levels);
        caches.set_known(4);
        for (number, access) in accesses.iter().enumerate() {
            caches.op(Op::accesses(&[*access], &[AccessTag::new(number % 4)]));
        }
        let mut found = vec![CellCounters::default(); 4];
        caches.finish(&mut found, (0, 1));
        for (cell, found) in found.iter().enumerate() {
            for (level, expected) in expected.iter().enumerate() {
                let counts = found.caches.as_ref().map_or(CacheCounts::default(), |counts| counts[level]);
                let expected = expected.get(&cell).copied().unwrap_or_default();
                prop_assert_eq!(counts, expected, "cell {} at level {}", cell, level);
            }
        }
    }
}

#[test]
fn impossible_caches_are_refused() {
    let level = |bytes, ways, line, policy| Geometry { bytes, ways, line, policy };
    let good = level(32 << 10, 8, 64, Policy::Lru);
    assert_eq!(good.sets(), Ok(64));
    assert_eq!(level(48 << 10, 12, 64, Policy::Lru).sets(), Ok(64));
    for (bad, why) in [
        (level(32 << 10, 8, 48, Policy::Lru), "power of two"),
        (level(32 << 10, 0, 64, Policy::Lru), "at least one way"),
        (level(0, 8, 64, Policy::Lru), "must be from 1 to"),
        (level(32 << 10, 7, 64, Policy::Lru), "cannot be divided"),
        (level(48 << 10, 8, 64, Policy::Lru), "96 sets"),
        (level(1 << 40, 8, 64, Policy::Lru), "must be from 1 to"),
        (level(48 << 10, 12, 64, Policy::TreePlru), "plru with 12 ways"),
    ] {
        let message = bad.sets().expect_err("it is impossible");
        assert!(message.contains(why), "{message}");
    }
    let far = |bytes, line| check(&[good, level(bytes, 8, line, Policy::Lru)]);
    assert!(far(16 << 10, 64).is_err_and(|why| why.contains("behind one of")));
    assert!(far(32 << 10, 64).is_err_and(|why| why.contains("must be larger")));
    assert!(far(1 << 20, 128).is_err_and(|why| why.contains("the same")));
    assert_eq!(far(1 << 20, 64), Ok(()));
}
