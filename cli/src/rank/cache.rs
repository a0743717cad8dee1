//! Results of runs, kept by the content of everything that a run depends on.
//!
//! Takes a [`Question`], gives the [`Evidence`] of a run that answered the same one. Entries are files in one
//! directory, named by the question's SHA-256, written whole or not at all; one that is damaged is as good as none. The
//! oldest go when there are too many. Machines are no part of a question: estimates are made anew from the profile.
//!
//! Not in a question, so that a change of them is not seen: shared libraries, files that nobody named, the environment
//! apart from what [`runner::FIXED`] fixes.
//!
//! ```text
//!   0 | SHA-256 of what follows, 32 bytes |
//!  32 | zstd of a Stored in postcard      |
//! ```
//!
//! A program that prints `text` and declares the outputs `01 02` and nothing has a `Stored` that ends
//! `04 74 65 78 74 | 02 | 02 01 02 | 00`.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Evidence;
use crate::gate::runner;
use crate::profile::file::{from_bytes, to_bytes};
use crate::shared::hash::hexadecimal;

/// Bumped when entries or questions get another form.
const FORM: &str = "dmdprof rank 1";
/// Bytes of the checksum that an entry begins with.
const SUM: usize = 32;
const COMPRESSION_LEVEL: i32 = 3;

/// Everything that the result of a run depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// SHA-256 of dmdprof itself, and with it the versions of tool and model.
    pub tool: String,
    /// Options of `dmdprof run`.
    pub options: Vec<OsString>,
    /// SHA-256 of the program.
    pub program: String,
    /// File name of the program, which is in its first argument.
    pub name: OsString,
    pub arguments: Vec<OsString>,
    /// SHA-256 of standard input; `None` if it is empty.
    pub stdin: Option<String>,
    /// Arguments that are files, with the SHA-256 of each.
    pub files: Vec<(PathBuf, String)>,
    pub directory: PathBuf,
}

impl Question {
    /// SHA-256 of all parts, each with its length, in hexadecimal digits.
    #[must_use]
    pub fn key(&self) -> String {
        let mut hasher = Sha256::new();
        let mut list = |parts: &[&[u8]]| {
            hasher.update((parts.len() as u64).to_le_bytes());
            for part in parts {
                hasher.update((part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        };
        let words = |words: &[OsString]| -> Vec<Vec<u8>> { words.iter().map(|w| w.as_bytes().to_vec()).collect() };
        list(&[FORM.as_bytes(), self.tool.as_bytes(), self.program.as_bytes(), self.name.as_bytes()]);
        list(&[self.directory.as_os_str().as_bytes()]);
        list(&runner::FIXED.map(|(name, _)| name.as_bytes()));
        list(&runner::FIXED.map(|(_, value)| value.as_bytes()));
        for words in [words(&self.options), words(&self.arguments)] {
            list(&words.iter().map(Vec::as_slice).collect::<Vec<_>>());
        }
        list(&self.stdin.iter().map(String::as_bytes).collect::<Vec<_>>());
        list(&self.files.iter().map(|(path, _)| path.as_os_str().as_bytes()).collect::<Vec<_>>());
        list(&self.files.iter().map(|(_, hash)| hash.as_bytes()).collect::<Vec<_>>());
        hexadecimal(&hasher.finalize())
    }
}

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub bytes: u64,
    pub entries: usize,
}

const LIMITS: Limits = Limits { bytes: 256 << 20, entries: 200 };

/// A directory of entries.
#[derive(Clone, Debug)]
pub struct Cache {
    directory: PathBuf,
    limits: Limits,
}

/// What an entry holds.
#[derive(Serialize, Deserialize)]
struct Stored {
    profile: Vec<u8>,
    stdout: Vec<u8>,
    outputs: Vec<Vec<u8>>,
}

impl Cache {
    /// `dmdprof/rank` in `$XDG_CACHE_HOME`, else in `~/.cache`; `None` if there is neither.
    #[must_use]
    pub fn of_user() -> Option<Self> {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
        Some(Cache { directory: home.join("dmdprof/rank"), limits: LIMITS })
    }

    /// The result of the run that answered this question, if there is one.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Evidence> {
        let path = self.directory.join(key);
        decode(&path, &fs::read(&path).ok()?)
    }

    /// Keeps a result, unless it alone is too large.
    ///
    /// # Errors
    /// When the directory cannot be made or written.
    pub fn put(&self, key: &str, evidence: &Evidence) -> io::Result<()> {
        let bytes = encode(evidence)?;
        if bytes.len() as u64 > self.limits.bytes {
            return Ok(());
        }
        fs::create_dir_all(&self.directory)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(&bytes)?;
        file.persist(self.directory.join(key))?;
        self.drop_the_oldest()
    }

    fn drop_the_oldest(&self) -> io::Result<()> {
        let mut entries: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            // Another process may have dropped it.
            if let Ok(data) = entry.metadata() {
                entries.push((data.modified()?, entry.path(), data.len()));
            }
        }
        entries.sort();
        entries.reverse();
        let (mut bytes, mut count) = (0, 0);
        for (_, path, size) in entries {
            (bytes, count) = (bytes + size, count + 1);
            if bytes > self.limits.bytes || count > self.limits.entries {
                fs::remove_file(path).ok();
            }
        }
        Ok(())
    }
}

fn encode(evidence: &Evidence) -> io::Result<Vec<u8>> {
    let stored = Stored {
        profile: to_bytes(&evidence.profile),
        stdout: evidence.stdout.clone(),
        outputs: evidence.outputs.clone(),
    };
    let plain = postcard::to_stdvec(&stored).map_err(io::Error::other)?;
    let packed = zstd::encode_all(&plain[..], COMPRESSION_LEVEL)?;
    Ok([&Sha256::digest(&packed)[..], &packed].concat())
}

/// `None` for anything that [`encode`] did not make.
fn decode(path: &Path, bytes: &[u8]) -> Option<Evidence> {
    let (sum, packed) = bytes.split_at_checked(SUM)?;
    if sum != &Sha256::digest(packed)[..] {
        return None;
    }
    let stored: Stored = postcard::from_bytes(&zstd::decode_all(packed).ok()?).ok()?;
    let profile = from_bytes(path, &stored.profile).ok()?;
    Some(Evidence { profile, stdout: stored.stdout, outputs: stored.outputs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample;

    fn question() -> Question {
        Question {
            tool: "t".into(),
            options: vec!["--model=memory".into()],
            program: "p".into(),
            name: "kernel".into(),
            arguments: vec!["10".into(), "in.txt".into()],
            stdin: None,
            files: vec![("/data/in.txt".into(), "f".into())],
            directory: "/data".into(),
        }
    }

    #[test]
    fn a_key_changes_with_every_part_and_with_nothing_else() {
        let key = question().key();
        assert_eq!((key.len(), question().key()), (64, key.clone()));
        let changes: [fn(&mut Question); 9] = [
            |q| q.tool = "u".into(),
            |q| q.options = vec!["--model=values".into()],
            |q| q.program = "q".into(),
            |q| q.name = "other".into(),
            |q| q.arguments = vec!["10 in.txt".into()],
            |q| q.arguments = vec!["1".into(), "0in.txt".into()],
            |q| q.stdin = Some(String::new()),
            |q| q.files[0].1 = "g".into(),
            |q| q.directory = "/other".into(),
        ];
        let mut keys: Vec<String> = changes
            .iter()
            .map(|change| {
                let mut question = question();
                change(&mut question);
                question.key()
            })
            .collect();
        keys.push(key);
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), changes.len() + 1);
    }

    fn evidence(stdout: &[u8]) -> Evidence {
        Evidence { profile: sample::small(), stdout: stdout.to_vec(), outputs: vec![vec![1, 2], Vec::new()] }
    }

    fn cache(limits: Limits) -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().expect("a folder");
        let directory = folder.path().join("deep/er");
        (folder, Cache { directory, limits })
    }

    #[test]
    fn what_was_kept_comes_back_unless_it_is_damaged() {
        let (_folder, cache) = cache(LIMITS);
        assert_eq!(cache.get("a"), None);
        cache.put("a", &evidence(b"text")).expect("kept");
        assert_eq!(cache.get("a"), Some(evidence(b"text")));
        let path = cache.directory.join("a");
        let bytes = fs::read(&path).expect("the entry");
        for cut in [0, SUM, bytes.len() - 1] {
            fs::write(&path, &bytes[..cut]).expect("cut");
            assert_eq!(cache.get("a"), None, "{cut} bytes");
        }
        let mut flipped = bytes;
        flipped[SUM + 10] ^= 1;
        fs::write(&path, flipped).expect("damaged");
        assert_eq!(cache.get("a"), None);
        cache.put("a", &evidence(b"new")).expect("made again");
        assert_eq!(cache.get("a"), Some(evidence(b"new")));
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let (_folder, cache) = cache(Limits { entries: 2, ..LIMITS });
        for (age, key) in [(30, "a"), (10, "b"), (20, "c")] {
            cache.put(key, &evidence(key.as_bytes())).expect("kept");
            let file = fs::File::options().write(true).open(cache.directory.join(key)).expect("the entry");
            file.set_modified(SystemTime::now() - std::time::Duration::from_secs(age)).expect("aged");
        }
        cache.put("d", &evidence(b"d")).expect("kept");
        let there = ["a", "b", "c", "d"].map(|key| cache.get(key).is_some());
        assert_eq!(there, [false, true, false, true]);
    }

    #[test]
    fn a_result_that_is_too_large_is_not_kept() {
        let (_folder, cache) = cache(Limits { bytes: 100, entries: 10 });
        cache.put("a", &evidence(b"text")).expect("no error");
        assert_eq!(cache.get("a"), None);
    }
}
