//! Where the functions of a file are declared, by their linked names.
//!
//! Takes a file with debug information, gives file and line by name. What a unit has in a file of its own (split DWARF:
//! `.dwo` beside the objects, or all of them in a `.dwp` beside the file) is read there. Counts units whose file is not
//! there. What is damaged has no declarations from there on.

use std::{borrow::Cow, collections::HashMap, ffi::OsString, fs, path::Path};

use addr2line::gimli;
use object::{Object, ObjectSection};

type Slice<'a> = gimli::EndianSlice<'a, gimli::LittleEndian>;
type Bytes<'a> = Cow<'a, [u8]>;

/// Where the functions of a file are declared.
#[derive(Default)]
pub struct Declarations {
    /// File and line, by linked name.
    pub places: HashMap<String, (String, u32)>,
    /// Units whose own file is not there.
    pub missing: u64,
}

impl Declarations {
    /// Adds those of a file.
    pub fn learn(&mut self, path: &Path, file: &object::File<'_>) -> gimli::Result<()> {
        let sections = gimli::DwarfSections::load(|id| section(file, Some(id.name())))?;
        let dwarf = sections.borrow(slice);
        let package = fs::read(package_of(path)).unwrap_or_default();
        let package = object::File::parse(&*package).ok();
        let load = |file| gimli::DwarfPackageSections::load(|id| section(file, id.dwo_name())).ok();
        let package = package.as_ref().and_then(load);
        let package = package.as_ref().and_then(|package| package.borrow(slice, Slice::default()).ok());
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            let unit = unit.unit_ref(&dwarf);
            match unit.dwo_name()? {
                Some(name) => self.missing += u64::from(self.split(unit, name, package.as_ref()).is_none()),
                None => self.unit(unit, unit)?,
            }
        }
        Ok(())
    }

    /// Those of a unit that has another file; nothing if that is not there.
    fn split<'a>(
        &mut self,
        skeleton: gimli::UnitRef<'_, Slice<'a>>,
        name: gimli::AttributeValue<Slice<'a>>,
        package: Option<&gimli::DwarfPackage<Slice<'a>>>,
    ) -> Option<()> {
        let id = skeleton.dwo_id?;
        if let Some(found) = package.and_then(|package| package.find_cu(id, skeleton.dwarf).ok().flatten()) {
            return self.units(skeleton, &found);
        }
        let mut path = directory(skeleton);
        push(&mut path, &text(skeleton, name)?);
        let data = fs::read(path).ok()?;
        let file = object::File::parse(&*data).ok()?;
        let sections = gimli::DwarfSections::load(|id| section(&file, id.dwo_name())).ok()?;
        let mut dwarf = sections.borrow(slice);
        dwarf.file_type = gimli::DwarfFileType::Dwo;
        let header = dwarf.units().next().ok()??;
        (dwarf.unit(header).ok()?.dwo_id == Some(id)).then_some(())?;
        self.units(skeleton, &dwarf)
    }

    fn units(&mut self, skeleton: gimli::UnitRef<'_, Slice<'_>>, dwarf: &gimli::Dwarf<Slice<'_>>) -> Option<()> {
        let mut units = dwarf.units();
        while let Some(header) = units.next().ok()? {
            let unit = dwarf.unit(header).ok()?;
            self.unit(unit.unit_ref(dwarf), skeleton).ok()?;
        }
        Some(())
    }

    /// Those of a unit. If it names no files itself, another one does.
    fn unit(
        &mut self,
        unit: gimli::UnitRef<'_, Slice<'_>>,
        skeleton: gimli::UnitRef<'_, Slice<'_>>,
    ) -> gimli::Result<()> {
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let is_function = entry.tag() == gimli::DW_TAG_subprogram;
            if let Some((name, number, line)) = is_function.then(|| definition(unit, entry)).flatten() {
                let file = if unit.line_program.is_some() { file(unit, number) } else { file(skeleton, number) };
                file.into_iter().for_each(|file| _ = self.places.entry(name.clone()).or_insert((file, line)));
            }
        }
        Ok(())
    }
}

/// Name, number of the file, and line of a function that an entry defines; of a method that is declared elsewhere, the
/// name is there.
fn definition<'a>(
    unit: gimli::UnitRef<'_, Slice<'a>>,
    entry: &gimli::DebuggingInformationEntry<Slice<'a>>,
) -> Option<(String, u64, u32)> {
    let is_declaration = entry.attr_value(gimli::DW_AT_declaration);
    matches!(is_declaration, None | Some(gimli::AttributeValue::Flag(false))).then_some(())?;
    let declared = match entry.attr_value(gimli::DW_AT_specification) {
        Some(gimli::AttributeValue::UnitRef(at)) => unit.entry(at).ok(),
        _ => None,
    };
    let value = |name| entry.attr_value(name).or_else(|| declared.as_ref()?.attr_value(name));
    let name = value(gimli::DW_AT_linkage_name).or_else(|| value(gimli::DW_AT_name))?;
    let line = u32::try_from(value(gimli::DW_AT_decl_line)?.udata_value()?).ok()?;
    let gimli::AttributeValue::FileIndex(file) = value(gimli::DW_AT_decl_file)? else { return None };
    Some((text(unit, name)?, file, line))
}

/// A file by its number in a unit.
fn file(unit: gimli::UnitRef<'_, Slice<'_>>, number: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(number)?;
    let mut path = directory(unit);
    if let Some(directory) = file.directory(header).and_then(|directory| text(unit, directory)) {
        push(&mut path, &directory);
    }
    push(&mut path, &text(unit, file.path_name())?);
    Some(path)
}

/// The file that has all that units of a file have of their own.
fn package_of(path: &Path) -> OsString {
    let mut path = path.as_os_str().to_owned();
    path.push(".dwp");
    path
}

fn section<'a>(file: &object::File<'a>, name: Option<&'static str>) -> gimli::Result<Bytes<'a>> {
    let section = name.and_then(|name| file.section_by_name(name));
    Ok(section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
}

fn slice<'a>(bytes: &'a Bytes<'_>) -> Slice<'a> {
    Slice::new(bytes, gimli::LittleEndian)
}

fn text<'a>(unit: gimli::UnitRef<'_, Slice<'a>>, value: gimli::AttributeValue<Slice<'a>>) -> Option<String> {
    Some(unit.attr_string(value).ok()?.to_string_lossy().into_owned())
}

/// Where the compiler of a unit ran, or nothing in it.
fn directory(unit: gimli::UnitRef<'_, Slice<'_>>) -> String {
    unit.comp_dir.map_or_else(String::new, |directory| directory.to_string_lossy().into_owned())
}

/// Appends to a path, or puts what is absolute in its place.
fn push(path: &mut String, more: &str) {
    if more.starts_with('/') || path.is_empty() {
        more.clone_into(path);
    } else {
        path.push('/');
        path.push_str(more);
    }
}
