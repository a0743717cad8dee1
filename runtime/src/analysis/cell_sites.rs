//! The sites of a ring's cells; pairs of cells, and recorded windows, by them.
//!
//! Takes blocks of counters; gives the segment and item of each cell that is of no object. Refuses nothing.

use crate::{
    counts::pairs::{CellPairs, SitePairs},
    decode::{
        block::{BlockCounters, CellNumber},
        context::ContextNumber,
        locator::SegmentNumber,
        ring::{DecodedRing, RingSite},
    },
    observe::{
        objects::{PartOf, RingObjects},
        window::{Recorder, Window},
        writer::UNKNOWN,
    },
};

pub(super) struct CellSites {
    /// In the order of their cells; of blocks without items, the next one has the same first cell.
    firsts: Vec<(CellNumber, SegmentNumber)>,
}

impl CellSites {
    pub fn from_blocks(blocks: &[BlockCounters]) -> Self {
        Self { firsts: blocks.iter().map(|block| (block.first_cell, block.segment)).collect() }
    }

    pub fn of_cell(&self, cell: CellNumber) -> RingSite {
        let (first, segment) = self.firsts[self.firsts.partition_point(|(first, _)| *first <= cell).max(1) - 1];
        (segment, (cell.index() - first.index()) as u32)
    }

    /// Pairs of cells by their sites.
    pub fn pairs(&self, pairs: CellPairs, ring: &DecodedRing) -> SitePairs {
        let site = |cell| ring.site(self.of_cell(cell));
        let mut all = SitePairs::new();
        for ((before, cell), counts) in pairs.0 {
            let before = (before != UNKNOWN).then(|| site(before));
            all.entry((before, site(cell))).or_default().merge(&counts);
        }
        all
    }
}

/// Adds what was counted elsewhere.
pub(super) fn add_pairs(all: &mut SitePairs, more: SitePairs) {
    more.into_iter().for_each(|(pair, counts)| all.entry(pair).or_default().merge(&counts));
}

/// A recorded window with names of the measurement, of which `nodes` are the ring's contexts.
pub(super) fn named(
    (recorder, parts): (Recorder, Vec<PartOf>),
    ring: &DecodedRing,
    blocks: &[BlockCounters],
    objects: Option<&RingObjects>,
    nodes: &[ContextNumber],
) -> Option<Window> {
    let sites = CellSites::from_blocks(blocks);
    recorder.finish(|cell| {
        let part = parts.get(cell.index()).copied();
        let whole = part.map_or(cell, |(whole, _)| whole);
        let object = part.and_then(|(_, object)| objects?.list.get(object?.index()).copied());
        let files = objects.map_or(&[][..], |objects| &objects.files);
        let object = object.map(|object| ring.object_key(object, files, nodes));
        (ring.site(sites.of_cell(whole)), object)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        abi::ItemKind,
        counts::pairs::PairCounts,
        engine::{Access, Kind, Reports},
        objects::{Object, ObjectNumber},
        tests::program::{Function, Image, Program, Segment, executed, item},
    };

    /// Segment 2 has two cells, segment 0 none, segment 1 one.
    fn blocks() -> [BlockCounters; 3] {
        [executed(2, 0), executed(0, 2), executed(1, 2)]
    }

    fn ring() -> DecodedRing {
        let part = |items: usize| Segment::block(1, vec![item(ItemKind::Load, 1, 0, 8); items]);
        let functions = vec![Function { name: "main".into(), segments: vec![part(0), part(1), part(2)] }];
        Program { images: vec![Image { functions, variables: Vec::new() }] }.ring(&[])
    }

    #[test]
    fn a_cell_is_of_the_last_block_that_begins_at_it_or_before() {
        let sites = CellSites::from_blocks(&blocks());
        let of = |cell| sites.of_cell(CellNumber::new(cell));
        assert_eq!([of(0), of(1), of(2)].map(|(segment, item)| (segment.index(), item)), [(2, 0), (2, 1), (1, 0)]);
    }

    #[test]
    fn pairs_of_cells_of_one_site_are_one_pair() {
        let (cell, pair) = (CellNumber::new, |lines, far| PairCounts { lines, far });
        // Cells 0 and 3 are of the same site in two contexts.
        let mut blocks = blocks().to_vec();
        blocks.push(executed(2, 3));
        let pairs =
            [((cell(0), cell(2)), pair(4, 1)), ((cell(3), cell(2)), pair(2, 2)), ((UNKNOWN, cell(1)), pair(1, 0))];
        let found = CellSites::from_blocks(&blocks).pairs(CellPairs(pairs.into()), &ring());
        let expected = [((None, (0, 2, 1)), pair(1, 0)), ((Some((0, 2, 0)), (0, 1, 0)), pair(6, 3))];
        assert_eq!(found, SitePairs::from(expected));
        let mut all = SitePairs::from([expected[1]]);
        add_pairs(&mut all, found);
        assert_eq!(all, SitePairs::from([expected[0], (expected[1].0, pair(12, 6))]));
    }

    #[test]
    fn a_window_names_the_whole_cell_and_the_object_of_the_part() {
        let mut recorder = Recorder::new(10);
        recorder.open();
        let access = Access { addr: 8, len: 8, kind: Kind::Store };
        for cell in [1, 3, 4] {
            recorder.access(access, CellNumber::new(cell), true, &Reports::default());
        }
        // Cell 3 is the part of cell 1 for object 1; of cell 4, the part of cell 2, no object is known.
        let part = |whole, object: Option<usize>| (CellNumber::new(whole), object.map(ObjectNumber::new));
        let parts = vec![part(0, None), part(1, Some(0)), part(2, None), part(1, Some(1)), part(2, None)];
        let context = ContextNumber::new(1);
        let list = vec![Object::Unknown, Object::Block { context, segment: None }];
        let objects = RingObjects { list, ..RingObjects::default() };
        let nodes = [ContextNumber::ROOT, ContextNumber::new(7)];
        let window = named((recorder, parts), &ring(), &blocks(), Some(&objects), &nodes).expect("it was opened");
        let found: Vec<_> = window.events.into_iter().map(|event| (event.site, event.object)).collect();
        use crate::counts::keys::ObjectKey;
        let allocated = ObjectKey::Block { context: ContextNumber::new(7), site: None };
        let expected =
            [(Some((0, 2, 1)), Some(ObjectKey::Unknown)), (Some((0, 2, 1)), Some(allocated)), (Some((0, 1, 0)), None)];
        assert_eq!(found, expected);
    }
}
