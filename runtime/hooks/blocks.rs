//! Sizes of live heap blocks by address: a lock-free table in the program's private memory.
//!
//! Open addressing, one slot per block, a probe window of fixed length. A block is owned by whoever the allocator gave
//! it to, so one address is never inserted or removed by two threads at once; different addresses meet only in the
//! claim of a slot. A freed slot becomes a tombstone, not empty, so that no later entry of the window is lost. A block
//! for which the window has no room is forgotten: its release then is of unknown size, and counted.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU64};

use crate::sys;

/// A block of 100 bytes at 0x555555611720 belongs at slot 0x5cbbd8 of 2^24, or in one of the 63 behind it, as
/// `20 17 61 55 55 55 00 00 | 64 00 00 00 00 00 00 00`.
#[repr(C)]
struct Slot {
    key: AtomicU64,
    bytes: AtomicU64,
}

const EMPTY: u64 = 0;
const TOMBSTONE: u64 = 1;
/// Claimed, the size is being written.
const BUSY: u64 = 2;

const WINDOW: u64 = 64;
/// 256 MB of addresses, of which only touched pages become memory; less where addresses are limited.
const SIZES: [u64; 3] = [1 << 24, 1 << 20, 1 << 16];

static TABLE: AtomicPtr<Slot> = AtomicPtr::new(null_mut());
/// Slots minus one; every thread that sees the table sees one number.
static MASK: AtomicU64 = AtomicU64::new(0);

fn create() -> *mut Slot {
    for slots in SIZES {
        // `MASK` is set with the pointer: a table of another size by another thread would differ, so the size is agreed
        // on first.
        let agreed = match MASK.compare_exchange(0, slots - 1, AcqRel, Acquire) {
            Ok(_) => slots,
            Err(mask) => mask + 1,
        };
        // The window may run over the end.
        let bytes = (agreed + WINDOW) as usize * size_of::<Slot>();
        let Some(table) = sys::map_private(bytes) else {
            let _ = MASK.compare_exchange(agreed - 1, 0, AcqRel, Acquire);
            continue;
        };
        return match TABLE.compare_exchange(null_mut(), table as *mut Slot, AcqRel, Acquire) {
            Ok(_) => table as *mut Slot,
            Err(theirs) => {
                // SAFETY: mapped by this call and given to nobody.
                unsafe { sys::unmap(table, bytes) };
                theirs
            }
        };
    }
    null_mut()
}

/// The window's slots for an address.
fn window(address: u64) -> Option<&'static [Slot]> {
    let mut table = TABLE.load(Acquire);
    if table.is_null() {
        table = create();
        if table.is_null() {
            return None;
        }
    }
    let unit = address >> 4;
    // Neighbours stay neighbours (few pages are touched); heaps far apart are folded over each other.
    let first = (unit ^ (unit >> 23)) & MASK.load(Acquire);
    // SAFETY: the table has a window more than the mask says, and is never unmapped.
    Some(unsafe { core::slice::from_raw_parts(table.add(first as usize), WINDOW as usize) })
}

/// A block starts (or, if its end was not seen, starts anew).
pub fn insert(address: u64, bytes: u64) {
    let Some(slots) = window(address) else { return };
    let mut free: Option<&Slot> = None;
    for slot in slots {
        let key = slot.key.load(Acquire);
        if key == address {
            slot.bytes.store(bytes, Relaxed);
            return;
        }
        if free.is_none() && key <= TOMBSTONE {
            free = Some(slot);
        }
        if key == EMPTY {
            break;
        }
    }
    // Another thread may take the slot first; then any later one will do.
    let from =
        free.map_or(slots.len(), |slot| (slot as *const Slot as usize - slots.as_ptr() as usize) / size_of::<Slot>());
    for slot in slots.iter().skip(from) {
        let key = slot.key.load(Relaxed);
        if key <= TOMBSTONE && slot.key.compare_exchange(key, BUSY, Acquire, Relaxed).is_ok() {
            slot.bytes.store(bytes, Relaxed);
            slot.key.store(address, Release);
            return;
        }
    }
}

/// The size of a block that [`retire`] has ended.
pub const RETIRED: u64 = u64::MAX;

/// A block ends; its size, if it was known.
pub fn remove(address: u64) -> Option<u64> {
    let slot = find(address)?;
    let bytes = slot.bytes.load(Relaxed);
    slot.key.store(TOMBSTONE, Release);
    Some(bytes)
}

/// A block ends and the allocator is about to say so too, which must be no news: [`remove`] then gives [`RETIRED`].
pub fn retire(address: u64) -> Option<u64> {
    let bytes = find(address)?.bytes.swap(RETIRED, Relaxed);
    (bytes != RETIRED).then_some(bytes)
}

/// The size of a live block, if it is known.
pub fn size(address: u64) -> Option<u64> {
    let bytes = find(address)?.bytes.load(Relaxed);
    (bytes != RETIRED).then_some(bytes)
}

fn find(address: u64) -> Option<&'static Slot> {
    if TABLE.load(Relaxed).is_null() {
        return None;
    }
    for slot in window(address)? {
        let key = slot.key.load(Acquire);
        if key == address {
            return Some(slot);
        }
        if key == EMPTY {
            return None;
        }
    }
    None
}
