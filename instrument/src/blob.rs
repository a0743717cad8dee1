//! Writes the descriptors of one function as bytes, as [`dmdprof_abi::descriptor`] draws them.

use dmdprof_abi::{
    ABI_VERSION, BLOB_MAGIC, BlobHeader, BlobSection, Counters, LoopCall, NONE, Note, SegmentHeader, Skip, Text,
};
use zerocopy::{Immutable, IntoBytes};

use crate::function_plan::{FunctionPlan, ItemNote, Segment};

/// A function's blob, and where in it each segment's header lies.
pub struct Blob {
    pub bytes: Vec<u8>,
    pub segment_offsets: Vec<u64>,
}

/// Encodes a plan with its `function_flag` bits and, if it can be sampled, where its counters are; `None` if it is
/// larger than the format allows.
#[must_use]
pub fn encode(plan: &mut FunctionPlan<'_>, flags: u16, counters: Option<Counters>) -> Option<Blob> {
    let skips: Vec<Skip> = plan
        .skips
        .iter()
        .map(|(reason, count)| (reason.name(), *count))
        .collect::<Vec<_>>()
        .into_iter()
        .map(|(name, count)| Skip { reason: plan.strings.intern(name), count })
        .collect();
    let calls: Vec<LoopCall> = plan.calls.iter().map(|&(callee, around)| LoopCall { callee, around }).collect();

    let mut out = Writer(vec![0; size_of::<BlobHeader>()]);
    let segments = BlobSection { count: plan.segments.len() as u32, offset: out.align() };
    let segment_offsets = plan.segments.iter().map(|s| out.segment(s)).collect::<Option<_>>()?;
    // Parts lie in the order in which they are named here.
    let header = BlobHeader {
        magic: BLOB_MAGIC,
        abi: ABI_VERSION,
        flags,
        segments,
        frames: out.part(&plan.frames.frames),
        skips: out.part(&skips),
        slots: out.part(&plan.slots),
        loops: out.part(&plan.loops),
        places: out.part(&places(plan)),
        calls: out.part(&calls),
        fields: out.part(&plan.fields),
        notes: out.part(&notes(plan)),
        strings: out.strings(&plan.strings.strings),
        total_len: out.end(counters),
        name: plan.name,
        file: plan.file,
        line: plan.line,
    };
    out.0[..size_of::<BlobHeader>()].copy_from_slice(header.as_bytes());
    // No offset was cut if the end was not.
    u32::try_from(out.0.len()).ok()?;
    Some(Blob { bytes: out.0, segment_offsets })
}

/// The innermost loop that each segment is in, where there are loops.
fn places(plan: &FunctionPlan<'_>) -> Vec<u32> {
    match plan.loops[..] {
        [] => Vec::new(),
        _ => plan.segments.iter().map(|s| s.around.unwrap_or(NONE)).collect(),
    }
}

/// What is known of accesses, where anything is.
fn notes(plan: &FunctionPlan<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    for (segment, planned) in (0..).zip(&plan.segments) {
        let known = (0..).zip(&planned.items).filter(|(_, item)| item.note != ItemNote::default());
        notes.extend(known.map(|(item, planned)| {
            let ItemNote { field, same, is_irregular } = planned.note;
            let [field, same] = [field, same].map(|number| number.unwrap_or(NONE));
            Note { segment, item, field, same, is_irregular: is_irregular.into() }
        }));
    }
    notes
}

/// Appends structures as they lie in memory.
struct Writer(Vec<u8>);

impl Writer {
    /// Pads to a multiple of 8 and returns the offset.
    fn align(&mut self) -> u32 {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.len() as u32
    }

    fn part<T: IntoBytes + Immutable>(&mut self, elements: &[T]) -> BlobSection {
        let offset = self.align();
        self.0.extend(elements.as_bytes());
        BlobSection { count: elements.len() as u32, offset }
    }

    fn segment(&mut self, segment: &Segment<'_>) -> Option<u64> {
        let offset = self.align();
        let header = SegmentHeader {
            kind: segment.kind as u8,
            flags: segment.flags,
            words: (segment.words.len() + 1).try_into().ok()?,
            items: segment.items.len().try_into().ok()?,
            op_counts: segment.ops.len().try_into().ok()?,
            callee: segment.callee,
            frame: segment.frame,
        };
        self.0.extend(header.as_bytes());
        for item in &segment.items {
            self.0.extend(item.item.as_bytes());
        }
        self.0.extend(segment.ops.as_bytes());
        Some(u64::from(offset))
    }

    /// The blob's length.
    fn end(&mut self, counters: Option<Counters>) -> u32 {
        if let Some(counters) = counters {
            self.part(&[counters]);
        }
        self.align()
    }

    fn strings(&mut self, strings: &[String]) -> BlobSection {
        let mut start = self.align() + (size_of::<Text>() * strings.len()) as u32;
        let table: Vec<Text> = strings
            .iter()
            .map(|text| {
                let text = Text { start, len: text.len() as u32 };
                start += text.len;
                text
            })
            .collect();
        let part = self.part(&table);
        strings.iter().for_each(|text| self.0.extend(text.as_bytes()));
        part
    }
}
