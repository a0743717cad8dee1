//! What a segment's record does to the counters, access by access.
//!
//! Takes items with their record, gives accesses to the engine, each with the cell that it is charged to.

use super::{
    core::{Core, Dense, files},
    segment_template::Move,
};
use crate::{
    abi::{COPY_BLOCK, Item, ItemKind, SegmentKind, segment_flag},
    decode::{
        block::CellNumber,
        effects::{Effects, effects},
    },
    engine::{Access, AccessTag, Kind},
    sites::Segment,
};

impl Core {
    pub(super) fn segment(
        &mut self,
        segment: &Segment,
        items: &[Item],
        moves: Option<&[Move]>,
        record: &[u64],
        dense: Dense,
    ) {
        self.enter(segment.flags, record, dense);
        let is_loop = segment.kind == SegmentKind::Loop as u8;
        let iterations = if is_loop { record[1] } else { 1 };
        if self.counting() {
            let block = self.block(dense.segment, items.len());
            let block = &mut self.blocks[block as usize];
            block.executions += iterations;
            let first = block.first_cell.index();
            if let Some(moves) = moves {
                block.moved += 1;
                self.totals.accesses += items.len() as u64;
                self.engine.push_moves(moves, record, block.first_cell, files!(self));
            } else if is_loop {
                self.iterations::<true>(items, record, first);
            } else {
                self.items::<true>(items, record, first);
            }
        } else {
            self.uncounted(items, record, dense, is_loop);
        }
        if segment.flags & segment_flag::EXIT != 0 {
            self.exit::<true>(dense.function);
        }
    }

    /// Accesses of a record outside the region of interest.
    #[inline]
    pub(super) fn uncounted(&mut self, items: &[Item], record: &[u64], dense: Dense, is_loop: bool) {
        self.hidden = self.engine.sinks.hidden(dense.segment, self.contexts.current(), items.len());
        if is_loop {
            self.iterations::<false>(items, record, 0);
        } else {
            self.items::<false>(items, record, 0);
        }
    }

    #[inline]
    pub(super) fn items<const COUNT: bool>(&mut self, items: &[Item], record: &[u64], first_cell: usize) {
        for (item, cell) in items.iter().zip(first_cell..) {
            let address = record[usize::from(item.word)].wrapping_add_signed(item.offset);
            self.item::<COUNT>(item, record, address, cell);
        }
    }

    #[inline]
    pub(super) fn item<const COUNT: bool>(&mut self, item: &Item, record: &[u64], address: u64, cell: usize) {
        if self.skips.over(item) {
            if !COUNT && item.kind == ItemKind::Store as u8 {
                self.engine.store_again(AccessTag::UNCOUNTED);
            }
            if COUNT {
                let is_load = item.kind == ItemKind::Load as u8;
                let cell = self.object_cell(cell, address, if is_load { item.size.into() } else { 0 });
                self.again(item, cell);
            }
        } else if item.kind == ItemKind::Load as u8 {
            self.load::<COUNT>(address, u64::from(item.size), cell);
        } else if item.kind == ItemKind::Store as u8 {
            self.store::<COUNT>(address, u64::from(item.size), cell);
        } else {
            self.rare::<COUNT>(item, record, address, cell);
        }
    }

    /// An access to bytes that are on the top of the stack: the engine need not know.
    #[inline]
    pub(super) fn again(&mut self, item: &Item, cell: usize) {
        self.totals.accesses += 1;
        if item.kind == ItemKind::Load as u8 {
            self.cells[cell].read(0, u64::from(item.size));
            self.engine.sinks.hash_top(CellNumber::new(cell), u64::from(item.size), 1);
        } else {
            self.cells[cell].written += u64::from(item.size);
            self.engine.store_again(AccessTag::for_cell(CellNumber::new(cell)));
        }
    }

    #[inline]
    pub(super) fn load<const COUNT: bool>(&mut self, address: u64, len: u64, cell: usize) {
        let cell = if COUNT { self.object_cell(cell, address, len) } else { cell };
        self.totals.accesses += u64::from(COUNT);
        self.enqueue(address, len, Kind::Load, self.label::<COUNT>(cell));
    }

    #[inline]
    pub(super) fn store<const COUNT: bool>(&mut self, address: u64, len: u64, cell: usize) {
        let cell = if COUNT { self.object_cell(cell, address, 0) } else { cell };
        if COUNT {
            self.totals.accesses += 1;
            self.cells[cell].written += len;
        }
        self.enqueue(address, len, Kind::Store, self.label::<COUNT>(cell));
    }

    #[inline]
    pub(super) fn enqueue(&mut self, addr: u64, len: u64, kind: Kind, label: AccessTag) {
        let Ok(len) = u32::try_from(len) else { return self.enqueue_pieces(addr, len, kind, label) };
        self.engine.push(Access { addr, len, kind }, label, files!(self));
    }

    /// Ranges of 4 GiB and more: only deaths of mappings get here, accesses are cut into blocks before.
    #[cold]
    fn enqueue_pieces(&mut self, addr: u64, len: u64, kind: Kind, label: AccessTag) {
        const PIECE: u64 = 1 << 31;
        for start in (0..len).step_by(PIECE as usize) {
            self.enqueue(addr.saturating_add(start), (len - start).min(PIECE), kind, label);
        }
    }

    /// What neither loads nor stores, or does so in a way that few items do.
    pub(super) fn rare<const COUNT: bool>(&mut self, item: &Item, record: &[u64], address: u64, cell: usize) {
        let mut to = Charged::<COUNT> { core: self, cell };
        if effects(item, record, address, &mut to).is_err() {
            self.totals.lost_words += 1;
        }
    }

    pub(super) fn copy<const COUNT: bool>(&mut self, to: u64, from: u64, len: u64, cell: usize) {
        for start in (0..len).step_by(COPY_BLOCK as usize) {
            let block = (len - start).min(COPY_BLOCK);
            self.load::<COUNT>(from.wrapping_add(start), block, cell);
            self.store::<COUNT>(to.wrapping_add(start), block, cell);
        }
    }

    pub(super) fn fill<const COUNT: bool>(&mut self, to: u64, len: u64, cell: usize) {
        for start in (0..len).step_by(COPY_BLOCK as usize) {
            self.store::<COUNT>(to.wrapping_add(start), (len - start).min(COPY_BLOCK), cell);
        }
    }
}

/// Charges what an item does to a cell, or to none while nothing is counted.
struct Charged<'a, const COUNT: bool> {
    core: &'a mut Core,
    cell: usize,
}

impl<const COUNT: bool> Effects for Charged<'_, COUNT> {
    fn load(&mut self, address: u64, len: u64) {
        self.core.load::<COUNT>(address, len, self.cell);
    }

    fn store(&mut self, address: u64, len: u64) {
        self.core.store::<COUNT>(address, len, self.cell);
    }

    fn update(&mut self, address: u64, len: u64) {
        self.load(address, len);
        self.store(address, len);
    }

    fn copy(&mut self, to: u64, from: u64, len: u64) {
        self.core.copy::<COUNT>(to, from, len, self.cell);
    }

    fn fill(&mut self, address: u64, len: u64) {
        self.core.fill::<COUNT>(address, len, self.cell);
    }

    fn kill(&mut self, address: u64, len: u64) {
        self.core.end(address, len);
    }
}
