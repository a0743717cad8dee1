//! What a linked file says about its data: which variable lies where.
//!
//! Takes an ELF file, gives its variables by symbol, and its sections for what has no symbol. Thread-local variables
//! are left out: each thread has them at a place of its own, that the file does not tell.

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, elf::SHF_ALLOC, elf::SHF_EXECINSTR, elf::SHF_TLS};

use crate::abi;

/// A piece of a file's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datum {
    /// At link time.
    pub address: u64,
    /// Its bytes.
    pub size: u64,
    /// Linked symbol, or name of the section.
    pub name: String,
    /// It is all of a section that no symbol covers.
    pub is_section: bool,
}

/// Sections, then variables: the later lie over the earlier.
#[must_use]
pub fn data_of(elf: &object::File<'_>) -> Vec<Datum> {
    let mut data: Vec<Datum> = elf.sections().filter(holds_data).filter_map(|s| section(&s)).collect();
    data.sort_by_key(|d| d.address);
    // A stripped file still has those that other files see.
    let symbols = if elf.symbols().next().is_some() { elf.symbols() } else { elf.dynamic_symbols() };
    let mut variables: Vec<Datum> = symbols.filter_map(|s| variable(elf, &s)).collect();
    // Of several names of one variable the shortest, and of those the first.
    variables
        .sort_by(|a, b| (a.address, a.size, a.name.len(), &a.name).cmp(&(b.address, b.size, b.name.len(), &b.name)));
    variables.dedup_by(|later, kept| (later.address, later.size) == (kept.address, kept.size));
    data.append(&mut variables);
    data
}

fn holds_data(section: &object::Section<'_, '_>) -> bool {
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
    let has = |flag: object::elf::SectionFlags| sh_flags.0 & flag.0 != 0;
    has(SHF_ALLOC) && !has(SHF_EXECINSTR) && !has(SHF_TLS) && section.name() != Ok(abi::SECTION)
}

fn section(section: &object::Section<'_, '_>) -> Option<Datum> {
    let name = section.name().ok()?.to_owned();
    (section.size() > 0).then(|| Datum { address: section.address(), size: section.size(), name, is_section: true })
}

fn variable(elf: &object::File<'_>, symbol: &object::Symbol<'_, '_>) -> Option<Datum> {
    let is_here = symbol.kind() == object::SymbolKind::Data && symbol.size() > 0;
    let section = is_here.then(|| symbol.section_index()).flatten()?;
    let section = elf.section_by_index(section).ok().filter(holds_data)?;
    let inside = symbol.address() >= section.address()
        && symbol.address().checked_add(symbol.size())? <= section.address() + section.size();
    let name = symbol.name().ok().filter(|name| !name.is_empty())?.to_owned();
    inside.then(|| Datum { address: symbol.address(), size: symbol.size(), name, is_section: false })
}
