//! How threads that share a stack met.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sharing {
    pub undefined: UndefinedOrder,
}

/// What of the order of threads is not the model's, but the run's or nobody's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndefinedOrder {
    /// Locks that threads got after others had them.
    pub contended: u64,
    /// Acquires that came after a release by another thread, as they did in the run.
    pub by_run: u64,
    /// Waits that were not satisfied.
    pub unmet: u64,
    /// Threads whose making was not seen: they begin at time 0.
    pub unseen_starts: u64,
}
