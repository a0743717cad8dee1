//! Sections and symbols of an ELF file.
//!
//! Takes a file of 64 bits, gives which sections it has, where its linkage tables are, where its functions begin, and
//! which of them give and take blocks. A file can say anything: what does not fit gives nothing.

use std::{fs, path::Path};

use crate::allocators::Function;

/// Sections of a file.
pub struct Sections {
    file: fs::File,
    list: Vec<Section>,
}

struct Section {
    name: String,
    kind: u64,
    address: u64,
    offset: u64,
    bytes: u64,
    /// Number of the section that has its names.
    names: u64,
}

/// A symbol of a function.
struct Symbol {
    /// Offset in the section of names.
    name: u64,
    start: u64,
}

/// A number of some bytes, lowest first.
fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    bytes.get(at..at + size).unwrap_or_default().iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn read(file: &fs::File, at: u64, bytes: u64) -> Option<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    // Nothing is longer than the file.
    file.metadata().ok().filter(|file| bytes <= file.len())?;
    let mut buffer = vec![0; usize::try_from(bytes).ok()?];
    file.read_exact_at(&mut buffer, at).ok().map(|()| buffer)
}

/// The string that begins at an offset.
fn string(text: &[u8], at: u64) -> &[u8] {
    let text = usize::try_from(at).ok().and_then(|at| text.get(at..)).unwrap_or_default();
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

impl Sections {
    /// Of a 64-bit ELF file.
    pub fn read_file(path: impl AsRef<Path>) -> Option<Self> {
        const HEADER: u64 = 64;
        let file = fs::File::open(path).ok()?;
        let header = read(&file, 0, HEADER)?;
        let (table, size, count, names) =
            (number(&header, 40, 8), number(&header, 58, 2), number(&header, 60, 2), number(&header, 62, 2));
        if size != HEADER || names >= count {
            return None;
        }
        let sections = read(&file, table, size * count)?;
        let sections: Vec<&[u8]> = sections.chunks(HEADER as usize).collect();
        let named = sections.get(names as usize)?;
        // A file can say anything; names of more than this are of no program.
        let text = read(&file, number(named, 24, 8), number(named, 32, 8).min(1 << 20))?;
        let one = |section: &&[u8]| {
            let [name, kind, address, offset, bytes, names] =
                [(0, 4), (4, 4), (16, 8), (24, 8), (32, 8), (40, 4)].map(|(at, n)| number(section, at, n));
            let name = String::from_utf8_lossy(string(&text, name)).into_owned();
            Section { name, kind, address, offset, bytes, names }
        };
        let list = sections.iter().map(one).collect();
        Some(Self { file, list })
    }

    /// Whether there is a section of a name.
    pub fn has(&self, wanted: &str) -> bool {
        self.list.iter().any(|section| section.name == wanted)
    }

    /// Where the sections `.plt` and the like are mapped.
    pub fn linkage(&self, bias: u64) -> Vec<(u64, u64)> {
        let is_linkage = |section: &&Section| matches!(section.name.as_str(), ".plt" | ".plt.sec" | ".plt.got");
        let range = |section: &Section| (section.address, section.address.wrapping_add(section.bytes));
        let tables = self.list.iter().filter(is_linkage).map(range);
        tables.map(|(low, high)| (bias.wrapping_add(low), bias.wrapping_add(high))).collect()
    }

    /// Where functions begin that have symbols, in order.
    pub fn functions(&self, bias: u64) -> Vec<u64> {
        let symbols = self.tables().flat_map(|table| self.symbols(table));
        let mut starts: Vec<u64> = symbols.map(|symbol| bias.wrapping_add(symbol.start)).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Functions that give and take blocks, and where they begin. Several names may be of one.
    pub fn allocators(&self, bias: u64) -> Vec<(u64, &'static Function)> {
        let mut found = Vec::new();
        for table in self.tables() {
            let names = self.list.get(table.names as usize).and_then(|names| self.read(names)).unwrap_or_default();
            let named = |symbol: Symbol| Some((symbol.start, Function::from_name(string(&names, symbol.name))?));
            found.extend(self.symbols(table).filter_map(named));
        }
        found.into_iter().map(|(start, function)| (bias.wrapping_add(start), function)).collect()
    }

    fn tables(&self) -> impl Iterator<Item = &Section> {
        const SYMBOLS: [u64; 2] = [2, 11];
        self.list.iter().filter(|section| SYMBOLS.contains(&section.kind))
    }

    /// Symbols of functions that the file itself has.
    fn symbols(&self, table: &Section) -> impl Iterator<Item = Symbol> {
        const FUNCTION: u64 = 2;
        const ENTRY: usize = 24;
        let bytes = self.read(table).unwrap_or_default();
        let (all, _) = bytes.as_chunks::<ENTRY>();
        let is_function = |s: &&[u8; ENTRY]| number(*s, 4, 1) & 0xf == FUNCTION && number(*s, 6, 2) != 0;
        let symbol = |s: &[u8; ENTRY]| Symbol { name: number(s, 0, 4), start: number(s, 8, 8) };
        all.iter().filter(is_function).map(symbol).collect::<Vec<_>>().into_iter()
    }

    fn read(&self, section: &Section) -> Option<Vec<u8>> {
        read(&self.file, section.offset, section.bytes)
    }
}
