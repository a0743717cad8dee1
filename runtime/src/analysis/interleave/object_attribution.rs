//! Accesses of a ring on their way to a stack, and who else is told of them: which object they go to, and what threads
//! do to each other.
//!
//! Takes what [`RingWorker`] takes, and lives of memory. Cells are taken apart by object before the stack sees them;
//! what they write was counted when records were decoded, and goes to the part here.

use super::cluster::RingWorker;
use crate::{
    counts::cell::CellCounters,
    decode::{block::CellNumber, context::ContextNumber},
    engine::{Access, AccessTag, Kind, Stream},
    objects::{ObjectNumber, change::Change, common::CommonObjects},
    observe::{objects::ObjectCells, sharing::Sharing},
    oplog::Op,
};

/// The cells of a ring by object.
pub struct CellsByObject<'a> {
    pub cells: &'a mut ObjectCells,
    pub counters: &'a mut Vec<CellCounters>,
}

impl CellsByObject<'_> {
    /// The cell for so many accesses of a site to an object.
    fn cell(&mut self, cell: CellNumber, object: ObjectNumber, access: Access, times: u64) -> CellNumber {
        let part = self.cells.cell_for(cell, object, self.counters);
        if access.kind == Kind::Store && part != cell {
            let written = u64::from(access.len) * times;
            self.counters[cell.index()].written -= written;
            self.counters[part.index()].written += written;
        }
        part
    }
}

/// Accesses of a ring.
pub struct ObjectAttribution<'a> {
    pub ring: u32,
    pub worker: RingWorker<'a>,
    pub common: &'a mut CommonObjects,
    /// If accesses are charged to objects.
    pub parted: Option<CellsByObject<'a>>,
    pub sharing: Option<&'a mut Sharing>,
}

impl ObjectAttribution<'_> {
    /// Has the stack do an access.
    fn charge(&mut self, access: Access, label: AccessTag) {
        let Self { parted, common, .. } = self;
        let label = match parted {
            Some(parted) if label != AccessTag::UNCOUNTED && access.kind != Kind::Remove => {
                let object = common.objects.layout.object_at(access.addr);
                if access.kind == Kind::Load {
                    common.objects.layout.read(object, access.addr, access.len.into());
                }
                AccessTag::for_cell(parted.cell(label.cell(), object, access, 1))
            }
            _ => label,
        };
        self.worker.access(access, label);
    }

    /// The labels of the objects that the streams of a run go to; `None` if some go to several.
    fn stream_labels(&mut self, streams: &[Stream], labels: &[AccessTag], iterations: u64) -> Option<Vec<AccessTag>> {
        let Self { parted: Some(parted), common, .. } = self else { return Some(labels.to_vec()) };
        let object = |(stream, label): (&Stream, &AccessTag)| {
            if *label != AccessTag::UNCOUNTED {
                common.objects.layout.whole_stream(stream, iterations).map(Some)
            } else {
                Some(None)
            }
        };
        let of_streams: Vec<Option<ObjectNumber>> = streams.iter().zip(labels).map(object).collect::<Option<_>>()?;
        let mut named = Vec::with_capacity(labels.len());
        for ((stream, label), object) in streams.iter().zip(labels).zip(of_streams) {
            let Some(object) = object else {
                named.push(*label);
                continue;
            };
            if stream.kind == Kind::Load {
                common.objects.layout.reads(object, stream, iterations);
            }
            named.push(AccessTag::for_cell(parted.cell(label.cell(), object, stream.access(0), iterations)));
        }
        Some(named)
    }
}

impl ObjectAttribution<'_> {
    /// What happens next.
    pub fn op(&mut self, op: Op<'_>) {
        if let Some(sharing) = &mut self.sharing {
            sharing.op(op, self.ring, &mut self.common.objects);
        }
        match op {
            Op::Accesses { .. } => op.each_access(|access, label| self.charge(access, label)),
            Op::Run { streams, labels, iterations } => match self.stream_labels(streams, labels, iterations) {
                Some(named) => self.worker.op(Op::Run { streams, labels: &named, iterations }),
                None => op.each_access(|access, label| self.charge(access, label)),
            },
            Op::Life(change) => self.life(change),
            _ => self.worker.op(op),
        }
    }

    fn life(&mut self, change: &Change) {
        let mut change = change.clone();
        if let Some(origin) = change.origin_mut() {
            // Contexts are kept apart only where objects are reported by them.
            if self.parted.is_none() {
                origin.context = ContextNumber::ROOT;
            }
            *origin = self.common.origin(self.ring, *origin);
        }
        self.common.objects.change(&change);
        if let Some(sharing) = &mut self.sharing {
            change.ranges().into_iter().for_each(|(address, len)| sharing.changes_objects(address, len));
        }
    }
}
