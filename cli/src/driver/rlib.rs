//! Rust libraries: archives of the objects of one crate, each with its bitcode, and of the C objects that the crate
//! brings.
//!
//! Takes an archive, gives its [`Member`]s and what each is to us; from members some of which were replaced by files,
//! makes an archive for the linker. Refuses what is no archive.

use std::{
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use ar_archive_writer::{ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, write_archive_to_stream};
use object::{Object, ObjectSection, read::archive::ArchiveFile};

/// One file of an archive.
#[derive(Debug)]
pub struct Member<'a> {
    pub name: String,
    pub kind: Kind<'a>,
    content: &'a [u8],
}

/// What an object is to us.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// An object of rustc (or bitcode in place of one), with its bitcode.
    Bitcode(&'a [u8]),
    /// The text that rustc leaves in place of an object if it is told to leave out machine code, cut to the unit's IR.
    Text(String),
    /// A codegen unit of rustc that came without bitcode.
    WithoutBitcode,
    /// The crate's metadata: nothing for a linker.
    Metadata,
    /// Anything else, such as an object made by a C compiler or from assembly.
    Other,
}

/// What is in an archive.
///
/// # Errors
/// When it is damaged.
pub fn members<'a>(path: &Path, content: &'a [u8]) -> anyhow::Result<Vec<Member<'a>>> {
    let damaged = |error: object::Error| anyhow!("{} is not a Rust library: {error}", path.display());
    let archive = ArchiveFile::parse(content).map_err(damaged)?;
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(damaged)?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let content = member.data(content).map_err(damaged)?;
        members.push(Member { kind: kind_of(&name, content), name, content });
    }
    Ok(members)
}

/// What an object is to us, by its name and content.
#[must_use]
pub fn kind_of<'a>(name: &str, content: &'a [u8]) -> Kind<'a> {
    if name == "lib.rmeta" {
        return Kind::Metadata;
    }
    if content.starts_with(b"BC\xc0\xde") {
        return Kind::Bitcode(content);
    }
    if let Some(text) = text_of(content) {
        return Kind::Text(text);
    }
    match embedded_bitcode(content) {
        Some(bitcode) => Kind::Bitcode(bitcode),
        None if is_codegen_unit(name) => Kind::WithoutBitcode,
        None => Kind::Other,
    }
}

/// The IR in what LLVM writes when its code generator is stopped: a YAML document whose first part is the module, as a
/// block of indented lines.
fn text_of(content: &[u8]) -> Option<String> {
    let block = std::str::from_utf8(content.strip_prefix(b"--- |\n")?).ok()?;
    let lines = block.lines().take_while(|line| *line != "...");
    Some(lines.map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect())
}

/// Objects of codegen units are named `<crate>.<crate>.<hash>-cgu.<n>.rcgu.o`. The only other object that rustc makes
/// is the shim between `alloc` and the allocator, which touches no memory.
pub(super) fn is_codegen_unit(name: &str) -> bool {
    name.contains("-cgu.") && name.ends_with(".rcgu.o")
}

/// Content of the section `.llvmbc`; rustc also writes empty ones.
fn embedded_bitcode(content: &[u8]) -> Option<&[u8]> {
    let file = object::File::parse(content).ok()?;
    let data = file.section_by_name(".llvmbc")?.data().ok()?;
    (data.len() > 4).then_some(data)
}

impl<'a> Member<'a> {
    /// A member that is added.
    #[must_use]
    pub fn new(name: &str, content: &'a [u8]) -> Self {
        Self { name: name.to_owned(), kind: Kind::Other, content }
    }

    /// All of it.
    #[must_use]
    pub fn content(&self) -> &'a [u8] {
        self.content
    }

    /// Machine code that nobody put hooks into.
    #[must_use]
    pub fn is_code_without_hooks(&self) -> bool {
        let Ok(file) = object::File::parse(self.content) else { return false };
        let is_code = |section: object::Section| section.kind() == object::SectionKind::Text && section.size() > 0;
        self.kind == Kind::Other
            && file.section_by_name(dmdprof_runtime::abi::SECTION).is_none()
            && file.sections().any(is_code)
    }
}

/// How long an archive is to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// With files alone it only names them.
    OneLink,
    Keep,
}

/// Writes an archive of these members, with the given files in the place of some.
///
/// # Errors
/// When a file cannot be read or the archive cannot be written.
pub fn write(path: &Path, members: &[(&Member, Option<&Path>)], purpose: Purpose) -> anyhow::Result<()> {
    let linked = || members.iter().filter(|(member, _)| member.kind != Kind::Metadata);
    let thin = purpose == Purpose::OneLink && linked().all(|(_, replacement)| replacement.is_some());
    let mut new = Vec::new();
    for (member, replacement) in linked() {
        let content = match replacement {
            Some(file) => fs::read(file).with_context(|| format!("cannot read {}", file.display()))?,
            None => member.content.to_vec(),
        };
        let name = match replacement {
            Some(file) if thin => utf8(file)?,
            _ => member.name.clone(),
        };
        new.push(NewArchiveMember::new(content, &DEFAULT_OBJECT_READER, name));
    }
    let written = File::create(path)
        .and_then(|file| write_archive_to_stream(&mut BufWriter::new(file), &new, ArchiveKind::Gnu, thin, None));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Writes an archive of these objects.
///
/// # Errors
/// When an object cannot be read or the archive cannot be written.
pub fn write_objects(path: &Path, objects: &[PathBuf]) -> anyhow::Result<()> {
    let name = |object: &PathBuf| object.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let members: Vec<Member> = objects.iter().map(|object| Member::new(&name(object), &[])).collect();
    let members: Vec<_> = members.iter().zip(objects.iter().map(|object| Some(object.as_path()))).collect();
    write(path, &members, Purpose::Keep)
}

fn utf8(path: &Path) -> anyhow::Result<String> {
    let name: PathBuf = path.to_path_buf();
    name.into_os_string().into_string().map_err(|name| anyhow!("{} is not UTF-8", name.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_place_of_an_object() {
        let text = b"--- |\n  ; ModuleID = 'x'\n  \n  define void @f() {\n    ret void\n  }\n...\n---\nname: f\n...\n";
        let ir = "; ModuleID = 'x'\n\ndefine void @f() {\n  ret void\n}\n";
        assert_eq!(kind_of("a.4fz.rcgu.o", text), Kind::Text(ir.into()));
    }

    #[test]
    fn members_are_recognised_and_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("liba.rlib");
        let bitcode: &[u8] = b"BC\xc0\xde....";
        let unit = |name: &str, content| Member { name: name.into(), kind: kind_of(name, content), content };
        let all = [
            unit("lib.rmeta", b"meta"),
            unit("a.a.1-cgu.0.rcgu.o", bitcode),
            unit("a.a.1-cgu.1.rcgu.o", b"?"),
            unit("c.o", b"C"),
        ];
        let file = directory.path().join("new.o");
        fs::write(&file, "replacement").unwrap();

        write(&path, &[(&all[0], None), (&all[1], Some(&file)), (&all[2], None), (&all[3], None)], Purpose::OneLink)
            .unwrap();
        let content = fs::read(&path).unwrap();
        let found = members(&path, &content).unwrap();
        let names: Vec<(&str, &[u8])> = found.iter().map(|m| (m.name.as_str(), m.content)).collect();
        assert_eq!(names, [("a.a.1-cgu.0.rcgu.o", &b"replacement"[..]), ("a.a.1-cgu.1.rcgu.o", b"?"), ("c.o", b"C")]);
        assert_eq!((&all[0].kind, &all[1].kind), (&Kind::Metadata, &Kind::Bitcode(bitcode)));
        assert_eq!((&all[2].kind, &all[3].kind), (&Kind::WithoutBitcode, &Kind::Other));

        let units = [(&all[0], None), (&all[1], Some(file.as_path()))];
        write(&path, &units, Purpose::Keep).unwrap();
        assert!(fs::read(&path).unwrap().starts_with(b"!<arch>\n"));
        write(&path, &units, Purpose::OneLink).unwrap();
        assert!(fs::read(&path).unwrap().starts_with(b"!<thin>\n"));
        assert!(members(&path, b"junk").unwrap_err().to_string().contains("liba.rlib is not a Rust library"));
    }
}
