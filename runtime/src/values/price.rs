//! Prices the log of one region: a sweep backwards finds where each value dies, a walk forwards reads the stack.
//!
//! Takes a [`Log`] and the depth of each value in the graph of dependences; gives every push, read and instruction in
//! order to a [`PriceSink`], and the region's totals. Rules: an instruction prices all its operands against the stack
//! before it, each occurrence; then its distinct operands go to the top in operand order, those read for the last time
//! leave, and the results that will be used are pushed. Inputs with places of their own are priced there when they are
//! first read, and then move to the top like any other; outputs that are read at the end are priced where they lie.

use std::{collections::HashMap, io};

use crate::{engine::Isa, hash::FastHash};

use super::{
    labels::FIRST_VALUE,
    log::{DIES, EventKind, Head, Log, starts},
    stack::ValueStack,
};

/// What happened, in order.
pub trait PriceSink {
    /// A value came to be on top of the stack: an input at the start, or a result.
    fn push(&mut self, value: u32, stack: &ValueStack);
    /// One operand was read, with so many live bytes above it.
    fn read(&mut self, cell: u32, value: u32, above: u64, size: u64);
    /// All operands of an instruction or escape have been read and the stack is as it leaves it, but for results. `op`
    /// is 0 for an escape.
    fn done(&mut self, cell: u32, op: u8, reads: &[(u32, u64)], stack: &ValueStack);
}

/// An input of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Input {
    /// Number of its declaration. The last declared is pushed first.
    pub declaration: u32,
    pub address: u64,
    pub value: u32,
    pub size: u8,
}

/// A declared output, and where it was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    pub value: u32,
    pub cell: u32,
}

/// What the machine knows about the values of a region.
pub struct Values<'a> {
    /// Numbers given out: values are [`FIRST_VALUE`]` .. next`.
    pub next: u32,
    /// Longest chain of instructions that ends in each value, from the first on.
    pub depths: &'a [u32],
    pub inputs: &'a mut Vec<Input>,
    /// Bytes nearer than each input, by its value, where inputs have places of their own; else they start on the stack.
    pub places: Option<HashMap<u32, u64, FastHash>>,
    /// What is alive to the end. With places for inputs it is read then, in order.
    pub outputs: &'a [Output],
    /// All values have this size.
    pub one_size: Option<u8>,
    /// The value at the end of the longest chain, 0 if there is none.
    pub deepest: u32,
}

/// What the region's stack looked like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Priced {
    pub peak_live: u64,
    /// Bytes of the inputs that were used.
    pub input_bytes: u64,
    /// Declarations of which something was used, in order of their numbers.
    pub used_declarations: Vec<u32>,
}

/// Sweeps and prices. `on_chain` is called with the cell of each instruction on one longest chain.
///
/// # Errors
/// When the log's file cannot be read or written.
pub fn price(
    log: &mut Log,
    values: &mut Values<'_>,
    sink: &mut impl PriceSink,
    on_chain: impl FnMut(u32),
) -> io::Result<Priced> {
    let used_inputs = sweep(log, values, on_chain)?;
    let count = (values.next - FIRST_VALUE) as usize;
    let mut stack = ValueStack::new(count, values.one_size);
    let mut priced = Priced::default();
    values.inputs.sort_unstable_by_key(|i| (std::cmp::Reverse(i.declaration), i.address));
    for input in values.inputs.iter() {
        let value = input.value - FIRST_VALUE;
        stack.set_size(value, input.size);
        if used_inputs.get(value) {
            priced.input_bytes += stack.size(value);
            priced.used_declarations.push(input.declaration);
            if values.places.is_none() {
                stack.make_room();
                stack.push(value);
                sink.push(value, &stack);
            }
        }
    }
    // Inputs come by declaration, the last first.
    priced.used_declarations.dedup();
    priced.used_declarations.reverse();
    stack.note_height();
    let reads_outputs = values.places.is_some();
    let places = values.places.take().unwrap_or_default();
    let mut walk = Walk { next: 0, stack, sink, places, reads: Vec::new(), lifted: Vec::new(), lazy_bytes: 0 };
    let isa = Isa::detect();
    log.forwards(|words| walk.chunk_on(isa, words))?;
    if reads_outputs {
        walk.read_outputs(values.outputs);
    }
    priced.peak_live = walk.stack.peak();
    priced.input_bytes += walk.lazy_bytes;
    Ok(priced)
}

struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    #[inline]
    fn get(&self, index: u32) -> bool {
        self.0[index as usize / 64] >> (index % 64) & 1 == 1
    }

    /// Sets a bit and tells what it was.
    #[inline]
    fn set(&mut self, index: u32) -> bool {
        let word = &mut self.0[index as usize / 64];
        let before = *word >> (index % 64) & 1 == 1;
        *word |= 1 << (index % 64);
        before
    }
}

/// Marks last reads and used results. One bit per value, and nothing else that grows. Gives the values that are read at
/// all.
fn sweep(log: &mut Log, values: &Values<'_>, mut on_chain: impl FnMut(u32)) -> io::Result<Bits> {
    let mut read_later = Bits::new((values.next - FIRST_VALUE) as usize);
    // Outputs are alive to the end.
    for output in values.outputs {
        read_later.set(output.value - FIRST_VALUE);
    }
    let mut next = values.next;
    let mut target = values.deepest;
    let mut at = Vec::new();
    log.backwards(|words| {
        starts(words, &mut at);
        for &start in at.iter().rev() {
            let start = start as usize;
            let mut head = Head(words[start]);
            let results = head.results();
            next -= results;
            let mut is_target = false;
            for result in 0..results {
                head = head.with_used(result, read_later.get(next + result - FIRST_VALUE));
                is_target |= next + result == target;
            }
            words[start] = head.0;
            let operands = start + head.prefix()..start + head.words();
            if is_target && head.kind() == EventKind::Instruction {
                on_chain(words[start + 1]);
                target = longest(&words[operands.clone()], values);
            }
            for i in operands {
                let value = words[i];
                if !read_later.set(value - FIRST_VALUE) {
                    words[i] = value | DIES;
                }
            }
        }
    })?;
    Ok(read_later)
}

/// The operand with the longest chain behind it; of several the latest. 0 if the chain starts here.
fn longest(operands: &[u32], values: &Values<'_>) -> u32 {
    let depth = |value: u32| values.depths[(value - FIRST_VALUE) as usize];
    let found = operands.iter().copied().max_by_key(|v| (depth(*v), *v));
    found.filter(|v| depth(*v) > 0).unwrap_or(0)
}

struct Walk<'a, S> {
    /// Number of the next value, from the region's first on.
    next: u32,
    stack: ValueStack,
    sink: &'a mut S,
    /// Bytes nearer than each input that is not on the stack yet.
    places: HashMap<u32, u64, FastHash>,
    /// Operands of the event at hand, and what lay above each.
    reads: Vec<(u32, u64)>,
    /// Those that were on the stack: place and size.
    lifted: Vec<(u32, u64)>,
    lazy_bytes: u64,
}

impl<S: PriceSink> Walk<'_, S> {
    /// Prices a chunk with code compiled for what the processor has: the stack's counts are vector operations.
    fn chunk_on(&mut self, isa: Isa, words: &[u32]) {
        #[cfg(target_arch = "x86_64")]
        if isa != Isa::Portable {
            // SAFETY: `Isa::detect` found at least the features of AVX2's level.
            return unsafe { self.chunk_v3(words) };
        }
        let _ = isa;
        self.chunk(words);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn chunk_v3(&mut self, words: &[u32]) {
        self.chunk(words);
    }

    #[inline(always)]
    fn chunk(&mut self, words: &[u32]) {
        let mut at = 0;
        while at < words.len() {
            let head = Head(words[at]);
            let event = &words[at..at + head.words()];
            match head.kind() {
                EventKind::Instruction | EventKind::Escape => self.instruction(head, event),
                EventKind::Input => self.next += 1,
                EventKind::LazyInput => {
                    self.stack.set_size(self.next, head.size());
                    self.next += 1;
                }
            }
            at += head.words();
        }
    }

    #[inline(always)]
    fn instruction(&mut self, head: Head, event: &[u32]) {
        let cell = event[1];
        let operands = &event[head.prefix()..];
        self.stack.make_room();
        self.reads.clear();
        self.lifted.clear();
        let mut cold = 0;
        for (i, &operand) in operands.iter().enumerate() {
            let value = (operand & !DIES) - FIRST_VALUE;
            let size = self.stack.size(value);
            let above = if let Some(again) = self.reads[..i].iter().find(|(v, _)| *v == value) {
                again.1
            } else if let Some(found) = self.stack.lift(value) {
                // Operands that have been taken off already lie above this one if they were put there later.
                let taken: u64 = self.lifted.iter().filter(|(p, _)| *p > found.position).map(|(_, size)| size).sum();
                self.lifted.push((found.position, size));
                found.above + taken
            } else if let Some(&nearer) = self.places.get(&(value + FIRST_VALUE)) {
                nearer
            } else {
                // Below everything that was there before the instruction.
                let above = self.stack.live() + self.lifted.iter().map(|(_, size)| size).sum::<u64>() + cold;
                cold += size;
                above
            };
            self.reads.push((value, above));
            self.sink.read(cell, value, above, size);
        }
        self.lazy_bytes += cold;
        self.restack(operands);
        self.stack.note_height();
        self.sink.done(cell, if head.kind() == EventKind::Escape { 0 } else { head.op() }, &self.reads, &self.stack);
        for result in 0..head.results() {
            let value = self.next + result;
            let size = if result == 0 { head.size() } else { event[2] as u8 };
            self.stack.set_size(value, size);
            if head.is_used(result) {
                self.stack.push(value);
                self.sink.push(value, &self.stack);
            }
        }
        self.next += head.results();
        self.stack.note_height();
    }

    /// Reads each output where it lies; nothing moves.
    fn read_outputs(&mut self, outputs: &[Output]) {
        for output in outputs {
            let value = output.value - FIRST_VALUE;
            let own_place = self.places.get(&output.value).copied();
            let above = self.stack.above(value).or(own_place).unwrap_or_else(|| self.stack.live());
            self.sink.read(output.cell, value, above, self.stack.size(value));
        }
    }

    /// Distinct operands to the top in order, unless this was their last read.
    #[inline(always)]
    fn restack(&mut self, operands: &[u32]) {
        for (i, &operand) in operands.iter().enumerate() {
            let value = operand & !DIES;
            // A repeated operand is put back once; the mark may be on any of its occurrences.
            let is_repeated = operands[..i].iter().any(|o| o & !DIES == value);
            if !is_repeated && !operands[i..].contains(&(value | DIES)) {
                self.stack.push(value - FIRST_VALUE);
            }
        }
    }
}
