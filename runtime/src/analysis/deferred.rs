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
