//! What accesses do to the counters, and the engine that they go to.
//!
//! Takes items with their record, and what becomes of memory; gives accesses to the engine, each with the cell that it
//! is charged to, and lives to who wants to know of them. `loops` says what many iterations do.

use super::{counters::Counters, options::Options, pipeline::Pipeline, segment_template::Skips, streams::RunStreams};
use crate::{
    abi::{COPY_BLOCK, Item, ItemKind},
    decode::{
        block::{BlockCounters, CellNumber},
        context::ContextNumber,
        effects::{Effects, effects},
        locator::SegmentNumber,
        ring::RingTotals,
    },
    engine::{Access, AccessTag, Kind},
    objects::{Objects, change::Change},
    oplog::Op,
};

/// The engine of one ring, and the counters that accesses are charged to.
pub(super) struct Charging {
    pub(super) engine: Pipeline,
    pub(super) counters: Counters,
    pub(super) totals: RingTotals,
    /// Objects as this ring alone knows them.
    pub(super) objects: Option<Box<Objects>>,
    /// Affine runs are done by the engine as such.
    pub(super) may_run: bool,
    /// Accesses of which nobody but the counters needs to know.
    pub(super) skips: Skips,
    /// Bytes leave the stack when their lives end.
    hints: bool,
    /// The label of a record's first item while nothing is counted.
    pub(super) hidden: AccessTag,
    /// The affine run at hand.
    pub(super) run: RunStreams,
}

impl Charging {
    /// Nothing was counted.
    pub(super) fn new(options: &Options, engine: Pipeline) -> Self {
        let may_skip = options.may_skip();
        Self {
            engine,
            counters: Counters::new(options.objects),
            totals: RingTotals::default(),
            objects: (options.objects && options.together.is_none()).then(Box::default),
            may_run: options.ways.runs,
            skips: Skips { loads: may_skip, stores: may_skip },
            // Cache lines have no liveness of their own.
            hints: options.hints && !options.lines_only,
            hidden: AccessTag::UNCOUNTED,
            run: RunStreams::default(),
        }
    }

    /// Block of a segment in a context of its function.
    #[inline]
    pub(super) fn block(&mut self, node: ContextNumber, segment: SegmentNumber, items: usize) -> &mut BlockCounters {
        self.counters.block(node, segment, items)
    }

    /// Gives the label that the first item of a segment has while nothing is counted.
    pub(super) fn hide(&mut self, node: ContextNumber, segment: SegmentNumber, items: usize) {
        self.hidden = self.engine.sinks.hidden(segment, node, items);
    }

    /// The label of a cell or, while nothing is counted, of an item of the record.
    #[inline]
    pub(super) fn label<const COUNT: bool>(&self, number: usize) -> AccessTag {
        if COUNT {
            AccessTag::for_cell(CellNumber::new(number))
        } else if self.hidden == AccessTag::UNCOUNTED {
            AccessTag::UNCOUNTED
        } else {
            self.hidden.after(number)
        }
    }

    /// The cell of an access of a site, which reads so many bytes: that of the object that it goes to, if objects are
    /// measured.
    #[inline]
    fn object_cell(&mut self, cell: usize, address: u64, read: u64) -> usize {
        let Some(objects) = &mut self.objects else { return cell };
        let object = objects.layout.object_at(address);
        if read > 0 {
            objects.layout.read(object, address, read);
        }
        self.counters.cell_of(CellNumber::new(cell), object).index()
    }

    /// Accesses of a record.
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
    fn again(&mut self, item: &Item, cell: usize) {
        self.totals.accesses += 1;
        let counters = &mut self.counters.cells[cell];
        if item.kind == ItemKind::Load as u8 {
            counters.read(0, u64::from(item.size));
            self.engine.sinks.hash_top(CellNumber::new(cell), u64::from(item.size), 1);
        } else {
            counters.written += u64::from(item.size);
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
    fn store<const COUNT: bool>(&mut self, address: u64, len: u64, cell: usize) {
        let cell = if COUNT { self.object_cell(cell, address, 0) } else { cell };
        if COUNT {
            self.totals.accesses += 1;
            self.counters.cells[cell].written += len;
        }
        self.enqueue(address, len, Kind::Store, self.label::<COUNT>(cell));
    }

    #[inline]
    fn enqueue(&mut self, addr: u64, len: u64, kind: Kind, label: AccessTag) {
        let Ok(len) = u32::try_from(len) else { return self.enqueue_pieces(addr, len, kind, label) };
        self.engine.push(Access { addr, len, kind }, label, &mut self.counters.files());
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
    fn rare<const COUNT: bool>(&mut self, item: &Item, record: &[u64], address: u64, cell: usize) {
        let mut to = Charged::<COUNT> { charging: self, cell };
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

    /// Hands everything that waits to the engine.
    pub(super) fn flush(&mut self) {
        self.engine.flush(&mut self.counters.files());
    }

    /// An operation that is of no cell.
    pub(super) fn op(&mut self, op: Op<'_>) {
        self.engine.op(op, &mut self.counters.files());
    }

    /// Tells who wants to know what becomes of memory.
    #[inline]
    pub(super) fn life(&mut self, what: Change) {
        if self.engine.backend.wants_lives() {
            self.op(Op::Life(&what));
        } else if let Some(objects) = &mut self.objects {
            objects.change(&what);
        }
    }

    /// What lies there ends.
    pub(super) fn end(&mut self, address: u64, len: u64) {
        self.life_ends(address, len);
        self.forget(address, len);
    }

    /// Of whatever lies there.
    pub(super) fn life_ends(&mut self, address: u64, len: u64) {
        self.life(Change::Ends { address, len });
    }

    /// The bytes leave the stack.
    pub(super) fn forget(&mut self, address: u64, len: u64) {
        if self.hints && len > 0 {
            self.enqueue(address, len, Kind::Remove, AccessTag::UNCOUNTED);
        }
    }
}

/// Charges what an item does to a cell, or to none while nothing is counted.
struct Charged<'a, const COUNT: bool> {
    charging: &'a mut Charging,
    cell: usize,
}

impl<const COUNT: bool> Effects for Charged<'_, COUNT> {
    fn load(&mut self, address: u64, len: u64) {
        self.charging.load::<COUNT>(address, len, self.cell);
    }

    fn store(&mut self, address: u64, len: u64) {
        self.charging.store::<COUNT>(address, len, self.cell);
    }

    fn update(&mut self, address: u64, len: u64) {
        self.load(address, len);
        self.store(address, len);
    }

    fn copy(&mut self, to: u64, from: u64, len: u64) {
        self.charging.copy::<COUNT>(to, from, len, self.cell);
    }

    fn fill(&mut self, address: u64, len: u64) {
        self.charging.fill::<COUNT>(address, len, self.cell);
    }

    fn kill(&mut self, address: u64, len: u64) {
        self.charging.end(address, len);
    }
}
