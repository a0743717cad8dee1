//! A ring of a program that draws a sample while it runs: it has records of what was looked at, and counters.
//!
//! Takes records with their times, and how often each segment was executed; gives the sample what it would have taken
//! from a whole ring, and the cells what is exact: executions, and the bytes of all accesses of fixed size. Which
//! function called which is known if the program was asked to tell where functions begin and end: what is exact is then
//! of a segment wherever it was called from, in the context above all others. Else most records are left out, and each
//! function is a calling context of its own, below nothing. Of a region of interest no count is exact.

use super::{
    analyzer::{Analyzer, added},
    calls::RingSegment,
    charge::Charging,
    core::{Core, Executed},
    lengths::each,
    library::hold_slots,
};
use crate::{
    abi::{Item, SegmentKind, segment_flag},
    decode::{
        context::ContextNumber,
        locator::{Located, Locator, ModuleSource},
    },
    ring::Counted,
    sites::Segment,
};

impl Core {
    /// A record that a program wrote down because it looked at something in it, or always does.
    fn looked_at(&mut self, segment: &Segment, items: &[Item], record: &[u64], at: RingSegment) {
        if self.sampled.follows {
            self.enter(segment.flags, record, at);
        } else {
            self.be_in(at.function);
        }
        let behind = usize::from(segment.flags & (segment_flag::COOKIE | segment_flag::LANDING) != 0);
        if let Some(time) = record.len().checked_sub(1 + behind).and_then(|at| record.get(at)) {
            self.sampled.set_time(*time, &mut self.charging);
        }
        let is_loop = segment.kind == SegmentKind::Loop as u8;
        if self.calls.counting() {
            let Self { calls, charging, sampled, .. } = self;
            let first = charging.block(calls.contexts.current(), at.segment, items.len()).first_cell.index();
            if is_loop {
                // All of a loop's items are of fixed size.
                let accesses = charging.totals.accesses;
                charging.iterations::<true>(items, record, first);
                charging.totals.accesses = accesses;
            } else {
                let all_matter = calls.has_roi || charging.objects.is_some();
                sampled.items(items, record, first, (at.segment, all_matter), charging);
            }
        } else {
            self.uncounted(items, record, at.segment, is_loop);
        }
        if self.sampled.follows && segment.flags & segment_flag::EXIT != 0 {
            self.exit(at.function);
        }
    }

    /// Notes how often segments were executed, before anything is filed.
    fn executed(&mut self, all: &mut [Executed]) {
        if self.calls.has_roi {
            return;
        }
        for Executed { at, items, enters, times, first_cell } in all {
            let block = if self.sampled.follows {
                // The context above all others is of no function, so its segments are not looked up.
                self.charging.counters.add_block(ContextNumber::ROOT, at.segment, *items)
            } else {
                self.be_in(at.function);
                let node = self.calls.contexts.current();
                self.calls.contexts.nodes[node.index()].calls += if *enters { *times } else { 0 };
                self.charging.block(node, at.segment, *items)
            };
            block.executions = *times;
            *first_cell = Some(block.first_cell);
        }
    }

    /// Puts exact counts in the place of what records alone told.
    pub(super) fn count_executed(&mut self, all: &[Executed], locator: &Locator) {
        let Charging { counters, totals, .. } = &mut self.charging;
        if self.sampled.follows {
            // Of a region of interest the estimates of what was read stay.
            counters.leave_out_executed(locator, self.calls.has_roi);
        }
        for Executed { at, times, first_cell, .. } in all {
            let items = locator.items(at.segment);
            let accesses: u64 = items.iter().filter_map(each).map(|(_, _, accesses)| accesses).sum();
            totals.accesses += accesses * times;
            if let Some(first_cell) = first_cell {
                counters.set_executed(items, *first_cell, *times);
            }
        }
    }
}

impl Analyzer {
    /// Replays a record.
    pub(super) fn filtered_record(&mut self, located: &Located, rest: &[u64]) -> usize {
        let module = &self.locator.modules[located.module];
        let segment = module.segment(located.segment);
        let function = module.function_number(segment.function);
        let roi = self.core.calls.has_roi && self.tables.is_roi[function.index()];
        let at = RingSegment { segment: module.segment_number(located.segment), function, roi };
        let record = &rest[..located.words];
        self.core.looked_at(segment, module.items(segment), record, at);
        if self.core.sampled.follows && !segment.slots.is_empty() {
            hold_slots(&mut self.core.calls.contexts, module, segment, record);
        }
        located.words
    }

    /// Takes what the counters of a ring of the program say, once it has ended.
    pub fn count(&mut self, counted: &[Counted], source: &mut impl ModuleSource) {
        if !self.core.sampled.filtered {
            return;
        }
        self.locator.know_all(source, added(&mut self.tables, &mut self.core));
        let mut all = Vec::new();
        for Counted { unit, counter, times } in counted {
            let found = unit.and_then(|unit| self.locator.counted(unit, *counter));
            let Some((module, number)) = found else {
                self.core.charging.totals.lost_words += 1;
                continue;
            };
            let module = &self.locator.modules[module];
            let segment = module.segment(number);
            let function = module.function_number(segment.function);
            all.push(Executed {
                at: RingSegment { segment: module.segment_number(number), function, roi: false },
                items: module.items(segment).len(),
                enters: segment.flags & segment_flag::ENTER != 0,
                times: *times,
                first_cell: None,
            });
        }
        self.core.charging.totals.active |= !all.is_empty();
        self.core.executed(&mut all);
        self.executed = all;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        abi::{ItemKind, item_flag, sample::Draws},
        analysis::{Options, result::MemoryResult},
        counts::sampled::SampleCounts,
        observe::sample::Design,
        tests::{
            program::{Function, Image, Program, Segment, UNIT, item},
            run::Modules,
            steps::Step,
        },
    };

    const ENTER: u32 = 0;
    const WORDS: u32 = 1;
    const LOOP: u32 = 2;
    const FILL: u32 = 3;
    const EXIT: u32 = 4;
    const LAND: u32 = 5;
    /// Segments of a function.
    const SEGMENTS: u32 = 6;

    /// Two functions; records have so many words more.
    fn program(more: u16) -> Program {
        let word = |kind| item(kind, 1, 0, 8);
        let segments = vec![
            Segment::block(1 + more, vec![word(ItemKind::Store)]).with(segment_flag::ENTER | segment_flag::COOKIE),
            Segment::block(
                2 + more,
                vec![word(ItemKind::Load), item(ItemKind::Load, 2, 0, 4), item(ItemKind::Update, 2, 8, 8)],
            ),
            Segment::of_loop(2 + more, vec![Item { stride: 8, ..item(ItemKind::Load, 2, 0, 8) }]),
            Segment::block(
                2 + more,
                vec![
                    Item { word2: 2, flags: item_flag::DYNAMIC, ..item(ItemKind::Fill, 1, 0, 0) },
                    word(ItemKind::Load),
                ],
            ),
            Segment::block(1 + more, vec![word(ItemKind::Load)]).with(segment_flag::EXIT),
            Segment::block(1 + more, vec![word(ItemKind::Load)]).with(segment_flag::LANDING),
        ];
        let function = |name: &str| Function { name: name.into(), segments: segments.clone() };
        let functions = ["main", "leaf"].map(function).into();
        Program { images: vec![Image { functions, variables: Vec::new() }] }
    }

    /// Segments with their operands, what tells the frame if they do, and their loads and stores: one function calls
    /// the other again and again, which returns or is left.
    fn executions() -> Vec<(u32, Vec<u64>, Option<u64>, u64)> {
        let mut draws = Draws::new(3);
        let mut all = vec![(ENTER, vec![64], Some(1), 1)];
        for number in 0..1500u64 {
            let of = if number % 3 == 2 { SEGMENTS } else { 0 };
            let mut word = || draws.below(1 << 9) * 24;
            let (a, b, len) = (word(), word(), word() % 200);
            if of > 0 {
                all.push((of + ENTER, vec![a], Some(2 + number), 1));
            }
            all.push((of + WORDS, vec![a, b], None, 4));
            match number % 5 {
                0 => all.push((of + LOOP, vec![len, (1 << 20) + a + 8 * len], None, len)),
                1 => all.push((of + FILL, vec![b, len], None, len.div_ceil(64) + 1)),
                _ => {}
            }
            match (of, number % 2) {
                (0, _) => {}
                (_, 0) => all.push((of + EXIT, vec![b], None, 1)),
                _ => all.push((LAND, vec![b], Some(1), 1)),
            }
        }
        all
    }

    fn design() -> Design {
        Design { burst: 512, epoch: 1 << 11, slow_epoch: 1 << 13, ..Design::new(16, 5) }
    }

    /// What all executions come to.
    #[derive(Debug, PartialEq)]
    struct Sums {
        accesses: u64,
        /// By function.
        calls: BTreeMap<usize, u64>,
        /// By segment.
        executions: BTreeMap<usize, u64>,
        /// By segment and item: bytes written, and what the sample says.
        cells: BTreeMap<(usize, usize), (u64, SampleCounts)>,
    }

    fn sums(result: &MemoryResult) -> Sums {
        let mut sums = Sums {
            accesses: result.ring.totals.accesses,
            calls: BTreeMap::new(),
            executions: BTreeMap::new(),
            cells: BTreeMap::new(),
        };
        for node in &result.ring.contexts.nodes {
            if let Some(function) = node.function {
                *sums.calls.entry(function.index()).or_default() += node.calls;
            }
        }
        for block in &result.blocks {
            let segment = block.segment.index();
            *sums.executions.entry(segment).or_default() += block.executions;
            let items = result.ring.modules[0].items(result.ring.modules[0].segment(segment as u32)).len();
            for (number, cell) in result.cells[block.first_cell.index()..][..items].iter().enumerate() {
                let (written, sampled) = sums.cells.entry((segment, number)).or_default();
                *written += cell.written;
                if let Some(more) = &cell.sampled {
                    sampled.merge(more);
                }
            }
        }
        sums
    }

    fn analysed(program: &Program, options: Options, words: &[u64], counted: &[Counted]) -> MemoryResult {
        let mut modules = Modules::new(program);
        let mut analyzer = Analyzer::new(Options { analyse: true, sample: Some(design()), ..options });
        analyzer.replay(words, &mut modules);
        analyzer.count(counted, &mut modules);
        analyzer.finish()
    }

    /// Of everything, as programs write it down that draw no sample.
    fn whole() -> Sums {
        let (program, mut words) = (program(0), Vec::new());
        for (segment, mut operands, frame, _) in executions() {
            operands.extend(frame);
            Step::Segment((0, segment), operands).write(&program, &mut words);
        }
        sums(&analysed(&program, Options::default(), &words, &[]))
    }

    /// Records with the time behind their words, and what the counters say.
    fn written_down(program: &Program) -> (Vec<u64>, Vec<Counted>) {
        let (mut words, mut time, mut times) = (Vec::new(), 0, BTreeMap::<u32, u64>::new());
        for (segment, mut operands, frame, accesses) in executions() {
            operands.push(time);
            operands.extend(frame);
            Step::Segment((0, segment), operands).write(program, &mut words);
            time += accesses;
            // A loop counts its iterations.
            *times.entry(segment).or_default() += if segment % SEGMENTS == LOOP { accesses } else { 1 };
        }
        let counted =
            times.into_iter().map(|(counter, times)| Counted { unit: Some(UNIT), counter: counter.into(), times });
        (words, counted.collect())
    }

    #[test]
    fn records_with_their_times_and_counters_come_to_the_sample_of_everything() {
        let program = program(1);
        let (words, counted) = written_down(&program);
        let whole = whole();
        assert!(whole.cells.values().any(|(_, sampled)| sampled.bytes() > 0.0), "something is looked at");
        for contexts in [false, true] {
            let options = Options { filtered: true, contexts, ..Options::default() };
            assert_eq!(sums(&analysed(&program, options, &words, &counted)), whole, "with contexts: {contexts}");
        }
    }

    #[test]
    fn counters_that_nobody_announced_are_lost() {
        let program = program(1);
        let unknown = [Some(UNIT + 1), None].map(|unit| Counted { unit, counter: 0, times: 5 });
        let beyond = Counted { unit: Some(UNIT), counter: 2 * u64::from(SEGMENTS), times: 5 };
        let counted = [unknown[0], unknown[1], beyond];
        let options = Options { filtered: true, ..Options::default() };
        let result = analysed(&program, options, &[], &counted);
        assert_eq!((result.ring.totals.lost_words, result.ring.totals.active), (3, false));
        let result = analysed(&program, Options::default(), &[], &counted);
        assert_eq!(result.ring.totals.lost_words, 0, "of a ring with everything no counter is asked");
    }
}
