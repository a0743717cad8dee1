//! Writes the descriptors of one function as bytes, in the layout of [`dmdprof_runtime::abi`].

use dmdprof_runtime::abi::{
    ABI_VERSION, BLOB_MAGIC, BlobHeader, Frame, Item, NONE, Note, OpCount, SegmentHeader, Skip, Slot,
};

use crate::plan::{FunctionPlan, ItemNote, Segment};

/// A function's blob, and where in it each segment's header lies.
pub struct Blob {
    pub bytes: Vec<u8>,
    pub segment_offsets: Vec<u64>,
}

/// Encodes a plan with its `function_flag` bits.
#[must_use]
pub fn encode(plan: &mut FunctionPlan, flags: u16) -> Blob {
    let skips: Vec<Skip> = plan
        .skips
        .iter()
        .map(|(reason, count)| (reason.name(), *count))
        .collect::<Vec<_>>()
        .into_iter()
        .map(|(name, count)| Skip { reason: plan.strings.intern(name), count })
        .collect();

    let mut out = Writer(vec![0; size_of::<BlobHeader>()]);
    let segments_offset = out.align();
    let segment_offsets = plan.segments.iter().map(|s| out.segment(s)).collect();
    let frames_offset = out.align();
    plan.frames.frames.iter().for_each(|f| out.frame(f));
    let skips_offset = out.align();
    skips.iter().for_each(|s| out.words(&[s.reason, s.count]));
    let slots_offset = out.align();
    plan.slots.iter().for_each(|s| out.slot(s));
    let loops_offset = out.align();
    plan.loops.iter().for_each(|l| out.words(&[l.parent, l.frame]));
    let places_offset = out.align();
    let places: Vec<u32> = match plan.loops[..] {
        [] => Vec::new(),
        _ => plan.segments.iter().map(|s| s.around.unwrap_or(NONE)).collect(),
    };
    out.words(&places);
    let calls_offset = out.align();
    plan.calls.iter().for_each(|(callee, around)| out.words(&[*callee, *around]));
    let fields_offset = out.align();
    plan.fields.iter().for_each(|f| out.words(&[f.type_name, f.type_size, f.name, f.offset, f.size]));
    let notes_offset = out.align();
    let notes = notes(plan);
    notes.iter().for_each(|n| out.words(&[n.segment, n.item, n.field, n.same]));
    let strings_offset = out.align();
    out.strings(&plan.strings.strings);
    let total_len = out.align();

    let header = BlobHeader {
        magic: BLOB_MAGIC,
        abi: ABI_VERSION,
        flags,
        total_len,
        segments: plan.segments.len() as u32,
        segments_offset,
        frames: plan.frames.frames.len() as u32,
        frames_offset,
        skips: skips.len() as u32,
        skips_offset,
        strings: plan.strings.strings.len() as u32,
        strings_offset,
        name: plan.name,
        file: plan.file,
        line: plan.line,
        slots: plan.slots.len() as u32,
        slots_offset,
        loops: plan.loops.len() as u32,
        loops_offset,
        places: places.len() as u32,
        places_offset,
        calls: plan.calls.len() as u32,
        calls_offset,
        fields: plan.fields.len() as u32,
        fields_offset,
        notes: notes.len() as u32,
        notes_offset,
    };
    out.header(&header);
    Blob { bytes: out.0, segment_offsets }
}

/// What is known of accesses, where anything is.
fn notes(plan: &FunctionPlan) -> Vec<Note> {
    let mut notes = Vec::new();
    for (segment, planned) in (0..).zip(&plan.segments) {
        let known = (0..).zip(&planned.items).filter(|(_, item)| item.note != ItemNote::default());
        notes.extend(known.map(|(item, planned)| {
            let ItemNote { field, same } = planned.note;
            Note { segment, item, field: field.unwrap_or(NONE), same: same.unwrap_or(NONE) }
        }));
    }
    notes
}

/// Appends little-endian fields.
struct Writer(Vec<u8>);

impl Writer {
    /// Pads to a multiple of 8 and returns the offset.
    fn align(&mut self) -> u32 {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.len() as u32
    }

    fn words(&mut self, words: &[u32]) {
        words.iter().for_each(|w| self.0.extend(w.to_le_bytes()));
    }

    fn halves(&mut self, halves: &[u16]) {
        halves.iter().for_each(|h| self.0.extend(h.to_le_bytes()));
    }

    fn header(&mut self, h: &BlobHeader) {
        let mut head = Writer(Vec::new());
        head.words(&[h.magic]);
        head.halves(&[h.abi, h.flags]);
        head.words(&[h.total_len, h.segments, h.segments_offset, h.frames, h.frames_offset, h.skips, h.skips_offset]);
        head.words(&[h.strings, h.strings_offset, h.name, h.file, h.line, h.slots, h.slots_offset]);
        head.words(&[h.loops, h.loops_offset, h.places, h.places_offset, h.calls, h.calls_offset]);
        head.words(&[h.fields, h.fields_offset, h.notes, h.notes_offset]);
        self.0[..head.0.len()].copy_from_slice(&head.0);
    }

    fn segment(&mut self, segment: &Segment) -> u64 {
        let offset = self.align();
        let header = SegmentHeader {
            kind: segment.kind as u8,
            flags: segment.flags,
            words: segment.words.len() as u16 + 1,
            items: segment.items.len() as u16,
            op_counts: segment.ops.len() as u16,
            callee: segment.callee,
            frame: segment.frame,
        };
        self.0.extend([header.kind, header.flags]);
        self.halves(&[header.words, header.items, header.op_counts]);
        self.words(&[header.callee, header.frame]);
        for item in &segment.items {
            self.item(&Item {
                kind: item.kind,
                flags: item.flags,
                word: item.word,
                word2: item.word2,
                lanes: item.lanes,
                size: item.size,
                frame: item.frame,
                offset: item.offset,
                stride: item.stride,
            });
        }
        for count in &segment.ops {
            self.op_count(count);
        }
        u64::from(offset)
    }

    fn item(&mut self, item: &Item) {
        self.0.extend([item.kind, item.flags]);
        self.halves(&[item.word, item.word2, item.lanes]);
        self.words(&[item.size, item.frame]);
        self.0.extend(item.offset.to_le_bytes());
        self.0.extend(item.stride.to_le_bytes());
    }

    fn op_count(&mut self, count: &OpCount) {
        self.words(&[count.frame]);
        self.words(&count.ops);
        self.words(&count.flops);
    }

    fn frame(&mut self, f: &Frame) {
        self.words(&[f.parent, f.function, f.file, f.line, f.column, f.decl_file, f.decl_line]);
    }

    fn slot(&mut self, s: &Slot) {
        self.words(&[s.segment, s.size, s.name, s.function, s.file, s.line]);
        self.0.extend(s.offset.to_le_bytes());
        self.halves(&[s.word, s._pad[0], s._pad[1], s._pad[2]]);
    }

    fn strings(&mut self, strings: &[String]) {
        let mut start = (self.0.len() + 8 * strings.len()) as u32;
        for text in strings {
            self.words(&[start, text.len() as u32]);
            start += text.len() as u32;
        }
        strings.iter().for_each(|text| self.0.extend(text.as_bytes()));
    }
}
