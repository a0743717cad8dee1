//! Memories of lines: what is fetched and written back, by a list of lines, the last one first.

use std::collections::BTreeMap;

use crate::{
    counts::pairs::SitePairs,
    observe::lines::list::{Bringing, Memory},
    tests::history::{Happening, Site},
};

pub use crate::observe::lines::list::Traffic;

/// Tells somebody of each line that is touched: its number, whether it is stored to, and who is charged.
fn touches<'h>(history: &'h [Happening], bytes: u64, mut touch: impl FnMut(u64, bool, Option<&'h Site>)) {
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
            touch(line, is_store, access.charged());
        }
    }
}

/// Which lines sites bring in from far, by who had brought them in.
#[must_use]
pub fn pairs(history: &[Happening], bytes: u64) -> SitePairs {
    let mut bringing = Bringing::new(bytes.ilog2());
    touches(history, bytes, |line, _, site| {
        bringing.access(line, site.map(|site| (site.segment.0, site.segment.1, site.item)));
    });
    let of_site = |((before, site), counts)| Some(((before, site?), counts));
    bringing.pairs.into_iter().filter_map(of_site).collect()
}

/// What each site moves in and out of a memory of so many lines.
#[must_use]
pub fn lines(history: &[Happening], bytes: u64, capacity: usize) -> BTreeMap<Site, Traffic> {
    let mut memory = Memory::new(capacity);
    touches(history, bytes, |line, is_store, site| memory.access(line, is_store, site));
    let moved = |(site, traffic): (Option<&Site>, Traffic)| Some((site?.clone(), traffic));
    memory.finish().into_iter().filter_map(moved).filter(|(_, traffic)| *traffic != Traffic::default()).collect()
}
