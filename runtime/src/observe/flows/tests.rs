//! Flows by their definition, and of runs done in blocks.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::bytes::*;
use crate::{
    analysis::pipeline::Pipeline,
    counts::{cell::CellCounters, depths::DepthCounts},
    decode::{
        block::{BlockCounters, CellNumber},
        context::ContextNumber,
        locator::SegmentNumber,
        ring::RingSite,
    },
    engine::{Access, AccessTag, Kind, Stream, oracle::Oracle},
    histogram::bucket_of,
    objects::ObjectNumber,
    observe::{
        attribution::Files,
        cell_table::CellTable,
        patterns::{Pattern, between::Between},
    },
    pricing::root,
    tests::{program::executed, random::cases},
};

/// Segments of the log, each with this many items.
const ITEMS: u32 = 3;

#[derive(Clone, Debug)]
pub(super) enum Op {
    /// By an item of a segment in one of two contexts, counted or not; or by nobody.
    Access(Access, Option<u32>, u32, bool),
    Relocate(u64, u64, u64),
    Input(u64, u64),
    /// Streams with their sites, whether they are counted, in one context; iterations.
    Run(Vec<(Stream, u32)>, bool, u64),
}

/// Addresses around a border of pages, lengths of whole and broken words and of blocks.
pub(super) fn any_op() -> impl Strategy<Value = Op> {
    let address = || prop_oneof![4000u64..4200, (0u64..40).prop_map(|word| 4096 + 8 * word)];
    let len = || prop_oneof![Just(4u64), Just(8), 1u64..80];
    let kind = prop_oneof![4 => Just(Kind::Load), 3 => Just(Kind::Store), 1 => Just(Kind::Remove)];
    let site = prop_oneof![15 => (0..3 * ITEMS).prop_map(Some), 1 => Just(None)];
    let access = (address(), len(), kind, site, 0..2u32, prop::bool::weighted(0.9));
    prop_oneof![
        20 => access.prop_map(|(addr, len, kind, site, context, counted)| {
            Op::Access(Access { addr, len: len as u32, kind }, site, context, counted)
        }),
        1 => (address(), address(), len()).prop_map(|(from, to, len)| Op::Relocate(from, to, len)),
        1 => (address(), len()).prop_map(|(addr, len)| Op::Input(addr, len)),
    ]
}

/// Streams of mostly one size, some after the same words; their sites are all different, as they are in programs, or
/// only few.
pub(super) fn any_run(elements: u64, strides: &'static [i64], iterations: u64) -> impl Strategy<Value = Op> {
    let kind = prop_oneof![3 => Just(Kind::Load), 2 => Just(Kind::Store)];
    let stream = (0..elements, prop::sample::select(strides), kind, prop::bool::weighted(0.03));
    let size = prop_oneof![4 => Just(8u32), 1 => Just(4), 1 => Just(16)];
    let all_alike = prop::bool::weighted(0.7);
    let details = (size, all_alike, 0..3 * ITEMS, any::<bool>(), prop::bool::weighted(0.9), 1..iterations);
    (prop::collection::vec(stream, 1..6), details).prop_map(move |(streams, details)| {
        let (size, all_alike, first_site, same_sites, counted, iterations) = details;
        let common = streams[0].1;
        let stream = |(number, (element, stride, kind, is_odd)): (u32, (u64, i64, Kind, bool))| {
            let stride = if all_alike { common } else { stride } * i64::from(size);
            let addr = 4096 + element * u64::from(size) + if stride < 0 { 1 << 12 } else { 0 };
            let len = if is_odd { 2 } else { size };
            let site = if same_sites { first_site } else { first_site + number };
            (Stream { addr, stride, len, kind }, site % (3 * ITEMS))
        };
        Op::Run((0..).zip(streams).map(stream).collect(), counted, iterations)
    })
}

/// A run as single accesses.
fn do_each(op: &Op) -> Vec<Op> {
    let Op::Run(streams, counted, iterations) = op else { return vec![op.clone()] };
    let access = |iteration: u64, (stream, site): &(Stream, u32)| {
        let addr = stream.addr.wrapping_add_signed(stream.stride * iteration as i64);
        Op::Access(Access { addr, len: stream.len, kind: stream.kind }, Some(*site), 0, *counted)
    };
    (0..*iterations).flat_map(|iteration| streams.iter().map(move |stream| access(iteration, stream))).collect()
}

pub(super) type Key = (Option<RingSite>, Option<RingSite>, RingSite);
/// Bytes, cost, histogram.
pub(super) type Total = (u64, u128, Vec<(u16, u64)>);

fn place(site: u32) -> RingSite {
    (SegmentNumber::new((site / ITEMS) as usize), site % ITEMS)
}

/// A list of the bytes with their writers and touchers, next to the list that defines depths.
pub(super) fn by_definition(ops: &[Op]) -> BTreeMap<Key, Total> {
    let mut stack = Oracle::default();
    let mut states: BTreeMap<u64, (Option<RingSite>, RingSite)> = BTreeMap::new();
    let mut found: BTreeMap<Key, Vec<u64>> = BTreeMap::new();
    for op in ops.iter().flat_map(do_each) {
        match op {
            Op::Run(..) => unreachable!("runs are single accesses now"),
            Op::Access(Access { addr, len, kind }, site, _, counted) => {
                let bytes = addr..addr + u64::from(len);
                let site = site.map(place);
                match kind {
                    Kind::Load | Kind::Last => {
                        let read = stack.load(addr, len.into());
                        let Some(site) = site else { continue };
                        for (byte, read) in bytes.clone().zip(read) {
                            let state = states.get(&byte);
                            let writer = state.and_then(|s| s.0);
                            if counted {
                                let key = (writer, state.map(|s| s.1), site);
                                found.entry(key).or_default().push(read.depth);
                            }
                            states.insert(byte, (writer, site));
                        }
                    }
                    Kind::Store | Kind::Fresh => {
                        stack.store(addr, len.into());
                        match site {
                            Some(site) => states.extend(bytes.map(|byte| (byte, (Some(site), site)))),
                            None => states.retain(|byte, _| !bytes.contains(byte)),
                        }
                    }
                    Kind::Remove => {
                        stack.remove(addr, len.into());
                        states.retain(|byte, _| !bytes.contains(byte));
                    }
                }
            }
            Op::Relocate(from, to, len) => {
                stack.relocate(from, to, len);
                let moved: Vec<_> = (0..len).map(|i| (to + i, states.remove(&(from + i)))).collect();
                for (byte, state) in moved {
                    states.remove(&byte);
                    states.extend(state.map(|state| (byte, state)));
                }
            }
            Op::Input(addr, len) => {
                stack.insert_bottom(addr, len);
                states.retain(|byte, _| !(addr..addr + len).contains(byte));
            }
        }
    }
    found.into_iter().map(|(key, depths)| (key, total(&depths))).collect()
}

fn total(depths: &[u64]) -> Total {
    let mut buckets = BTreeMap::new();
    for &depth in depths {
        *buckets.entry(bucket_of(depth)).or_default() += 1;
    }
    (depths.len() as u64, depths.iter().map(|d| u128::from(root(*d))).sum(), buckets.into_iter().collect())
}

/// A pipeline with the cells that it files in.
#[derive(Default)]
pub(super) struct Measured {
    pub pipeline: Pipeline,
    pub cells: Vec<CellCounters>,
    pub sites: CellTable,
    pub cold: DepthCounts,
}

impl Measured {
    fn label(&mut self, site: u32, context: u32, counted: bool) -> AccessTag {
        let (segment, item) = place(site);
        let number = ContextNumber::new(context as usize);
        if !counted {
            return self.pipeline.sinks.hidden(segment, number, ITEMS as usize).after(item as usize);
        }
        let known = self.sites.blocks.iter().find(|block| (block.segment, block.node) == (segment, number));
        let first = known.map(|block| block.first_cell).unwrap_or_else(|| {
            let first = self.cells.len();
            self.cells.resize(first + ITEMS as usize, CellCounters::default());
            // Each site has an object in one of the contexts: patterns are told of sites and objects.
            let parts = self.sites.parts.get_or_insert_default();
            parts.add_cells(self.cells.len());
            if context == 0 {
                let object = ObjectNumber::new(segment.index() + 1);
                for cell in first..self.cells.len() {
                    parts.cell_for(CellNumber::new(cell), object, &mut self.cells);
                }
            }
            self.sites.blocks.push(BlockCounters { node: number, ..executed(segment.index(), first) });
            CellNumber::new(first)
        });
        AccessTag::for_cell(first.after(item as usize))
    }

    pub fn with<T>(&mut self, take: impl FnOnce(&mut Pipeline, &mut Files<'_>) -> T) -> T {
        let Self { pipeline, cells, cold, sites } = self;
        take(pipeline, &mut Files { sites, ..Files::new(cells, cold) })
    }

    pub fn does(&mut self, op: &Op) {
        match op {
            Op::Access(access, site, context, counted) => {
                let site = site.filter(|_| access.kind != Kind::Remove);
                let label = site.map_or(AccessTag::UNCOUNTED, |site| self.label(site, *context, *counted));
                self.with(|pipeline, files| pipeline.push(*access, label, files));
            }
            Op::Run(streams, counted, iterations) => {
                let labels: Vec<AccessTag> = streams.iter().map(|(_, site)| self.label(*site, 0, *counted)).collect();
                let streams: Vec<Stream> = streams.iter().map(|(stream, _)| *stream).collect();
                self.with(|pipeline, files| pipeline.push_run(&streams, &labels, *iterations, files));
            }
            &Op::Relocate(from, to, len) => {
                self.with(|pipeline, files| pipeline.op(crate::oplog::Op::Move { from, to, len }, files));
            }
            &Op::Input(addr, len) => {
                self.with(|pipeline, files| pipeline.op(crate::oplog::Op::Input { addr, len }, files));
            }
        }
    }
}

/// What was followed, and all cells; `threaded` with the engine on a thread of its own.
fn followed(ops: &[Op], patterns: bool, threaded: bool) -> (Followed, Vec<CellCounters>) {
    let mut measured = Measured::default();
    measured.pipeline.start_flows(Flows::new(patterns, false));
    if threaded {
        measured.with(|pipeline, files| pipeline.start_thread(false, files));
    }
    ops.iter().for_each(|op| measured.does(op));
    let (_, _, behind, _) = measured.with(|pipeline, files| pipeline.take().finish(files));
    let mut cells = measured.cells;
    cells.iter_mut().for_each(CellCounters::flush);
    (behind.flows.expect("flows were started").finish(), cells)
}

fn total_of(found: &CellCounters) -> Total {
    let depths: Vec<_> = found.depths.iter().collect();
    (depths.iter().map(|d| d.1).sum(), found.cost, depths)
}

/// Flows of one key together.
pub(super) fn by_key(flows: Followed) -> BTreeMap<Key, Total> {
    let mut merged: BTreeMap<Key, CellCounters> = BTreeMap::new();
    for mut flow in flows.flows {
        merged.entry((flow.writer, flow.toucher, flow.reader)).or_default().merge(&mut flow.found);
    }
    merged.iter().map(|(key, found)| (*key, total_of(found))).collect()
}

/// The flows as measured, and bytes and cost of all cells.
fn measured(ops: &[Op]) -> (BTreeMap<Key, Total>, (u64, u128)) {
    let (flows, cells) = followed(ops, true, false);
    let flows = by_key(flows);
    let all = cells.iter().fold((0, 0), |(bytes, cost), cell| (bytes + total_of(cell).0, cost + cell.cost));
    (flows, all)
}

/// Everything that was followed, in an order that tells nothing of how.
#[derive(Debug, PartialEq)]
struct Everything {
    flows: Vec<(Key, Total, Between<RingSite>)>,
    patterns: Vec<Pattern>,
}

fn everything(ops: &[Op], patterns: bool, threaded: bool) -> Everything {
    let (followed, _) = followed(ops, patterns, threaded);
    let flow = |Flow { writer, toucher, reader, found, between, .. }: Flow| {
        ((writer, toucher, reader), total_of(&found), between)
    };
    let mut flows: Vec<_> = followed.flows.into_iter().map(flow).collect();
    flows.sort();
    let mut uses: Vec<_> = followed.uses.into_iter().map(|used| (used.site, used.pattern)).collect();
    uses.sort_unstable_by_key(|used| used.0);
    Everything { flows, patterns: uses.into_iter().map(|used| used.1).collect() }
}

proptest! {
    #![proptest_config(cases(128))]
    #[test]
    fn flows_are_those_of_the_definition(ops in prop::collection::vec(any_op(), 1..400)) {
        let (flows, cells) = measured(&ops);
        prop_assert_eq!(&flows, &by_definition(&ops));
        let sum = flows.values().fold((0, 0), |sum, flow| (sum.0 + flow.0, sum.1 + flow.1));
        prop_assert_eq!(sum, cells);
    }

    #[test]
    fn flows_of_runs_are_those_of_the_definition(
        ops in prop::collection::vec(prop_oneof![2 => any_op(), 1 => any_run(20, &[1, 1, 1, 0, -1, 2, 7], 30)], 1..30)
    ) {
        prop_assert_eq!(measured(&ops).0, by_definition(&ops));
    }

    #[test]
    fn runs_together_are_what_they_are_one_by_one(
        ops in prop::collection::vec(
            prop_oneof![1 => any_op(), 3 => any_run(20, &[1, 1, 1, 0, -1, 2, 7, 16, 512], 900)], 1..12),
        patterns in any::<bool>(),
    ) {
        let one_by_one: Vec<Op> = ops.iter().flat_map(do_each).collect();
        let expected = everything(&one_by_one, patterns, false);
        prop_assert_eq!(&everything(&ops, patterns, false), &expected);
        prop_assert_eq!(&everything(&ops, patterns, true), &expected);
    }
}

#[test]
fn each_byte_of_a_load_is_counted_at_its_own_depth() {
    let access = |addr, len, kind, site| Op::Access(Access { addr, len, kind }, Some(site), 0, true);
    // Bytes 1 and 2 are written after the other two: from the top, 2, 1, 3, 0. Byte 4 enters below.
    let ops = [access(0, 4, Kind::Store, 0), access(1, 2, Kind::Store, 1), access(0, 5, Kind::Load, 2)];
    let (flows, _) = measured(&ops);
    let reader = place(2);
    let from = |site| Some(place(site));
    let expected = BTreeMap::from([
        ((None, None, reader), total(&[5])),
        ((from(0), from(0), reader), total(&[3, 4])),
        ((from(1), from(1), reader), total(&[1, 2])),
    ]);
    assert_eq!(flows, expected);
}
