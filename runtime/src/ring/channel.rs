//! The memory file: created, offered to the program, and asked for rings and modules.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use memmap2::{MmapOptions, MmapRaw};

use super::{
    announcements::Announcements,
    broker::Broker,
    counted::{Counters, Unit},
    error::RingError,
    futex::Futex,
    header::{Ticket, header},
    reader::RingReader,
    sites::SiteAreas,
};
use crate::abi::{
    ABI_VERSION, CHANNEL_BYTES, CHANNEL_ENV, CHANNEL_MAGIC, ChannelHeader, INHERITED_FROM, MAX_RINGS, NOBODY,
    RINGS_OFFSET, UNIT_SLOTS, UNITS_OFFSET, UnitEntry, loss,
    sample::{STAGES, Stage},
};
use dmdprof_abi::protocol::{self, Woken, Word};

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

/// Something of which there are no records, or not all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// What has no records.
    pub what: &'static str,
    /// How often that happened.
    pub times: u32,
}

/// What each kind of [`loss`] is, one and several.
const LOSSES: [&str; loss::KINDS] = [
    "threads, signal handlers or processes had no ring, because there was no room or the system refused the memory",
    "programs or libraries could not be told from others, or their files could not be announced",
    "processes were forked past the C library",
    "threads ended their records because a task made with clone() shares their thread-local storage",
    "processes gave up, because dmdprof seemed to be gone",
    "objects of programs that are sampled had no counters, because there are too many",
];

/// What a program is that was started and not emulated.
const NOT_EMULATED: &str = "programs were started that the emulator does not run, and could not be named";

impl Channel {
    /// A new channel with this process as consumer; `mode` is one of [`crate::abi::channel_mode`].
    pub fn create(mode: u32) -> Result<Self, RingError> {
        let fd = rustix::fs::memfd_create("dmdprof", rustix::fs::MemfdFlags::CLOEXEC)
            .map_err(|error| RingError::Create(error.into()))?;
        // Far from the numbers that programs expect to get, as they inherit it.
        let file = File::from(rustix::io::fcntl_dupfd_cloexec(&fd, INHERITED_FROM as RawFd).unwrap_or(fd));
        file.set_len(CHANNEL_BYTES).map_err(|source| RingError::Grow { bytes: CHANNEL_BYTES, source })?;
        let map = MmapOptions::new()
            .len(RINGS_OFFSET)
            .map_raw(&file)
            .map_err(|source| RingError::Map { what: "the header", source })?;
        let mut channel = Self { file: Arc::new(file), map, taken: Mutex::default(), outputs: None };
        let header = channel.unshared_header();
        header.magic = CHANNEL_MAGIC;
        header.abi = u32::from(ABI_VERSION);
        header.mode = mode;
        header.consumer_pid = AtomicU32::new(std::process::id());
        Ok(channel)
    }

    /// The header before programs start.
    fn unshared_header(&mut self) -> &mut ChannelHeader {
        // SAFETY: the mapping is long enough, aligned to a page, and not shared with anybody yet.
        unsafe { &mut *self.map.as_mut_ptr().cast::<ChannelHeader>() }
    }

    /// Has the system's random numbers be the same in each run. For before programs start.
    pub fn fix_random(&mut self) {
        self.unshared_header().fixed_random = 1;
    }

    /// Has programs that can be sampled write down what some analyses need of them: samples with a seed, or everything
    /// for a while; with `contexts` also where functions begin and end. For before programs start.
    pub fn draw_samples(&mut self, stages: [Stage; STAGES], seed: u64, contexts: bool) {
        let header = self.unshared_header();
        header.stages = stages;
        header.sample_seed = seed;
        header.contexts = contexts.into();
    }

    /// Objects that have counters so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let used = header(&self.map).units_used.load(Acquire) as usize;
        let unit = |slot: usize| {
            // SAFETY: within the mapping and aligned.
            let entry = unsafe { self.map.as_ptr().add(UNITS_OFFSET + slot * size_of::<UnitEntry>()) };
            // SAFETY: as above; once there is a process (acquire), nothing of it changes.
            let UnitEntry { process, unit, first, count, .. } = unsafe { &*entry.cast::<UnitEntry>() };
            let process = process.load(Acquire);
            (process != 0).then(|| Unit { process, name: *unit, first: first / 8, count: *count })
        };
        Counters((0..used.min(UNIT_SLOTS)).filter_map(unit).collect())
    }

    /// The sites of emulated programs.
    #[must_use]
    pub fn sites(&self) -> SiteAreas {
        SiteAreas::new(Arc::clone(&self.file))
    }

    /// How often programs asked the system for random numbers.
    #[must_use]
    pub fn random_requests(&self) -> u32 {
        header(&self.map).random_requests.load(Relaxed)
    }

    /// The first system call of an emulated program that has an effect which lasts.
    #[must_use]
    pub fn lasting(&self) -> Option<u32> {
        header(&self.map).lasting.load(Relaxed).checked_sub(1)
    }

    /// Has programs write the bytes of each declared output to an empty regular file, in records of length (8 bytes,
    /// low first) and bytes. For before they start.
    pub fn save_outputs(&mut self, to: File) {
        let path = format!("/proc/{}/fd/{}\0", std::process::id(), to.as_raw_fd());
        self.unshared_header().outputs[..path.len()].copy_from_slice(path.as_bytes());
        self.outputs = Some(to);
    }

    /// After the programs' end: leaves the whole records of declared outputs in the file. Gives the number of outputs
    /// that could not be saved.
    pub fn finish_outputs(&self) -> io::Result<u32> {
        if let Some(file) = &self.outputs {
            file.set_len(header(&self.map).outputs_end.load(Acquire))?;
        }
        Ok(header(&self.map).outputs_lost.load(Relaxed))
    }

    /// Gives the channel to processes of the run that the environment does not lead to it, as long as the broker lives.
    ///
    /// # Errors
    /// When the system gives no socket or no thread.
    pub fn broker(&self) -> io::Result<Broker> {
        Broker::start(Arc::clone(&self.file))
    }

    /// Environment variable that makes a program attach: name and value.
    #[must_use]
    pub fn env(&self) -> (&'static str, String) {
        (CHANNEL_ENV, link(std::process::id(), self.file.as_raw_fd()))
    }

    /// The descriptor that programs must inherit, for those that cannot open the path in [`Self::env`]; `None` = the
    /// limit on descriptors leaves no number far from those that programs use.
    #[must_use]
    pub fn inherited(&self) -> Option<RawFd> {
        Some(self.file.as_raw_fd()).filter(|fd| *fd >= INHERITED_FROM as RawFd)
    }

    /// Processes that have found the channel.
    #[must_use]
    pub fn processes(&self) -> u32 {
        header(&self.map).processes.load(Relaxed)
    }

    /// Rings `0..rings_claimed()` exist or will in a moment.
    #[must_use]
    pub fn rings_claimed(&self) -> u32 {
        header(&self.map).rings_claimed.load(Acquire).min(MAX_RINGS as u32)
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
        Ticket(header(&self.map).doorbell.load_acquire())
    }

    /// Sleeps until a chunk is published (by any thread, after `ticket`), [`Self::wake`] is called, or the time is
    /// over. True if the bell has rung. Several threads may wait.
    pub fn wait(&self, ticket: Ticket, timeout: Duration) -> bool {
        let header = header(&self.map);
        let woken = protocol::sleep(&Futex { timeout }, &header.doorbell, &header.consumer_sleeps, ticket.0);
        woken == Woken::Again && self.ticket() != ticket
    }

    /// Nobody reads the rings any more: programs that wait for space go on without writing records.
    pub fn abandon(&self) {
        header(&self.map).consumer_pid.store(NOBODY, Relaxed);
    }

    /// Wakes all that [`Self::wait`]: for the consumer's own news, such as the program's end.
    pub fn wake(&self) {
        let header = header(&self.map);
        protocol::bump(&Futex { timeout: Duration::ZERO }, &header.doorbell, &header.consumer_sleeps);
    }

    /// What could not be recorded.
    #[must_use]
    pub fn losses(&self) -> Vec<Loss> {
        let header = header(&self.map);
        let counts = header.losses.iter().chain([&header.not_emulated]).map(|count| count.load(Relaxed));
        let named = LOSSES.into_iter().chain([NOT_EMULATED]).zip(counts);
        named.map(|(what, times)| Loss { what, times }).filter(|loss| loss.times > 0).collect()
    }

    /// Whether some producer cannot wake this process.
    #[must_use]
    pub fn has_silent_producers(&self) -> bool {
        header(&self.map).silent_producers.load(Relaxed) > 0
    }

    /// Has producers know that this process lives. To be called several times a second.
    pub fn beat(&self) {
        header(&self.map).consumer_beat.add(1);
    }

    /// Modules that processes announce.
    #[must_use]
    pub fn announcements(&self) -> Announcements<'_> {
        Announcements { map: &self.map }
    }

    /// Bytes of memory that the channel holds now.
    pub fn resident_bytes(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        Ok(self.file.metadata()?.blocks() * 512)
    }
}

/// The kernel's link to an open file of a process. As long for one as for another, since what is in the environment
/// moves the program's stack: slashes in a row count as one.
fn link(pid: u32, file: RawFd) -> String {
    format!("/proc/{pid:/>10}/fd/{file:/>10}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_are_equally_long_and_lead_there() {
        assert_eq!(link(1, 3).len(), link(u32::MAX, i32::MAX).len());
        let file = tempfile::tempfile().expect("a file");
        file.set_len(77).expect("long enough");
        let found = std::fs::metadata(link(std::process::id(), file.as_raw_fd())).expect("it is there");
        assert_eq!(found.len(), 77);
    }
}
