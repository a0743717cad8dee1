//! The two passes of exact liveness over a ring that has ended, block by block.
//!
//! Takes operations, gives depths without dead bytes. Refuses a temporary file that cannot be written or read.

use std::io;

use crossbeam::channel::bounded;

use super::{forward::Forward, result::Exact};
use crate::{
    engine::AllocationFailure,
    observe::liveness::{marks::Marks, sweep::Sweep},
    oplog::{BlockLocation, Ops, Recorded},
};

/// Blocks that are read ahead.
const AHEAD: usize = 2;
/// Blocks of a ring from which on threads are worth their start.
pub const MANY: usize = 4;

/// Does an analysis; memory that the system refuses is an error.
///
/// # Errors
/// What was refused, or the analysis' own.
pub fn attempt<T>(analyse: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    // What was in the middle of a change is lost with the analysis.
    AllocationFailure::catch(analyse)
        .unwrap_or_else(|refused| Err(io::Error::new(io::ErrorKind::OutOfMemory, refused.0)))
}

/// Sweeps back and replays.
///
/// # Errors
/// When the temporary file cannot be written (a full disk, for instance) or read.
pub fn analyse(recorded: &Recorded, cells: usize) -> io::Result<Exact> {
    let threaded = recorded.blocks.len() >= MANY;
    let mut sweep = Sweep::new(&recorded.outputs);
    let mut forward = Forward::new(cells);
    if threaded {
        forward.start_thread();
    }
    go_both_ways(recorded, &mut sweep, &mut forward, threaded, |_| {})?;
    Ok(Exact { sweep_bytes: sweep.heap_bytes(), ..forward.finish() })
}

/// The marks of all blocks; the sweep goes on before them. `threaded`: blocks are read on a thread of their own.
///
/// # Errors
/// When the temporary file cannot be written or read.
pub fn sweep_back(recorded: &Recorded, sweep: &mut Sweep, threaded: bool) -> io::Result<Vec<BlockLocation>> {
    let mut places = Vec::with_capacity(recorded.blocks.len());
    go_back(recorded, sweep, threaded, |marks| {
        places.push(recorded.spool.append(&marks.to_bytes())?);
        Ok(())
    })?;
    places.reverse();
    Ok(places)
}

/// Sweeps back over all blocks, and tells `take` the marks of each.
///
/// # Errors
/// When the temporary file cannot be written or read.
pub fn go_back(
    recorded: &Recorded,
    sweep: &mut Sweep,
    threaded: bool,
    mut take: impl FnMut(&Marks) -> io::Result<()>,
) -> io::Result<()> {
    let mut marks = Marks::default();
    let read = |at: usize, ops: &mut Ops| ops.read(&recorded.spool, recorded.blocks[at]);
    each_block((0..recorded.blocks.len()).rev(), threaded, read, |ops| {
        sweep.block(ops, &mut marks);
        take(&marks)
    })
}

/// Goes back over all blocks, and then forward, after `prepare` has changed what it wants to.
///
/// # Errors
/// When the temporary file cannot be written or read.
pub fn go_both_ways(
    recorded: &Recorded,
    sweep: &mut Sweep,
    forward: &mut Forward,
    threaded: bool,
    prepare: impl Fn(&mut Ops) + Sync,
) -> io::Result<()> {
    let marks = sweep_back(recorded, sweep, threaded)?;
    let read = |at: usize, block: &mut (Ops, Marks)| {
        block.0.read(&recorded.spool, recorded.blocks[at])?;
        prepare(&mut block.0);
        block.1.decode_from(&recorded.spool.read(marks[at])?)
    };
    each_block(0..recorded.blocks.len(), threaded, read, |(ops, marks)| {
        forward.block(ops, marks);
        Ok(())
    })
}

/// Reads blocks, if `threaded` on a thread of its own, a few ahead of their use.
pub fn each_block<B: Default + Send>(
    numbers: impl Iterator<Item = usize>,
    threaded: bool,
    read: impl Fn(usize, &mut B) -> io::Result<()> + Sync,
    mut take: impl FnMut(&B) -> io::Result<()>,
) -> io::Result<()> {
    let numbers: Vec<usize> = numbers.collect();
    let one_by_one = |take: &mut dyn FnMut(&B) -> io::Result<()>| {
        let mut block = B::default();
        for &at in &numbers {
            read(at, &mut block)?;
            take(&block)?;
        }
        Ok(())
    };
    if !threaded {
        return one_by_one(&mut take);
    }
    let (full_end, full) = bounded::<io::Result<B>>(AHEAD);
    let (empty_end, empty) = bounded::<B>(AHEAD + 2);
    std::thread::scope(|scope| {
        let (read, ahead) = (&read, &numbers);
        let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
            for &at in ahead {
                let mut block = empty.try_recv().unwrap_or_default();
                let result = read(at, &mut block);
                // The other side has given up.
                if full_end.send(result.map(|()| block)).is_err() {
                    return;
                }
            }
        });
        if spawned.is_err() {
            // The system gives no thread.
            return one_by_one(&mut take);
        }
        for block in full {
            let block = block?;
            take(&block)?;
            let _ = empty_end.try_send(block);
        }
        Ok(())
    })
}
