//! Which threads share a stack, and what an analysis of threads together finds beside the counts.

use std::{collections::BTreeSet, ops::RangeInclusive, sync::Arc};

use crate::{decode::roi::RegionOfInterest, oplog::Spool};

/// Threads of a process that can share stacks, at most.
pub const MOST_THREADS: usize = 4096;

/// Number of a thread in its process, in the order in which the model makes them.
pub type ThreadNumber = u32;

/// Accesses of a turn.
pub const TURN: u64 = 64;

/// Which threads share a stack, and how they take turns.
pub struct Together {
    /// Groups of threads that share one. Those that none names share one more.
    pub clusters: Vec<Vec<Member>>,
    /// Accesses that a thread does before the next one's turn comes.
    pub turn: u64,
    /// Where words are kept until the end of the run.
    pub spool: Arc<Spool>,
}

/// Threads of a cluster.
pub enum Member {
    /// By number, in the order in which they are made; the first is 0.
    Numbers(RangeInclusive<u32>),
    /// By the function that they begin with.
    Named(Arc<dyn RegionOfInterest>),
}

impl Member {
    /// Whether a thread is one of these, by its number and the function that it began with.
    pub(super) fn names(&self, thread: u32, function: Option<&str>) -> bool {
        match self {
            Self::Numbers(numbers) => numbers.contains(&thread),
            Self::Named(pattern) => function.is_some_and(|name| pattern.matches_symbol(name)),
        }
    }
}

/// What the analysis of threads together found beside the counts.
#[derive(Debug, Default)]
pub struct Shared {
    pub undefined: Undefined,
    /// Threads whose making was not seen.
    pub unseen_starts: u64,
    /// Clusters that had threads, by number in the options.
    pub named: BTreeSet<usize>,
    /// Memory of the engines.
    pub engine_bytes: u64,
}

/// Why threads cannot be analysed together.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    #[error(
        "the process has {threads} threads, and stacks are shared by at most {MOST_THREADS}; measure it with --threads private"
    )]
    Many { threads: usize },
}

/// What of the order of a run is not the model's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undefined {
    /// Locks that the model gave to a thread while others waited for them or had just had them.
    pub contended: u64,
    /// Acquires of what other threads had released, in the order that the run had.
    pub by_run: u64,
    /// Waits that the model could not satisfy.
    pub unmet: u64,
}

impl Shared {
    /// Adds another process.
    pub(super) fn add(&mut self, other: Self) {
        let Undefined { contended, by_run, unmet } = other.undefined;
        self.undefined.contended += contended;
        self.undefined.by_run += by_run;
        self.undefined.unmet += unmet;
        self.unseen_starts += other.unseen_starts;
        self.named.extend(other.named);
        self.engine_bytes = self.engine_bytes.max(other.engine_bytes);
    }
}
