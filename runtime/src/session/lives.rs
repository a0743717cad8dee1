//! Lives of memory, for those who want to know whose memory it is in an order that is known later.

use std::sync::Arc;

use crate::objects::Origin;

/// What begins, ends or moves.
#[derive(Clone, Debug)]
pub enum Life {
    /// A block, at a call site of the ring.
    Begins { address: u64, len: u64, origin: Origin },
    /// A mapping; the name of the file is empty if there is none.
    Maps { address: u64, len: u64, file: Arc<str>, origin: Origin },
    /// A variable on the stack: numbers of its table and in the table's slots.
    Slot { address: u64, len: u64, table: u32, slot: u32 },
    /// Whatever lies there.
    Ends { address: u64, len: u64 },
    /// A block that moves or changes its size.
    Moves { from: u64, from_len: u64, to: u64, to_len: u64, origin: Origin },
}

/// A life among the accesses and runs of a queue.
pub struct LifeMark {
    /// Accesses of the queue before it.
    pub accesses: usize,
    /// Runs of the queue before it.
    pub runs: usize,
    pub life: Life,
}
