//! Which object each access goes to: cells of (context, site) taken apart by object while the run goes on.
//!
//! Takes the cell of an access and its address, gives the cell of the object there. The first object that a cell meets
//! keeps the cell itself; each other one has a cell of its own, so that filing what the engine found costs nothing
//! more. In the end the parts are added up again.
//!
//! An access belongs to the object of its first byte. A site mostly stays with the object of its last access, which
//! costs one look at the map.

use std::collections::HashMap;

use crate::{
    counts::cell::CellCounters,
    decode::{
        block::{BlockCounters, CellNumber},
        locator::SegmentNumber,
        ring::RingSite,
    },
    hash::FastHash,
    objects::{Life, NOTHING, Object, ObjectNumber, Objects, Parts},
};

/// Of a cell: the cell that it is a part of, and its object, if an access went through it.
pub type PartOf = (CellNumber, Option<ObjectNumber>);

/// The object of a cell's last access, if it had one, and the cell for it.
#[derive(Clone, Copy)]
struct Last {
    object: Option<ObjectNumber>,
    cell: CellNumber,
}

/// The cells of a ring, taken apart by objects that somebody else knows.
#[derive(Default)]
pub struct ObjectCells {
    /// By cell.
    last: Vec<Last>,
    /// By cell.
    part_of: Vec<PartOf>,
    parts: HashMap<(CellNumber, ObjectNumber), CellNumber, FastHash>,
}

/// What one site did to one object.
pub struct ObjectUse {
    pub object: ObjectNumber,
    pub site: RingSite,
    pub found: CellCounters,
}

/// The objects of a finished ring, in its own numbers. Where others know the objects, only `uses`, in their numbers.
#[derive(Default)]
pub struct RingObjects {
    pub list: Vec<Object>,
    pub lives: Vec<Life>,
    /// Bytes read of each part of large blocks, by object; not of all objects.
    pub parts: Vec<Option<Parts>>,
    pub files: Vec<String>,
    pub uses: Vec<ObjectUse>,
}

impl ObjectCells {
    /// There are so many cells from now on.
    pub fn add_cells(&mut self, cells: usize) {
        for cell in (self.last.len()..cells).map(CellNumber::new) {
            self.last.push(Last { object: None, cell });
            self.part_of.push((cell, None));
        }
    }

    /// The cell for accesses of a site to an object; made, the last of all, if there is none yet.
    #[inline]
    pub fn cell_for(&mut self, cell: CellNumber, object: ObjectNumber, counters: &mut Vec<CellCounters>) -> CellNumber {
        let last = self.last[cell.index()];
        if last.object == Some(object) { last.cell } else { self.another(cell, object, counters) }
    }

    #[inline(never)]
    fn another(&mut self, cell: CellNumber, object: ObjectNumber, counters: &mut Vec<CellCounters>) -> CellNumber {
        let part = if *self.part_of[cell.index()].1.get_or_insert(object) == object {
            cell
        } else {
            let known = self.parts.get(&(cell, object)).copied();
            known.unwrap_or_else(|| self.add_part(cell, object, counters))
        };
        self.last[cell.index()] = Last { object: Some(object), cell: part };
        part
    }

    fn add_part(&mut self, cell: CellNumber, object: ObjectNumber, counters: &mut Vec<CellCounters>) -> CellNumber {
        let part = CellNumber::new(self.last.len());
        counters.push(CellCounters::default());
        self.parts.insert((cell, object), part);
        self.last.push(Last { object: Some(object), cell: part });
        self.part_of.push((cell, Some(object)));
        part
    }

    /// Goes on with cells that are parts of these.
    #[must_use]
    pub fn from_parts(part_of: Vec<PartOf>) -> Self {
        let mut cells = Self::default();
        cells.add_cells(part_of.len());
        for (number, &(whole, object)) in part_of.iter().enumerate() {
            if let Some(object) = object {
                cells.parts.insert((whole, object), CellNumber::new(number));
            }
        }
        Self { part_of, ..cells }
    }

    /// What each cell is a part of.
    #[must_use]
    pub fn parts(&self) -> &[PartOf] {
        &self.part_of
    }

    /// Takes out what each cell is a part of.
    #[must_use]
    pub fn into_parts(self) -> Vec<PartOf> {
        self.part_of
    }

    /// Adds the parts to their cells, and gives what each site did to each object.
    pub fn finish(self, blocks: &[BlockCounters], cells: &mut [CellCounters]) -> Vec<ObjectUse> {
        let sites = self.sites(blocks);
        let mut found: HashMap<(ObjectNumber, RingSite), CellCounters> = HashMap::new();
        for (cell, &(whole, object)) in self.part_of.iter().enumerate() {
            let counters = &mut cells[cell];
            counters.flush();
            let is_unread = counters.depths.iter().next().is_none() && counters.sampled.is_none();
            let moved_nothing = counters.lines.is_none() && counters.caches.is_none() && counters.hazards.is_none();
            if counters.written > 0 || !is_unread || !moved_nothing {
                let mut copy = counters.clone();
                found.entry((object.unwrap_or(NOTHING), sites[whole.index()])).or_default().merge(&mut copy);
            }
            // One that moved nothing may have executions, where cells of slices were made parts.
            if whole.index() != cell {
                let mut part = std::mem::take(counters);
                cells[whole.index()].merge(&mut part);
            }
        }
        found.into_iter().map(|((object, site), found)| ObjectUse { object, site, found }).collect()
    }

    /// By cell that is no part: its site.
    fn sites(&self, blocks: &[BlockCounters]) -> Vec<RingSite> {
        let mut order: Vec<&BlockCounters> = blocks.iter().collect();
        order.sort_by_key(|block| block.first_cell);
        let mut sites = vec![(SegmentNumber::default(), 0); self.part_of.len()];
        for (at, block) in order.iter().enumerate() {
            let end = order.get(at + 1).map_or(sites.len(), |next| next.first_cell.index());
            for (item, site) in sites[block.first_cell.index()..end].iter_mut().enumerate() {
                *site = (block.segment, item as u32);
            }
        }
        sites
    }
}

impl RingObjects {
    /// What sites did to objects, of which the ring itself may know what they are.
    #[must_use]
    pub fn new(objects: Option<Box<Objects>>, uses: Vec<ObjectUse>) -> Self {
        let (list, lives, parts, files) = objects.map_or_else(Default::default, |objects| objects.into_parts());
        Self { list, lives, parts, files, uses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decode::context::ContextNumber, tests::program::executed};

    #[test]
    fn a_part_that_moved_nothing_still_has_its_executions() {
        let mut counters = vec![CellCounters::default()];
        let mut cells = ObjectCells::default();
        cells.add_cells(1);
        let (site, objects) = (CellNumber::new(0), [1, 2].map(ObjectNumber::new));
        let parts = objects.map(|object| cells.cell_for(site, object, &mut counters).index());
        assert_eq!(parts, [0, 1]);
        counters[0].written = 8;
        parts.into_iter().for_each(|part| counters[part].executions = 1);
        let (node, segment) = (ContextNumber::ROOT, SegmentNumber::default());
        let block = BlockCounters { node, segment, executions: 2, first_cell: site, moved: 0 };
        let uses = cells.finish(&[block], &mut counters);
        assert_eq!((counters[0].executions, counters[0].written), (2, 8));
        assert_eq!(uses.iter().map(|used| used.object).collect::<Vec<_>>(), objects[..1]);
    }

    #[test]
    fn the_first_object_of_a_cell_keeps_it_and_others_have_parts() {
        let (mut cells, mut counters) = (ObjectCells::default(), vec![CellCounters::default(); 2]);
        cells.add_cells(2);
        let mut of =
            |cell, object| cells.cell_for(CellNumber::new(cell), ObjectNumber::new(object), &mut counters).index();
        // Each object again and again, as the last one and as an earlier one.
        let found = [of(0, 7), of(0, 8), of(0, 8), of(0, 7), of(1, 8), of(0, 9), of(0, 8), of(1, 7), of(0, 7)];
        assert_eq!(found, [0, 2, 2, 0, 1, 3, 2, 4, 0]);
        assert_eq!(counters.len(), 5);
        let part = |whole, object| (CellNumber::new(whole), Some(ObjectNumber::new(object)));
        assert_eq!(cells.parts(), [part(0, 7), part(1, 8), part(0, 8), part(0, 9), part(1, 7)]);
        // Whoever goes on with these finds them again.
        let mut cells = ObjectCells::from_parts(cells.into_parts());
        let mut of =
            |cell, object| cells.cell_for(CellNumber::new(cell), ObjectNumber::new(object), &mut counters).index();
        assert_eq!([of(0, 9), of(0, 7), of(1, 7), of(1, 8), of(1, 9)], [3, 0, 4, 1, 5]);
    }

    #[test]
    fn parts_are_added_to_their_cells_and_told_by_object_and_site() {
        let (mut cells, mut counters) = (ObjectCells::default(), vec![CellCounters::default(); 3]);
        cells.add_cells(3);
        // Segment 5 has cells 0 and 1, segment 4 cell 2; the last object is known of no access.
        for (cell, object, written) in [(0, 7, 1), (1, 7, 2), (0, 8, 4), (2, 8, 8), (1, 8, 16)] {
            let to = cells.cell_for(CellNumber::new(cell), ObjectNumber::new(object), &mut counters);
            counters[to.index()].written += written;
        }
        cells.cell_for(CellNumber::new(2), ObjectNumber::new(9), &mut counters);
        let uses = cells.finish(&[executed(4, 2), executed(5, 0)], &mut counters);
        let mut uses: Vec<_> = uses
            .iter()
            .map(|used| (used.object.index(), used.site.0.index(), used.site.1, used.found.written))
            .collect();
        uses.sort_unstable();
        assert_eq!(uses, [(7, 5, 0, 1), (7, 5, 1, 2), (8, 4, 0, 8), (8, 5, 0, 4), (8, 5, 1, 16)]);
        assert_eq!(counters.iter().map(|cell| cell.written).collect::<Vec<_>>(), [5, 18, 8, 0, 0, 0]);
    }

    #[test]
    fn what_went_to_no_object_is_nothings() {
        let mut counters = vec![CellCounters::default()];
        let mut cells = ObjectCells::default();
        cells.add_cells(1);
        counters[0].read(0, 8);
        let uses = cells.finish(&[executed(0, 0)], &mut counters);
        assert_eq!(uses.iter().map(|used| (used.object, used.found.cost)).collect::<Vec<_>>(), [(NOTHING, 19)]);
        assert_eq!(counters[0].cost, 19, "the cell keeps it");
    }
}
