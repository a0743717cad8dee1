//! The twin of a program with hooks: the same optimised code, linked without them, in a file beside it.
//!
//! With `--dmdprof-twin` each object with hooks has behind its end the object without them, where linkers do not look
//! and archives keep it: its bytes, their number, and [`END`]. A link takes these in the place of the others for
//! `PROGRAM.twin`, and the program gets that file's hash, by which [`beside`] tells it from the twin of another build.
//!
//! ```text
//!   | object with hooks | object without them | its bytes, 8 bytes | END, 16 bytes |
//! ```
//!
//! With 4,096 bytes without hooks, the file ends `00 10 00 00 00 00 00 00 | 00 "dmdprof-twin-1" 00`.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, bail};
use object::{Object, ObjectSection, ReadCache, ReadRef};

use super::{link_inputs::Replaced, rlib::Member};
use crate::shared::{
    hash,
    signals::{self, Kind},
};

/// The option of `dmdprof cc` that makes the same program without hooks too, beside the one with them.
pub const OPTION: &str = "--dmdprof-twin";
/// What an object with a twin ends with.
const END: &[u8; 16] = b"\0dmdprof-twin-1\0";
/// That, and the number before it.
const TAIL: usize = END.len() + 8;
/// Before the hash, in the section from which reports read what a program was made by.
const MARK: &str = "dmdprof-twin: ";

/// Puts the object without hooks behind the end of the one with hooks.
///
/// # Errors
/// When one cannot be read or the other not written.
pub fn append(object: &Path, twin: &Path) -> anyhow::Result<()> {
    let bytes = fs::read(twin).with_context(|| format!("cannot read {}", twin.display()))?;
    let length = (bytes.len() as u64).to_le_bytes();
    OpenOptions::new()
        .append(true)
        .open(object)
        .and_then(|mut file| file.write_all(&[&bytes[..], &length, END].concat()))
        .with_context(|| format!("cannot write {}", object.display()))
}

/// The object behind the end of another one.
fn twin_object(content: &[u8]) -> Option<&[u8]> {
    let (rest, end) = content.split_last_chunk::<{ END.len() }>()?;
    let (rest, length) = rest.split_last_chunk().filter(|_| end == END)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    rest.get(rest.len().checked_sub(length)?..)
}

/// Objects with twins, in whose place a link takes these.
pub struct Twins;

impl Replaced for Twins {
    fn is_file(&self, path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        let bytes = file.metadata().map_or(0, |found| found.len());
        self.is_part(&ReadCache::new(file), (0, bytes))
    }

    fn is_part(&self, data: &ReadCache<File>, (offset, bytes): (u64, u64)) -> bool {
        let at = bytes.checked_sub(END.len() as u64).filter(|_| bytes > TAIL as u64);
        at.is_some_and(|at| data.read_bytes_at(offset + at, END.len() as u64).is_ok_and(|end| end == END))
    }

    fn member<'m>(&self, member: &Member<'m>) -> Option<&'m [u8]> {
        Some(member.content()).filter(|content| twin_object(content).is_some())
    }

    fn make(&self, object: &Path, twin: &Path) -> anyhow::Result<()> {
        let content = fs::read(object).with_context(|| format!("cannot read {}", object.display()))?;
        let bytes = twin_object(&content).with_context(|| format!("{} is damaged", object.display()))?;
        fs::write(twin, bytes).with_context(|| format!("cannot write {}", twin.display()))
    }
}

/// Where a program's twin is.
#[must_use]
pub fn path(program: &Path) -> PathBuf {
    let mut path = OsString::from(program);
    path.push(".twin");
    path.into()
}

/// Links a twin; gives what the program with hooks says of it: its hash, and where it is, as the program may be linked
/// or copied to another place. Nothing where that is not possible, which the person is told of.
///
/// # Errors
/// When the linker cannot be run, or the twin not be read.
pub fn link(linker: &mut Command, twin: &Path) -> anyhow::Result<Option<String>> {
    // One of an earlier build would be taken for this one's.
    let _ = fs::remove_file(twin);
    // The link with hooks says the same of what is wrong in both.
    linker.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = signals::output(linker, Kind::Program);
    let (linked, _watched) = run.with_context(|| format!("cannot run {}", linker.get_program().display()))?;
    if linked.status.success() {
        let path = std::path::absolute(twin).with_context(|| format!("cannot find {}", twin.display()))?;
        return Ok(Some(format!("{MARK}{} {}", hash::of_file(twin)?, path.display())));
    }
    eprintln!(
        "dmdprof: note: {} is not made: what has hooks must be compiled with {OPTION} too, and shared libraries \
         without hooks",
        twin.display()
    );
    Ok(None)
}

/// The twin of a program, if that was built with one and it is there: beside it, else where it was made.
///
/// # Errors
/// When it is of another build.
pub fn beside(program: &Path) -> anyhow::Result<Option<PathBuf>> {
    let Some((wanted, made)) = marked(program) else { return Ok(None) };
    let Some(twin) = [path(program), made].into_iter().find(|twin| twin.is_file()) else { return Ok(None) };
    if hash::of_file(&twin)? != wanted {
        bail!(
            "{} is of another build than {}: build that again, or name the same program without hooks with --native",
            twin.display(),
            program.display()
        );
    }
    Ok(Some(twin))
}

/// The hash of the twin that a program was built with, and where it was made.
fn marked(program: &Path) -> Option<(String, PathBuf)> {
    let parts = ReadCache::new(File::open(program).ok()?);
    let file = object::File::parse(&parts).ok()?;
    let comments = file.section_by_name(".comment")?.data().ok()?;
    let lines = comments.split(|byte| *byte == 0).filter_map(|line| std::str::from_utf8(line).ok());
    let (hash, path) = lines.filter_map(|line| line.strip_prefix(MARK)).next_back()?.split_once(' ')?;
    Some((hash.to_owned(), path.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_keeps_its_twin_behind_its_end() {
        let place = tempfile::tempdir().unwrap();
        let [object, twin, taken] = ["a.o", "twin.o", "taken.o"].map(|name| place.path().join(name));
        fs::write(&object, "with hooks").unwrap();
        fs::write(&twin, "without").unwrap();
        assert!(!Twins.is_file(&object));
        append(&object, &twin).unwrap();
        assert!(fs::read(&object).unwrap().starts_with(b"with hooks") && Twins.is_file(&object));
        Twins.make(&object, &taken).unwrap();
        assert_eq!(fs::read(&taken).unwrap(), b"without");
        let content = fs::read(&object).unwrap();
        assert_eq!(twin_object(&content[..content.len() - 1]), None);
        assert_eq!(twin_object(&content[content.len() - TAIL..]), None, "the object before the number is cut off");
    }
}
