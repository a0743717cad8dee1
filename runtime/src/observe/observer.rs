//! Who is told of everything that happens in a ring, beside the engine.

use crate::oplog::Op;

/// What follows beside the engine, as caches do.
pub trait Observer {
    /// What happens next.
    fn op(&mut self, op: Op<'_>);
}
