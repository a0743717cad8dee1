//! Functions, files and lines of the code in an executable or library.
//!
//! Takes addresses as the file has them, gives names and places: by debug information, that of the file itself or of
//! the file that its build identity or `.gnu_debuglink` names, with what its units have in files of their own; else by
//! symbols, of which entries of the linkage table have those that they lead to; else by file and offset. A file that
//! cannot be read gives the last.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use addr2line::Loader;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, RelocationTarget, SymbolKind};
use serde::{Deserialize, Serialize};

use super::declared::Declarations;

/// A function, and where it is declared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Declared {
    /// The linked symbol.
    pub name: String,
    /// Source file; of a function without debug information, the file that has its code.
    pub file: Option<String>,
    /// Line, or 0.
    pub line: u32,
}

/// A place in a function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourcePosition {
    /// The function, which may be inlined.
    pub function: Declared,
    /// Source file.
    pub file: String,
    /// Line, or 0.
    pub line: u32,
    /// Column, or 0.
    pub column: u32,
}

/// Code at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Code {
    /// The linked function.
    pub function: Declared,
    /// Where it is in the source and where that was inlined, outermost first; empty if that is not known.
    pub chain: Vec<SourcePosition>,
    /// Where it lies if no symbol covers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncovered: Option<Uncovered>,
}

/// Code that no symbol covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Uncovered {
    /// Its address as the file has it.
    pub address: u64,
    /// Where the last symbol before it ends.
    pub after: u64,
}

/// What is known of the code of a file.
pub struct Places {
    path: String,
    name: String,
    debug: Option<Loader>,
    /// Where functions are declared.
    declared: Declarations,
    /// By address: bytes, and name.
    symbols: Vec<(u64, u64, String)>,
    /// Entries of the linkage table: address, and name.
    linkage: HashMap<u64, String>,
    /// What is loaded: its place in the file, bytes, and address.
    segments: Vec<(u64, u64, u64)>,
    /// Chains that were asked for.
    chains: HashMap<(u64, u64), Vec<SourcePosition>>,
}

/// Bytes of an entry of the linkage table.
const LINKAGE_ENTRY: usize = 16;

/// Where distributions have debug information.
const DEBUG_DIRECTORY: &str = "/usr/lib/debug";

impl Places {
    /// Of a file.
    pub fn read_file(path: &Path) -> Self {
        Self::read_below(path, Path::new(DEBUG_DIRECTORY))
    }

    /// Of a file whose debug information may be below a directory.
    pub(super) fn read_below(path: &Path, below: &Path) -> Self {
        let mut places = Self {
            path: path.display().to_string(),
            name: name_of(path),
            debug: None,
            declared: Declarations::default(),
            symbols: Vec::new(),
            linkage: HashMap::new(),
            segments: Vec::new(),
            chains: HashMap::new(),
        };
        let Ok(data) = fs::read(path) else { return places };
        let Ok(file) = object::File::parse(&*data) else { return places };
        places.symbols = symbols(&file);
        places.linkage = linkage(&file).unwrap_or_default();
        places.segments = file.segments().map(|s| (s.file_range().0, s.file_range().1, s.address())).collect();
        let debug = if has_debug(&file) { Some(path.to_path_buf()) } else { debug_file(path, &file, below) };
        if let Some(debug) = debug {
            places.learn(&debug);
        }
        // Of several names, the longest function's and then the first by name, whatever the order in the file.
        places.symbols.sort_by(|a, b| (a.0, std::cmp::Reverse(a.1), &a.2).cmp(&(b.0, std::cmp::Reverse(b.1), &b.2)));
        places.symbols.dedup_by_key(|symbol| symbol.0);
        places
    }

    /// Takes what a file with debug information has.
    fn learn(&mut self, debug: &Path) {
        self.debug = Loader::new(debug).ok();
        let Ok(data) = fs::read(debug) else { return };
        let Ok(file) = object::File::parse(&*data) else { return };
        self.symbols.extend(symbols(&file));
        // What is damaged has no declarations: the rest counts.
        let _ = self.declared.learn(debug, &file);
    }

    /// Units whose debug information is in files that are not there; told once.
    pub fn missing(&mut self) -> Option<(String, u64)> {
        let missing = std::mem::take(&mut self.declared.missing);
        (missing > 0).then(|| (self.name.clone(), missing))
    }

    /// The function that begins at an address.
    pub fn function(&self, address: u64) -> Declared {
        let name = self.symbol(address);
        if let Some(declared) = self.declared(&name) {
            return declared;
        }
        let location = self.debug.as_ref().and_then(|debug| debug.find_location(address).ok().flatten());
        match location.and_then(|location| Some((location.file?.to_owned(), location.line.unwrap_or(0)))) {
            Some((file, line)) => Declared { name, file: Some(file), line },
            None => Declared { name, file: Some(self.path.clone()), line: 0 },
        }
    }

    /// The code at a place in the file; where no symbol covers it, its function is the file by name.
    pub fn code(&mut self, offset: u64) -> Code {
        let address = self.loaded_at(offset);
        if let Some((address, start)) = address.and_then(|address| Some((address, self.entry(address)?))) {
            return Code { function: self.function(start), chain: self.chain(address, start), uncovered: None };
        }
        let name = format!("({})", self.name);
        let uncovered = address.map(|address| {
            let before = self.symbols[..self.symbols.partition_point(|(start, ..)| *start <= address)].last();
            Uncovered { address, after: before.map_or(0, |(start, bytes, _)| start.saturating_add(*bytes)) }
        });
        Code { function: Declared { name, file: Some(self.path.clone()), line: 0 }, chain: Vec::new(), uncovered }
    }

    /// The address of what lies at a place in the file.
    fn loaded_at(&self, offset: u64) -> Option<u64> {
        let found =
            self.segments.iter().find(|(from, bytes, _)| (*from..from.saturating_add(*bytes)).contains(&offset));
        found.map(|(from, _, address)| (offset - from).wrapping_add(*address))
    }

    /// Where the function, or the entry of the linkage table, begins that an address is in.
    fn entry(&self, address: u64) -> Option<u64> {
        let entry = address & !(LINKAGE_ENTRY as u64 - 1);
        self.linkage.contains_key(&entry).then_some(entry).or_else(|| self.start(address))
    }

    fn declared(&self, name: &str) -> Option<Declared> {
        let (file, line) = self.declared.places.get(name)?;
        Some(Declared { name: name.to_owned(), file: Some(file.clone()), line: *line })
    }

    /// Name of the function that an address is in.
    fn symbol(&self, address: u64) -> String {
        if let Some(name) = self.linkage.get(&address) {
            return format!("{name}@plt");
        }
        self.around(address).map_or_else(|| format!("{}+{address:#x}", self.name), |(_, name)| name.to_owned())
    }

    /// Where the function that has a symbol and that an address is in begins.
    pub fn start(&self, address: u64) -> Option<u64> {
        self.around(address).map(|(start, _)| start)
    }

    /// Where a function begins.
    #[cfg(test)]
    pub(super) fn address(&self, function: &str) -> Option<u64> {
        self.symbols.iter().find(|(.., name)| name == function).map(|(address, ..)| *address)
    }

    fn around(&self, address: u64) -> Option<(u64, &str)> {
        let before = self.symbols[..self.symbols.partition_point(|(start, ..)| *start <= address)].last();
        let found = before.filter(|(start, bytes, _)| *start == address || address - start < *bytes);
        found.map(|(start, _, name)| (*start, name.as_str()))
    }

    /// The place of an instruction and where that was inlined, outermost first; nothing if it is not known. `start` is
    /// the first instruction of its linked function.
    pub fn chain(&mut self, address: u64, start: u64) -> Vec<SourcePosition> {
        if let Some(known) = self.chains.get(&(address, start)) {
            return known.clone();
        }
        let found = self.find(address, start).unwrap_or_default();
        self.chains.insert((address, start), found.clone());
        found
    }

    fn find(&self, address: u64, start: u64) -> Option<Vec<SourcePosition>> {
        let mut frames = self.debug.as_ref()?.find_frames(address).ok()?;
        let mut chain = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.and_then(|function| Some(function.raw_name().ok()?.into_owned()));
            let Some(location) = frame.location else { break };
            let Some(file) = location.file else { break };
            let name = name.unwrap_or_else(|| "(inlined)".to_owned());
            let function = self.declared(&name).unwrap_or(Declared { name, file: None, line: 0 });
            let (line, column) = (location.line.unwrap_or(0), location.column.unwrap_or(0));
            chain.push(SourcePosition { function, file: file.to_owned(), line, column });
        }
        // The outermost is the linked function, however debug information calls it.
        chain.last_mut()?.function = self.function(start);
        chain.reverse();
        Some(chain)
    }
}

fn has_debug(file: &object::File<'_>) -> bool {
    [".debug_info", ".zdebug_info"].iter().any(|name| file.section_by_name(name).is_some())
}

/// Functions of a file that have names.
fn symbols(file: &object::File<'_>) -> Vec<(u64, u64, String)> {
    let is_function = |symbol: &object::Symbol<'_, '_>| symbol.kind() == SymbolKind::Text && symbol.is_definition();
    let all = file.symbols().chain(file.dynamic_symbols()).filter(is_function);
    let named = all.filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned())));
    named.filter(|(address, _, name)| *address != 0 && !name.is_empty()).collect()
}

/// Entries of the procedure linkage table by address, with the functions that they lead to: an entry jumps to what a
/// word of the global offset table says, which a relocation fills.
fn linkage(file: &object::File<'_>) -> Option<HashMap<u64, String>> {
    let symbols = file.dynamic_symbol_table()?;
    let named = |target: RelocationTarget| match target {
        RelocationTarget::Symbol(index) => {
            use object::ObjectSymbolTable;
            Some(symbols.symbol_by_index(index).ok()?.name().ok()?.to_owned())
        }
        _ => None,
    };
    let slots: HashMap<u64, String> =
        file.dynamic_relocations()?.filter_map(|(at, relocation)| Some((at, named(relocation.target())?))).collect();
    let sections = file.sections().filter(|s| matches!(s.name(), Ok(".plt" | ".plt.sec" | ".plt.got")));
    let mut found = HashMap::new();
    for section in sections {
        let Ok(data) = section.data() else { continue };
        for (entry, address) in data.chunks(LINKAGE_ENTRY).zip((section.address()..).step_by(LINKAGE_ENTRY)) {
            // `jmp` by a word at a distance from the instruction's end.
            let Some(at) = entry.windows(6).position(|bytes| bytes.starts_with(&[0xff, 0x25])) else { continue };
            let Some(Ok(distance)) = entry.get(at + 2..at + 6).map(TryInto::try_into) else { continue };
            let slot = (address + at as u64 + 6).wrapping_add_signed(i32::from_le_bytes(distance).into());
            if let Some(name) = slots.get(&slot) {
                found.insert(address, name.clone());
            }
        }
    }
    Some(found)
}

/// The file that has the debug information of another, if it is there.
fn debug_file(path: &Path, file: &object::File<'_>, below: &Path) -> Option<PathBuf> {
    let by_identity = file.build_id().ok().flatten().filter(|identity| identity.len() > 1).map(|identity| {
        let hex: String = identity.iter().map(|byte| format!("{byte:02x}")).collect();
        below.join(".build-id").join(&hex[..2]).join(format!("{}.debug", &hex[2..]))
    });
    let directory = path.parent().unwrap_or(Path::new("/"));
    let link =
        file.gnu_debuglink().ok().flatten().map(|(name, _)| PathBuf::from(String::from_utf8_lossy(name).as_ref()));
    let by_link = link.into_iter().flat_map(|name| {
        let below = below.join(directory.strip_prefix("/").unwrap_or(directory));
        [directory.join(&name), directory.join(".debug").join(&name), below.join(&name)]
    });
    by_identity.into_iter().chain(by_link).find(|debug| debug.is_file() && debug != path)
}

/// The name of a file for people.
pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
