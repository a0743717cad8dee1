//! Inputs of a link that others take the place of, also in archives: bitcode, which a plain `clang -flto` leaves in
//! place of objects and of which the linker would make code without hooks; objects with twins.
//!
//! Takes the inputs as the command line names them; gives what is to be linked instead: objects, and archives of them.
//! What cannot be replaced is linked as it is, and named.

use std::{
    cell::{Cell, RefCell},
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Read,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use anyhow::Context;
use object::{ReadCache, ReadRef, read::archive::ArchiveFile};

use super::{
    rlib::{self, Kind, Member, Purpose},
    scratch::Scratch,
};

/// What is replaced, and how.
pub trait Replaced {
    /// Whether a file is one.
    fn is_file(&self, path: &Path) -> bool;

    /// Whether a part of a file is one, from its offset on so many bytes: archives can be large.
    fn is_part(&self, data: &ReadCache<File>, range: (u64, u64)) -> bool;

    /// What is replaced of a member.
    fn member<'m>(&self, member: &Member<'m>) -> Option<&'m [u8]>;

    /// Makes an object of a file.
    ///
    /// # Errors
    /// When that is not possible.
    fn make(&self, file: &Path, object: &Path) -> anyhow::Result<()>;
}

/// Bitcode, of which this makes an object with hooks.
pub struct Bitcode<F>(pub F);

impl<F: Fn(&Path, &Path) -> anyhow::Result<()>> Replaced for Bitcode<F> {
    fn is_file(&self, path: &Path) -> bool {
        is_bitcode(&start_of(path))
    }

    fn is_part(&self, data: &ReadCache<File>, (offset, bytes): (u64, u64)) -> bool {
        bytes >= 4 && data.read_bytes_at(offset, 4).is_ok_and(is_bitcode)
    }

    fn member<'m>(&self, member: &Member<'m>) -> Option<&'m [u8]> {
        match member.kind {
            Kind::Bitcode(bitcode) => Some(bitcode).filter(|bitcode| is_bitcode(bitcode)),
            _ => None,
        }
    }

    fn make(&self, file: &Path, object: &Path) -> anyhow::Result<()> {
        self.0(file, object)
    }
}

pub struct Inputs<'a> {
    scratch: &'a Scratch,
    what: &'a dyn Replaced,
    made: Cell<usize>,
    without_hooks: RefCell<Vec<(String, String)>>,
}

impl<'a> Inputs<'a> {
    #[must_use]
    pub fn new(scratch: &'a Scratch, what: &'a dyn Replaced) -> Self {
        Self { scratch, what, made: Cell::new(0), without_hooks: RefCell::default() }
    }

    /// The words for a file, or for words of the linker's own.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn words(&self, word: &OsStr) -> anyhow::Result<Vec<OsString>> {
        let list = word.to_str().and_then(|word| word.strip_prefix("-Wl,"));
        let Some(list) = list else {
            return Ok(vec![self.replaced(Path::new(word))?.map_or_else(|| word.to_os_string(), OsString::from)]);
        };
        let mut words = Vec::new();
        let mut changed = false;
        for part in list.split(',') {
            let replaced = self.replaced(Path::new(part))?;
            changed |= replaced.is_some();
            words.extend(["-Xlinker".into(), replaced.map_or_else(|| part.into(), OsString::from)]);
        }
        Ok(if changed { words } else { vec![word.to_os_string()] })
    }

    /// The words for `-lNAME`, which is looked for as the linker does in these directories.
    ///
    /// # Errors
    /// As [`Inputs::words`].
    pub fn library(
        &self,
        words: &[OsString],
        archive: bool,
        directories: &[OsString],
    ) -> anyhow::Result<Vec<OsString>> {
        let joined = OsStr::from_bytes(&words[0].as_bytes()[2..]);
        let name = words.get(1).map_or(joined, OsString::as_os_str);
        let found = library_file(name, archive, directories);
        let replaced = found.map(|path| self.replaced(&path)).transpose()?.flatten();
        Ok(replaced.map_or_else(|| words.to_vec(), |path| vec![path.into()]))
    }

    /// Names of what could not be replaced and has no hooks, with the reasons.
    #[must_use]
    pub fn without_hooks(self) -> Vec<(String, String)> {
        self.without_hooks.into_inner()
    }

    fn replaced(&self, path: &Path) -> anyhow::Result<Option<PathBuf>> {
        let replaced = match &start_of(path) {
            b"!<arch>\n" => self.archive(path),
            b"!<thin>\n" => self.thin_archive(path),
            _ if self.what.is_file(path) => Ok(self.named(path, self.object(path))),
            _ => Ok(None),
        };
        replaced.with_context(|| format!("cannot take {} into the link", path.display()))
    }

    /// A directory for something under its own name, which messages may mention.
    fn place(&self, name: &OsStr) -> anyhow::Result<PathBuf> {
        let number = self.made.replace(self.made.get() + 1);
        let directory = self.scratch.file(&format!("input{number}"));
        fs::create_dir(&directory)?;
        Ok(directory.join(name))
    }

    /// What was made of a file, or its name among those of what has no hooks.
    fn named<T>(&self, file: &Path, made: anyhow::Result<T>) -> Option<T> {
        let name = || file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        made.map_err(|error| self.without_hooks.borrow_mut().push((name(), format!("{error:#}")))).ok()
    }

    fn object(&self, file: &Path) -> anyhow::Result<PathBuf> {
        let object = self.place(file.file_name().unwrap_or_default())?;
        self.what.make(file, &object)?;
        Ok(object)
    }

    fn member(&self, name: &str, content: &[u8]) -> anyhow::Result<PathBuf> {
        let file = self.place(Path::new(name).file_name().unwrap_or_default())?;
        fs::write(&file, content)?;
        let made = self.object(&file).with_context(|| name.to_owned());
        fs::remove_file(file)?;
        made
    }

    /// Whether a member is to be replaced.
    fn is_in_archive(&self, archive: &Path) -> bool {
        let Ok(file) = File::open(archive) else { return false };
        let data = &ReadCache::new(file);
        let Ok(archive) = ArchiveFile::parse(data) else { return false };
        archive.members().filter_map(Result::ok).any(|member| self.what.is_part(data, member.file_range()))
    }

    fn archive(&self, path: &Path) -> anyhow::Result<Option<PathBuf>> {
        if !self.is_in_archive(path) {
            return Ok(None);
        }
        let content = fs::read(path)?;
        let members = rlib::members(path, &content)?;
        let made = members.iter().map(|member| {
            let content = self.what.member(member);
            content.map(|content| self.member(&member.name, content)).transpose()
        });
        // All or nothing: the archive's table of symbols is made anew, which needs objects.
        let Some(made) = self.named(path, made.collect::<anyhow::Result<Vec<_>>>()) else { return Ok(None) };
        let archive = self.place(path.file_name().unwrap_or_default())?;
        let members: Vec<_> = members.iter().zip(made.iter().map(Option::as_deref)).collect();
        rlib::write(&archive, &members, Purpose::Keep)?;
        Ok(Some(archive))
    }

    /// Its members are files beside it.
    fn thin_archive(&self, path: &Path) -> anyhow::Result<Option<PathBuf>> {
        let content = fs::read(path)?;
        let directory = path.parent().unwrap_or(Path::new(""));
        let mut files = Vec::new();
        for member in ArchiveFile::parse(&*content)?.members() {
            files.push(directory.join(OsStr::from_bytes(member?.name())));
        }
        if !files.iter().any(|file| self.what.is_file(file)) {
            return Ok(None);
        }
        let made = files.iter().map(|file| if self.what.is_file(file) { self.object(file) } else { Ok(file.clone()) });
        let Some(all) = self.named(path, made.collect::<anyhow::Result<Vec<_>>>()) else { return Ok(None) };
        let archive = self.place(path.file_name().unwrap_or_default())?;
        rlib::write_objects(&archive, &all)?;
        Ok(Some(archive))
    }
}

/// Its first bytes; zeros for what is no file, or shorter.
fn start_of(path: &Path) -> [u8; 8] {
    let mut start = [0; 8];
    // Opening a pipe would wait.
    let is_read = path.is_file() && File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok());
    if is_read { start } else { [0; 8] }
}

/// Bitcode as such, or in the wrapper that Darwin uses; not that which an object embeds beside its code.
fn is_bitcode(start: &[u8]) -> bool {
    start.starts_with(b"BC\xc0\xde") || start.starts_with(&[0xde, 0xc0, 0x17, 0x0b])
}

/// In each directory a shared library comes before an archive. What is found nowhere is the system's, and no bitcode.
fn library_file(name: &OsStr, archive: bool, directories: &[OsString]) -> Option<PathBuf> {
    let name = name.to_str()?;
    let names = match name.strip_prefix(':') {
        Some(file) => vec![file.to_owned()],
        None if archive => vec![format!("lib{name}.a")],
        None => vec![format!("lib{name}.so"), format!("lib{name}.a")],
    };
    let candidates = directories.iter().flat_map(|directory| names.iter().map(|name| Path::new(directory).join(name)));
    candidates.into_iter().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_as_the_linker_finds_them() {
        let place = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| place.path().join(name));
        for directory in [&first, &second] {
            fs::create_dir(directory).unwrap();
            fs::write(directory.join("libx.a"), "").unwrap();
        }
        fs::write(second.join("libx.so"), "").unwrap();
        let found = |name: &str, archive: bool, directories: [&PathBuf; 2]| {
            library_file(OsStr::new(name), archive, &directories.map(|d| d.clone().into_os_string()))
        };
        assert_eq!(found("x", false, [&first, &second]), Some(first.join("libx.a")));
        assert_eq!(found("x", false, [&second, &first]), Some(second.join("libx.so")));
        assert_eq!(found("x", true, [&second, &first]), Some(second.join("libx.a")));
        assert_eq!(found(":libx.a", false, [&second, &first]), Some(second.join("libx.a")));
        assert_eq!(found("y", false, [&first, &second]), None);
    }
}
