//! Tells the consumer where the module (program or library) that contains an address is mapped.
//!
//! Everything comes from `/proc/self/maps` and the module's own ELF header, not from `dl_iterate_phdr`: a static
//! program need not contain that function, its names may be relative to a directory that the program leaves, and
//! constructors run in the middle of the dynamic linker's work. Where there is no `/proc`, that function is asked all
//! the same ([`loaded`]).

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU64, AtomicUsize};

use crate::abi::{
    ChannelHeader, MODULE_ENTRY, MODULE_SLOTS, MODULES_OFFSET, ModuleEntry, PAGE, PRINT_BYTES, channel_mode,
    entry_state, loss,
};
use crate::loaded::{self, Loaded};
use crate::{abi, attach, channel, process, sys};

/// A module that was registered already. Its constructors run once per object file, so this is asked often.
struct Registered {
    /// 0 = none.
    low: AtomicU64,
    high: AtomicU64,
    /// Of the module's first bytes (ELF header, program headers, build identity): another module may come to lie at the
    /// same place.
    print: AtomicU64,
}

const MOST_KNOWN: usize = 1023;
static KNOWN: [Registered; MOST_KNOWN] =
    [const { Registered { low: AtomicU64::new(0), high: AtomicU64::new(0), print: AtomicU64::new(0) } }; MOST_KNOWN];
/// Those behind it were never used.
static KNOWN_END: AtomicUsize = AtomicUsize::new(0);

fn registered() -> impl Iterator<Item = &'static Registered> {
    KNOWN.iter().take(KNOWN_END.load(Relaxed)).filter(|known| known.low.load(Relaxed) != 0)
}

pub extern "C" fn register(address: usize) {
    let Some(channel) = attach::get() else { return };
    if is_known(address as u64) {
        return;
    }
    let mut line = [0u8; LINE];
    let Some(found) = find(address as u64, &mut line).or_else(|| loaded::find(address as u64, &mut line)) else {
        channel::lost(channel, loss::MODULE);
        return;
    };
    process::modules_registered();
    let print = print_of(found.low);
    // A module that was unloaded past us: records of the two cannot be told apart.
    for old in registered().filter(|old| old.low.load(Relaxed) < found.high && found.low < old.high.load(Relaxed)) {
        old.low.store(0, Relaxed);
        channel::lost(channel, loss::MODULE);
    }
    remember(&found, print);
    if channel.mode != channel_mode::DISCARD {
        let path = line.get(found.path_start..found.path_end).unwrap_or_default();
        announce(channel, &found, print, path);
    }
}

fn remember(found: &Loaded, print: u64) {
    let free = KNOWN.iter().position(|known| {
        // The end comes last, so that whoever finds the start finds the rest.
        known.low.load(Relaxed) == 0 && known.low.compare_exchange(0, found.low, AcqRel, Relaxed).is_ok()
    });
    if let Some((index, slot)) = free.and_then(|index| Some((index, KNOWN.get(index)?))) {
        slot.print.store(print, Relaxed);
        slot.high.store(found.high, Release);
        KNOWN_END.fetch_max(index + 1, Relaxed);
    }
}

/// Tells the consumer, and waits until it has read the file: after that, the file may change or vanish.
fn announce(channel: &ChannelHeader, found: &Loaded, print: u64, path: &[u8]) {
    // A handler that leaves by longjmp would leave the entry taken.
    let mask = sys::block_signals();
    let consumer_lives = || channel::consumer_lives(channel);
    let entry = loop {
        match free_entry(channel) {
            Some(entry) => break Some(entry),
            None if !consumer_lives() => break None,
            None => sys::yield_now(),
        }
    };
    let Some(entry) = entry else {
        channel::lost(channel, loss::MODULE);
        return sys::restore_signals(mask);
    };
    // SAFETY: inside the mapped channel, and taken by this call.
    let state = unsafe {
        (*entry).pid = sys::pid();
        (*entry).process = process::number();
        (*entry).bias = found.bias;
        (*entry).low = found.low;
        (*entry).high = found.high;
        (*entry).print = print;
        let room = size_of_val(&(*entry).path);
        let to = &raw mut (*entry).path as *mut u8;
        let mut length = 0;
        for &byte in path.iter().take(room) {
            to.add(length).write(byte);
            length += 1;
        }
        (*entry).path_len = length as u32;
        &(*entry).state
    };
    state.store(entry_state::WRITTEN, Release);
    channel.modules_written.fetch_add(1, Release);
    sys::futex_wake(channel.modules_written.as_ptr());
    while state.load(Acquire) == entry_state::WRITTEN {
        let woken = sys::futex_wait(state.as_ptr(), entry_state::WRITTEN);
        if woken == sys::ETIMEDOUT && !consumer_lives() {
            break;
        }
    }
    sys::restore_signals(mask);
}

/// Takes a free entry of the channel.
fn free_entry(channel: &ChannelHeader) -> Option<*mut ModuleEntry> {
    let base = channel as *const ChannelHeader as usize + MODULES_OFFSET;
    (0..MODULE_SLOTS).find_map(|slot| {
        let entry = (base + slot * MODULE_ENTRY) as *mut ModuleEntry;
        // SAFETY: inside the mapped channel; the state is only ever changed as an atomic.
        let state = unsafe { &(*entry).state };
        state.compare_exchange(entry_state::FREE, entry_state::TAKEN, Acquire, Relaxed).ok()?;
        channel.modules_used.fetch_max(slot as u32 + 1, Relaxed);
        Some(entry)
    })
}

fn is_known(address: u64) -> bool {
    registered().any(|known| {
        let low = known.low.load(Relaxed);
        low <= address
            && address < known.high.load(Relaxed)
            && sys::is_mapped(low)
            && print_of(low) == known.print.load(Relaxed)
    })
}

/// Forgets the modules that are not mapped any more, and gives the range of each.
pub fn retire_unmapped(mut gone: impl FnMut(u64, u64)) {
    for known in registered() {
        let (low, high) = (known.low.load(Relaxed), known.high.load(Acquire));
        let is_gone = high > low && !sys::is_mapped(low);
        // Another thread may have seen the same.
        if is_gone && known.low.compare_exchange(low, 0, AcqRel, Relaxed).is_ok() {
            gone(low, high);
        }
    }
}

fn print_of(low: u64) -> u64 {
    let words = low as *const u64;
    // SAFETY: inside a mapped module's first page.
    abi::print_of((0..PRINT_BYTES / 8).map(|i| unsafe { words.add(i).read() }))
}

/// The kernel's longest path and what stands before it.
const LINE: usize = 4096 + 128;

/// `start-end perms offset device inode   path`.
struct Mapping {
    start: u64,
    end: u64,
    readable: bool,
    offset: u64,
    /// Device and inode, folded.
    file: u64,
    path_start: usize,
}

fn parse(line: &[u8]) -> Mapping {
    let mut at = 0;
    let mut number = |base: u64| {
        let mut value = 0u64;
        while let Some(&byte) = line.get(at) {
            at += 1;
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                _ => break,
            };
            value = value.wrapping_mul(base).wrapping_add(u64::from(digit));
        }
        value
    };
    let start = number(16);
    let end = number(16);
    // "rwxp " is no number: its characters end one each, except the hexadecimal digits, of which it has none.
    for _ in 0..4 {
        number(16);
    }
    number(16);
    let offset = number(16);
    let major = number(16);
    let minor = number(16);
    let inode = number(10);
    let file = if inode == 0 { 0 } else { inode ^ (major << 52) ^ (minor << 40) };
    let mut space = 0;
    while line.get(space).is_some_and(|&byte| byte != b' ') {
        space += 1;
    }
    let readable = line.get(space + 1) == Some(&b'r');
    while line.get(at) == Some(&b' ') {
        at += 1;
    }
    Mapping { start, end, readable, offset, file, path_start: at }
}

/// Starts of mappings of one file's first page, in a run of mappings of that file.
struct Run {
    file: u64,
    starts: [u64; 8],
    count: usize,
}

fn find(address: u64, line: &mut [u8; LINE]) -> Option<Loaded> {
    let fd = sys::open(c"/proc/self/maps".as_ptr().cast(), sys::RDONLY)?;
    let mut run = Run { file: 0, starts: [0; 8], count: 0 };
    let mut buffer = [0u8; 1024];
    let mut length = 0;
    let mut found = None;
    'all: loop {
        let n = sys::read(fd, &mut buffer);
        if n == 0 {
            break;
        }
        for &byte in buffer.iter().take(n) {
            if byte != b'\n' {
                if let Some(slot) = line.get_mut(length) {
                    *slot = byte;
                    length += 1;
                }
                continue;
            }
            let mapping = parse(line.get(..length).unwrap_or_default());
            if mapping.file != run.file {
                run.file = mapping.file;
                run.count = 0;
            }
            if mapping.offset == 0
                && mapping.file != 0
                && mapping.readable
                && let Some(slot) = run.starts.get_mut(run.count)
            {
                *slot = mapping.start;
                run.count += 1;
            }
            if mapping.start <= address && address < mapping.end {
                for &start in run.starts.iter().take(run.count) {
                    if let Some((bias, low, high)) = layout(start, address, &mapping) {
                        found = Some(Loaded { bias, low, high, path_start: mapping.path_start, path_end: length });
                        break;
                    }
                }
                break 'all;
            }
            length = 0;
        }
    }
    sys::close(fd);
    found
}

/// Bias and range of the module whose ELF header lies at `start`, if it maps `address` as `mapping` says.
fn layout(start: u64, address: u64, mapping: &Mapping) -> Option<(u64, u64, u64)> {
    const PT_LOAD: u32 = 1;
    let word = |at: u64, bytes: u32| {
        let pointer = (start + at) as *const u8;
        let mut value = 0u64;
        for i in 0..bytes {
            // SAFETY: the header's page is mapped and readable, and `at` stays in it (checked below).
            value |= u64::from(unsafe { pointer.add(i as usize).read() }) << (8 * i);
        }
        value
    };
    if word(0, 4) != u64::from(u32::from_le_bytes(*b"\x7fELF")) {
        return None;
    }
    let table = word(32, 8);
    let entry = word(54, 2);
    let entries = word(56, 2);
    if entry < 56 || table > PAGE as u64 || table + entry * entries > PAGE as u64 {
        return None;
    }
    let mut lowest = u64::MAX;
    let mut highest = 0;
    for i in 0..entries {
        let at = table + i * entry;
        if word(at, 4) as u32 == PT_LOAD {
            let virtual_address = word(at + 16, 8);
            lowest = lowest.min(virtual_address & !(PAGE as u64 - 1));
            highest = highest.max(virtual_address.wrapping_add(word(at + 40, 8)));
        }
    }
    let bias = start.wrapping_sub(lowest);
    let (low, high) = (start, bias.wrapping_add(highest));
    if !(low..high).contains(&address) {
        return None;
    }
    let in_file = mapping.offset + (address - mapping.start);
    for i in 0..entries {
        let at = table + i * entry;
        if word(at, 4) as u32 == PT_LOAD {
            let (offset, virtual_address) = (word(at + 8, 8), word(at + 16, 8));
            let inside = address.wrapping_sub(bias).wrapping_sub(virtual_address);
            if inside < word(at + 32, 8) && offset.wrapping_add(inside) == in_file {
                return Some((bias, low, high));
            }
        }
    }
    None
}
