//! Sites of an emulated program, some at a time, as they were translated.
//!
//! Takes a [`Batch`], which a trace can hold, and gives a [`SiteTable`]. Refuses batches whose numbers leave their
//! bounds.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Function, Segment, SiteError, SiteTable, checked, is_access};
use crate::abi::{Frame, Item, ItemKind, NONE, emulated::Shape};

/// Sites, and the places that they are at. Strings are named by their number, [`NONE`] is none.
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
    /// [`Shape`].
    pub shape: u64,
    /// Number of its function.
    pub function: u32,
    /// Its items.
    pub items: Vec<BatchItem>,
}

/// An item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchItem {
    /// Number of its place, or [`NONE`].
    pub frame: u32,
    /// [`Shape::item`].
    pub what: u64,
    /// Bytes.
    pub bytes: u32,
}

impl SiteTable {
    /// The sites of a batch; `path` is for messages.
    ///
    /// # Errors
    /// Damage.
    pub fn of(batch: &Batch, path: &Path) -> Result<Self, SiteError> {
        let damaged = || SiteError::Damaged { path: path.to_path_buf(), offset: 0 };
        let len = u64::from(batch.bytes);
        let mut table = Self {
            section_address: batch.low,
            section_len: len,
            index: vec![NONE; batch.bytes as usize / 8 + 1],
            strings: batch.strings.clone(),
            emulated: Some(Emulated { begins: batch.begins, files: batch.files.clone() }),
            ..Self::default()
        };
        table.batch(batch).ok_or_else(damaged)?;
        Ok(table)
    }

    fn batch(&mut self, batch: &Batch) -> Option<()> {
        for (number, frame) in (0u32..).zip(&batch.frames) {
            let BatchFrame { parent, function, file, line, column, declared_in: decl_file, declared_at: decl_line } =
                *frame;
            let is_known = parent == NONE || parent < number;
            (is_known && self.has_strings(&[function, file, decl_file])).then_some(())?;
            self.frames.push(Frame { parent, function, file, line, column, decl_file, decl_line });
        }
        for BatchFunction { identity, name, file, line } in &batch.functions {
            self.has_strings(&[*name, *file]).then_some(())?;
            self.parted.push(*identity);
            self.functions.push(Function {
                name: *name,
                file: *file,
                line: *line,
                skipped: false,
                accesses: 0,
                values: false,
                loops: false,
                registers: 0,
                counters: None,
                segments: 0..0,
            });
        }
        batch.segments.iter().try_for_each(|segment| self.batch_segment(segment))
    }

    fn batch_segment(&mut self, segment: &BatchSegment) -> Option<()> {
        let Shape { kind, flags, words, .. } = Shape::of(segment.shape);
        let function = self.functions.get_mut(segment.function as usize)?;
        let (first, mut kills) = (self.items.len() as u32, false);
        for &BatchItem { frame, what, bytes } in &segment.items {
            let item = Item {
                kind: what as u8,
                flags: (what >> 8) as u8,
                word: (what >> 16) as u16,
                word2: (what >> 32) as u16,
                size: bytes,
                frame,
                ..Item::default()
            };
            (frame == NONE || (frame as usize) < self.frames.len()).then_some(())?;
            let item = checked(item, words)?;
            kills |= item.kind == ItemKind::Kill as u8;
            function.accesses += u64::from(is_access(&item));
            self.items.push(item);
        }
        let number = self.segments.len() as u32;
        *self.index.get_mut(segment.offset as usize / 8)? = number;
        self.segments.push(Segment {
            kind,
            flags,
            words,
            function: segment.function,
            items: first..self.items.len() as u32,
            ops: 0..0,
            slots: 0..0,
            kills,
            callee: NONE,
            frame: self.items.get(first as usize).map_or(NONE, |item| item.frame),
            around: NONE,
        });
        Some(())
    }
}
