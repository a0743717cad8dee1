//! The memory file: created, offered to the program, and asked for rings and modules.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use memmap2::{MmapOptions, MmapRaw};

use super::protocol::{self, Woken, Word};
use super::{Futex, RingError, RingReader};
use crate::abi::{
    ABI_VERSION, CHANNEL_BYTES, CHANNEL_ENV, CHANNEL_MAGIC, ChannelHeader, MAX_MODULES, MAX_RINGS, MODULE_ENTRY,
    MODULES_OFFSET, ModuleEntry, NOBODY, RINGS_OFFSET,
};

/// The shared memory of one run. Dropping it ends the consumer's side; programs that still run keep their mappings.
#[derive(Debug)]
pub struct Channel {
    file: Arc<File>,
    /// Header and modules.
    map: MmapRaw,
    /// One bit per ring that has its reader.
    taken: Mutex<Vec<u64>>,
    /// Where programs save their declared outputs; they open it through this descriptor.
    outputs: Option<File>,
}

/// State of the doorbell at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u32);

/// An instrumented program or library in a process's memory.
///
/// A forked process has its ancestors' modules too: look for the ring's [`RingReader::pid`] first, then for its
/// [`RingReader::module_pids`] in their order. Of two modules of one process that overlap (one was closed, another opened
/// in its place) the later one in the list is the later one in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    pub pid: u32,
    /// Run-time address minus link-time address.
    pub bias: u64,
    /// Mapped range.
    pub low: u64,
    pub high: u64,
    pub path: PathBuf,
}

impl Channel {
    /// A new channel with this process as consumer; `mode` is one of [`crate::abi::channel_mode`].
    pub fn create(mode: u32) -> Result<Self, RingError> {
        let fd = rustix::fs::memfd_create("dmdprof", rustix::fs::MemfdFlags::CLOEXEC)
            .map_err(|error| RingError::Create(error.into()))?;
        let file = File::from(fd);
        file.set_len(CHANNEL_BYTES).map_err(|source| RingError::Grow { bytes: CHANNEL_BYTES, source })?;
        let map = MmapOptions::new()
            .len(RINGS_OFFSET)
            .map_raw(&file)
            .map_err(|source| RingError::Map { what: "the header", source })?;
        let header = map.as_mut_ptr().cast::<ChannelHeader>();
        // SAFETY: the mapping is long enough, aligned to a page, and not shared with anybody yet.
        unsafe {
            (*header).magic = CHANNEL_MAGIC;
            (*header).abi = u32::from(ABI_VERSION);
            (*header).mode = mode;
            (*header).consumer_pid = AtomicU32::new(std::process::id());
        }
        Ok(Self { file: Arc::new(file), map, taken: Mutex::default(), outputs: None })
    }

    /// Has the system's random numbers be the same in each run. For before programs start.
    pub fn fix_random(&mut self) {
        let header = self.map.as_mut_ptr().cast::<ChannelHeader>();
        // SAFETY: the mapping is long enough and aligned, and not shared with anybody yet.
        unsafe { (*header).fixed_random = 1 };
    }

    /// How often programs asked the system for random numbers.
    #[must_use]
    pub fn random_requests(&self) -> u32 {
        self.header().random_requests.load(Relaxed)
    }

    /// Has programs write the bytes of each declared output to an empty regular file, in records of length (8 bytes, low first) and
    /// bytes. For before they start.
    pub fn save_outputs(&mut self, to: File) {
        let path = format!("/proc/{}/fd/{}\0", std::process::id(), to.as_raw_fd());
        let header = self.map.as_mut_ptr().cast::<ChannelHeader>();
        // SAFETY: the mapping is long enough and aligned, and not shared with anybody yet.
        unsafe { (&mut (*header).outputs)[..path.len()].copy_from_slice(path.as_bytes()) };
        self.outputs = Some(to);
    }

    /// After the programs' end: leaves the whole records of declared outputs in the file. Gives the number of outputs that
    /// could not be saved.
    pub fn finish_outputs(&self) -> io::Result<u32> {
        if let Some(file) = &self.outputs {
            file.set_len(self.header().outputs_end.load(Acquire))?;
        }
        Ok(self.header().outputs_lost.load(Relaxed))
    }

    fn header(&self) -> &ChannelHeader {
        // SAFETY: the mapping is long enough and aligned; what changes are atomics.
        unsafe { &*self.map.as_ptr().cast::<ChannelHeader>() }
    }

    /// Environment variable that makes a program attach: name and value.
    #[must_use]
    pub fn env(&self) -> (&'static str, String) {
        (CHANNEL_ENV, format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }

    /// Rings `0..rings_claimed()` exist or will in a moment.
    #[must_use]
    pub fn rings_claimed(&self) -> u32 {
        self.header().rings_claimed.load(Acquire).min(MAX_RINGS as u32)
    }

    /// The reader of ring `index`; `None` while the program is still filling in its header (it may also die doing so).
    pub fn ring(&self, index: u32) -> Result<Option<RingReader>, RingError> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let (word, bit) = (index as usize / 64, 1u64 << (index % 64));
        if taken.len() <= word {
            taken.resize(word + 1, 0);
        }
        if taken[word] & bit != 0 {
            return Err(RingError::Taken(index));
        }
        let reader = RingReader::open(&self.file, index)?;
        if reader.is_some() {
            taken[word] |= bit;
        }
        Ok(reader)
    }

    /// The doorbell now. Take it before looking for chunks, and give it to [`Self::wait`] after none was found.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        // Acquire: chunks published before this ring of the bell are seen by the look that follows.
        Ticket(self.header().doorbell.load_acquire())
    }

    /// Sleeps until a chunk is published (by any thread, after `ticket`), [`Self::wake`] is called, or the time is over.
    /// True if the bell has rung. Several threads may wait.
    pub fn wait(&self, ticket: Ticket, timeout: Duration) -> bool {
        let header = self.header();
        let woken = protocol::sleep(&Futex { timeout }, &header.doorbell, &header.consumer_sleeps, ticket.0);
        woken == Woken::Again && self.ticket() != ticket
    }

    /// Nobody reads the rings any more: programs that wait for space go on without writing records.
    pub fn abandon(&self) {
        self.header().consumer_pid.store(NOBODY, Relaxed);
    }

    /// Wakes all that [`Self::wait`]: for the consumer's own news, such as the program's end.
    pub fn wake(&self) {
        let header = self.header();
        protocol::bump(&Futex { timeout: Duration::ZERO }, &header.doorbell, &header.consumer_sleeps);
    }

    /// Rings and modules that could not be had: losses that a report must name.
    #[must_use]
    pub fn refused(&self) -> u32 {
        self.header().refused.load(Relaxed)
    }

    /// Modules registered so far, in order.
    #[must_use]
    pub fn modules(&self) -> Vec<Module> {
        let claimed = self.header().modules_claimed.load(Acquire) as usize;
        (0..claimed.min(MAX_MODULES)).filter_map(|index| self.module(index)).collect()
    }

    fn module(&self, index: usize) -> Option<Module> {
        // SAFETY: within the mapping, aligned to a page.
        let entry = unsafe { self.map.as_ptr().add(MODULES_OFFSET + index * MODULE_ENTRY) }.cast::<ModuleEntry>();
        // SAFETY: as above; once ready (acquire), the rest does not change any more.
        unsafe {
            if (*entry).ready.load(Acquire) == 0 {
                return None;
            }
            let path = &(*entry).path;
            let length = ((*entry).path_len as usize).min(path.len());
            Some(Module {
                pid: (*entry).pid,
                bias: (*entry).bias,
                low: (*entry).low,
                high: (*entry).high,
                path: OsString::from_vec(path[..length].to_vec()).into(),
            })
        }
    }

    /// Bytes of memory that the channel holds now.
    pub fn resident_bytes(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        Ok(self.file.metadata()?.blocks() * 512)
    }
}
