//! Exact liveness: a byte that nobody will read is not on the stack.

use std::collections::BTreeMap;

use super::ReadTotals;
use crate::{
    engine::oracle::Oracle,
    tests::history::{Happening, Site},
};

/// What a site found, and what it left to nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dead {
    pub found: ReadTotals,
    /// Bytes that it wrote, and nobody read.
    pub unread: u64,
    /// Bytes that it was the last to read.
    pub last_read: u64,
}

impl Dead {
    pub fn add(&mut self, other: &Self) {
        self.found.add(&other.found);
        self.unread += other.unread;
        self.last_read += other.last_read;
    }
}

/// What is found without bytes that nobody will read.
#[must_use]
pub fn dead(history: &[Happening]) -> BTreeMap<Site, Dead> {
    let (mut list, mut cells) = (Oracle::default(), BTreeMap::<Site, Dead>::new());
    for (number, happening) in history.iter().enumerate() {
        let is_dead = |byte: &u64| !is_needed(*byte, &history[number + 1..], history);
        match *happening {
            Happening::Load(ref load) => {
                let found = list.load(load.address, load.len);
                let dead: Vec<u64> = load.bytes().filter(is_dead).collect();
                dead.iter().for_each(|byte| list.remove(*byte, 1));
                let Some(site) = load.charged() else { continue };
                let cell = cells.entry(site.clone()).or_default();
                found.into_iter().for_each(|byte| cell.found.byte(byte));
                cell.last_read += dead.len() as u64;
            }
            Happening::Store(ref store) => {
                list.remove(store.address, store.len);
                let (dead, needed): (Vec<u64>, Vec<u64>) = store.bytes().partition(is_dead);
                needed.into_iter().for_each(|byte| list.store(byte, 1));
                let Some(site) = store.charged() else { continue };
                cells.entry(site.clone()).or_default().unread += dead.len() as u64;
            }
            Happening::Dies { address, len } => list.remove(address, len),
            Happening::Moves { from, to, len } => list.relocate(from, to, len),
            Happening::Input { address, len } => {
                // Each goes below what is there.
                let needed = (address..address + len).rev().filter(|byte| !is_dead(byte));
                needed.for_each(|byte| list.insert_bottom(byte, 1));
            }
            Happening::Output { address, len } => {
                (address..address + len).filter(is_dead).for_each(|byte| list.remove(byte, 1));
            }
            _ => {}
        }
    }
    cells.retain(|_, cell| *cell != Dead::default());
    cells
}

/// Whether what lies at a byte will be read, or is an output.
pub fn is_needed(mut byte: u64, future: &[Happening], all: &[Happening]) -> bool {
    let covers = |address: u64, len: u64, byte: u64| (address..address + len).contains(&byte);
    for happening in future {
        match *happening {
            Happening::Load(ref load) if load.bytes().contains(&byte) => return true,
            Happening::Output { address, len } if covers(address, len, byte) => return true,
            Happening::Store(ref store) if store.bytes().contains(&byte) => return false,
            Happening::Dies { address, len } if covers(address, len, byte) => return false,
            Happening::Moves { from, to, len } => {
                if covers(from, len, byte) {
                    byte = byte - from + to;
                } else if covers(to, len, byte) {
                    return false;
                }
            }
            _ => {}
        }
    }
    all.iter().any(|happening| matches!(*happening, Happening::Output { address, len } if covers(address, len, byte)))
}
