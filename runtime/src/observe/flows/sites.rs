//! Who accesses: a number for every static access, per calling context and per object if these are followed.
//!
//! Takes cells of segments, parts of cells by object, and names that other parts of the run know; gives the site of
//! each label. Patterns of use are by site too, so they are kept here. Refuses nothing.

use std::collections::HashMap;

use super::states::{Name, Who};
use crate::{
    decode::{block::CellNumber, context::ContextNumber, locator::SegmentNumber, ring::RingSite},
    engine::AccessTag,
    hash::FastHash,
    objects::ObjectNumber,
    observe::patterns::{Patterns, SiteNumber},
};

/// With this bit, a label is not of a cell but of a site whose access is not counted.
const HIDDEN: usize = 1 << 31;

/// What is known of a site.
#[derive(Clone, Copy, Default)]
pub(super) struct Site {
    pub place: RingSite,
    /// If contexts are followed.
    pub context: Option<ContextNumber>,
    pub object: Option<ObjectNumber>,
}

/// All sites, by number.
#[derive(Default)]
pub struct Sites {
    pub(super) list: Vec<Site>,
    /// How sites use data, if that is followed.
    pub(super) patterns: Option<Box<Patterns>>,
    /// By segment and, if contexts are followed, calling context: its first site.
    first: HashMap<(SegmentNumber, Option<ContextNumber>), SiteNumber, FastHash>,
    by_context: bool,
    of_cell: Vec<SiteNumber>,
    /// Sites that are known by their names, as other parts of the run told of them.
    named: HashMap<Name, SiteNumber, FastHash>,
    /// Sites by static access and object.
    parts: HashMap<(SiteNumber, ObjectNumber), SiteNumber, FastHash>,
}

impl Sites {
    pub(super) fn new(patterns: bool, by_context: bool) -> Self {
        Self { patterns: patterns.then(Box::default), by_context, ..Self::default() }
    }

    /// The next cells are those of a segment's items.
    pub fn add_cells(&mut self, segment: SegmentNumber, context: ContextNumber, items: usize) {
        let first = self.first(segment, context, items);
        self.of_cell.extend((0..items).map(|item| first.after(item)));
    }

    /// The next cell is for one object of the site of another cell.
    pub fn add_part(&mut self, of: CellNumber, object: ObjectNumber) {
        // The other cell may be for an object too; both are of one static access.
        let Site { place: (segment, item), context, .. } = self.list[self.of_cell[of.index()].index()];
        let site = self.part(self.first[&(segment, context)].after(item as usize), object);
        self.of_cell.push(site);
    }

    /// A cell is for one object only.
    pub fn set_object(&mut self, cell: CellNumber, object: ObjectNumber) {
        self.of_cell[cell.index()] = self.part(self.of_cell[cell.index()], object);
    }

    fn part(&mut self, site: SiteNumber, object: ObjectNumber) -> SiteNumber {
        let Self { list, patterns, parts, .. } = self;
        *parts.entry((site, object)).or_insert_with(|| {
            patterns.iter_mut().for_each(|patterns| patterns.add_site_like(site));
            list.push(Site { object: Some(object), ..list[site.index()] });
            SiteNumber::new(list.len() - 1)
        })
    }

    /// The label of a segment's first item while nothing is counted; the other items' follow.
    pub fn hidden(&mut self, segment: SegmentNumber, context: ContextNumber, items: usize) -> AccessTag {
        AccessTag::new(HIDDEN | self.first(segment, context, items).index())
    }

    fn first(&mut self, segment: SegmentNumber, context: ContextNumber, items: usize) -> SiteNumber {
        let context = self.by_context.then_some(context);
        let Self { list, patterns, first, .. } = self;
        *first.entry((segment, context)).or_insert_with(|| {
            let first = SiteNumber::new(list.len());
            patterns.iter_mut().for_each(|patterns| patterns.add_sites(segment, items as u32));
            list.extend((0..items as u32).map(|item| Site { place: (segment, item), context, object: None }));
            first
        })
    }

    /// Site of an access, and whether it is counted. Library calls without a descriptor have no site.
    #[inline]
    pub(super) fn of(&self, label: AccessTag) -> (Option<SiteNumber>, bool) {
        let number = label.index();
        match label {
            AccessTag::UNCOUNTED => (None, false),
            _ if number & HIDDEN != 0 => (Some(SiteNumber::new(number & !HIDDEN)), false),
            _ => (Some(self.of_cell[label.cell().index()]), true),
        }
    }

    /// What all parts of a run call a site.
    pub(super) fn name(&self, site: SiteNumber) -> Who {
        let Site { place, context, .. } = self.list[site.index()];
        Who::Access((place, context))
    }

    /// The site of an access by its name; the access may have another one as well.
    pub(super) fn named(&mut self, who: Who) -> Option<SiteNumber> {
        let Who::Access((place, context)) = who else { return None };
        let list = &mut self.list;
        Some(*self.named.entry((place, context)).or_insert_with(|| {
            list.push(Site { place, context, object: None });
            SiteNumber::new(list.len() - 1)
        }))
    }
}
