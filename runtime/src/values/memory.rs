//! The program's memory as the values model sees it: which value each byte holds, and where values come from that
//! nothing computed.
//!
//! Takes loads, stores, copies and declarations by address, gives labels. With declared inputs, memory that nothing
//! wrote is a constant unless it was declared; without, it is an input when it is first read.

use std::collections::{BTreeMap, HashMap};

use super::{
    labels::{CONSTANT, CopiedRange, FIRST_VALUE, Labels, Meaning, OUTSIDE},
    price::Input,
    recorder::Recorder,
};
use crate::{
    hash::FastHash,
    shadow::{ByteLabel, Shadow, UNTOUCHED},
};

/// Bytes that are looked at behind a pointer to who knows what.
const FEW_BYTES: u64 = 64;
/// Bytes that are looked at of a large block.
const MOST_BYTES: u64 = 1 << 16;

/// A declared input.
#[derive(Clone, Copy, Debug)]
struct Declared {
    start: u64,
    len: u64,
    /// Bytes of the values that were last loaded from it.
    grain: u64,
}

#[derive(Default)]
pub struct Memory {
    shadow: Shadow,
    pub labels: Labels,
    declared: Vec<Declared>,
    /// Inputs by the address at which they lay: value and size.
    input_at: HashMap<u64, (u32, u64), FastHash>,
    /// Memory that nothing wrote is an input when it is first read.
    pub first_use: bool,
    /// Blocks of the heap that began in the region, which hold nothing that came from outside.
    blocks: BTreeMap<u64, u64>,
    /// Constants of the program: (address, bytes).
    pub read_only: Vec<(u64, u64)>,
    /// Blocks of the heap as far as they are known, in and out of regions: bytes by address.
    heap: BTreeMap<u64, u64>,
}

impl Memory {
    /// Forgets everything but the declarations.
    pub fn start_region(&mut self, first_use: bool) {
        self.shadow.reset();
        self.labels.clear();
        self.input_at.clear();
        self.blocks.clear();
        self.first_use = first_use;
    }

    /// Forgets everything.
    pub fn end_region(&mut self) {
        self.start_region(false);
        self.declared.clear();
    }

    /// Declares an input; false if it overlaps an earlier one.
    pub fn declare(&mut self, start: u64, len: u64) -> bool {
        if self.declared.iter().any(|d| start < d.start.saturating_add(d.len) && d.start < start.saturating_add(len)) {
            return false;
        }
        self.declared.push(Declared { start, len, grain: 0 });
        self.shadow.fill(start, len, UNTOUCHED);
        true
    }

    /// Number and bytes of each declaration that is not among those.
    pub fn declared_without<'a>(&'a self, used: &'a [u32]) -> impl Iterator<Item = (u32, u64)> + 'a {
        (0..).zip(&self.declared).map(|(number, d)| (number, d.len)).filter(|(n, _)| used.binary_search(n).is_err())
    }

    /// Bytes of declared inputs that are nearer than each of `inputs`, where inputs have places of their own: in the
    /// order of declarations and addresses. With values of one size, each element of a declaration counts as one.
    pub fn places(&self, inputs: &[Input], one_size: Option<u8>) -> HashMap<u32, u64, FastHash> {
        let bytes = |d: &Declared, len: u64| match one_size {
            Some(size) => len.div_ceil(self.grain(d.start, d.len)) * u64::from(size),
            None => len,
        };
        let starts: Vec<u64> =
            self.declared.iter().scan(0, |sum, d| Some(std::mem::replace(sum, *sum + bytes(d, d.len)))).collect();
        let place = |input: &Input| {
            let number = input.declaration as usize;
            let declared = &self.declared[number];
            (input.value, starts[number] + bytes(declared, input.address - declared.start))
        };
        inputs.iter().map(place).collect()
    }

    /// A block of the heap begins or ends, in or out of a region.
    pub fn note_block(&mut self, address: u64, len: u64, begins: bool) {
        if begins {
            self.heap.insert(address, len);
        } else {
            self.heap.remove(&address);
        }
    }

    /// Whether code that gets a pointer finds tracked values behind it, or inputs that nothing has looked at. It may
    /// look at `len` bytes; 0: at the rest of the block of the heap, else at a few.
    pub fn shows_values(&mut self, address: u64, len: u64) -> bool {
        let len = match len {
            0 => self.rest_of_block(address).unwrap_or(FEW_BYTES),
            known => known,
        };
        let end = address.saturating_add(len.min(MOST_BYTES));
        let mut found = false;
        let labels = &self.labels;
        self.shadow.each_run(address, end - address, |label, _, _| {
            found = found || !matches!(labels.meaning(label), Meaning::Nothing);
        });
        // Without declarations anything untouched may be an input, and so none of it is known to be one.
        let overlaps = self.declared.iter().map(|d| (d.start.max(address), d.start.saturating_add(d.len).min(end)));
        for (from, to) in overlaps.filter(|(from, to)| !self.first_use && from < to) {
            found = found
                || match self.shadow.uniform(from, to - from) {
                    Some(label) => label == UNTOUCHED,
                    None => self.shadow.read(from, to - from).contains(&UNTOUCHED),
                };
        }
        found
    }

    fn rest_of_block(&self, address: u64) -> Option<u64> {
        let (start, len) = self.heap.range(..=address).next_back()?;
        len.checked_sub(address - start).filter(|rest| *rest > 0)
    }

    #[inline]
    pub fn load(&mut self, address: u64, len: u64, recorder: &mut Recorder) -> ByteLabel {
        match self.shadow.uniform(address, len) {
            Some(CONSTANT) => CONSTANT,
            Some(label) => self.resolved(label, address, len, recorder),
            None => self.load_mixed(address, len, recorder),
        }
    }

    /// Turns labels that only say where bytes come from into values.
    fn resolved(&mut self, label: ByteLabel, address: u64, len: u64, recorder: &mut Recorder) -> ByteLabel {
        if label == UNTOUCHED || label == OUTSIDE {
            return self.first_touch(address, len, label, recorder);
        }
        if let Meaning::Copied(range) = self.labels.meaning(label) {
            let found = self.original(range.from.wrapping_add(address.wrapping_sub(range.to)), len, recorder);
            self.store(address, len, found);
            return found;
        }
        label
    }

    #[cold]
    fn load_mixed(&mut self, address: u64, len: u64, recorder: &mut Recorder) -> ByteLabel {
        let labels = self.shadow.read(address, len);
        let mut pieces = Vec::new();
        for (start, run) in runs(&labels) {
            let label = self.resolved(labels[start], address.wrapping_add(start as u64), run as u64, recorder);
            pieces.push((label, run as u32));
        }
        self.labels.join(&pieces)
    }

    /// Bytes that nothing in the region wrote are looked at where they lie.
    fn first_touch(&mut self, address: u64, len: u64, label: ByteLabel, recorder: &mut Recorder) -> ByteLabel {
        let new = if label == OUTSIDE {
            self.undeclared(address, len, recorder)
        } else {
            self.original(address, len, recorder)
        };
        self.store(address, len, new);
        new
    }

    /// What lay at an address when the region began: values that were looked at before, with new ones between them.
    fn original(&mut self, address: u64, len: u64, recorder: &mut Recorder) -> ByteLabel {
        let known = |memory: &Self, at: u64| memory.input_at.get(&address.wrapping_add(at)).copied();
        match known(self, 0) {
            Some((value, size)) if size >= len => return value,
            None if (1..len).all(|at| known(self, at).is_none()) => return self.new_original(address, len, recorder),
            _ => {}
        }
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < len {
            let (label, bytes) = match known(self, at) {
                Some((value, size)) => (value, size.min(len - at)),
                None => {
                    let bytes = (at + 1..len).find(|next| known(self, *next).is_some()).unwrap_or(len) - at;
                    (self.new_original(address.wrapping_add(at), bytes, recorder), bytes)
                }
            };
            pieces.push((label, bytes as u32));
            at += bytes;
        }
        self.labels.join(&pieces)
    }

    fn new_original(&mut self, address: u64, len: u64, recorder: &mut Recorder) -> ByteLabel {
        if self.first_use {
            let is_constant = self.is_in_new_block(address) || self.is_read_only(address);
            return if is_constant { CONSTANT } else { self.undeclared(address, len, recorder) };
        }
        let inside = |d: &Declared| address >= d.start && address - d.start < d.len;
        let Some(number) = self.declared.iter().position(inside) else { return CONSTANT };
        let declared = &mut self.declared[number];
        declared.grain = len;
        // What reaches beyond the declaration is not part of the input.
        let size = len.min(declared.len - (address - declared.start));
        let Some(value) = recorder.input(number as u32, address, size as u8, false) else { return CONSTANT };
        self.input_at.insert(address, (value, size));
        value
    }

    fn undeclared(&mut self, address: u64, len: u64, recorder: &mut Recorder) -> ByteLabel {
        let Some(value) = recorder.input(0, address, len as u8, true) else { return CONSTANT };
        self.input_at.insert(address, (value, len));
        value
    }

    fn is_in_new_block(&self, address: u64) -> bool {
        self.blocks.range(..=address).next_back().is_some_and(|(start, len)| address - start < *len)
    }

    fn is_read_only(&self, address: u64) -> bool {
        self.read_only.iter().any(|(start, len)| address >= *start && address - start < *len)
    }

    #[inline]
    pub fn store(&mut self, address: u64, len: u64, label: ByteLabel) {
        match self.labels.meaning(label) {
            Meaning::Nothing => self.shadow.fill(address, len, CONSTANT),
            Meaning::Joined(pieces) => {
                let mut at = 0;
                for &(label, bytes) in pieces {
                    let bytes = u64::from(bytes).min(len - at);
                    self.shadow.fill(address.wrapping_add(at), bytes, label);
                    at += bytes;
                }
            }
            _ => self.shadow.fill(address, len, label),
        }
    }

    /// The bytes came from the system.
    pub fn deliver(&mut self, address: u64, len: u64) {
        self.shadow.fill(address, len, if self.first_use { OUTSIDE } else { CONSTANT });
    }

    /// A block begins or ends: what lay there before is gone.
    pub fn forget(&mut self, address: u64, len: u64, begins: bool) {
        self.note_block(address, len, begins);
        self.shadow.fill(address, len, UNTOUCHED);
        if !self.first_use {
            return;
        }
        let covered: Vec<u64> =
            self.blocks.range(address..address.saturating_add(len)).map(|(start, _)| *start).collect();
        covered.iter().for_each(|start| {
            self.blocks.remove(start);
        });
        if begins {
            self.blocks.insert(address, len);
        }
    }

    /// Identities travel as memmove moves bytes.
    pub fn copy(&mut self, to: u64, from: u64, len: u64) {
        let mut labels = self.shadow.read(from, len);
        for (start, run) in runs(&labels.clone()) {
            let (source, target) = (from.wrapping_add(start as u64), to.wrapping_add(start as u64));
            let origin = match labels[start] {
                UNTOUCHED => source,
                label => match self.labels.meaning(label) {
                    Meaning::Copied(range) => range.from.wrapping_add(source.wrapping_sub(range.to)),
                    _ => continue,
                },
            };
            let label = self.labels.copied(CopiedRange { to: target, from: origin });
            labels[start..start + run].fill(label);
        }
        self.shadow.write(to, &labels);
    }

    /// Values in a range, each once, in memory order. Inputs that nothing has looked at are cut as their neighbours
    /// were.
    pub fn values(&mut self, address: u64, len: u64, recorder: &mut Recorder) -> Vec<u32> {
        let mut found = Vec::new();
        // In pieces, so that a huge output does not need a huge list of labels.
        for start in (0..len).step_by(1 << 16) {
            let at = address.wrapping_add(start);
            let labels = self.shadow.read(at, (len - start).min(1 << 16));
            for (offset, run) in runs(&labels) {
                let at = at.wrapping_add(offset as u64);
                let origin = match self.labels.meaning(labels[offset]) {
                    Meaning::Copied(range) => Some(range.from.wrapping_add(at.wrapping_sub(range.to))),
                    _ => (labels[offset] == UNTOUCHED).then_some(at),
                };
                if let Some(origin) = origin {
                    let grain = self.grain(origin, run as u64);
                    let mut start = 0;
                    while start < run as u64 {
                        let padding = self.padding(origin.wrapping_add(start), grain);
                        if padding > 0 {
                            start += padding;
                            continue;
                        }
                        let len = grain.min(run as u64 - start);
                        let label = self.resolved(labels[offset], at.wrapping_add(start), len, recorder);
                        self.add_values(label, &mut found);
                        start += len;
                    }
                    continue;
                }
                let label = self.resolved(labels[offset], at, run as u64, recorder);
                self.add_values(label, &mut found);
            }
        }
        found.dedup();
        found
    }

    /// Bytes of padding at an address: a `long double` is 10 bytes of 16, and the other 6 are no value.
    fn padding(&mut self, address: u64, grain: u64) -> u64 {
        const VALUE: u64 = 10;
        const PLACE: u64 = 16;
        let start = address & !(PLACE - 1);
        let is_behind = address - start >= VALUE;
        let is_long_double = |memory: &mut Self| match memory.input_at.get(&start) {
            Some((_, size)) => *size == VALUE,
            None => {
                let is_one = memory.shadow.uniform(start, VALUE).is_some_and(|label| label >= FIRST_VALUE);
                is_one && memory.shadow.label(start + VALUE) != memory.shadow.label(start)
            }
        };
        if is_behind && (grain == VALUE || is_long_double(self)) { start + PLACE - address } else { 0 }
    }

    /// Bytes per value where nothing has been loaded yet: as in the rest of the declaration, else as large as fits.
    fn grain(&self, address: u64, len: u64) -> u64 {
        let inside = |d: &&Declared| address >= d.start && address - d.start < d.len;
        match self.declared.iter().find(inside).map(|d| d.grain) {
            Some(known) if known > 0 => known,
            _ => [8, 4, 2, 1].into_iter().find(|n| len.is_multiple_of(*n)).unwrap_or(1),
        }
    }

    /// The values that a label stands for.
    pub fn add_values(&self, label: ByteLabel, into: &mut Vec<u32>) {
        match self.labels.meaning(label) {
            Meaning::Value(value) => into.push(value),
            Meaning::Joined(pieces) => {
                let values = pieces.iter().filter_map(|(label, _)| match self.labels.meaning(*label) {
                    Meaning::Value(value) => Some(value),
                    _ => None,
                });
                into.extend(values);
            }
            Meaning::Nothing | Meaning::Copied(_) => {}
        }
    }
}

/// Runs of equal labels: (start, length).
fn runs(labels: &[ByteLabel]) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    for run in labels.chunk_by(|a, b| a == b) {
        let start = runs.last().map_or(0, |(start, len)| start + len);
        runs.push((start, run.len()));
    }
    runs
}
