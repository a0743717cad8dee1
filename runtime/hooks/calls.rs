//! Library calls by their meaning: what each [`Call`] reads, writes, starts and ends, as event records.
//!
//! Calls that failed do nothing. Strings are looked at exactly as far as the definition of the function must look.

use crate::abi::sample::blocks as blocks_of;
use crate::abi::{Call, EventKind, PAGE};
use crate::text::{Compare, compared, length};
use crate::{attach, blocks, channel, outputs, ring, sampled, synchronise, sys};

const ADDRESS: u64 = (1 << 48) - 1;
/// Longest region name.
const NAME_LIMIT: usize = 1024;
const NO_LIMIT: usize = usize::MAX;

/// The call site of the records.
#[derive(Clone, Copy)]
struct Site(u64);

impl Site {
    fn head(self, kind: EventKind, words: usize) -> u64 {
        (kind as u64) << 56 | (words as u64) << 48 | (self.0 & ADDRESS)
    }

    fn one(self, kind: EventKind, a: u64) {
        ring::write([self.head(kind, 2), a]);
    }

    /// Nothing if the length is 0 or cannot be one.
    fn range(self, kind: EventKind, address: u64, bytes: u64) {
        if bytes != 0 && bytes <= i64::MAX as u64 {
            ring::write([self.head(kind, 3), address, bytes]);
        }
    }

    /// Writes a range down that is accessed, which takes time.
    fn accesses(self, kind: EventKind, address: u64, bytes: u64) {
        if bytes != 0 && bytes <= i64::MAX as u64 {
            sampled::clock(blocks_of(bytes));
            self.range(kind, address, bytes);
            sampled::passed();
        }
    }

    fn read(self, address: u64, bytes: u64) {
        self.accesses(EventKind::Read, address, bytes);
    }

    fn write(self, address: u64, bytes: u64) {
        self.accesses(EventKind::Write, address, bytes);
    }

    fn copy(self, to: u64, from: u64, bytes: u64) {
        if bytes != 0 && bytes <= i64::MAX as u64 {
            sampled::clock(2 * blocks_of(bytes));
            ring::write([self.head(EventKind::Copy, 4), to, from, bytes]);
            sampled::passed();
        }
    }

    /// A block of the heap starts.
    fn block_starts(self, address: u64, bytes: u64) {
        if address != 0 {
            blocks::insert(address, bytes);
            self.begins(address, bytes);
        }
    }

    /// A sample must know when, as what lies there may be read before anybody writes it.
    fn begins(self, address: u64, bytes: u64) {
        sampled::clock(0);
        self.range(EventKind::Alloc, address, bytes);
    }

    /// A block of the heap ends, whose size is `told` unless the table knows it. Who tells the size may have an
    /// allocator with hooks behind it (`__rust_dealloc` and the `free` in it), which ends the block once more.
    fn block_ends(self, address: u64, told: Option<u64>) {
        if address == 0 {
            return;
        }
        let known = if told.is_some() { blocks::retire(address) } else { blocks::remove(address) };
        match known.or(told) {
            Some(blocks::RETIRED) => {}
            Some(bytes) => self.range(EventKind::Free, address, bytes),
            None => self.one(EventKind::FreeUnknown, address),
        }
    }

    /// Bytes move to another place and size; either may have none.
    fn relocate(self, from: u64, from_bytes: u64, to: u64, to_bytes: u64) {
        if from_bytes == 0 {
            self.begins(to, to_bytes);
        } else if to_bytes == 0 {
            self.range(EventKind::Free, from, from_bytes);
        } else {
            sampled::clock(0);
            ring::write([self.head(EventKind::Relocate, 5), from, from_bytes, to, to_bytes]);
        }
    }

    /// `told`: the old size if the table does not know it.
    fn reallocated(self, old: u64, told: Option<u64>, new: u64, bytes: u64) {
        if old == 0 {
            self.block_starts(new, bytes);
        } else if new == 0 {
            // `realloc(p, 0)` that returns null has freed the block; any other null has left it alone.
            if bytes == 0 {
                self.block_ends(old, told);
            }
        } else {
            // An allocator with hooks behind `__rust_realloc` has moved the block already; its old place may be
            // another's. Where the old block is still known, what is known of the new place is left from a block that
            // code without hooks freed.
            let is_done = || blocks::size(new) == Some(bytes) && blocks::size(old) != told;
            if told.is_some() && new != old && is_done() {
                return;
            }
            match blocks::remove(old).filter(|&bytes| bytes != blocks::RETIRED).or(told) {
                Some(old_bytes) => {
                    blocks::insert(new, bytes);
                    self.relocate(old, old_bytes, new, bytes);
                }
                None => {
                    self.one(EventKind::FreeUnknown, old);
                    self.block_starts(new, bytes);
                }
            }
        }
    }

    fn region(self, kind: EventKind, name: u64) {
        // SAFETY: the program passes a string.
        let bytes = if name == 0 { 0 } else { unsafe { length(name as usize, NAME_LIMIT) } };
        self.named(kind, [], name as *const u8, bytes);
    }

    /// A mapping has started, of a file unless the flags say otherwise.
    fn mapped(self, address: u64, bytes: u64, file: u64, flags: u64) {
        const ANONYMOUS: u64 = 0x20;
        let mut name = [0; NAME_LIMIT];
        let len = if flags & ANONYMOUS == 0 { path_of(file, &mut name) } else { 0 };
        self.named(EventKind::Mapped, [address, bytes], name.as_ptr(), len);
    }

    /// Operands, then the length of a name and its bytes.
    fn named<const N: usize>(self, kind: EventKind, operands: [u64; N], name: *const u8, bytes: usize) {
        let first = 2 + N;
        let words = first + bytes.div_ceil(8);
        ring::write_with(words, |at| {
            // SAFETY: room for the words was made; the name has `bytes` bytes.
            unsafe {
                at.write(self.head(kind, words));
                for (i, operand) in operands.iter().enumerate() {
                    at.add(1 + i).write(*operand);
                }
                at.add(1 + N).write(bytes as u64);
                for i in first..words {
                    at.add(i).write(0);
                }
                let to = at.add(first).cast::<u8>();
                for i in 0..bytes {
                    to.add(i).write(name.add(i).read());
                }
            }
        });
    }
}

/// Path of an open file: bytes of it.
fn path_of(file: u64, path: &mut [u8]) -> usize {
    // "/proc/self/fd/", at most 20 digits, and the end.
    let mut link = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let digits = core::iter::successors(Some(file), |n| (*n >= 10).then_some(n / 10)).count();
    let mut rest = file;
    // Nothing in here may panic, so that no index is checked.
    for digit in link.iter_mut().skip(14).take(digits).rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    sys::read_link(link.as_ptr(), path)
}

/// Whole pages: what the kernel maps and unmaps.
fn pages(bytes: u64) -> u64 {
    bytes.saturating_add(PAGE as u64 - 1) & !(PAGE as u64 - 1)
}

/// A number of items too large to be true gives a length that [`Site::range`] drops.
fn product(count: u64, size: u64) -> u64 {
    count.saturating_mul(size)
}

/// The size of a block when its call cannot fail with that size.
fn is_mapped(address: u64) -> bool {
    // `MAP_FAILED`, and raw error numbers.
    address != 0 && address < -4095i64 as u64
}

pub extern "C" fn call(site: usize, call: u64, a: u64, b: u64, c: u64, d: u64) {
    if channel::is_inert() {
        return;
    }
    ring::ready_for(site);
    meaning(Site(site as u64), call, a, b, c, d);
}

#[allow(clippy::collapsible_match, reason = "an arm per meaning, and none for the rest: a new one must be added here")]
fn meaning(site: Site, call: u64, a: u64, b: u64, c: u64, d: u64) {
    let Some(channel) = attach::get() else { return };
    let Some(call) = Call::from_number(call) else { return };
    // SAFETY: the program itself passes these pointers to the function that is modelled, whose definition reads the
    // same bytes.
    let whole = |s: u64| unsafe { length(s as usize, NO_LIMIT) } as u64;
    // SAFETY: as above.
    let limited = |s: u64, limit: u64| unsafe { length(s as usize, limit as usize) } as u64;
    // SAFETY: as above.
    let both =
        |x: u64, y: u64, limit: u64, how| unsafe { compared(x as usize, y as usize, limit as usize, how) } as u64;
    let unlimited = NO_LIMIT as u64;

    match call {
        Call::Alloc => site.block_starts(a, b),
        Call::AllocArray => site.block_starts(a, product(b, c)),
        Call::Free => site.block_ends(a, None),
        Call::Realloc => site.reallocated(a, None, b, c),
        Call::AllocOut => {
            if a as u32 == 0 && b != 0 {
                // SAFETY: the call succeeded, so it stored the pointer there.
                site.block_starts(unsafe { (b as *const u64).read_unaligned() }, c);
            }
        }
        Call::Map => {
            if is_mapped(a) {
                site.range(EventKind::Alloc, a, pages(b));
                site.mapped(a, pages(b), c, d);
            }
        }
        Call::Unmap => {
            if a as u32 == 0 {
                site.range(EventKind::Free, b, pages(c));
            }
        }
        Call::FreeSized => site.block_ends(a, Some(b)),
        Call::ReallocSized => {
            // A null result is a failure here, whatever the size.
            if c != 0 {
                site.reallocated(a, Some(b), c, d);
            }
        }
        Call::ReallocArray => site.reallocated(a, None, b, product(c, d)),
        Call::Remap => {
            if is_mapped(c) {
                site.relocate(a, pages(b), c, pages(d));
            }
        }

        Call::Copy => site.copy(a, b, c),
        Call::Fill => site.write(a, b),
        Call::StrLen => site.read(a, b.wrapping_add(1)),
        Call::StrNLen => site.read(a, c.saturating_add(1).min(b)),
        Call::MemCmp => {
            let n = both(a, b, c, Compare::Bytes);
            site.read(a, n);
            site.read(b, n);
        }
        Call::StrCmp | Call::StrNCmp => {
            let n = both(a, b, if call == Call::StrCmp { unlimited } else { c }, Compare::Strings);
            site.read(a, n);
            site.read(b, n);
        }
        Call::StrCaseCmp | Call::StrNCaseCmp => {
            let n = both(a, b, if call == Call::StrCaseCmp { unlimited } else { c }, Compare::FoldedStrings);
            site.read(a, n);
            site.read(b, n);
        }
        Call::MemChr => site.read(a, if d != 0 { d.wrapping_sub(a) + 1 } else { c }),
        Call::StrChr => site.read(a, if c != 0 { c.wrapping_sub(a) + 1 } else { whole(a) + 1 }),
        Call::StrWhole => site.read(a, whole(a) + 1),
        Call::StrCpy => site.copy(a, b, whole(b) + 1),
        Call::StrNCpy => {
            let n = limited(b, c).saturating_add(1).min(c);
            site.copy(a, b, n);
            site.write(a + n, c - n);
        }
        Call::StrCat => {
            let end = whole(a);
            let n = whole(b) + 1;
            site.read(a, end + 1);
            site.copy(a + end, b, n);
        }
        Call::StrNCat => {
            let end = whole(a);
            let n = limited(b, c);
            site.read(a, end + 1);
            site.appended(a + end, b, n, c);
        }
        Call::StrDup => {
            if c != 0 {
                let n = limited(a, b);
                site.block_starts(c, n + 1);
                site.appended(c, a, n, b);
            }
        }
        Call::Delivered => site.write(a, b),
        Call::DeliveredItems => site.write(a, product(b, c)),
        Call::DeliveredLine => {
            if a != 0 {
                site.write(a, whole(a) + 1);
            }
        }
        Call::Formatted => {
            if (c as i64) >= 0 {
                site.write(a, b.min(c + 1));
            }
        }
        Call::DeliveredLineOut => {
            if (b as i64) >= 0 {
                // SAFETY: the call succeeded, so it stored the pointer there.
                site.write(unsafe { (a as *const u64).read_unaligned() }, b + 1);
            }
        }
        Call::StrStr => {
            let needle = whole(b);
            site.read(a, if c != 0 { c.wrapping_sub(a) + needle } else { whole(a) + 1 });
            site.read(b, needle + 1);
        }
        Call::Consumed => site.read(a, b),
        Call::ConsumedItems => site.read(a, product(b, c)),
        Call::StrSpan => {
            site.read(a, c.wrapping_add(1));
            site.read(b, whole(b) + 1);
        }

        Call::Input => site.range(EventKind::Input, a, b),
        Call::Output => {
            site.range(EventKind::Output, a, b);
            outputs::save(channel, a, b);
        }
        Call::RegionBegin => site.region(EventKind::RegionBegin, a),
        Call::RegionEnd => site.region(EventKind::RegionEnd, a),

        Call::ThreadCreated
        | Call::ThreadJoined
        | Call::ThreadJoinedAt
        | Call::Lock
        | Call::LockShared
        | Call::Unlock
        | Call::ConditionWait
        | Call::ConditionWaitAt
        | Call::Release
        | Call::Acquire
        | Call::Once
        | Call::BarrierSize
        | Call::Barrier
        | Call::SemaphoreUnits
        | Call::SemaphorePost
        | Call::SemaphoreTake
        | Call::TeamBarrier
        | Call::LockIfOne => synchronise::meaning(site.0, call, [a, b, c], ring::write),
    }
}

impl Site {
    /// `n` characters and a terminator are written; the terminator comes from the source if that ended before `limit`.
    fn appended(self, to: u64, from: u64, n: u64, limit: u64) {
        if n < limit {
            self.copy(to, from, n + 1);
        } else {
            self.copy(to, from, n);
            self.write(to + n, 1);
        }
    }
}
