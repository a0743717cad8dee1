//! Single accesses, with the depths of the bytes that they read.

use super::Stack;
use crate::tests::{
    history::{Access, Happening},
    program::SegmentName,
};

/// Something to look at; depths come sorted. Who is charged for an access: a segment, and an item of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked {
    Read { address: u64, depths: Vec<u64>, site: Option<(SegmentName, u32)> },
    Write { address: u64, len: u64, site: Option<(SegmentName, u32)> },
    Dies { address: u64, len: u64 },
    Moves { from: u64, to: u64, len: u64 },
}

/// What happens from the start on, until so many accesses were there and another one comes.
#[must_use]
pub fn window(history: &[Happening], accesses: usize) -> Vec<Looked> {
    let mut stack = Stack::new(true);
    let (mut left, mut window) = (accesses, Vec::new());
    let site = |access: &Access| access.charged().map(|site| (site.segment, site.item));
    for happening in history {
        let found = stack.follow(happening);
        let looked = match *happening {
            Happening::Load(ref load) => {
                let mut depths: Vec<u64> = found.iter().map(|byte| byte.depth).collect();
                depths.sort_unstable();
                Looked::Read { address: load.address, depths, site: site(load) }
            }
            Happening::Store(ref store) => Looked::Write { address: store.address, len: store.len, site: site(store) },
            Happening::Dies { address, len } => Looked::Dies { address, len },
            Happening::Moves { from, to, len } => Looked::Moves { from, to, len },
            _ => continue,
        };
        if matches!(looked, Looked::Read { .. } | Looked::Write { .. }) {
            if left == 0 {
                return window;
            }
            left -= 1;
        }
        window.push(looked);
    }
    window
}
