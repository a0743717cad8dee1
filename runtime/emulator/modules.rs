//! Which file the code at an address is from, and which function it is in.
//!
//! Takes addresses of instructions, gives [`Module`]s and [`Function`]s. What is mapped where tells `/proc/self/maps`:
//! a program of the emulator's own word size has the addresses that the emulator has. Where functions begin tells the
//! table for unwinding (`.eh_frame_hdr`), which nearly all code has, stripped or not, else symbols; entries of the
//! procedure linkage table are functions of 16 bytes. Code without either counts as one function per module, and code
//! of no file as one.

use std::{collections::BTreeMap, fs};

use crate::{
    allocators::Function as Allocator,
    area::{Area, Once},
    execute::LIBRARY,
    processor, registers,
    sections::Sections,
};

/// Stands for the file of the library that tells lives of blocks, in programs where registers do.
const BY_REGISTERS: &str = "registers";

/// A mapped file.
pub struct Module {
    pub low: u64,
    pub high: u64,
    /// Address of its entry in the area.
    pub entry: u64,
    /// The library that was loaded to tell what the program allocates: not a part of the program.
    pub is_own: bool,
    /// First addresses of functions.
    starts: Starts,
    /// First addresses of functions by symbols, where there is no table or may be little in it.
    symbols: Vec<u64>,
    /// Linkage tables: first address, and behind the last.
    linkage: Vec<(u64, u64)>,
    /// Functions that give and take blocks, if registers tell lives.
    allocators: BTreeMap<u64, &'static Allocator>,
}

/// A function of the program.
pub struct Function {
    /// Its first instruction.
    pub start: u64,
    /// Address of its module's entry, or 0.
    pub module: u64,
    /// No records are written of it.
    pub is_own: bool,
    /// Its segments that begin and end a frame.
    pub enter: Once,
    pub exit: Once,
    pub exit_frame: Once,
}

/// The table of functions in `.eh_frame_hdr`: pairs of 32-bit distances from the table's header.
#[derive(Clone, Copy)]
struct Starts {
    header: u64,
    table: u64,
    count: u64,
}

impl Starts {
    const NONE: Self = Self { header: 0, table: 0, count: 0 };

    /// Of a header at an address, if it is of the usual kind.
    fn from_header(header: u64) -> Self {
        /// A version, and how pointers are encoded: distances of 4 bytes, a count of 4, distances from the header.
        const USUAL: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
        // SAFETY: the loader has mapped the header, which its program header says is there.
        let found: [u8; 4] = unsafe { (header as *const [u8; 4]).read() };
        if found != USUAL {
            return Self::NONE;
        }
        // SAFETY: as above.
        let count = unsafe { ((header + 8) as *const u32).read_unaligned() };
        Self { header, table: header + 12, count: count.into() }
    }

    fn start(&self, index: u64) -> u64 {
        // SAFETY: below the count, and so within the table.
        let distance = unsafe { ((self.table + index * 8) as *const i32).read_unaligned() };
        self.header.wrapping_add_signed(distance.into())
    }

    /// The last that is not behind an address.
    fn find(&self, address: u64) -> Option<u64> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = (low + high) / 2;
            if self.start(middle) <= address { low = middle + 1 } else { high = middle }
        }
        low.checked_sub(1).map(|index| self.start(index))
    }
}

/// All that is known.
pub struct Modules {
    modules: Vec<Module>,
    functions: BTreeMap<u64, &'static Function>,
    /// Ranges without a file that have been looked up.
    nameless: Vec<(u64, u64)>,
    /// It has been said that registers tell lives.
    tells_lives: bool,
}

/// `start-end perms offset device inode path`.
pub struct Mapping {
    pub low: u64,
    pub high: u64,
    pub readable: bool,
    offset: u64,
    path: String,
}

/// What is mapped, in the order of addresses.
pub fn mappings() -> Vec<Mapping> {
    let text = fs::read("/proc/self/maps").unwrap_or_default();
    let mapping = |line: &str| {
        let mut words = line.splitn(6, ' ');
        let (low, high) = words.next()?.split_once('-')?;
        let readable = words.next()?.starts_with('r');
        let offset = u64::from_str_radix(words.next()?, 16).ok()?;
        let path = words.nth(2).unwrap_or("").trim_start().to_owned();
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some(Mapping { low: number(low)?, high: number(high)?, readable, offset, path })
    };
    String::from_utf8_lossy(&text).lines().filter_map(mapping).collect()
}

impl Modules {
    pub const fn new() -> Self {
        Self { modules: Vec::new(), functions: BTreeMap::new(), nameless: Vec::new(), tells_lives: false }
    }

    /// The function of the instruction at an address.
    pub fn function(&mut self, address: u64, area: &mut Area) -> &'static Function {
        let module = self.module(address, area);
        let (start, entry, is_own) = match module {
            Some(module) => (module.function(address), module.entry, module.is_own),
            None => (0, 0, false),
        };
        self.functions.entry(start).or_insert_with(|| {
            let (enter, exit, exit_frame) = (Once::new(), Once::new(), Once::new());
            Box::leak(Box::new(Function { start, module: entry, is_own, enter, exit, exit_frame }))
        })
    }

    fn module(&mut self, address: u64, area: &mut Area) -> Option<&Module> {
        let inside = |module: &Module| module.low <= address && address < module.high;
        if let Some(at) = self.modules.iter().position(inside) {
            return self.modules.get(at);
        }
        if self.nameless.iter().any(|(low, high)| (*low..*high).contains(&address)) {
            return None;
        }
        let all = mappings();
        let here = all.iter().find(|mapping| mapping.low <= address && address < mapping.high)?;
        if !here.path.starts_with('/') {
            self.nameless.push((here.low, here.high));
            return None;
        }
        // The file's first mapping before this one.
        let first = all.iter().rev().find(|m| m.path == here.path && m.offset == 0 && m.low <= address && m.readable);
        let Some(module) = first.and_then(|first| Module::read(first.low, address, &here.path, area)) else {
            self.nameless.push((here.low, here.high));
            return None;
        };
        if !self.tells_lives && !module.allocators.is_empty() {
            self.tells_lives = true;
            area.module(0, 0, 0, format!("{LIBRARY}{BY_REGISTERS}").as_bytes());
        }
        self.modules.push(module);
        self.modules.last()
    }

    /// The function that gives or takes blocks and begins at an address that was asked for, if registers tell lives.
    pub fn allocator(&self, address: u64) -> Option<&'static Allocator> {
        self.modules.iter().find_map(|module| module.allocators.get(&address)).copied()
    }

    /// A range is not mapped any more, or something else is: what was there is forgotten.
    pub fn forget(&mut self, low: u64, high: u64) {
        let overlaps = |from: u64, to: u64| from < high && low < to;
        let gone = |module: &Module| overlaps(module.low, module.high);
        if self.modules.iter().any(gone) {
            // Functions of a library that is closed are not called any more; of another at its place they are others.
            self.functions.retain(|start, _| !(low..high).contains(start));
            self.modules.retain(|module| !gone(module));
        }
        self.nameless.retain(|(from, to)| !overlaps(*from, *to));
    }
}

impl Module {
    /// The module whose ELF header is mapped at `start`, if it has this address.
    fn read(start: u64, address: u64, path: &str, area: &mut Area) -> Option<Self> {
        const LOAD: u64 = 1;
        const UNWINDING: u64 = 0x6474_e550;
        const PAGE: u64 = 4096;
        // SAFETY: within the first page of a mapped file, as is checked below for what the header names.
        let byte = |at: u64| u64::from(unsafe { ((start + at) as *const u8).read() });
        let word = |at: u64, bytes: u64| (0..bytes).fold(0, |word, i| word | byte(at + i) << (8 * i));
        if word(0, 4) != u64::from(u32::from_le_bytes(*b"\x7fELF")) || word(4, 1) != 2 {
            return None;
        }
        let (table, bytes, count) = (word(32, 8), word(54, 2), word(56, 2));
        if bytes < 56 || table + bytes * count > PAGE {
            return None;
        }
        let headers: Vec<[u64; 3]> =
            (0..count).map(|i| table + i * bytes).map(|at| [word(at, 4), word(at + 16, 8), word(at + 40, 8)]).collect();
        let loads = || headers.iter().filter(|[kind, ..]| *kind == LOAD);
        let lowest = loads().map(|[_, at, _]| at & !(PAGE - 1)).min()?;
        let highest = loads().map(|[_, at, size]| at.wrapping_add(*size)).max()?;
        let bias = start.wrapping_sub(lowest);
        let (low, high) = (start, bias.wrapping_add(highest));
        if !(low..high).contains(&address) {
            return None;
        }
        let header = headers.iter().find(|[kind, ..]| *kind == UNWINDING).map(|[_, at, _]| bias.wrapping_add(*at));
        let starts = header.filter(|header| (low..high).contains(header)).map_or(Starts::NONE, Starts::from_header);
        let sections = Sections::read_file(path);
        let linkage = sections.as_ref().map(|sections| sections.linkage(bias)).unwrap_or_default();
        let told = sections.as_ref().filter(|_| registers::chosen().is_some());
        let allocators = told.map(|sections| sections.allocators(bias).into_iter().collect()).unwrap_or_default();
        // Static programs may have no such table, and code of other processors few entries in it.
        let needs_symbols = starts.count == 0 || !processor::chosen().is_x86();
        let symbols = sections.filter(|_| needs_symbols).map(|sections| sections.functions(bias));
        let entry = area.module(bias, low, high, path.as_bytes());
        let is_own = path.rsplit('/').next().is_some_and(|name| name.starts_with(LIBRARY));
        Some(Self { low, high, entry, is_own, starts, symbols: symbols.unwrap_or_default(), linkage, allocators })
    }

    /// The first instruction of the function that an address is in.
    fn function(&self, address: u64) -> u64 {
        const ENTRY: u64 = 16;
        if let Some((low, _)) = self.linkage.iter().find(|(low, high)| (*low..*high).contains(&address)) {
            return low + (address - low) / ENTRY * ENTRY;
        }
        let by_symbol = || self.symbols[..self.symbols.partition_point(|start| *start <= address)].last().copied();
        self.starts.find(address).max(by_symbol()).filter(|start| *start >= self.low).unwrap_or(self.low)
    }
}
