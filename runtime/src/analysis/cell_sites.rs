//! Pairs of cells, and recorded windows, by the sites of the cells.
//!
//! Takes numbers of a ring; gives those of the measurement. Leaves out pairs of cells that there are not.

use crate::{
    counts::pairs::{CellPairs, SitePairs},
    decode::{context::ContextNumber, ring::DecodedRing},
    observe::{
        cell_sites::CellSites,
        objects::RingObjects,
        window::{Recorder, Window},
        writer::UNKNOWN,
    },
};

/// Pairs of cells by their sites.
pub(super) fn site_pairs(pairs: CellPairs, sites: CellSites<'_>, ring: &DecodedRing) -> SitePairs {
    let site = |cell| sites.site(cell).map(|site| ring.site(site));
    let mut all = SitePairs::new();
    for ((before, cell), counts) in pairs.0 {
        let before = if before == UNKNOWN { None } else { site(before) };
        let Some(cell) = site(cell) else { continue };
        all.entry((before, cell)).or_default().merge(&counts);
    }
    all
}

/// Adds what was counted elsewhere.
pub(super) fn add_pairs(all: &mut SitePairs, more: SitePairs) {
    more.into_iter().for_each(|(pair, counts)| all.entry(pair).or_default().merge(&counts));
}

/// A recorded window with names of the measurement, of which `nodes` are the ring's contexts.
pub(super) fn named(
    recorder: Recorder,
    sites: CellSites<'_>,
    ring: &DecodedRing,
    objects: Option<&RingObjects>,
    nodes: &[ContextNumber],
) -> Option<Window> {
    recorder.finish(|cell| {
        let object = sites.object(cell).and_then(|object| objects?.list.get(object.index()).copied());
        let files = objects.map_or(&[][..], |objects| &objects.files);
        let object = object.map(|object| ring.object_key(object, files, nodes));
        (sites.site(cell).map(|site| ring.site(site)), object)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        abi::ItemKind,
        counts::pairs::PairCounts,
        decode::block::{BlockCounters, CellNumber},
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
    fn pairs_of_cells_of_one_site_are_one_pair() {
        let (cell, pair) = (CellNumber::new, |lines, far| PairCounts { lines, far });
        // Cells 0 and 3 are of the same site in two contexts.
        let mut blocks = blocks().to_vec();
        blocks.push(executed(2, 3));
        let pairs =
            [((cell(0), cell(2)), pair(4, 1)), ((cell(3), cell(2)), pair(2, 2)), ((UNKNOWN, cell(1)), pair(1, 0))];
        let sites = CellSites { blocks: &blocks, part_of: &[] };
        let found = site_pairs(CellPairs(pairs.into()), sites, &ring());
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
        let sites = CellSites { blocks: &blocks(), part_of: &parts };
        let window = named(recorder, sites, &ring(), Some(&objects), &nodes).expect("it was opened");
        let found: Vec<_> = window.events.into_iter().map(|event| (event.site, event.object)).collect();
        use crate::counts::keys::ObjectKey;
        let allocated = ObjectKey::Block { context: ContextNumber::new(7), site: None };
        let expected =
            [(Some((0, 2, 1)), Some(ObjectKey::Unknown)), (Some((0, 2, 1)), Some(allocated)), (Some((0, 1, 0)), None)];
        assert_eq!(found, expected);
    }
}
