//! Writes a trace.
//!
//! Takes what happens while the program runs, from any thread. After the first failure (a full disk, for instance) nothing
//! more is written, so that what is there stays good; `finish` tells.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;

use super::{End, MAGIC, Ring, Start, TraceModule, VERSION, kind, words::Encoder};
use crate::{
    ring::{Module, RingReader},
    sites,
};

/// Fast enough to keep up with a program; more would save little on what the encoder leaves.
const COMPRESSION_LEVEL: i32 = 1;

#[derive(Debug)]
pub struct TraceWriter {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: File,
    blocks: u32,
    modules: Vec<Module>,
    bytes: u64,
    error: Option<io::Error>,
}

impl TraceWriter {
    /// Starts a trace in an empty file.
    #[must_use]
    pub fn new(file: File, start: &Start) -> Self {
        let inner = Inner { file, blocks: 0, modules: Vec::new(), bytes: 0, error: None };
        let writer = Self { inner: Mutex::new(inner) };
        let mut header = Vec::from(MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
        writer.lock().write(&header);
        writer.block(kind::START, 0, 0, &encoded(start));
        writer
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A worker that panicked while holding the lock has already failed the run.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn block(&self, kind: u32, ring: u32, words: usize, payload: &[u8]) {
        self.lock().block(kind, ring, words, payload);
    }

    /// Announces modules that are new; those of a list that only grows.
    pub fn add_modules(&self, modules: &[Module]) {
        let mut inner = self.lock();
        for module in modules {
            if !inner.modules.contains(module) {
                inner.modules.push(module.clone());
                let identity = sites::identity(&module.path).ok();
                let &Module { pid, bias, low, high, .. } = module;
                let path = module.path.as_os_str().as_bytes().to_vec();
                inner.block(kind::MODULE, 0, 0, &encoded(&TraceModule { pid, bias, low, high, path, identity }));
            }
        }
    }

    /// Announces a ring.
    #[must_use]
    pub fn add_ring(self: &Arc<Self>, reader: &RingReader) -> RingRecorder {
        let ring = Ring {
            pid: reader.pid(),
            tid: reader.tid(),
            kind: reader.kind(),
            parent: reader.parent(),
            module_pids: reader.module_pids().collect(),
        };
        self.ring(reader.index(), &ring)
    }

    pub(super) fn ring(self: &Arc<Self>, number: u32, ring: &Ring) -> RingRecorder {
        self.block(kind::RING, number, 0, &encoded(ring));
        RingRecorder { writer: Arc::clone(self), number, encoder: Encoder::default() }
    }

    /// Bytes written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The first thing that went wrong since it was begun.
    pub fn finish(&self, end: &End) -> io::Result<()> {
        self.block(kind::END, 0, 0, &encoded(end));
        let mut inner = self.lock();
        match inner.error.take() {
            Some(error) => Err(error),
            None => inner.file.flush(),
        }
    }
}

fn encoded(what: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(what).expect("nothing in a trace is of a kind that postcard cannot write")
}

impl Inner {
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_some() {
            return;
        }
        match self.file.write_all(bytes) {
            Ok(()) => self.bytes += bytes.len() as u64,
            Err(error) => self.error = Some(error),
        }
    }

    fn block(&mut self, kind: u32, ring: u32, words: usize, payload: &[u8]) {
        let fields = [kind, self.blocks, ring, words as u32, payload.len() as u32, crc32fast::hash(payload)];
        self.blocks += 1;
        let mut bytes: Vec<u8> = fields.into_iter().flat_map(u32::to_le_bytes).collect();
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes.extend_from_slice(payload);
        // One call, so that a cut is a block's most of the time.
        self.write(&bytes);
    }
}

/// Writes down one ring.
#[derive(Debug)]
pub struct RingRecorder {
    writer: Arc<TraceWriter>,
    number: u32,
    encoder: Encoder,
}

impl RingRecorder {
    /// `len_of` knows the length in words of the segment record that starts with a word, and has announced the module that
    /// the word belongs to before it answers.
    pub fn chunk(&mut self, words: &[u64], mut len_of: impl FnMut(u64) -> Option<usize>) {
        if words.is_empty() {
            return;
        }
        let event_len = |word: u64| (word >> 48 & 0xff) as usize;
        let len_of = |word: u64| if word >> 48 == 0 { len_of(word) } else { Some(event_len(word)) };
        let bytes = self.encoder.chunk(words, len_of);
        let payload = zstd::bulk::compress(&bytes, COMPRESSION_LEVEL).expect("compression to memory");
        self.writer.block(kind::WORDS, self.number, words.len(), &payload);
    }

    #[must_use]
    pub fn writer(&self) -> &Arc<TraceWriter> {
        &self.writer
    }

    /// The ring's thread has ended and all it wrote is here.
    pub fn finish(self) {
        self.writer.block(kind::RING_END, self.number, 0, &[]);
    }
}
