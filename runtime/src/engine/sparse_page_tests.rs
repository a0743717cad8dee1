//! Pages of which little was touched: against the list, and against an engine that has a full page for each.

use super::oracle::Collect;
use super::tests::{Machine, Op, assert_all_agree, assert_batches_agree};
use super::{Engine, EngineOptions, Kind, Stream};
use crate::tests::random::cases;
use proptest::prelude::*;

/// Bytes of the program that one page of the table is for.
const PAGE: u64 = 1 << 14;

/// Touches that are spread over some pages, and pages that are filled, around the end of a region.
fn spread() -> impl Strategy<Value = Vec<Op>> {
    let base = (1 << 26) * 3 - 3 * PAGE;
    let page = move || (0u64..6).prop_map(move |page| base + page * PAGE);
    let addr = move || (page(), 0u64..PAGE).prop_map(|(page, at)| page + at);
    // The same few places again and again, so that something is found.
    let spot = move || (page(), 0u64..12).prop_map(|(page, at)| page + at * 1360);
    let size = || prop::sample::select(vec![1u64, 2, 4, 8, 8, 16, 64]);
    let one = |op: Op| vec![op];
    let step = prop_oneof![
        6 => (spot(), size()).prop_map(move |(at, len)| one(Op::Load(at, len))),
        4 => (spot(), size()).prop_map(move |(at, len)| one(Op::Store(at, len))),
        2 => (addr(), size()).prop_map(move |(at, len)| one(Op::Load(at, len))),
        2 => (addr(), size()).prop_map(move |(at, len)| one(Op::Store(at, len))),
        1 => (addr(), 8u64..30).prop_map(|(at, words)| (0..words).map(|word| Op::Store(at + 4 * word, 4)).collect()),
        1 => (page(), 100u64..160).prop_map(|(at, words)| (0..words).map(|word| Op::Store(at + 8 * word, 4)).collect()),
        2 => (spot(), 1u64..3 * PAGE).prop_map(move |(at, len)| one(Op::Remove(at, len))),
        1 => (spot(), spot(), 1u64..2 * PAGE).prop_map(move |(from, to, len)| one(Op::Relocate(from, to, len))),
        1 => (spot(), size()).prop_map(move |(at, len)| one(Op::InsertBottom(at, len))),
    ];
    prop::collection::vec(step, 1..40).prop_map(|steps| steps.into_iter().flatten().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..cases(40) })]

    #[test]
    fn agrees_where_pages_are_touched_here_and_there(ops in spread()) {
        assert_all_agree(&ops);
        assert_batches_agree(&ops);
    }

    /// Loops over columns, and loops that fill what they go over.
    #[test]
    fn loops_find_the_same_as_with_full_pages(
        runs in prop::collection::vec((0u64..64, prop::sample::select(vec![8i64, 64, 512, 4096, -4096, 16384]), 0u8..3, 1u64..200), 1..8)
    ) {
        let with = |full_pages| {
            let mut engine = Engine::with_options(EngineOptions { full_pages, ..EngineOptions::default() });
            let mut found = Vec::new();
            for &(at, stride, kind, iterations) in &runs {
                let kind = [Kind::Load, Kind::Store, Kind::Load][usize::from(kind)];
                let stream = Stream { addr: (1 << 30) + 8 * at, stride, len: 8, kind };
                let mut sink = Collect::default();
                engine.affine(&[stream], iterations, &mut sink);
                found.push(sink.sorted());
            }
            (found, engine.totals())
        };
        prop_assert_eq!(with(0), with(usize::MAX));
    }
}

/// Bytes that an engine holds once a word in each of many neighbouring pages of 4 KiB was touched.
fn memory_of(touch: impl Fn(&mut Engine, u64)) -> u64 {
    let mut engine = Engine::new();
    touch(&mut engine, 1 << 17);
    assert_eq!(engine.live(), 8 << 17);
    engine.heap_bytes()
}

#[test]
fn a_word_in_each_of_many_pages_takes_little_memory() {
    let full = EngineOptions::default().full_pages as u64 * PAGE;
    let singly = memory_of(|engine, pages| (0..pages).for_each(|page| engine.store((1 << 40) + page * 4096, 8)));
    let in_a_loop = memory_of(|engine, pages| {
        let stream = Stream { addr: 1 << 40, stride: 4096, len: 8, kind: Kind::Store };
        engine.affine(&[stream], pages, &mut Collect::default());
    });
    // The pages of the program take 512 MiB.
    assert!(singly < full + (24 << 20), "{singly}");
    assert!(in_a_loop < full + (24 << 20), "{in_a_loop}");
}
