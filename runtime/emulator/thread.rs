//! A thread of the program: turns its accesses into records, in their order.
//!
//! An access waits until its block is whole, so that one record stands for the block; whatever else happens (a system
//! call, a block of memory that begins or ends) first has what waits written down. Of a thread that is killed from
//! outside, the accesses of one block are missing at most, and what its blocks were executed since the last system call
//! where their code is not told.

use std::cell::UnsafeCell;

use dmdprof_hooks::emulator::{self, EventKind};

use crate::{
    allocators::Calls,
    code::{self, Block, Kind, MOST_WORDS, Pattern, Site, Taken},
    frames::Frames,
    processor::chosen,
    record::write,
    x86::Class,
};

/// Bytes that string instructions move at a time.
const AT_A_TIME: u64 = 16;
/// Parts of one access are joined up to this.
const JOINED: u64 = 64;

/// Accesses of a string instruction, of one sort.
#[derive(Clone, Copy, Default)]
struct Run {
    address: u64,
    bytes: u64,
}

/// A thread.
pub struct Thread {
    /// The block that runs, and how many of its accesses have come.
    pattern: Option<&'static Pattern>,
    came: usize,
    /// Behind the last of them.
    end: u64,
    words: [u64; MOST_WORDS],
    /// The block that runs for the first time, and its accesses.
    learning: Option<&'static Block>,
    taken: Vec<Taken>,
    /// A string instruction, and what it has read and written since that was written down.
    string: Option<&'static Site>,
    runs: [Run; 2],
    /// The instruction at hand has begun since its last access.
    is_fresh: bool,
    executed: Executed,
    pub frames: Frames,
    /// Functions that give and take blocks.
    pub calls: Calls,
    /// Operands of the system call at hand.
    pub system_call: [u64; 6],
}

/// How often blocks were executed whose code is told.
#[derive(Default)]
struct Executed {
    /// Of the process; a child's threads have instructions of their own.
    generation: u32,
    /// Instructions so far.
    instructions: u64,
    /// Whether code is told now, and up to which number of them that is so.
    told: (bool, u64),
    /// Up to which number of instructions a look at a block goes that was never told, and instructions of all such
    /// looks.
    look: u64,
    looked: u64,
    /// By number of the block.
    times: Vec<Times>,
    /// The blocks that were executed and not told since that was written down.
    blocks: Vec<&'static Block>,
    /// The block at hand is one of those.
    is_away: bool,
}

/// Of a block.
#[derive(Clone, Copy, Default)]
struct Times {
    /// Executions that are not written down.
    counted: u64,
    /// It was told at least once.
    is_known: bool,
}

/// Instructions of a look at a block that was never told, and the share of all that looks may have.
const LOOK: u64 = 5_000;
const LOOKED: u64 = 32;

impl Executed {
    fn new() -> Self {
        Self { generation: emulator::generation(), ..Self::default() }
    }

    /// A block begins.
    #[inline(always)]
    fn begins(&mut self, block: &'static Block) {
        let before = self.instructions;
        self.instructions += u64::from(block.instructions);
        if before >= self.told.1 {
            self.told = code::told().map_or((true, u64::MAX), |told| told.told_at(before));
        }
        let number = block.number as usize;
        if self.times.len() <= number {
            self.times.resize(number + 1, Times::default());
        }
        let may_look = !self.times[number].is_known && self.looked * LOOKED < before;
        if may_look && !self.told.0 && before >= self.look {
            self.look = before + LOOK;
            self.looked += LOOK;
        }
        if self.told.0 || before < self.look {
            self.is_away = false;
            self.write();
            self.times[number].is_known = true;
            return write(&[block.code]);
        }
        if !self.is_away {
            self.is_away = true;
            emulator::event(block.code, EventKind::Executed, [0]);
        }
        if self.times[number].counted == 0 {
            self.blocks.push(block);
        }
        self.times[number].counted += 1;
    }

    /// Writes down what was counted.
    #[inline(always)]
    fn write(&mut self) {
        for block in self.blocks.drain(..) {
            let times = std::mem::take(&mut self.times[block.number as usize].counted);
            emulator::event(block.code, EventKind::Executed, [times]);
        }
    }
}

/// Most threads at a time.
const MOST_THREADS: usize = 1 << 16;

struct Slot(UnsafeCell<*mut Thread>);

// SAFETY: the emulator numbers its threads; each comes to its own slot only.
unsafe impl Sync for Slot {}

static THREADS: [Slot; MOST_THREADS] = [const { Slot(UnsafeCell::new(core::ptr::null_mut())) }; MOST_THREADS];

/// The calling thread, by the emulator's number.
///
/// # Safety
/// The number must be that of the calling thread, and no other reference to it in use.
#[inline(always)]
pub unsafe fn by_number(number: u32) -> &'static mut Thread {
    let slot = THREADS[number as usize % MOST_THREADS].0.get();
    // SAFETY: as demanded from the caller.
    unsafe {
        if (*slot).is_null() {
            *slot = Box::into_raw(Box::new(Thread::new()));
        }
        &mut **slot
    }
}

/// The thread with this number has ended; another may get the number.
///
/// # Safety
/// As [`by_number`].
pub unsafe fn ended(number: u32) {
    let slot = THREADS[number as usize % MOST_THREADS].0.get();
    // SAFETY: as demanded from the caller: nobody else uses it.
    unsafe {
        if !(*slot).is_null() {
            drop(Box::from_raw(*slot));
            *slot = core::ptr::null_mut();
        }
    }
}

impl Thread {
    fn new() -> Self {
        Self {
            pattern: None,
            came: 0,
            end: 0,
            words: [0; MOST_WORDS],
            learning: None,
            taken: Vec::new(),
            string: None,
            runs: [Run::default(); 2],
            is_fresh: false,
            executed: Executed::new(),
            frames: Frames::new(),
            calls: Calls::default(),
            system_call: [0; 6],
        }
    }

    /// An instruction begins whose accesses may come in parts.
    #[inline(always)]
    pub fn begins(&mut self) {
        self.is_fresh = true;
    }

    /// A block begins whose code is told.
    pub fn block(&mut self, block: &'static Block) {
        // A string instruction that repeats itself begins anew each time.
        if self.string.is_some_and(|string| core::ptr::eq(string.block, block)) {
            return;
        }
        // In the middle of a block it goes on in one of its own.
        if self.string.is_none_or(|string| string.address != block.start) {
            self.write_string();
        }
        self.write_begun();
        self.write_learned();
        self.frames.arrives(block.function);
        self.executed.begins(block);
    }

    /// A call that leaves its return address in a register.
    pub fn calls(&mut self, site: &'static Site) {
        self.write_down();
        self.frames.calls_by_register(site, site.returns_to);
    }

    /// Control is where such a call may return to.
    pub fn comes_back(&mut self, site: &'static Site) {
        self.write_down();
        let is_sure = chosen().surely_returns_to(site.address);
        self.frames.comes_back(site.address, site.block.function, is_sure);
    }

    /// An access.
    #[inline(always)]
    pub fn access(&mut self, site: &'static Site, kind: Kind, address: u64) {
        if let Some(pattern) = self.pattern
            && let Some(part) = pattern.parts.get(self.came)
            && core::ptr::eq(part.site, site)
            && part.kind == kind
            && (!part.goes_on || address == self.end)
        {
            self.takes(pattern, address);
        } else {
            self.other(site, kind, address);
        }
        self.frames.touches(address);
        match site.class {
            Class::Call if kind.is_store() => {
                self.write_down();
                self.frames.calls(site, address);
            }
            Class::Return if !kind.is_store() => {
                self.write_down();
                self.frames.returns(address);
            }
            _ => {}
        }
    }

    /// The next access of the block is as it was before.
    #[inline(always)]
    fn takes(&mut self, pattern: &'static Pattern, address: u64) {
        let part = &pattern.parts[self.came];
        if !part.goes_on {
            self.words[usize::from(part.word)] = address;
        }
        self.end = address.wrapping_add(part.kind.bytes());
        self.came += 1;
        if self.came == pattern.parts.len() {
            self.pattern = None;
            self.came = 0;
            self.words[0] = pattern.segment;
            write(&self.words[..pattern.words]);
        }
    }

    /// An access that the block at hand does not expect.
    fn other(&mut self, site: &'static Site, kind: Kind, address: u64) {
        if self.string.is_some_and(|string| string.address != site.address) {
            self.write_string();
        }
        self.write_begun();
        if let Some(block) = self.learning {
            if core::ptr::eq(block, site.block)
                && let Some(goes_on) = self.goes_on(site, kind, address)
            {
                self.is_fresh = false;
                self.taken.push(Taken { site, kind, address, goes_on });
                return;
            }
            self.write_learned();
        }
        self.is_fresh = false;
        self.starts(site, kind, address);
    }

    /// Whether an access of the block that is learned is a part of the one before it; `None` = the block begins anew,
    /// or is too long.
    fn goes_on(&self, site: &Site, kind: Kind, address: u64) -> Option<bool> {
        let last = self.taken.last()?;
        if site.number > last.site.number {
            return (self.taken.len() + 1 < MOST_WORDS).then_some(false);
        }
        if site.number < last.site.number || self.taken.len() + 1 >= MOST_WORDS {
            return None;
        }
        if site.class != Class::Parts {
            // Read and then written, as by an addition to memory.
            return (kind.is_store() && !last.kind.is_store()).then_some(false);
        }
        if self.is_fresh {
            return None;
        }
        let joined: u64 =
            self.taken.iter().rev().take_while(|t| core::ptr::eq(t.site, site)).map(|t| t.kind.bytes()).sum();
        let follows = kind.is_store() == last.kind.is_store()
            && address == last.address.wrapping_add(last.kind.bytes())
            && joined + kind.bytes() <= JOINED;
        Some(follows)
    }

    /// The first access of a block, or one that has a record of its own.
    fn starts(&mut self, site: &'static Site, kind: Kind, address: u64) {
        let block = site.block;
        self.frames.arrives(block.function);
        if block.function.is_own {
            return;
        }
        if site.class == Class::Repeated {
            return self.repeats(site, kind, address);
        }
        if !block.is_regular {
            return single(site, kind.is_store(), address, kind.bytes());
        }
        match block.pattern() {
            Some(pattern) if pattern.parts.first().is_some_and(|p| core::ptr::eq(p.site, site) && p.kind == kind) => {
                self.pattern = Some(pattern);
                self.came = 0;
                self.takes(pattern, address);
            }
            Some(_) => single(site, kind.is_store(), address, kind.bytes()),
            None => {
                self.learning = Some(block);
                self.taken.push(Taken { site, kind, address, goes_on: false });
            }
        }
    }

    /// An access of a string instruction: what it moves is put together.
    fn repeats(&mut self, site: &'static Site, kind: Kind, address: u64) {
        let bytes = kind.bytes();
        let Run { address: start, bytes: before } = self.runs[usize::from(kind.is_store())];
        let is_next = before == 0 || start.wrapping_add(before) == address && before + bytes <= AT_A_TIME;
        if self.string.is_some() && !is_next {
            self.write_string();
        }
        self.string = Some(site);
        let run = &mut self.runs[usize::from(kind.is_store())];
        if run.bytes == 0 {
            run.address = address;
        }
        run.bytes += bytes;
    }

    /// Writes down all that waits.
    pub fn write_down(&mut self) {
        self.write_string();
        self.write_begun();
        self.write_learned();
    }

    /// A system call is done: of one that made a process, in that too.
    pub fn system_called(&mut self) {
        if self.executed.generation != emulator::generation() {
            self.executed = Executed::new();
        }
    }

    /// Writes down all that waits, and the executions that were counted.
    pub fn write_all(&mut self) {
        self.write_down();
        self.executed.write();
    }

    fn write_string(&mut self) {
        let Some(site) = self.string.take() else { return };
        for (is_store, run) in [false, true].into_iter().zip(std::mem::take(&mut self.runs)) {
            in_powers(run.address, run.bytes, |address, bytes| single(site, is_store, address, bytes));
        }
    }

    /// A block that did not end as before: each access by itself.
    fn write_begun(&mut self) {
        let Some(pattern) = self.pattern.take() else { return };
        let parts = &pattern.parts[..std::mem::take(&mut self.came)];
        let mut at = 0;
        while let Some(first) = parts.get(at) {
            let behind = parts[at + 1..].iter().take_while(|part| part.goes_on);
            let (count, more) = behind.fold((1, 0), |(count, bytes), part| (count + 1, bytes + part.kind.bytes()));
            let address = self.words[usize::from(first.word)];
            let one = |address, bytes| single(first.site, first.kind.is_store(), address, bytes);
            in_powers(address, first.kind.bytes() + more, one);
            at += count;
        }
    }

    /// What a block does is learned.
    fn write_learned(&mut self) {
        let Some(block) = self.learning.take() else { return };
        let pattern = block.learn(&self.taken);
        for (part, taken) in pattern.parts.iter().zip(&self.taken) {
            if !part.goes_on {
                self.words[usize::from(part.word)] = taken.address;
            }
        }
        self.taken.clear();
        self.words[0] = pattern.segment;
        write(&self.words[..pattern.words]);
    }
}

/// Cuts a range into pieces of powers of two of bytes, up to 64.
fn in_powers(mut address: u64, mut bytes: u64, mut each: impl FnMut(u64, u64)) {
    while bytes > 0 {
        let piece = (1 << (63 - bytes.leading_zeros())).min(JOINED);
        each(address, piece);
        address = address.wrapping_add(piece);
        bytes -= piece;
    }
}

/// One access.
fn single(site: &Site, is_store: bool, address: u64, bytes: u64) {
    write(&[site.single(bytes, is_store), address]);
}
