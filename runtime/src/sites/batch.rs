//! Sites of an emulated program, some at a time, as they were translated.
//!
//! A [`Batch`] is what a trace holds of them, and what `batched` makes a table of.

use serde::{Deserialize, Serialize};

/// Sites, and the places that they are at. Strings are named by their number, [`NONE`](crate::abi::NONE) is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Address of the first site.
    pub low: u64,
    /// Bytes that the sites take.
    pub bytes: u32,
    /// A program begins with it.
    pub begins: bool,
    /// Files that were mapped since the last.
    pub files: Vec<String>,
    /// Files of which some units have debug information in other files that are not there, and how many units.
    pub missing: Vec<(String, u64)>,
    /// Strings.
    pub strings: Vec<String>,
    /// Places, those that something was inlined at before what was inlined.
    pub frames: Vec<BatchFrame>,
    /// Functions.
    pub functions: Vec<BatchFunction>,
    /// Segments, in the order of their addresses.
    pub segments: Vec<BatchSegment>,
}

/// What is known of an emulated program beside its sites.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emulated {
    /// A program begins with these sites.
    pub begins: bool,
    /// Files that were mapped.
    pub files: Vec<String>,
    /// Files of which some units have debug information in other files that are not there, and how many units.
    pub missing: Vec<(String, u64)>,
}

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BatchFrame {
    /// Where it was inlined.
    pub parent: u32,
    /// Function, as a string.
    pub function: u32,
    /// File, as a string.
    pub file: u32,
    /// Line, or 0.
    pub line: u32,
    /// Column, or 0.
    pub column: u32,
    /// File of the function's declaration, as a string.
    pub declared_in: u32,
    /// Line of it, or 0.
    pub declared_at: u32,
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchFunction {
    /// What tells it from others: the entry of its module, and its first instruction.
    pub identity: (u64, u64),
    /// Name, as a string.
    pub name: u32,
    /// File, as a string.
    pub file: u32,
    /// Its first line, or 0.
    pub line: u32,
}

/// A segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchSegment {
    /// Bytes from the first site's address.
    pub offset: u32,
    /// A [`Shape`](crate::abi::emulated::Shape).
    pub shape: u64,
    /// Number of its function.
    pub function: u32,
    /// Its items.
    pub items: Vec<BatchItem>,
    /// Its instructions, of code.
    pub code: Vec<BatchInstruction>,
}

/// Code of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchCode {
    /// Of which [instruction set](crate::abi::emulated::instruction_set) it is.
    pub instruction_set: u16,
    /// Its instructions.
    pub instructions: Box<[BatchInstruction]>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchInstruction {
    /// Where it is in the program's memory.
    pub address: u64,
    /// Number of its place, or [`NONE`](crate::abi::NONE).
    pub frame: u32,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// An item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchItem {
    /// Where its instruction is in the program's memory.
    pub address: u64,
    /// Number of its place, or [`NONE`](crate::abi::NONE).
    pub frame: u32,
    /// A [`Shape::item`](crate::abi::emulated::Shape::item).
    pub what: u64,
    /// Bytes.
    pub bytes: u32,
}
