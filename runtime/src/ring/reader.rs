//! One ring, read by one consumer.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::Errno;

use super::{error::RingError, futex::Futex};
use crate::abi::{
    CHUNK_BYTES, COUNTERS, PAGE, RING_BYTES, RING_CHUNKS, RING_STRIDE, RINGS_OFFSET, RingHeader, RingSample, ring_state,
};
use dmdprof_abi::protocol::{self, Word};

/// Consumer end of a ring. `Send`, not `Sync`.
#[derive(Debug)]
pub struct RingReader {
    file: Arc<File>,
    map: MmapRaw,
    index: u32,
    /// Chunks published, as last seen: looked at again only when all of them are read.
    head: u32,
    tail: u32,
    /// Chunks read but not yet given back.
    held: u32,
    single: PhantomData<Cell<()>>,
}

/// The words of one published chunk. Dropping it gives the chunk back to the program.
#[derive(Debug)]
pub struct ChunkRef<'a> {
    ring: &'a mut RingReader,
    bytes: usize,
}

impl RingReader {
    pub(super) fn open(file: &Arc<File>, index: u32) -> Result<Option<Self>, RingError> {
        let map = MmapOptions::new()
            .offset(offset_of(index))
            .len(RING_BYTES)
            .map_raw(&**file)
            .map_err(|source| RingError::Map { what: "a ring", source })?;
        let mut reader = Self { file: Arc::clone(file), map, index, head: 0, tail: 0, held: 0, single: PhantomData };
        // Acquire: the producer stores the state after the rest of the header.
        if reader.header().state.load_acquire() != ring_state::ACTIVE {
            return Ok(None);
        }
        reader.tail = reader.header().tail.load(Relaxed);
        reader.head = reader.tail;
        Ok(Some(reader))
    }

    fn header(&self) -> &RingHeader {
        // SAFETY: the mapping is long enough and aligned to a page; what changes are atomics.
        unsafe { &*self.map.as_ptr().cast::<RingHeader>() }
    }

    /// Number of the ring in the channel.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The process that writes it, as the system numbers it.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.header().pid
    }

    /// The thread that writes it, as the system numbers it.
    #[must_use]
    pub fn tid(&self) -> u32 {
        self.header().tid
    }

    /// One of [`crate::abi::ring_kind`].
    #[must_use]
    pub fn kind(&self) -> u32 {
        self.header().kind
    }

    /// Ring that a signal handler interrupted, or of the thread that forked.
    #[must_use]
    pub fn parent(&self) -> Option<u32> {
        Some(self.header().parent).filter(|&parent| parent != u32::MAX)
    }

    /// The process's number in the run, which comes once: the system's may come again.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.header().process
    }

    /// Ancestors whose modules the process has too, by [`Self::process`], nearest first.
    pub fn ancestors(&self) -> impl Iterator<Item = u32> {
        self.header().ancestors.into_iter().take_while(|&process| process != 0)
    }

    /// How often its process forked, as far as the ring says. Only for a producer that is gone.
    #[must_use]
    pub fn forks(&self) -> u32 {
        self.header().forks.load(Relaxed)
    }

    /// Chunks published and not yet read.
    #[must_use]
    pub fn backlog(&self) -> u32 {
        protocol::published::<Futex>(&self.header().head, self.tail).min(RING_CHUNKS as u32)
    }

    /// The oldest published chunk. Its words stay valid, and the producer out of it, until it is dropped.
    pub fn next_chunk(&mut self) -> Option<ChunkRef<'_>> {
        if self.head == self.tail {
            let published = protocol::published::<Futex>(&self.header().head, self.tail);
            self.head = self.tail.wrapping_add(published.min(RING_CHUNKS as u32));
            if published == 0 {
                // Nothing more to read: the producer gets all its room before we look elsewhere.
                self.give_back();
                return None;
            }
        }
        let slot = self.tail as usize % RING_CHUNKS;
        let bytes = (self.header().chunk_len[slot].load(Relaxed) as usize).min(CHUNK_BYTES);
        Some(ChunkRef { ring: self, bytes })
    }

    /// The words behind the last published chunk.
    ///
    /// Only for a producer that is gone: asked before the last look at [`Self::next_chunk`], so that all its chunks are
    /// read by then. While the producer lives, it writes here.
    #[must_use]
    pub fn remainder(&mut self) -> &[u64] {
        let header = self.header();
        let slot = header.head.load_acquire() as usize % RING_CHUNKS;
        let start = header.data_address.wrapping_add((slot * CHUNK_BYTES) as u64);
        // Acquire: pairs with the hooks' store after each record's words.
        let used = header.cursor.load(Acquire).wrapping_sub(start);
        // Elsewhere: the producer ended between publishing a chunk and moving its cursor (nothing is lost), or garbage.
        let bytes = if used <= CHUNK_BYTES as u64 { used as usize } else { 0 };
        self.words(slot, bytes)
    }

    /// Hands the chunks read so far back to the producer.
    fn give_back(&mut self) {
        if self.held > 0 {
            let header = self.header();
            protocol::consume(&Futex { timeout: Duration::ZERO }, &header.tail, self.held, &header.producer_waits);
            self.held = 0;
        }
    }

    fn words(&self, slot: usize, bytes: usize) -> &[u64] {
        debug_assert!(slot < RING_CHUNKS && bytes <= CHUNK_BYTES);
        // SAFETY: within the mapping and aligned; by the protocol, the producer does not write there now.
        unsafe {
            let start = self.map.as_ptr().add(PAGE + slot * CHUNK_BYTES).cast::<u64>();
            std::slice::from_raw_parts(start, bytes / 8)
        }
    }

    /// What the counters of a program that can be sampled say, of those that are not 0: each with the number that it
    /// has in the ring. Only for a producer that is gone.
    pub fn counters(&self) -> Result<Vec<(u64, u64)>, RingError> {
        let fail = |source: io::Error| RingError::Counters { index: self.index, source };
        let start = offset_of(self.index) + (RING_BYTES + offset_of!(RingSample, counters)) as u64;
        let end = start + (COUNTERS * 8) as u64;
        let (mut found, mut at, mut bytes) = (Vec::new(), start, vec![0; 1 << 16]);
        while at < end {
            // What was never written to is not there, and should not come to be by being read.
            at = match rustix::fs::seek(&*self.file, SeekFrom::Data(at)) {
                Ok(data) => data & !7,
                Err(Errno::NXIO) => break,
                Err(error) => return Err(fail(error.into())),
            };
            let length = (end.saturating_sub(at) as usize).min(bytes.len());
            self.file.read_exact_at(&mut bytes[..length], at).map_err(fail)?;
            let first = at.saturating_sub(start) / 8;
            let words = bytes[..length].as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
            found.extend((first..).zip(words).filter(|(_, times)| *times > 0));
            at += length as u64;
            if length == 0 {
                break;
            }
        }
        Ok(found)
    }

    /// The thread still runs (or a thread that got its number). Costs a look into `/proc`.
    #[must_use]
    pub fn is_producer_alive(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/task/{}/stat", self.pid(), self.tid()));
        // "tid (name) state ..."; the name may hold anything.
        let state = stat.ok().and_then(|stat| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()));
        !matches!(state, None | Some('Z' | 'X'))
    }

    /// Gives the ring's memory back to the system. Only for a producer that is gone, when everything is read.
    pub fn release(self) -> Result<(), RingError> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // The sites of its process may be named by other rings.
        let bytes = if self.header().has_sites.load(Relaxed) == 0 { RING_STRIDE } else { RING_BYTES };
        rustix::fs::fallocate(&*self.file, flags, offset_of(self.index), bytes as u64)
            .map_err(|error| RingError::Release { index: self.index, source: error.into() })
    }
}

fn offset_of(index: u32) -> u64 {
    RINGS_OFFSET as u64 + u64::from(index) * RING_STRIDE as u64
}

impl Deref for ChunkRef<'_> {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        self.ring.words(self.ring.tail as usize % RING_CHUNKS, self.bytes)
    }
}

impl Drop for ChunkRef<'_> {
    fn drop(&mut self) {
        self.ring.tail = self.ring.tail.wrapping_add(1);
        self.ring.held += 1;
        // Half the ring at once: a producer that waits is woken for a good stretch, not for one chunk.
        if self.ring.held >= RING_CHUNKS as u32 / 2 {
            self.ring.give_back();
        }
    }
}
