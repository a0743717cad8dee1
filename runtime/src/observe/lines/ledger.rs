//! Who brought lines in and wrote them, and from which depths.

use serde::{Deserialize, Serialize};

use super::pairs::Pairs;
use crate::{
    counts::{lines::LineCounts, pairs::CellPairs},
    decode::block::CellNumber,
    observe::writer::UNKNOWN,
};

/// What is filed by depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Filed {
    Load,
    Store,
    WriteBack,
    /// Of loads, those that come in a stream of neighbours, and at another constant step.
    InOrder,
    AtStep,
}

impl Filed {
    #[inline(always)]
    pub fn for_access(is_store: bool) -> Self {
        if is_store { Self::Store } else { Self::Load }
    }
}

/// Accounts by cell.
pub struct Ledger {
    accounts: Vec<Option<Box<LineCounts>>>,
    pairs: Pairs,
}

impl Ledger {
    /// Of lines of `1 << shift` bytes.
    pub fn new(shift: u32) -> Self {
        Self { accounts: Vec::new(), pairs: Pairs::new(shift) }
    }

    /// There are so many cells; others have no account.
    #[inline]
    pub fn set_known(&mut self, cells: usize) {
        if cells > self.accounts.len() {
            self.accounts.resize_with(cells, || None);
        }
    }

    /// A cell that has an account from now on, unless it is [`UNKNOWN`].
    #[inline]
    pub fn made_known(&mut self, cell: CellNumber) -> CellNumber {
        if cell != UNKNOWN {
            self.set_known(cell.index() + 1);
        }
        cell
    }

    /// What stands for a cell, which is out of range for ever if there is no such cell now.
    #[inline(always)]
    pub fn countable(&self, cell: CellNumber) -> CellNumber {
        if cell.index() < self.accounts.len() { cell } else { UNKNOWN }
    }

    #[inline(always)]
    fn account(&mut self, cell: CellNumber) -> Option<&mut LineCounts> {
        Some(self.accounts.get_mut(cell.index())?.get_or_insert_default())
    }

    #[inline(always)]
    pub fn add(&mut self, cell: CellNumber, what: Filed, bucket: u16, lines: u64) {
        let Some(counts) = self.account(cell) else { return };
        let depths = match what {
            Filed::Load => &mut counts.loads,
            Filed::Store => &mut counts.stores,
            Filed::WriteBack => &mut counts.write_backs,
            Filed::InOrder => &mut counts.in_order,
            Filed::AtStep => &mut counts.at_step,
        };
        depths.add(bucket, lines);
    }

    /// Lines that another cell had brought in come from a depth of this bucket.
    #[inline(always)]
    pub fn again(&mut self, before: CellNumber, cell: CellNumber, bucket: u16, lines: u64) {
        if cell.index() < self.accounts.len() {
            self.pairs.add(before, cell, bucket, lines);
        }
    }

    /// A line that has no depth: nothing had touched it before, or nothing wrote it again.
    pub fn first(&mut self, cell: CellNumber, what: Filed) {
        if let Some(counts) = self.account(cell) {
            *(match what {
                Filed::Load => &mut counts.first_loads,
                Filed::Store => &mut counts.first_stores,
                Filed::WriteBack => &mut counts.last_write_backs,
                Filed::InOrder => &mut counts.first_in_order,
                Filed::AtStep => &mut counts.first_at_step,
            }) += 1;
        }
    }

    /// A line that is dirty at the end.
    pub fn dirty(&mut self, cell: CellNumber) {
        self.first(cell, Filed::WriteBack);
    }

    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.pairs.heap_bytes()
    }

    /// The counts by cell, and by pair.
    pub fn finish(self) -> (Vec<Option<Box<LineCounts>>>, CellPairs) {
        (self.accounts, self.pairs.finish())
    }
}
