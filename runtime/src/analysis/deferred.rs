//! What one ring carried, kept until all rings of its process have ended.
//!
//! Takes words as they come, gives them back in chunks. Refuses what the file system refuses when there are too many
//! for memory: the first error is kept, and words after it are dropped.

use std::{collections::VecDeque, io, sync::Arc};

use crate::{
    abi::{EventKind, synchronise::Synchronise},
    decode::locator::ModuleSource,
    oplog::{Shelf, Shelved},
};

/// Words of an event of this kind.
const EVENT: usize = 5;

/// The start of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Start {
    /// Number in the OpenMP team in which it began.
    pub member: u64,
    /// Number of the event in the process.
    pub event: u64,
    pub handle: u64,
}

/// What a ring carried.
pub struct DeferredRing {
    shelf: Arc<Shelf>,
    open: Vec<u64>,
    blocks: VecDeque<Shelved>,
    /// The ring's process, then those that it was forked from.
    pub processes: Vec<u32>,
    pub start: Option<Start>,
    /// Handles of the threads that it made, with the numbers of the events.
    pub created: Vec<(u64, u64)>,
    pub error: Option<io::Error>,
    pub words: u64,
}

impl DeferredRing {
    #[must_use]
    pub fn new(shelf: Arc<Shelf>) -> Self {
        Self {
            shelf,
            open: Vec::new(),
            blocks: VecDeque::new(),
            processes: Vec::new(),
            start: None,
            created: Vec::new(),
            error: None,
            words: 0,
        }
    }

    /// Keeps a chunk's words.
    pub fn replay(&mut self, words: &[u64], source: &impl ModuleSource) {
        if self.words == 0 && !words.is_empty() {
            self.processes = source.processes().to_vec();
            self.start = start_of(words);
        }
        self.words += words.len() as u64;
        self.find_created(words);
        // Records end with their chunk, so chunks stay apart. The last stays here, which is all of short threads.
        if !self.open.is_empty() {
            self.flush();
        }
        self.open.extend_from_slice(words);
    }

    /// Notes threads that are made. Looks for the event's first word, as records are cut only later: another word that
    /// looks like it names a thread that never starts.
    fn find_created(&mut self, words: &[u64]) {
        const HEAD: u64 = (EventKind::Synchronise as u64) << 8 | EVENT as u64;
        for (at, word) in words.iter().enumerate() {
            if word >> 48 == HEAD
                && let Some(&[what, handle, event]) = words.get(at + 1..at + 4).and_then(<[u64]>::first_chunk::<3>)
                && what == Synchronise::Created as u64
            {
                self.created.push((handle, event));
            }
        }
    }

    /// Whether its thread is the one that the process began with.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.start.is_some_and(|start| start.event == 0)
    }

    fn flush(&mut self) {
        let words = std::mem::take(&mut self.open);
        if self.error.is_none() {
            match self.shelf.keep_words(words) {
                Ok(kept) => self.blocks.push_back(kept),
                Err(error) => self.error = Some(error),
            }
        }
    }

    /// The next words; `None` after the last.
    pub fn next_words(&mut self) -> Option<Vec<u64>> {
        let Some(kept) = self.blocks.pop_front() else {
            return (!self.open.is_empty()).then(|| std::mem::take(&mut self.open));
        };
        match self.shelf.take_words(kept) {
            Ok(words) => Some(words),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }
}

/// The event that a thread's ring starts with; other rings have none.
fn start_of(words: &[u64]) -> Option<Start> {
    let &[head, what, handle, event, member] = words.first_chunk::<EVENT>()?;
    let is_start = head >> 56 == EventKind::Synchronise as u64 && what == Synchronise::Start as u64;
    is_start.then_some(Start { member, event, handle })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decode::locator::Placed, oplog::Spool, tests::run::spool};

    struct Processes(Vec<u32>);

    impl ModuleSource for Processes {
        fn modules(&mut self, _: u64) -> Vec<Placed> {
            Vec::new()
        }

        fn processes(&self) -> &[u32] {
            &self.0
        }
    }

    fn ring() -> DeferredRing {
        DeferredRing::new(Arc::new(Shelf::new(spool())))
    }

    fn event(what: Synchronise, operands: [u64; 3]) -> Vec<u64> {
        let head = (EventKind::Synchronise as u64) << 56 | (EVENT as u64) << 48;
        [vec![head, what as u64], operands.to_vec()].concat()
    }

    #[test]
    fn chunks_come_back_in_order_and_apart() {
        let (mut ring, source) = (ring(), Processes(vec![7, 3]));
        let chunks = [vec![1, 2, 3], vec![4], vec![5, 6]];
        chunks.iter().for_each(|words| ring.replay(words, &source));
        assert_eq!((ring.words, &ring.processes[..]), (6, &[7, 3][..]));
        assert_eq!(std::iter::from_fn(|| ring.next_words()).collect::<Vec<_>>(), chunks);
        assert!(ring.error.is_none());
    }

    #[test]
    fn the_processes_are_those_of_the_first_words() {
        let mut ring = ring();
        ring.replay(&[], &Processes(vec![1]));
        ring.replay(&event(Synchronise::Start, [5, 2, 9]), &Processes(vec![2]));
        ring.replay(&event(Synchronise::Start, [6, 0, 9]), &Processes(vec![3]));
        assert_eq!(ring.processes, [2]);
        assert_eq!(ring.start, Some(Start { handle: 5, event: 2, member: 9 }), "a ring starts once");
        assert!(!ring.is_first());
    }

    #[test]
    fn a_thread_starts_with_an_event_that_says_so() {
        let start = event(Synchronise::Start, [5, 0, 9]);
        assert_eq!(start_of(&start), Some(Start { handle: 5, event: 0, member: 9 }));
        assert_eq!(start_of(&start[..4]), None, "it is cut off");
        assert_eq!(start_of(&event(Synchronise::Created, [5, 0, 9])), None);
        let mut other = start.clone();
        other[0] = (EventKind::Alloc as u64) << 56 | (EVENT as u64) << 48;
        assert_eq!(start_of(&other), None);
        let mut ring = ring();
        assert!(!ring.is_first(), "nobody knows yet");
        ring.replay(&start, &Processes(Vec::new()));
        assert!(ring.is_first());
    }

    #[test]
    fn threads_that_are_made_are_noted_wherever_their_event_is() {
        let mut ring = ring();
        let made = |handle, number| event(Synchronise::Created, [handle, number, 0]);
        let first = [vec![1, 2], made(11, 4), event(Synchronise::Start, [12, 5, 0]), vec![3], made(13, 6)].concat();
        ring.replay(&first, &Processes(Vec::new()));
        ring.replay(&made(14, 7)[..4], &Processes(Vec::new()));
        ring.replay(&made(15, 8)[..3], &Processes(Vec::new()));
        assert_eq!(ring.created, [(11, 4), (13, 6), (14, 7)]);
    }

    #[test]
    fn the_first_error_ends_what_is_given_back() {
        // A file that cannot be written to.
        let spool = Spool::over(std::fs::File::open("/dev/null").expect("a file to read"));
        let mut ring = DeferredRing::new(Arc::new(Shelf::new(Arc::new(spool))));
        let large = vec![1; 9 << 20];
        for words in [&large[..], &[2], &[3], &[4]] {
            ring.replay(words, &Processes(Vec::new()));
        }
        assert!(ring.error.is_some(), "72 MiB are more than is kept in memory");
        let rest: Vec<u64> = std::iter::from_fn(|| ring.next_words()).flatten().collect();
        assert!(!rest.contains(&2) && !rest.contains(&3), "they are dropped");
    }
}
