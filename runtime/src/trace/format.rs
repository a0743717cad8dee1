//! What a trace consists of: its header, its blocks, and what they say. Layout: `docs/trace-format.md`.
//!
//! Numbers of headers are little-endian and have 4 bytes each; contents are in postcard, those of `WORDS` as the module
//! `words` makes them.
//!
//! ```text
//!   | magic, 8 bytes | version | checksum |                       the file's header, 16 bytes
//!   | kind | number | ring | words | bytes | sum | sum | content  a block: 28 bytes, content; more blocks follow
//! ```
//!
//! The first sum is the CRC-32 of the content, the second that of the 24 bytes before it. A trace of `./tiny` begins:
//!
//! ```text
//!   89 44 4d 44 54 0d 0a 0a | 03 00 00 00 | bd 2f 35 41   version 3
//!   01 00 00 00   START
//!   00 00 00 00   block 0
//!   00 00 00 00   of no ring
//!   00 00 00 00   no words
//!   0e 00 00 00   14 bytes
//!   ec 34 91 95   their sum
//!   69 d2 9a 60   sum of the header
//!   05 30 2e 31 2e 30 | 01 | 06 2e 2f 74 69 6e 79         "0.1.0", 1 word of a command, "./tiny"
//! ```

use std::{ffi::OsStr, io, os::unix::ffi::OsStrExt, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{abi::CHUNK_BYTES, ring::Module};

/// First bytes of a trace. The first is not ASCII and the line ends would not survive a text-mode copy.
pub const MAGIC: [u8; 8] = *b"\x89DMDT\r\n\n";
/// Bumped whenever the meaning of the bytes after it changes.
pub const VERSION: u32 = 3;

/// Magic, version, checksum.
pub const FILE_HEADER: usize = 16;
/// Kind, number, ring, words, bytes, checksum of the bytes, checksum of the header.
pub const BLOCK_HEADER: usize = 28;
/// Most words of a ring's chunk.
pub const CHUNK_WORDS: usize = CHUNK_BYTES / 8;
/// Words of a block, at least, unless the ring ends: compression does better on more of them at once.
pub const ENOUGH_WORDS: usize = 4 * CHUNK_WORDS;
/// Most words of a block.
pub const MOST_WORDS: usize = ENOUGH_WORDS + CHUNK_WORDS;
/// Most bytes of a block, packed or not: words that could not be made smaller take less.
pub const MOST_BYTES: usize = 16 << 20;

/// Kinds of blocks.
pub mod kind {
    pub const START: u32 = 1;
    pub const MODULE: u32 = 2;
    pub const RING: u32 = 3;
    pub const WORDS: u32 = 4;
    pub const RING_END: u32 = 5;
    pub const END: u32 = 6;
    pub const SITES: u32 = 7;
    pub const GENERATED: u32 = 8;
}

/// What was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Version of the tool that recorded it.
    pub tool_version: String,
    /// The program and its arguments, as given.
    pub command: Vec<String>,
}

/// An instrumented program or library in a process's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceModule {
    /// The process's number in the run.
    pub process: u32,
    /// What was added to the addresses in the file.
    pub bias: u64,
    /// Its first address.
    pub low: u64,
    /// Behind its last address.
    pub high: u64,
    /// The path's bytes, which need not be text.
    pub path: Vec<u8>,
    /// Identity of the file's descriptors ([`crate::sites::identity`]); `None` if it could not be read.
    pub identity: Option<[u8; 32]>,
}

impl TraceModule {
    /// The module that the channel announced.
    #[must_use]
    pub fn module(&self) -> Module {
        let path = PathBuf::from(OsStr::from_bytes(&self.path));
        Module { process: self.process, bias: self.bias, low: self.low, high: self.high, path }
    }
}

/// A thread, signal context or forked child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ring {
    /// The process's number in the run.
    pub process: u32,
    /// The thread, as the system numbers it.
    pub tid: u32,
    /// Kind of ring, as a number of the channel.
    pub kind: u32,
    /// Number of the ring that it was forked or started from.
    pub parent: Option<u32>,
    /// Ancestors whose modules the process has too, nearest first.
    pub ancestors: Vec<u32>,
}

impl Ring {
    /// Its process, then those that it was forked from, nearest first.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        std::iter::once(self.process).chain(self.ancestors.iter().copied()).collect()
    }
}

/// How it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Exit code, if it ended by itself.
    pub code: Option<i32>,
    /// Signal, if one ended it.
    pub signal: Option<i32>,
    /// Rings and modules that found no room in the channel.
    pub refused: u64,
    /// Rings that could not be read.
    pub unreadable: Vec<String>,
}

/// Why a trace cannot be read. The messages name no file.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("not a dmdprof trace: it starts with other bytes; make one with `dmdprof record`")]
    NotATrace,
    /// Another version of the format.
    #[error("made by another dmdprof: expected trace format {VERSION}, found {found}; record the program again")]
    Version {
        /// The trace's.
        found: u32,
    },
    /// Bytes that no recorder writes.
    #[error("damaged at byte {at}: {what}; copy the file again, or record the program again")]
    Damaged {
        /// Offset in the file.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Everything before `at` is good.
    #[error("cut off at byte {at}")]
    Cut {
        /// Offset in the file.
        at: u64,
    },
}
