//! How threads met. Names are written out, so that this part stands by itself.

use serde::{Deserialize, Serialize};

/// Of threads that share memory: in what order they ran, and what they did to each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sharing {
    /// What another run, or another order of turns, may change.
    pub undefined: UndefinedOrder,
    /// What threads did to each other through memory; `None` if that was not measured.
    pub met: Option<Met>,
}

/// What of the order of threads is not the model's, but the run's or nobody's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndefinedOrder {
    /// Locks that threads got after others had them.
    pub contended: u64,
    /// Acquires that came after a release by another thread, as they did in the run.
    pub by_run: u64,
    /// Waits that were not satisfied.
    pub unmet: u64,
    /// Threads whose making was not seen: they begin at time 0.
    pub unseen_starts: u64,
}

/// What threads did to each other through memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Met {
    /// Bytes of a line.
    pub line: u32,
    /// The functions that threads began with, in the order in which they were made.
    pub threads: Vec<String>,
    /// Sorted by (writer, reader, places, object).
    pub moved: Vec<Moved>,
    /// Lines that several threads wrote, by object and places, most changes first.
    pub lines: Vec<SharedLines>,
}

/// Bytes that one thread read and another had written last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Who wrote them: number of [`Met::threads`].
    pub writer: u32,
    /// Who read them: number of [`Met::threads`].
    pub reader: u32,
    /// `file:line` of the write, or the function if the line is not known.
    pub writer_place: String,
    /// `file:line` of the read, or the function if the line is not known.
    pub reader_place: String,
    /// Variable, or where the block was allocated; empty if that is not known.
    pub object: String,
    /// How many were read, each as often as that happened.
    pub bytes: u64,
}

/// Lines of one object that the same places wrote.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SharedLines {
    /// The objects on them, or where they were allocated.
    pub object: String,
    /// `file:line` of each write, or the function if the line is not known.
    pub places: Vec<String>,
    /// How many lines.
    pub lines: u64,
    /// Most threads that wrote one of them.
    pub threads: u64,
    /// Times that another thread wrote one than the one that did last.
    pub changes: u64,
    /// Those in which no byte went from one to the other.
    pub false_changes: u64,
    /// Stores that took a copy from another thread.
    pub invalidations: u64,
    /// Loads of a line that another thread wrote last and of which the reader had no copy.
    pub transfers: u64,
    /// No byte of them was written by two threads since they first changed hands.
    pub apart: bool,
}

/// What else is known of how threads met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharingDetails {
    /// Of each of [`Met::lines`]: what threads wrote of them.
    pub written: Vec<Vec<Written>>,
    /// Of each of [`Met::threads`], if each has a stack of its own: bytes of its first touches that another one had
    /// written before. Else empty.
    pub handed: Vec<u64>,
}

/// Bytes that one thread wrote at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Written {
    /// Variable, or where the block was allocated; empty if that is not known.
    pub object: String,
    /// Ranges from a byte to the one behind the last, in order.
    pub ranges: Vec<(u64, u64)>,
    /// Further ranges that are not listed.
    pub more: u64,
    /// They are bytes of the line, as it is not known where the object begins.
    pub of_line: bool,
    /// Type and field that debug information gives the place; empty if it gives none.
    pub field: String,
    /// Number of [`Met::threads`].
    pub thread: u32,
    /// `file:line`, or the function if the line is not known.
    pub place: String,
}
