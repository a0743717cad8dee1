//! Takes a [`Batch`] of sites of an emulated program, gives a [`SiteTable`]. Refuses batches whose numbers leave their
//! bounds.

use std::path::Path;

use super::{
    Batch, BatchCode, BatchFrame, BatchFunction, BatchItem, BatchSegment, Emulated, Function, Segment, SiteError,
    SiteTable, checked, is_access,
};
use crate::abi::{
    Frame, Item, ItemKind, NONE,
    emulated::{AREA_BYTES, Shape},
};

impl SiteTable {
    /// The sites of a batch; `path` is for messages.
    ///
    /// # Errors
    /// Damage.
    pub fn from_batch(batch: &Batch, path: &Path) -> Result<Self, SiteError> {
        let damaged = || SiteError::Damaged { path: path.to_path_buf(), offset: 0 };
        if batch.bytes as usize > AREA_BYTES {
            return Err(damaged());
        }
        let len = u64::from(batch.bytes);
        let mut table = Self {
            section_address: batch.low,
            section_len: len,
            index: vec![NONE; batch.bytes as usize / 8 + 1],
            strings: batch.strings.clone(),
            emulated: Some(Emulated {
                begins: batch.begins,
                files: batch.files.clone(),
                missing: batch.missing.clone(),
            }),
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
        // Code has no items: that field says of which set it is.
        let Shape { kind, flags, words, items: instruction_set } = Shape::from_word(segment.shape);
        let frames = self.frames.len();
        let has_frame = |frame: u32| (frame == NONE || (frame as usize) < frames).then_some(());
        let function = self.functions.get_mut(segment.function as usize)?;
        let (first, mut kills) = (self.items.len() as u32, false);
        for instruction in &segment.code {
            has_frame(instruction.frame)?;
        }
        if !segment.code.is_empty() {
            let code = BatchCode { instruction_set, instructions: segment.code.clone().into() };
            self.code.insert(self.segments.len() as u32, code);
        }
        for &BatchItem { address, frame, what, bytes } in &segment.items {
            self.instructions.push((what >> 48) as u16);
            self.addresses.push(address);
            let item = Item {
                kind: what as u8,
                flags: (what >> 8) as u8,
                word: (what >> 16) as u16,
                word2: (what >> 32) as u16,
                size: bytes,
                frame,
                ..Item::default()
            };
            has_frame(frame)?;
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
