//! Writes the entries of the process's site area, whose words `dmdprof_abi::emulated` draws.
//!
//! Takes modules and segments, gives their addresses, which records name. A process that was forked has its parent's
//! entries too, and an area of its own for what comes. Without room, an address is 0: then there are no records of the
//! site, and a loss is counted.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release};

use dmdprof_abi::emulated::{self, AREA_BYTES, AREA_START, AreaHeader, Shape, address, entry, head, segment};
use dmdprof_hooks::emulator::{self, loss};

use crate::processor::chosen;

/// The process's area.
pub struct Area {
    ring: u32,
    start: *mut u8,
    used: usize,
    /// Of the process that the area is of.
    generation: u32,
}

// SAFETY: whoever has it alone writes to the memory that it names.
unsafe impl Send for Area {}

impl Area {
    /// Before the process has one.
    pub const fn none() -> Self {
        Self { ring: 0, start: core::ptr::null_mut(), used: 0, generation: 0 }
    }

    fn is_own(&mut self) -> bool {
        if !self.start.is_null() && self.generation == emulator::generation() {
            return true;
        }
        let Some((ring, start)) = emulator::area() else { return false };
        *self = Self { ring, start, used: AREA_START, generation: emulator::generation() };
        true
    }

    /// Adds an entry; its address, or 0.
    fn add(&mut self, kind: u32, words: &[u64]) -> u64 {
        let bytes = (1 + words.len()) * 8;
        if !self.is_own() || self.used + bytes > AREA_BYTES {
            emulator::lost(loss::MODULE);
            return 0;
        }
        // SAFETY: within the area, which is aligned to pages and mapped as long as the process lives; nobody else
        // writes there.
        unsafe {
            let at = self.start.add(self.used).cast::<u64>();
            at.write(head(kind, 1 + words.len()));
            at.add(1).copy_from_nonoverlapping(words.as_ptr(), words.len());
        }
        let offset = self.used as u64;
        self.used += bytes;
        // SAFETY: as above; it is only ever changed as an atomic. Release: the entry comes before its end.
        unsafe { (*self.start.cast::<AreaHeader>()).used.store(self.used as u64, Release) };
        address(self.ring, offset)
    }

    /// A mapped file; the address of its entry.
    pub fn module(&mut self, bias: u64, low: u64, high: u64, path: &[u8]) -> u64 {
        let words: Vec<u64> = emulated::module(bias, low, high, path).collect();
        self.add(entry::MODULE, &words)
    }

    /// Code of a function: the address of its first instruction, and the bytes of all; its address.
    pub fn code<'a>(
        &mut self,
        module: u64,
        function: u64,
        start: u64,
        instructions: impl Iterator<Item = &'a [u8]>,
    ) -> u64 {
        let shape = Shape { kind: segment::BLOCK, flags: 0, words: 1, items: chosen().instruction_set };
        let words: Vec<u64> = emulated::code(module, function, shape, start, instructions).collect();
        self.add(entry::CODE, &words)
    }

    /// A segment; its address.
    pub fn segment(&mut self, module: u64, function: u64, shape: Shape, items: &[[u64; 3]]) -> u64 {
        let words: Vec<u64> = emulated::segment(module, function, shape, items).collect();
        self.add(entry::SEGMENT, &words)
    }
}

/// An address that is found out once.
pub struct Once(AtomicU64);

/// Not found out yet.
const UNKNOWN: u64 = u64::MAX;

impl Once {
    pub const fn new() -> Self {
        Self(AtomicU64::new(UNKNOWN))
    }

    /// The address, made the first time. Two threads may make two, of which either is good.
    #[inline(always)]
    pub fn get(&self, make: impl FnOnce() -> u64) -> u64 {
        match self.0.load(Relaxed) {
            UNKNOWN => {
                let made = make();
                self.0.store(made, Relaxed);
                made
            }
            known => known,
        }
    }
}
