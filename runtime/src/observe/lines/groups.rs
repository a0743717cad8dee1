//! Streams of an affine run that are always in one line: a *group*.
//!
//! Takes the streams of a run. Refuses runs with too many groups, and accesses that may lie in two lines.

use crate::{
    decode::block::CellNumber,
    engine::{AccessTag, Kind, Stream},
    observe::writer::WriterNumber,
};

/// Most groups of a run.
const GROUPS: usize = 32;

/// Streams that are always in the same line.
#[derive(Clone, Copy, Default)]
pub struct Group {
    /// Of the first access.
    pub addr: u64,
    pub stride: i64,
    /// Whose the first access is, and whether it is a store.
    pub cell: CellNumber,
    pub is_store: bool,
    /// The last one that writes, plus one; 0 if none does.
    pub writer: Option<WriterNumber>,
    /// The iteration in which it comes to another line.
    pub next: u64,
    /// Where its line is in front.
    pub place: usize,
}

/// The groups of a run; kept for its memory. [`Self::find`] fills it, and whoever follows the run reads and moves it:
/// valid until the next call, if that gave `true`.
#[derive(Default)]
pub struct Groups {
    /// By their first accesses.
    pub all: Vec<Group>,
    /// By their last accesses.
    pub by_last: Vec<u8>,
    /// Those that write, by their last stores.
    pub by_store: Vec<u8>,
}

impl Groups {
    /// Puts streams into groups; false if these are too many, or accesses may lie in two lines.
    pub fn find(
        &mut self,
        streams: &[Stream],
        labels: &[AccessTag],
        shift: u32,
        known: impl Fn(CellNumber) -> CellNumber,
    ) -> bool {
        self.all.clear();
        self.by_last.clear();
        self.by_store.clear();
        for (stream, &label) in streams.iter().zip(labels) {
            let Stream { addr, stride, len, kind } = *stream;
            if kind == Kind::Remove || len == 0 {
                continue;
            }
            let len = u64::from(len);
            if !len.is_power_of_two() || len > 1 << shift || (addr | stride as u64) & (len - 1) != 0 {
                return false;
            }
            let is_store = matches!(kind, Kind::Store | Kind::Fresh);
            let cell = known(label.cell());
            // What divides the step and the line: blocks of this size are never cut.
            let block = stride.trailing_zeros().min(shift);
            let same = |group: &Group| group.stride == stride && group.addr >> block == addr >> block;
            let number = match self.all.iter().rposition(same) {
                Some(number) => number,
                None if self.all.len() == GROUPS => return false,
                None => {
                    self.all.push(Group { addr, stride, cell, is_store, ..Group::default() });
                    self.all.len() - 1
                }
            };
            last(&mut self.by_last, number as u8);
            if is_store {
                last(&mut self.by_store, number as u8);
                self.all[number].writer = Some(WriterNumber::from_cell(cell));
            }
        }
        true
    }
}

/// Puts a number last.
fn last(order: &mut Vec<u8>, number: u8) {
    order.retain(|&other| other != number);
    order.push(number);
}
