//! The fewest bytes that a memory could fetch: it evicts the byte that is read farthest in the future.

use std::collections::{BTreeMap, BTreeSet};

use super::dead::is_needed;
use crate::{
    counts::least::LeastCounts,
    tests::history::{Happening, Site},
};

/// Which of two bytes leaves that are read at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    Lowest,
    Highest,
}

/// Before each happening, so many places the stack has had, with those that the dead left free.
#[must_use]
pub fn places(history: &[Happening], exact: bool) -> Vec<u64> {
    let (mut valued, mut places) = (BTreeSet::<u64>::new(), 0);
    let on_stack = |bytes: &mut dyn Iterator<Item = &u64>, from: usize| {
        bytes.filter(|byte| !exact || is_needed(**byte, &history[from..], history)).count() as u64
    };
    let place = |(number, happening): (usize, &Happening)| {
        let before = places;
        match happening {
            Happening::Load(access) | Happening::Store(access) => {
                let cold = access.bytes().filter(|byte| !valued.contains(byte)).count() as u64;
                if matches!(happening, Happening::Load(_)) {
                    places = places.max(on_stack(&mut valued.iter(), number) + cold);
                }
                valued.extend(access.bytes());
                places = places.max(on_stack(&mut valued.iter(), number + 1));
            }
            Happening::Dies { address, len } => valued.retain(|byte| !(*address..address + len).contains(byte)),
            Happening::Moves { from, to, len } if from != to => move_bytes(&mut valued, *from, *to, *len),
            Happening::Input { address, len } => {
                let new: Vec<u64> = (*address..address + len).filter(|byte| !valued.contains(byte)).collect();
                places += on_stack(&mut new.iter(), number + 1);
                valued.extend(new);
            }
            _ => {}
        }
        before
    };
    history.iter().enumerate().map(place).collect()
}

/// What each site fetches at a capacity, and its first touches that are deeper in the stack, which has had so many
/// places before each happening.
#[must_use]
pub fn least(history: &[Happening], places: &[u64], capacity: u64, tie: Tie) -> BTreeMap<Site, LeastCounts> {
    let (mut valued, mut held) = (BTreeSet::<u64>::new(), BTreeSet::<u64>::new());
    let mut cells = BTreeMap::<Site, LeastCounts>::new();
    for (number, happening) in history.iter().enumerate() {
        let future = &history[number + 1..];
        // How far away the next read is; none: never.
        let next = |byte: &u64| next_read(*byte, future);
        let evict = |held: &mut BTreeSet<u64>, pinned: &BTreeSet<u64>, room: u64| {
            while held.len() as u64 > room {
                let order = |byte: &u64| if tie == Tie::Lowest { u64::MAX - byte } else { *byte };
                let leaves = held.iter().copied().filter(|byte| !pinned.contains(byte));
                let Some(leaves) = leaves.max_by_key(|byte| (next(byte).unwrap_or(usize::MAX), order(byte))) else {
                    break;
                };
                held.remove(&leaves);
            }
        };
        match happening {
            Happening::Load(access) | Happening::Store(access) => {
                let bytes: BTreeSet<u64> = access.bytes().collect();
                let is_load = matches!(happening, Happening::Load(_));
                let cold = bytes.difference(&valued).count() as u64;
                let missed = bytes.iter().filter(|byte| valued.contains(byte) && !held.contains(byte)).count() as u64;
                if let Some(site) = access.charged().filter(|_| is_load) {
                    let cell = cells.entry(site.clone()).or_default();
                    cell.fetched += missed;
                    cell.first += (1..=cold).filter(|nth| places[number] + nth > capacity).count() as u64;
                }
                held.extend(&bytes);
                if is_load {
                    evict(&mut held, &bytes, capacity);
                }
                evict(&mut held, &BTreeSet::new(), capacity);
                held.retain(|byte| next(byte).is_some());
                valued.extend(bytes);
            }
            Happening::Dies { address, len } => {
                let dies = |byte: &u64| (*address..address + len).contains(byte);
                held.retain(|byte| !dies(byte));
                valued.retain(|byte| !dies(byte));
            }
            Happening::Moves { from, to, len } if from != to => {
                [&mut held, &mut valued].into_iter().for_each(|set| move_bytes(set, *from, *to, *len));
            }
            Happening::Input { address, len } => {
                let new: Vec<u64> = (*address..address + len).filter(|byte| !valued.contains(byte)).collect();
                held.extend(new.iter().copied().filter(|byte| next(byte).is_some()));
                evict(&mut held, &BTreeSet::new(), capacity);
                valued.extend(new);
            }
            _ => {}
        }
    }
    cells.retain(|_, cell| *cell != LeastCounts::default());
    cells
}

fn move_bytes(set: &mut BTreeSet<u64>, from: u64, to: u64, len: u64) {
    let moved: Vec<u64> = set.range(from..from + len).map(|byte| byte - from + to).collect();
    set.retain(|byte| !(from..from + len).contains(byte) && !(to..to + len).contains(byte));
    set.extend(moved);
}

/// Happenings until what lies at a byte is read; none if something else comes of it.
fn next_read(mut byte: u64, future: &[Happening]) -> Option<usize> {
    let covers = |address: u64, len: u64, byte: u64| (address..address + len).contains(&byte);
    for (number, happening) in future.iter().enumerate() {
        match *happening {
            Happening::Load(ref load) if load.bytes().contains(&byte) => return Some(number),
            Happening::Store(ref store) if store.bytes().contains(&byte) => return None,
            Happening::Dies { address, len } if covers(address, len, byte) => return None,
            Happening::Moves { from, to, len } if from != to => {
                if covers(from, len, byte) {
                    byte = byte - from + to;
                } else if covers(to, len, byte) {
                    return None;
                }
            }
            _ => {}
        }
    }
    None
}
