//! Who accesses: a number for every static access, per calling context and per object if these are followed.
//!
//! Takes labels with the sites of their cells, segments that are not counted, and names that other parts of the run
//! know; gives the number of who has a label. Patterns of use are by site too, so they are kept here. Refuses nothing.

use std::collections::HashMap;

use super::states::Who;
use crate::{
    decode::{block::CellNumber, context::ContextNumber, locator::SegmentNumber, ring::RingSite},
    engine::AccessTag,
    hash::FastHash,
    objects::ObjectNumber,
    observe::{
        cell_table::CellTable,
        patterns::{Patterns, SiteNumber},
    },
};

/// With this bit, a label is not of a cell but of an access that is not counted.
const HIDDEN: usize = 1 << 31;

/// What is known of a site.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
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
    numbers: HashMap<Site, SiteNumber, FastHash>,
    by_context: bool,
    /// By cell, of those that were learned.
    of_cell: Vec<Option<SiteNumber>>,
    /// By label with [`HIDDEN`]: those of the items of a segment lie side by side.
    hidden: Vec<SiteNumber>,
    first_hidden: HashMap<(SegmentNumber, Option<ContextNumber>), usize, FastHash>,
}

impl Sites {
    pub(super) fn new(patterns: bool, by_context: bool) -> Self {
        Self { patterns: patterns.then(Box::default), by_context, ..Self::default() }
    }

    /// Learns whose a label is that an access is about to have.
    #[inline]
    pub fn learn(&mut self, label: AccessTag, sites: &CellTable) {
        let number = label.index();
        if number & HIDDEN == 0 && self.of_cell.get(number).copied().flatten().is_none() {
            self.learn_cell(label.cell(), sites);
        }
    }

    #[cold]
    fn learn_cell(&mut self, cell: CellNumber, sites: &CellTable) {
        let Some((block, item)) = sites.block(cell) else { return };
        let (place, context) = ((block.segment, item), self.by_context.then_some(block.node));
        let site = self.number(Site { place, context, object: sites.object(cell) });
        if self.of_cell.len() <= cell.index() {
            self.of_cell.resize(cell.index() + 1, None);
        }
        self.of_cell[cell.index()] = Some(site);
    }

    /// The label of a segment's first item while nothing is counted; the other items' follow.
    pub fn hidden(&mut self, segment: SegmentNumber, context: ContextNumber, items: usize) -> AccessTag {
        let context = self.by_context.then_some(context);
        let first = self.first_hidden.get(&(segment, context)).copied().unwrap_or_else(|| {
            let first = self.hidden.len();
            self.first_hidden.insert((segment, context), first);
            for item in 0..items as u32 {
                let site = self.number(Site { place: (segment, item), context, object: None });
                self.hidden.push(site);
            }
            first
        });
        AccessTag::new(HIDDEN | first)
    }

    fn number(&mut self, site: Site) -> SiteNumber {
        let Self { list, patterns, numbers, .. } = self;
        *numbers.entry(site).or_insert_with(|| {
            patterns.iter_mut().for_each(|patterns| patterns.add_site(site.place));
            list.push(site);
            SiteNumber::new(list.len() - 1)
        })
    }

    /// Site of an access, and whether it is counted. Library calls without a descriptor have no site.
    #[inline]
    pub(super) fn of(&self, label: AccessTag) -> (Option<SiteNumber>, bool) {
        let number = label.index();
        match label {
            AccessTag::UNCOUNTED => (None, false),
            _ if number & HIDDEN != 0 => (Some(self.hidden[number & !HIDDEN]), false),
            _ => (self.of_cell[number], true),
        }
    }

    /// What all parts of a run call a site.
    pub(super) fn name(&self, site: SiteNumber) -> Who {
        let Site { place, context, .. } = self.list[site.index()];
        Who::Access((place, context))
    }

    /// The site of an access by its name.
    pub(super) fn named(&mut self, who: Who) -> Option<SiteNumber> {
        let Who::Access((place, context)) = who else { return None };
        Some(self.number(Site { place, context, object: None }))
    }
}
