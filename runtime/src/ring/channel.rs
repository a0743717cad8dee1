//! The memory file: created, offered to the program, and asked for rings and modules.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::io::Read;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use memmap2::{MmapOptions, MmapRaw};

use super::{
    broker::Broker,
    counted::{Counters, Unit},
    error::RingError,
    futex::Futex,
    reader::RingReader,
    sites::SiteAreas,
};
use crate::abi::{
    ABI_VERSION, CHANNEL_BYTES, CHANNEL_ENV, CHANNEL_MAGIC, ChannelHeader, INHERITED_FROM, MAX_RINGS, MODULE_ENTRY,
    MODULE_SLOTS, MODULES_OFFSET, ModuleEntry, NOBODY, PRINT_BYTES, RINGS_OFFSET, UNIT_SLOTS, UNITS_OFFSET, UnitEntry,
    entry_state, loss, print_of,
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

/// State of the doorbell at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u32);

/// An instrumented program or library in a process's memory.
///
/// A forked process has its ancestors' modules too: look for the ring's [`RingReader::process`] first, then for its
/// [`RingReader::ancestors`] in their order. No two modules of one process ever overlap, also when one was unloaded
/// before the other came: the hooks see to that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    /// The process's number in the run.
    pub process: u32,
    /// Run-time address minus link-time address.
    pub bias: u64,
    /// Mapped range.
    pub low: u64,
    /// Behind its last address.
    pub high: u64,
    /// As the process sees it.
    pub path: PathBuf,
}

/// A module that a process has just loaded. The process waits until this is dropped, so that the module's file is still
/// what it was, whatever happens to it afterwards.
#[derive(Debug)]
pub struct Announced<'a> {
    /// The module.
    pub module: Module,
    /// The system's number of the process.
    pub pid: u32,
    /// [`print_of`] the file's first bytes.
    pub print: u64,
    state: &'a AtomicU32,
}

impl Announced<'_> {
    /// A path by which this process can open the module's file: by its name, through the other process's root, or as
    /// that process has it mapped. `None` if the file cannot be had any more.
    #[must_use]
    pub fn file(&self) -> Option<PathBuf> {
        let Module { low, path, .. } = &self.module;
        let of_process = |pid: u32| {
            let proc = PathBuf::from(format!("/proc/{pid}"));
            let inside = path.strip_prefix("/").map(|path| proc.join("root").join(path)).ok();
            [inside, Some(proc.join("exe")), mapped_file(&proc, *low)].into_iter().flatten()
        };
        let fits = |path: &PathBuf| print(path).is_some_and(|print| print == self.print);
        // In another process namespace it has another number there than here.
        let others = || called(self.pid).flat_map(of_process).find(fits);
        std::iter::once(path.clone()).chain(of_process(self.pid)).find(fits).or_else(others)
    }
}

/// The numbers here of processes that have this number in a process namespace of their own.
fn called(pid: u32) -> impl Iterator<Item = u32> {
    let is_called = move |process: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let mut numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or("").split_whitespace();
        // The first is the number here.
        numbers.next().is_some() && numbers.next_back().is_some_and(|own| own.parse() == Ok(pid))
    };
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).filter(is_called)
}

/// The kernel's link to the file that is mapped at an address.
fn mapped_file(proc: &Path, low: u64) -> Option<PathBuf> {
    let directory = proc.join("map_files");
    let start = format!("{low:x}-");
    let found = std::fs::read_dir(&directory)
        .ok()?
        .flatten()
        .find(|link| link.file_name().to_str().is_some_and(|name| name.starts_with(&start)))?;
    Some(found.path())
}

fn print(path: &Path) -> Option<u64> {
    let mut bytes = [0u8; PRINT_BYTES];
    let mut file = File::open(path).ok()?;
    let mut read = 0;
    while let Some(room) = bytes.get_mut(read..).filter(|room| !room.is_empty()) {
        match file.read(room).ok()? {
            0 => break,
            n => read += n,
        }
    }
    Some(print_of(bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word))))
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.state.store_release(entry_state::FREE);
        protocol::System::wake(&Futex { timeout: Duration::ZERO }, self.state);
    }
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

    /// Has programs that can be sampled write down what some analyses need of them: samples with a seed, or everything
    /// for a while; with `contexts` also where functions begin and end. For before programs start.
    pub fn draw_samples(&mut self, stages: [Stage; STAGES], seed: u64, contexts: bool) {
        let header = self.map.as_mut_ptr().cast::<ChannelHeader>();
        // SAFETY: the mapping is long enough and aligned, and not shared with anybody yet.
        unsafe {
            (*header).stages = stages;
            (*header).sample_seed = seed;
            (*header).contexts = contexts.into();
        }
    }

    /// Objects that have counters so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let used = self.header().units_used.load(Acquire) as usize;
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
        self.header().random_requests.load(Relaxed)
    }

    /// The first system call of an emulated program that has an effect which lasts.
    #[must_use]
    pub fn lasting(&self) -> Option<u32> {
        self.header().lasting.load(Relaxed).checked_sub(1)
    }

    /// Has programs write the bytes of each declared output to an empty regular file, in records of length (8 bytes,
    /// low first) and bytes. For before they start.
    pub fn save_outputs(&mut self, to: File) {
        let path = format!("/proc/{}/fd/{}\0", std::process::id(), to.as_raw_fd());
        let header = self.map.as_mut_ptr().cast::<ChannelHeader>();
        // SAFETY: the mapping is long enough and aligned, and not shared with anybody yet.
        unsafe { (&mut (*header).outputs)[..path.len()].copy_from_slice(path.as_bytes()) };
        self.outputs = Some(to);
    }

    /// After the programs' end: leaves the whole records of declared outputs in the file. Gives the number of outputs
    /// that could not be saved.
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
        self.header().processes.load(Relaxed)
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

    /// Sleeps until a chunk is published (by any thread, after `ticket`), [`Self::wake`] is called, or the time is
    /// over. True if the bell has rung. Several threads may wait.
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

    /// How much could not be recorded.
    #[must_use]
    pub fn refused(&self) -> u32 {
        let header = self.header();
        let of_hooks = header.losses.iter().map(|count| count.load(Relaxed)).fold(0, u32::saturating_add);
        of_hooks.saturating_add(header.not_emulated.load(Relaxed))
    }

    /// What could not be recorded.
    #[must_use]
    pub fn losses(&self) -> Vec<Loss> {
        let header = self.header();
        let counts = header.losses.iter().chain([&header.not_emulated]).map(|count| count.load(Relaxed));
        let named = LOSSES.into_iter().chain([NOT_EMULATED]).zip(counts);
        named.map(|(what, times)| Loss { what, times }).filter(|loss| loss.times > 0).collect()
    }

    /// Whether some producer cannot wake this process.
    #[must_use]
    pub fn has_silent_producers(&self) -> bool {
        self.header().silent_producers.load(Relaxed) > 0
    }

    /// Has producers know that this process lives. To be called several times a second.
    pub fn beat(&self) {
        self.header().consumer_beat.add(1);
    }

    /// Modules that processes have announced and that nobody has taken yet. Only one thread may ask.
    #[must_use]
    pub fn announced(&self) -> Vec<Announced<'_>> {
        let used = self.header().modules_used.load(Acquire) as usize;
        (0..used.min(MODULE_SLOTS)).filter_map(|slot| self.entry(slot)).collect()
    }

    fn entry(&self, slot: usize) -> Option<Announced<'_>> {
        // SAFETY: within the mapping, aligned to a page.
        let entry = unsafe { self.map.as_ptr().add(MODULES_OFFSET + slot * MODULE_ENTRY) }.cast::<ModuleEntry>();
        // SAFETY: as above; once written (acquire), the rest does not change until it is freed.
        unsafe {
            let state = &(*entry).state;
            if state.load(Acquire) != entry_state::WRITTEN {
                return None;
            }
            let path = &(*entry).path;
            let length = ((*entry).path_len as usize).min(path.len());
            let module = Module {
                process: (*entry).process,
                bias: (*entry).bias,
                low: (*entry).low,
                high: (*entry).high,
                path: OsString::from_vec(path[..length].to_vec()).into(),
            };
            Some(Announced { module, pid: (*entry).pid, print: (*entry).print, state })
        }
    }

    /// Module announcements so far. Take it before looking for them, and give it to [`Self::wait_for_modules`].
    #[must_use]
    pub fn module_ticket(&self) -> Ticket {
        Ticket(self.header().modules_written.load_acquire())
    }

    /// Sleeps until a module is announced after `ticket`, or the time is over.
    pub fn wait_for_modules(&self, ticket: Ticket, timeout: Duration) {
        protocol::System::wait(&Futex { timeout }, &self.header().modules_written, ticket.0);
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
