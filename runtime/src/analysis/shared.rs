//! Which threads share a stack, and what an analysis of threads together finds beside the counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
    sync::Arc,
};

use crate::{
    counts::keys::{FunctionKey, SiteKey},
    decode::roi::RegionOfInterest,
    observe::sharing::Line,
    oplog::Shelf,
};

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
    /// Each thread has a stack of its own all the same.
    pub apart: bool,
    /// Also measure what threads do to each other, by lines of so many bytes.
    pub sharing: Option<u32>,
    /// Also keep a stack for each thread alone.
    pub alone: bool,
    /// Where words are kept until the end of the run.
    pub shelf: Arc<Shelf>,
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
    /// What of the order is not the model's.
    pub undefined: Undefined,
    /// Threads whose making was not seen.
    pub unseen_starts: u64,
    /// Clusters that had threads, by number in the options.
    pub named: BTreeSet<usize>,
    /// Threads of the stack that most of them share.
    pub most_threads: u64,
    /// Memory of the engines.
    pub engine_bytes: u64,
    /// What threads did to each other, if that was measured.
    pub met: Option<Met>,
}

/// A site of a thread; none if nothing was counted there.
pub type ThreadSite = (u32, Option<SiteKey>);

/// What threads did to each other through memory.
#[derive(Debug, Default)]
pub struct Met {
    /// Bytes of a line.
    pub line: u32,
    /// What each thread began with, by number.
    pub threads: Vec<Option<FunctionKey>>,
    /// Bytes read, by who wrote them last, reader and object.
    pub moved: BTreeMap<(ThreadSite, ThreadSite, SharedObject), u64>,
    /// Lines that several threads wrote, in no order.
    pub lines: Vec<SharedLine>,
    /// Of each thread with a stack of its own: bytes of its first touches that another had written.
    pub handed: Vec<u64>,
}

/// Data that threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SharedObject {
    /// Memory of code without hooks.
    Unknown,
    /// A variable.
    Datum {
        /// Number of its table.
        table: u32,
        /// Number in the table's `data`.
        datum: u32,
    },
    /// A heap block.
    Block {
        /// Table and segment of the call that allocated it.
        site: Option<(u32, u32)>,
    },
    /// A mapping.
    Mapping {
        /// Table and segment of the call.
        site: Option<(u32, u32)>,
    },
    /// A variable on the stack.
    Slot {
        /// Number of its table.
        table: u32,
        /// Number in the table's `slots`.
        slot: u32,
    },
}

/// What a site wrote of a line.
#[derive(Debug)]
pub struct SharedPart {
    /// Who wrote.
    pub site: ThreadSite,
    /// What lay there.
    pub object: SharedObject,
    /// Where in the object the line begins, if that is known; below 0 if the object begins in it.
    pub offset: Option<i64>,
    /// The bytes of the line.
    pub mask: u128,
    /// Those that it wrote since the line first changed hands.
    pub since: u128,
}

/// A line that several threads wrote.
#[derive(Debug)]
pub struct SharedLine {
    /// Which bytes each site wrote.
    pub parts: Vec<SharedPart>,
    /// How often it changed hands.
    pub line: Line,
}

impl Met {
    /// Adds another process, whose threads come behind.
    fn add(&mut self, other: Self) {
        let first = self.threads.len() as u32;
        let later = |(thread, site): ThreadSite| (first + thread, site);
        self.line = other.line;
        self.threads.extend(other.threads);
        for ((writer, reader, object), bytes) in other.moved {
            *self.moved.entry((later(writer), later(reader), object)).or_default() += bytes;
        }
        self.lines.extend(other.lines.into_iter().map(|mut line| {
            line.parts.iter_mut().for_each(|part| part.site = later(part.site));
            line
        }));
        self.handed.extend(other.handed);
    }
}

/// Why threads cannot be analysed together.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// More than can share.
    #[error(
        "the process has {threads} threads, and stacks are shared by at most {MOST_THREADS}; measure it with --threads private"
    )]
    Many {
        /// That it has.
        threads: usize,
    },
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
        if let Some(met) = other.met {
            self.met.get_or_insert_default().add(met);
        }
        self.most_threads = self.most_threads.max(other.most_threads);
        self.engine_bytes = self.engine_bytes.max(other.engine_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::run::Named;

    #[test]
    fn members_are_named_by_number_or_by_where_they_begin() {
        let numbers = Member::Numbers(2..=3);
        assert_eq!([1, 2, 3, 4].map(|thread| numbers.names(thread, Some("work"))), [false, true, true, false]);
        let named = Member::Named(Arc::new(Named(&["work"])));
        let functions = [Some("work"), Some("main"), None];
        assert_eq!(functions.map(|function| named.names(2, function)), [true, false, false]);
    }

    #[test]
    fn processes_add_up_and_the_threads_of_another_one_come_behind() {
        let of = |n: u64| {
            let site = |thread| (thread, Some((0, 0, n as u32)));
            let met = Met {
                line: 64,
                threads: vec![None; 2],
                moved: [((site(0), site(1), SharedObject::Unknown), n)].into(),
                lines: vec![SharedLine {
                    parts: vec![SharedPart {
                        site: site(1),
                        object: SharedObject::Unknown,
                        offset: None,
                        mask: 1,
                        since: 0,
                    }],
                    line: Line::default(),
                }],
                handed: vec![n, n + 1],
            };
            Shared {
                undefined: Undefined { contended: n, by_run: n + 1, unmet: n + 2 },
                unseen_starts: n + 3,
                named: [n as usize].into(),
                most_threads: 20 - n,
                engine_bytes: 100 + n,
                met: Some(met),
            }
        };
        let mut all = Shared::default();
        [5, 7, 5].into_iter().for_each(|n| all.add(of(n)));
        assert_eq!(all.undefined, Undefined { contended: 17, by_run: 20, unmet: 23 });
        assert_eq!((all.unseen_starts, all.named, all.most_threads, all.engine_bytes), (26, [5, 7].into(), 15, 107));
        let met = all.met.expect("all have met");
        let moved = met.moved.iter().map(|((writer, reader, _), bytes)| (writer.0, reader.0, *bytes));
        assert_eq!(moved.collect::<Vec<_>>(), [(0, 1, 5), (2, 3, 7), (4, 5, 5)]);
        let writers: Vec<_> = met.lines.iter().map(|line| line.parts[0].site.0).collect();
        assert_eq!((met.line, met.threads.len(), writers, met.handed), (64, 6, vec![1, 3, 5], vec![5, 6, 7, 8, 5, 6]));
        all = Shared { met: None, ..of(1) };
        all.add(Shared { met: None, ..of(2) });
        assert!(all.met.is_none());
    }

    #[test]
    fn bytes_that_go_between_the_same_sites_add_up() {
        let thread = (0, None);
        let of = |bytes| Met { moved: [((thread, thread, SharedObject::Unknown), bytes)].into(), ..Met::default() };
        let mut met = of(3);
        met.add(of(4));
        assert_eq!(met.moved.into_values().collect::<Vec<_>>(), [7]);
    }
}
