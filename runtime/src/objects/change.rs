//! What becomes of memory: it begins to live, ends or moves.
//!
//! Takes what library calls and records say; who knows whose memory it is goes by nothing else. Refuses nothing.

use std::sync::Arc;

use super::{Objects, Origin};

/// Memory begins to live, ends or moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A block, at a call site of the ring.
    Begins { address: u64, len: u64, origin: Origin },
    /// A mapping; the name of the file is empty if there is none.
    Maps { address: u64, len: u64, file: Arc<str>, origin: Origin },
    /// A variable on the stack: numbers of its table and in the table's slots.
    Slot { address: u64, len: u64, table: u32, slot: u32 },
    /// Whatever lies there: a block was freed, a mapping removed, a variable's scope left.
    Ends { address: u64, len: u64 },
    /// A block that moves or changes its size: it stays what it is. One that was not known starts here.
    Moves { from: u64, from_len: u64, to: u64, to_len: u64, origin: Origin },
}

impl Change {
    /// Where it was called, if anywhere.
    pub fn origin_mut(&mut self) -> Option<&mut Origin> {
        match self {
            Self::Begins { origin, .. } | Self::Maps { origin, .. } | Self::Moves { origin, .. } => Some(origin),
            Self::Slot { .. } | Self::Ends { .. } => None,
        }
    }

    /// The ranges, first byte and bytes, in which something else lies from now on.
    #[must_use]
    pub fn ranges(&self) -> [(u64, u64); 2] {
        match *self {
            Self::Begins { address, len, .. }
            | Self::Maps { address, len, .. }
            | Self::Slot { address, len, .. }
            | Self::Ends { address, len } => [(address, len), (address, 0)],
            Self::Moves { from, from_len, to, to_len, .. } => [(from, from_len), (to, to_len)],
        }
    }
}

impl Objects {
    /// Something becomes of memory.
    pub fn change(&mut self, what: &Change) {
        match *what {
            Change::Begins { address, len, origin } => self.allocated(address, len, origin),
            Change::Maps { address, len, ref file, origin } => self.mapped(address, len, file, origin),
            Change::Slot { address, len, table, slot } => self.slot_starts(table, slot, address, len),
            Change::Ends { address, len } => self.ended(address, len),
            Change::Moves { from, from_len, to, to_len, origin } => {
                self.relocated(from, from_len, to, to_len, origin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::context::ContextNumber;

    #[test]
    fn other_things_lie_in_the_range_of_a_change_and_at_both_ends_of_a_move() {
        let origin = Origin { context: ContextNumber::ROOT, segment: None };
        let moves = Change::Moves { from: 8, from_len: 16, to: 800, to_len: 32, origin };
        assert_eq!(moves.ranges(), [(8, 16), (800, 32)]);
        let one = [
            Change::Begins { address: 8, len: 16, origin },
            Change::Maps { address: 8, len: 16, file: "".into(), origin },
            Change::Slot { address: 8, len: 16, table: 1, slot: 2 },
            Change::Ends { address: 8, len: 16 },
        ];
        assert!(one.iter().all(|change| change.ranges() == [(8, 16), (8, 0)]));
    }
}
