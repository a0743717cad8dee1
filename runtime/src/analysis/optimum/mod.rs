//! The fewest bytes that memories could fetch: two more passes over a ring that has ended.
//!
//! Takes the operations that exact liveness goes over too ([`Recorded`]), gives fetches by capacity and cell. What the
//! way back found out lies in the same temporary file. Refuses one that cannot be written or read.

use std::io;

use super::exact::{MANY, each_block};
use crate::{
    counts::least::ByCapacity,
    observe::optimum::{Back, Forward, Records},
    oplog::{
        BlockLocation, Ops, Recorded, Spool,
        spool::damaged,
        varint::{put, take},
    },
};

/// What was found of a ring.
pub struct Least {
    /// By cell.
    pub cells: Vec<Option<ByCapacity>>,
    /// Most memory that one of the passes held.
    pub heap_bytes: u64,
}

/// The lists of the way back, from the last one written to the first.
struct Lists<'a> {
    spool: &'a Spool,
    places: std::iter::Rev<std::vec::IntoIter<BlockLocation>>,
    list: std::vec::IntoIter<u64>,
}

impl Lists<'_> {
    #[cold]
    fn next_list(&mut self) -> io::Result<u64> {
        loop {
            let place = self.places.next().ok_or_else(damaged)?;
            let bytes = self.spool.read(place)?;
            self.list = decoded(&bytes).ok_or_else(damaged)?.into_iter();
            if let Some(number) = self.list.next() {
                return Ok(number);
            }
        }
    }
}

impl Records for Lists<'_> {
    #[inline]
    fn next(&mut self) -> io::Result<u64> {
        match self.list.next() {
            Some(number) => Ok(number),
            None => self.next_list(),
        }
    }
}

fn encoded(list: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(2 * list.len());
    list.iter().for_each(|&number| put(&mut bytes, number));
    bytes
}

fn decoded(mut bytes: &[u8]) -> Option<Vec<u64>> {
    let mut list = Vec::with_capacity(bytes.len() / 2);
    while !bytes.is_empty() {
        list.push(take(&mut bytes)?);
    }
    Some(list)
}

/// Goes back and then forward, for ascending capacities in bytes, none of them zero; `exact`: first touches enter a
/// stack with exact liveness.
///
/// # Errors
/// When the temporary file cannot be written (a full disk, for instance) or read.
pub fn least(recorded: &Recorded, cells: usize, capacities: &[u64], exact: bool) -> io::Result<Least> {
    let mut forward = Forward::new(cells, capacities, exact);
    let times = go_both_ways(recorded, Back::new(&recorded.outputs), &mut forward)?;
    let heap_bytes = times.max(forward.heap_bytes());
    Ok(Least { cells: forward.finish(), heap_bytes })
}

/// Gives the memory that the way back held.
fn go_both_ways(recorded: &Recorded, back: Back, forward: &mut Forward) -> io::Result<u64> {
    let threaded = recorded.blocks.len() >= MANY;
    let read = |at: usize, ops: &mut Ops| ops.read(&recorded.spool, recorded.blocks[at]);
    let (places, held) = go_back(recorded, back, threaded, read)?;
    let list = Vec::new().into_iter();
    let mut lists = Lists { spool: &recorded.spool, places: places.into_iter().rev(), list };
    each_block(0..recorded.blocks.len(), threaded, read, |ops| forward.block(ops, &mut lists))?;
    Ok(held)
}

/// Where the lists are, and the memory that it held for the times of bytes, which are given up.
fn go_back(
    recorded: &Recorded,
    mut back: Back,
    threaded: bool,
    read: impl Fn(usize, &mut Ops) -> io::Result<()> + Sync,
) -> io::Result<(Vec<BlockLocation>, u64)> {
    let mut places = Vec::new();
    let mut keep = |list: &[u64]| {
        places.push(recorded.spool.append(&encoded(list))?);
        Ok(())
    };
    each_block((0..recorded.blocks.len()).rev(), threaded, read, |ops| back.block(ops, &mut keep))?;
    back.finish(&mut keep)?;
    Ok((places, back.heap_bytes()))
}

#[cfg(test)]
mod tests;
