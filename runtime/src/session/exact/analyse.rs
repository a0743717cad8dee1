//! The two passes of exact liveness over a ring that has ended, block by block.
//!
//! Takes operations, gives depths without dead bytes. Refuses a temporary file that cannot be written or read.

use std::io;

use crossbeam::channel::bounded;

use super::forward::Forward;
use crate::{
    counts::{
        cell::{CellCounters, Left},
        depths::DepthCounts,
    },
    observe::liveness::{marks::Marks, sweep::Sweep},
    oplog::{Ops, Place, Recorded},
};

/// What a ring's accesses found without dead bytes on the stack.
pub struct Exact {
    /// Depths and costs by cell, in the numbering of the operations.
    pub cells: Vec<CellCounters>,
    pub left: Vec<Left>,
    /// Depths of first touches.
    pub cold: DepthCounts,
    pub peak_live: u64,
    /// Most memory that the sweep held for its bits.
    pub sweep_bytes: u64,
}

/// Blocks that are read ahead.
const AHEAD: usize = 2;
/// Blocks of a ring from which on threads are worth their start.
const MANY: usize = 4;

/// Sweeps back and replays.
///
/// # Errors
/// When the temporary file cannot be written (a full disk, for instance) or read.
pub fn analyse(recorded: &Recorded, cells: usize) -> io::Result<Exact> {
    let (marks, sweep_bytes) = sweep_back(recorded)?;
    let mut forward = Forward::new(cells, recorded.blocks.len() >= MANY);
    let read = |at: usize, block: &mut (Ops, Marks)| {
        block.0.read(&recorded.spool, recorded.blocks[at])?;
        block.1.decode_from(&recorded.spool.read(marks[at])?)
    };
    each_block(0..recorded.blocks.len(), read, |_, (ops, marks)| {
        forward.block(ops, marks);
        Ok(())
    })?;
    let engine = forward.finish();
    Ok(Exact {
        cells: forward.cells,
        left: forward.left,
        cold: forward.cold,
        peak_live: engine.engine().peak_live(),
        sweep_bytes,
    })
}

/// The marks of all blocks, and the memory that took.
fn sweep_back(recorded: &Recorded) -> io::Result<(Vec<Place>, u64)> {
    let mut sweep = Sweep::new(&recorded.outputs);
    let mut places = Vec::with_capacity(recorded.blocks.len());
    let mut marks = Marks::default();
    let read = |at: usize, ops: &mut Ops| ops.read(&recorded.spool, recorded.blocks[at]);
    each_block((0..recorded.blocks.len()).rev(), read, |_, ops| {
        sweep.block(ops, &mut marks);
        places.push(recorded.spool.append(&marks.to_bytes())?);
        Ok(())
    })?;
    places.reverse();
    Ok((places, sweep.heap_bytes()))
}

/// Reads blocks on a thread of its own, a few ahead of their use.
fn each_block<B: Default + Send>(
    numbers: impl ExactSizeIterator<Item = usize> + Send,
    read: impl Fn(usize, &mut B) -> io::Result<()> + Sync,
    mut take: impl FnMut(usize, &B) -> io::Result<()>,
) -> io::Result<()> {
    let numbers: Vec<usize> = numbers.collect();
    let one_by_one = |take: &mut dyn FnMut(usize, &B) -> io::Result<()>| {
        let mut block = B::default();
        for &at in &numbers {
            read(at, &mut block)?;
            take(at, &block)?;
        }
        Ok(())
    };
    if numbers.len() < MANY {
        return one_by_one(&mut take);
    }
    let (full_end, full) = bounded::<(usize, io::Result<B>)>(AHEAD);
    let (empty_end, empty) = bounded::<B>(AHEAD + 2);
    std::thread::scope(|scope| {
        let (read, ahead) = (&read, &numbers);
        let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
            for &at in ahead {
                let mut block = empty.try_recv().unwrap_or_default();
                let result = read(at, &mut block);
                // The other side has given up.
                if full_end.send((at, result.map(|()| block))).is_err() {
                    return;
                }
            }
        });
        if spawned.is_err() {
            // The system gives no thread.
            return one_by_one(&mut take);
        }
        for (at, block) in full {
            let block = block?;
            take(at, &block)?;
            let _ = empty_end.try_send(block);
        }
        Ok(())
    })
}
