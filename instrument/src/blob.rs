//! Writes the descriptors of one function as bytes, in the layout of [`dmdprof_runtime::abi`].

use dmdprof_runtime::abi::{ABI_VERSION, BLOB_MAGIC, BlobHeader, Frame, Item, OpCount, SegmentHeader, Skip, Slot};

use crate::plan::{FunctionPlan, Segment};

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
    };
    out.header(&header);
    Blob { bytes: out.0, segment_offsets }
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
        for (frame, ops) in &segment.ops {
            self.op_count(&OpCount { frame: *frame, ops: *ops });
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
