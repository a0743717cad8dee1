//! Tells the consumer where the module (program or library) that contains an address is mapped.
//!
//! Everything comes from `/proc/self/maps` and the module's own ELF header, not from `dl_iterate_phdr`: a static program
//! need not contain that function, its names may be relative to a directory that the program leaves, and constructors
//! run in the middle of the dynamic linker's work.

use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::abi::{ChannelHeader, MAX_MODULES, MODULE_ENTRY, MODULES_OFFSET, ModuleEntry, PAGE};
use crate::{channel, process, sys};

/// A module that was registered already. Its constructors run once per object file, so this is asked often.
struct Known {
    low: AtomicU64,
    high: AtomicU64,
    /// Of the module's first bytes (ELF header, program headers, build identity): after `dlclose`, another module may
    /// come to lie at the same place.
    print: AtomicU64,
}

static KNOWN: [Known; MAX_MODULES] =
    [const { Known { low: AtomicU64::new(0), high: AtomicU64::new(0), print: AtomicU64::new(0) } }; MAX_MODULES];
static KNOWN_COUNT: AtomicU32 = AtomicU32::new(0);

const PRINT_BYTES: usize = 1024;

pub extern "C" fn register(address: usize) {
    let Some(channel) = channel::get() else { return };
    if is_known(address as u64) {
        return;
    }
    let mut line = [0u8; LINE];
    let Some(found) = find(address as u64, &mut line) else {
        channel.refused.fetch_add(1, Relaxed);
        return;
    };
    process::modules_registered();
    let known = KNOWN_COUNT.fetch_add(1, Relaxed) as usize;
    if let Some(slot) = KNOWN.get(known) {
        slot.low.store(found.low, Relaxed);
        slot.print.store(print_of(found.low), Relaxed);
        slot.high.store(found.high, Release);
    }
    let index = channel.modules_claimed.fetch_add(1, Relaxed) as usize;
    if index >= MAX_MODULES {
        channel.refused.fetch_add(1, Relaxed);
        return;
    }
    let base = channel as *const ChannelHeader as usize;
    let entry = (base + MODULES_OFFSET + index * MODULE_ENTRY) as *mut ModuleEntry;
    // SAFETY: inside the mapped channel, and the index is this call's alone.
    unsafe {
        (*entry).pid = sys::pid();
        (*entry).bias = found.bias;
        (*entry).low = found.low;
        (*entry).high = found.high;
        let path = &raw mut (*entry).path as *mut u8;
        let room = size_of_val(&(*entry).path);
        let mut length = 0;
        for &byte in line.iter().take(found.path_end).skip(found.path_start) {
            if length < room {
                path.add(length).write(byte);
                length += 1;
            }
        }
        (*entry).path_len = length as u32;
        (*entry).ready.store(1, Release);
    }
}

fn is_known(address: u64) -> bool {
    let count = KNOWN_COUNT.load(Relaxed) as usize;
    KNOWN.iter().take(count).any(|known| {
        let low = known.low.load(Relaxed);
        low <= address
            && address < known.high.load(Relaxed)
            && is_mapped(low)
            && print_of(low) == known.print.load(Relaxed)
    })
}

fn is_mapped(address: u64) -> bool {
    let mut resident = [0u8; 1];
    let page = address as usize & !(PAGE - 1);
    // SAFETY: one byte for one page.
    unsafe { sys::call(sys::MINCORE, page, PAGE, resident.as_mut_ptr() as usize, 0, 0, 0) == 0 }
}

/// A hash of the first bytes of a mapped page.
fn print_of(low: u64) -> u64 {
    let words = low as *const u64;
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for i in 0..PRINT_BYTES / 8 {
        // SAFETY: inside a mapped module's first page.
        let word = unsafe { words.add(i).read() };
        hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }
    hash
}

struct Found {
    bias: u64,
    low: u64,
    high: u64,
    /// Of the path in the line.
    path_start: usize,
    path_end: usize,
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

fn find(address: u64, line: &mut [u8; LINE]) -> Option<Found> {
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
            if mapping.offset == 0 && mapping.file != 0 && mapping.readable {
                if let Some(slot) = run.starts.get_mut(run.count) {
                    *slot = mapping.start;
                    run.count += 1;
                }
            }
            if mapping.start <= address && address < mapping.end {
                for &start in run.starts.iter().take(run.count) {
                    if let Some((bias, low, high)) = layout(start, address, &mapping) {
                        found = Some(Found { bias, low, high, path_start: mapping.path_start, path_end: length });
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
