//! Translated code: its instructions that may access memory, and what each block of it does.
//!
//! A [`Site`] is one instruction of one block. What a block accesses, in which order and how much, is learned when it
//! first runs ([`Pattern`]): from then on one record stands for all accesses of the block. An access that does not fit
//! has a record of its own.

use std::{
    cell::UnsafeCell,
    collections::HashMap,
    hash::{BuildHasherDefault, DefaultHasher},
    sync::{
        OnceLock,
        atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release},
    },
};

use dmdprof_abi::emulated::{Shape, ToldInstructions, of_instruction, segment};
use dmdprof_hooks::emulator;

use crate::{
    area::{Area, Once},
    modules::{Function, Modules},
    processor, qemu,
    x86::Class,
};

/// Kind and size of an access: the binary logarithm of its bytes, and whether it is a store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kind(u8);

impl Kind {
    fn new(shift: u32, is_store: bool) -> Self {
        Self((shift as u8) << 1 | u8::from(is_store))
    }

    pub fn is_store(self) -> bool {
        self.0 & 1 == 1
    }

    /// A load of this size.
    pub fn as_load(self) -> Self {
        Self(self.0 & !1)
    }

    pub fn bytes(self) -> u64 {
        1 << (self.0 >> 1)
    }
}

/// Sizes that have segments of their own: up to 64 bytes.
const SIZES: usize = 7;

/// An instruction of a block.
pub struct Site {
    pub address: u64,
    pub class: Class,
    /// Its number in the block.
    pub number: u32,
    /// Where it returns to if it is a call that leaves that in a register; 0 = it is none.
    pub returns_to: u64,
    pub block: &'static Block,
    /// What the emulator last said of an access, and what that means; 0 = nothing yet.
    said: AtomicU64,
    /// Segments of one access, by size, of loads and of stores.
    single: [[Once; 2]; SIZES],
    /// Names it as the place of a call.
    call: Once,
}

/// A block of translated code.
pub struct Block {
    pub function: &'static Function,
    /// Its first instruction.
    pub start: u64,
    /// Its accesses are the same each time, as far as can be told.
    pub is_regular: bool,
    /// Its code, if that was asked for; 0 = there is none.
    pub code: u64,
    /// Its number among those that have code.
    pub number: u32,
    /// Its instructions.
    pub instructions: u32,
    pattern: AtomicPtr<Pattern>,
    /// Names the call before it as a place.
    before: Once,
}

/// An access that is a part of a pattern.
pub struct PatternAccess {
    pub site: &'static Site,
    pub kind: Kind,
    /// It goes on with the access before it.
    pub goes_on: bool,
    /// Word of the record that has its address.
    pub word: u16,
}

/// What a block does.
pub struct Pattern {
    pub segment: u64,
    pub parts: Box<[PatternAccess]>,
    pub words: usize,
}

/// Most words of a record of a block.
pub const MOST_WORDS: usize = 64;

/// An access that was made.
#[derive(Clone, Copy)]
pub struct Taken {
    pub site: &'static Site,
    pub kind: Kind,
    pub address: u64,
    pub goes_on: bool,
}

impl Site {
    /// What the emulator says of an access.
    #[inline(always)]
    pub fn kind(&self, info: qemu::MemInfo) -> Kind {
        let said = self.said.load(Relaxed);
        if said >> 8 == u64::from(info) + 1 {
            return Kind(said as u8);
        }
        self.ask(info)
    }

    #[cold]
    fn ask(&self, info: qemu::MemInfo) -> Kind {
        // SAFETY: the emulator's own functions, given what it gave.
        let kind = unsafe { Kind::new(qemu::qemu_plugin_mem_size_shift(info), qemu::qemu_plugin_mem_is_store(info)) };
        self.said.store((u64::from(info) + 1) << 8 | u64::from(kind.0), Relaxed);
        kind
    }

    /// The segment of one access of a power of two of bytes.
    pub fn single(&self, bytes: u64, is_store: bool) -> u64 {
        let Some(once) = self.single.get(bytes.trailing_zeros() as usize) else { return 0 };
        once[usize::from(is_store)].get(|| {
            let shape = Shape { kind: segment::BLOCK, flags: 0, words: 2, items: 1 };
            let kind = if is_store { segment::STORE } else { segment::LOAD };
            new_segment(self.block.function, shape, &[self.item(kind, 1, bytes)])
        })
    }

    /// An access of it, whose address is in a word of the record.
    fn item(&self, kind: u8, word: u16, bytes: u64) -> [u64; 3] {
        [self.address, of_instruction(Shape::item(kind, 0, word, 0), self.number), bytes]
    }

    /// Names it as the place of a call.
    pub fn call(&self) -> u64 {
        self.call.get(|| self.block.function.calls(self.address))
    }

    /// Names the call that returns to it as a place; it is the first of its block.
    pub fn call_before(&self) -> u64 {
        self.block.before.get(|| self.block.function.calls(processor::chosen().call_before(self.address)))
    }
}

impl Block {
    /// What the block does, if that has been learned.
    #[inline(always)]
    pub fn pattern(&self) -> Option<&'static Pattern> {
        // SAFETY: null, or a pattern that is never freed.
        unsafe { self.pattern.load(Acquire).as_ref() }
    }

    /// Learns what the block does. Two threads may learn the same, of which either is good.
    pub fn learn(&self, taken: &[Taken]) -> &'static Pattern {
        let mut parts = Vec::with_capacity(taken.len());
        let mut items: Vec<[u64; 3]> = Vec::new();
        for &Taken { site, kind, goes_on, .. } in taken {
            match items.last_mut() {
                Some([.., bytes]) if goes_on => *bytes += kind.bytes(),
                _ => {
                    let word = items.len() as u16 + 1;
                    let item = if kind.is_store() { segment::STORE } else { segment::LOAD };
                    items.push(site.item(item, word, kind.bytes()));
                }
            }
            parts.push(PatternAccess { site, kind, goes_on, word: items.len() as u16 });
        }
        let words = items.len() + 1;
        let shape = Shape { kind: segment::BLOCK, flags: 0, words: words as u16, items: items.len() as u16 };
        let segment = new_segment(self.function, shape, &items);
        let pattern = Box::leak(Box::new(Pattern { segment, parts: parts.into(), words }));
        self.pattern.store(pattern, Release);
        pattern
    }
}

impl Function {
    /// The segment with which a frame begins.
    pub fn enters(&self) -> u64 {
        self.enter.get(|| self.border(segment::ENTER))
    }

    /// The one with which it ends.
    pub fn exits(&self) -> u64 {
        self.exit.get(|| self.border(segment::EXIT))
    }

    /// A call at an address.
    fn calls(&self, address: u64) -> u64 {
        let shape = Shape { kind: segment::CALL_SITE, flags: 0, words: 0, items: 1 };
        new_segment(self, shape, &[[address, Shape::item(segment::LOAD, 0, 0, 0), 0]])
    }

    fn border(&self, flags: u8) -> u64 {
        new_segment(self, Shape { kind: segment::BLOCK, flags, words: 1, items: 0 }, &[])
    }

    /// The one with which it ends and bytes of the stack end, whose address and number follow.
    pub fn exits_with_stack(&self) -> u64 {
        self.exit_frame.get(|| {
            let shape = Shape { kind: segment::BLOCK, flags: segment::EXIT, words: 3, items: 1 };
            new_segment(self, shape, &[[self.start, Shape::item(segment::KILL, segment::DYNAMIC, 1, 2), 0]])
        })
    }
}

/// Where code is told, if it is.
static TOLD: OnceLock<ToldInstructions> = OnceLock::new();

/// Code is told there from now on.
pub fn tell(told: ToldInstructions) {
    TOLD.get_or_init(|| told);
}

/// Where code is told, if it is.
pub fn told() -> Option<&'static ToldInstructions> {
    TOLD.get()
}

/// All that the program's threads have in common.
pub struct Code {
    pub area: Area,
    pub modules: Modules,
    /// Blocks that have code.
    told: u32,
    /// Blocks by their first instruction, as they are translated again when the emulator's room is full.
    known: HashMap<u64, Vec<Translated>, BuildHasherDefault<DefaultHasher>>,
}

/// A translated block: its bytes, and its instructions.
struct Translated {
    bytes: Box<[u8]>,
    sites: Box<[&'static Site]>,
}

/// One lock for all. Not the standard library's: after a fork, the child may find it held by a thread that it does not
/// have.
struct Shared {
    /// 0 = free, else the generation of the process that holds it, plus one.
    held: AtomicU32,
    code: UnsafeCell<Option<Code>>,
}

// SAFETY: whoever comes to the code holds the lock.
unsafe impl Sync for Shared {}

static CODE: Shared = Shared { held: AtomicU32::new(0), code: UnsafeCell::new(None) };

/// For whoever has it alone.
pub fn with_code<T>(use_it: impl FnOnce(&mut Code) -> T) -> T {
    let mine = emulator::generation().wrapping_add(1).max(1);
    let mut expected = 0;
    while let Err(other) = CODE.held.compare_exchange(expected, mine, Acquire, Relaxed) {
        // What a parent's thread holds is free here.
        expected = if other == mine { 0 } else { other };
        std::thread::yield_now();
    }
    // SAFETY: the lock is held.
    let code = unsafe { &mut *CODE.code.get() };
    let new = || Code { area: Area::none(), modules: Modules::new(), told: 0, known: HashMap::default() };
    let result = use_it(code.get_or_insert_with(new));
    CODE.held.store(0, Release);
    result
}

/// Writes a segment of a function.
fn new_segment(function: &Function, shape: Shape, items: &[[u64; 3]]) -> u64 {
    with_code(|code| code.area.segment(function.module, function.start, shape, items))
}

impl Code {
    /// The instructions of a block, each an address and its bytes.
    pub fn translated(&mut self, instructions: &[(u64, &[u8], Class)]) -> Box<[&'static Site]> {
        let Some(&(start, ..)) = instructions.first() else { return Box::default() };
        let bytes: Box<[u8]> = instructions.iter().flat_map(|(_, bytes, _)| bytes.iter().copied()).collect();
        let function = self.modules.function(start, &mut self.area);
        let known = self.known.entry(start).or_default();
        let is_same = |t: &&Translated| {
            t.bytes == bytes && t.sites.first().is_some_and(|site| core::ptr::eq(site.block.function, function))
        };
        if let Some(translated) = known.iter().find(is_same) {
            return translated.sites.clone();
        }
        let is_regular = instructions.iter().all(|(.., class)| *class != Class::Repeated) && !function.is_own;
        let code = match told().is_some() && !function.is_own {
            true => {
                let bytes = instructions.iter().map(|(_, bytes, _)| *bytes);
                self.area.code(function.module, function.start, start, bytes)
            }
            false => 0,
        };
        let block: &'static Block = Box::leak(Box::new(Block {
            function,
            start,
            is_regular,
            code,
            number: self.told,
            instructions: instructions.len() as u32,
            pattern: AtomicPtr::new(core::ptr::null_mut()),
            before: Once::new(),
        }));
        self.told += u32::from(code != 0);
        let site = |(number, &(address, bytes, class)): (usize, &(u64, &[u8], Class))| -> &'static Site {
            Box::leak(Box::new(Site {
                address,
                class,
                number: number as u32,
                returns_to: processor::chosen().call(address, bytes).unwrap_or(0),
                block,
                said: AtomicU64::new(0),
                single: [const { [const { Once::new() }; 2] }; SIZES],
                call: Once::new(),
            }))
        };
        let sites: Box<[&'static Site]> = instructions.iter().enumerate().map(site).collect();
        known.push(Translated { bytes, sites: sites.clone() });
        sites
    }
}
