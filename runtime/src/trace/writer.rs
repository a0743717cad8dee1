//! Writes a trace.
//!
//! Takes what happens while the program runs, from any thread, and hands it in that order to a thread that compresses
//! and writes. After the first failure (a full disk, for instance) nothing more is written, so that what is there stays
//! good; `finish` tells.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use crossbeam::channel::{Receiver, Sender, TrySendError, bounded};
use serde::Serialize;
use zstd::bulk::Compressor;

use super::{
    format::{ENOUGH_WORDS, End, MAGIC, Ring, Start, TraceModule, VERSION, kind},
    words::Encoder,
};
use crate::{
    ring::{Module, RingReader},
    sites::{self, Batch, GeneratedCode},
};

/// Fast enough to keep up with a program; more would save little on what the encoder leaves.
const COMPRESSION_LEVEL: i32 = 1;
/// Blocks that wait for being written, at most.
const WAITING: usize = 16;

/// Writes a trace; compression has threads of its own.
pub struct TraceWriter {
    /// Until it is finished.
    thread: Mutex<Option<Thread>>,
    modules: Mutex<HashSet<Module>>,
    bytes: Arc<AtomicU64>,
}

/// The thread that writes, and the way to it.
struct Thread {
    queue: Sender<Block>,
    writing: JoinHandle<io::Result<()>>,
}

struct Block {
    kind: u32,
    ring: u32,
    words: usize,
    payload: Payload,
}

enum Payload {
    Ready(Vec<u8>),
    /// To be compressed.
    Raw(Vec<u8>),
}

impl TraceWriter {
    /// Starts a trace in an empty file.
    ///
    /// # Errors
    /// When the system gives no thread to write with.
    pub fn new(file: File, start: &Start) -> io::Result<Self> {
        let (queue, blocks) = bounded(WAITING);
        let bytes = Arc::new(AtomicU64::new(0));
        let output = Output { file, blocks: 0, bytes: Arc::clone(&bytes), error: None };
        let writing = std::thread::Builder::new().spawn(move || output.write_all(&blocks))?;
        let thread = Mutex::new(Some(Thread { queue, writing }));
        let writer = Self { thread, modules: Mutex::default(), bytes };
        writer.announce(kind::START, 0, start);
        Ok(writer)
    }

    fn queue(&self) -> Option<Sender<Block>> {
        lock(&self.thread).as_ref().map(|thread| thread.queue.clone())
    }

    /// Has a block written that says something.
    fn announce(&self, kind: u32, ring: u32, what: &impl Serialize) {
        self.send(Block { kind, ring, words: 0, payload: Payload::Ready(encoded(what)) });
    }

    fn send(&self, block: Block) {
        // The other end is gone only if its thread panicked, which `finish` passes on.
        let _ = self.queue().map(|queue| queue.send(block));
    }

    /// Announces a module unless it is known. To be called before words that name it are sent.
    pub fn add_module(&self, module: &Module) {
        if !lock(&self.modules).insert(module.clone()) {
            return;
        }
        let identity = sites::identity(&module.path).ok();
        let &Module { process, bias, low, high, .. } = module;
        let path = module.path.as_os_str().as_bytes().to_vec();
        self.announce(kind::MODULE, 0, &TraceModule { process, bias, low, high, path, identity });
    }

    /// Writes down sites of an emulated program. To be called before words that name them are sent.
    pub fn add_batch(&self, batch: &Batch) {
        self.announce(kind::SITES, 0, batch);
    }

    /// Writes down the names of code that a program has made. To be called when all its sites were.
    pub fn add_generated(&self, code: &GeneratedCode) {
        self.announce(kind::GENERATED, 0, code);
    }

    /// Announces a ring.
    #[must_use]
    pub fn add_ring(self: &Arc<Self>, reader: &RingReader) -> RingRecorder {
        let ring = Ring {
            process: reader.process(),
            tid: reader.tid(),
            kind: reader.kind(),
            parent: reader.parent(),
            ancestors: reader.ancestors().collect(),
        };
        self.ring(reader.index(), &ring)
    }

    /// Announces a ring of which this is known.
    #[must_use]
    pub fn ring(self: &Arc<Self>, number: u32, ring: &Ring) -> RingRecorder {
        self.announce(kind::RING, number, ring);
        RingRecorder {
            writer: Arc::clone(self),
            number,
            encoder: Encoder::default(),
            words: 0,
            encoded: Vec::new(),
            packer: None,
        }
    }

    /// Bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Ends the trace, and waits until all of it is written.
    ///
    /// # Errors
    /// The first thing that went wrong since it was begun.
    pub fn finish(&self, end: &End) -> io::Result<()> {
        self.announce(kind::END, 0, end);
        self.wait()
    }

    /// Waits until everything that was sent is written. The thread ends with the last sender, or at the end of the
    /// trace.
    fn wait(&self) -> io::Result<()> {
        let Some(Thread { queue, writing }) = lock(&self.thread).take() else { return Ok(()) };
        drop(queue);
        writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for TraceWriter {
    /// A trace that is given up is good as far as it goes.
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked while holding the lock has already failed the run.
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

fn encoded(what: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(what).expect("nothing in a trace is of a kind that postcard cannot write")
}

fn packer() -> Compressor<'static> {
    Compressor::new(COMPRESSION_LEVEL).expect("memory to compress in")
}

fn packed(packer: &mut Compressor<'_>, bytes: &[u8]) -> Vec<u8> {
    packer.compress(bytes).expect("compression to memory")
}

/// What the thread has.
struct Output {
    file: File,
    blocks: u32,
    bytes: Arc<AtomicU64>,
    error: Option<io::Error>,
}

impl Output {
    fn write_all(mut self, blocks: &Receiver<Block>) -> io::Result<()> {
        let mut header = Vec::from(MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
        self.write(&header);
        let mut packer = packer();
        for Block { kind, ring, words, payload } in blocks {
            match payload {
                Payload::Ready(bytes) => self.block(kind, ring, words, &bytes),
                Payload::Raw(bytes) => self.block(kind, ring, words, &packed(&mut packer, &bytes)),
            }
            if kind == kind::END {
                break;
            }
        }
        self.error.map_or_else(|| self.file.flush(), Err)
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_some() {
            return;
        }
        match self.file.write_all(bytes) {
            Ok(()) => _ = self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed),
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
pub struct RingRecorder {
    writer: Arc<TraceWriter>,
    number: u32,
    encoder: Encoder,
    /// What is encoded and not sent, and of how many words.
    encoded: Vec<u8>,
    words: usize,
    /// For blocks that are compressed here, because too many wait for it.
    packer: Option<Compressor<'static>>,
}

impl RingRecorder {
    /// `len_of` knows the length in words of the segment record that starts with a word, and has announced the module
    /// that the word belongs to before it answers. It is asked for the sites of events too.
    pub fn chunk(&mut self, words: &[u64], mut len_of: impl FnMut(u64) -> Option<usize>) {
        if words.is_empty() {
            return;
        }
        let event_len = |word: u64| (word >> 48 & 0xff) as usize;
        let len_of = |word: u64| {
            let site = word & ((1 << 48) - 1);
            let segment = if site == 0 { None } else { len_of(site) };
            if word >> 48 == 0 { segment } else { Some(event_len(word)) }
        };
        self.encoder.chunk(words, len_of, &mut self.encoded);
        self.words += words.len();
        if self.words >= ENOUGH_WORDS {
            self.send();
        }
    }

    /// Hands over what is encoded.
    pub(crate) fn send(&mut self) {
        if self.words == 0 {
            return;
        }
        let room = self.encoded.len();
        let encoded = std::mem::replace(&mut self.encoded, Vec::with_capacity(room));
        let words = std::mem::take(&mut self.words);
        let Some(queue) = self.writer.queue() else { return };
        let block = |payload| Block { kind: kind::WORDS, ring: self.number, words, payload };
        if let Err(TrySendError::Full(Block { payload: Payload::Raw(bytes), .. })) =
            queue.try_send(block(Payload::Raw(encoded)))
        {
            let bytes = packed(self.packer.get_or_insert_with(packer), &bytes);
            // As in `TraceWriter::send`.
            let _ = queue.send(block(Payload::Ready(bytes)));
        }
    }

    /// The ring's thread has ended and all it wrote is here; `forks` if it is known how often its process forked.
    pub fn finish(mut self, forks: Option<u32>) {
        self.send();
        self.writer.announce(kind::RING_END, self.number, &forks);
    }
}

impl Drop for RingRecorder {
    /// A ring that is given up is good as far as it goes.
    fn drop(&mut self) {
        self.send();
    }
}
