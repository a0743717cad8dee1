//! Memories of lines: what is fetched and written back, by a list of lines, the last one first.

use std::collections::BTreeMap;

use crate::{
    observe::lines::list::Memory,
    tests::history::{Happening, Site},
};

pub use crate::observe::lines::list::Traffic;

/// What each site moves in and out of a memory of so many lines.
#[must_use]
pub fn lines(history: &[Happening], bytes: u64, capacity: usize) -> BTreeMap<Site, Traffic> {
    let mut memory = Memory::new(capacity);
    for happening in history {
        let (access, is_store) = match happening {
            Happening::Load(access) => (access, false),
            Happening::Store(access) => (access, true),
            _ => continue,
        };
        if access.len == 0 {
            continue;
        }
        for line in access.address / bytes..=(access.address + access.len - 1) / bytes {
            memory.access(line, is_store, access.charged());
        }
    }
    let moved = |(site, traffic): (Option<&Site>, Traffic)| Some((site?.clone(), traffic));
    memory.finish().into_iter().filter_map(moved).filter(|(_, traffic)| *traffic != Traffic::default()).collect()
}
