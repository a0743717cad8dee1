//! Numbers values and writes the log of the open region.
//!
//! Takes instructions with the numbers of their operands, gives numbers of results. After the first failure (no room
//! for the log, too many values) it records nothing more and keeps the reason.

use std::collections::HashSet;

use super::{
    labels::{FIRST_VALUE, VALUE_LIMIT},
    log::{EventKind, Head, Log, MAX_OPERANDS},
    price::{Input, Output},
};
use crate::{abi::OP_CLASSES, hash::FastHash, shadow::ByteLabel, steps::ValueOp};

/// Bytes of log that stay in memory unless the user says otherwise.
const LOG_MEMORY: usize = 256 << 20;

pub struct Recorder {
    pub log: Log,
    /// Longest chain of instructions behind each value.
    pub depths: Vec<u32>,
    pub inputs: Vec<Input>,
    /// The latest value with the longest chain.
    pub deepest: ByteLabel,
    pub deepest_output: u32,
    /// Declared outputs in order, each value once.
    pub outputs: Vec<Output>,
    is_output: HashSet<u32, FastHash>,
    pub instructions: u64,
    pub escapes: u64,
    pub ops: [u64; OP_CLASSES],
    pub failed: Option<String>,
}

impl Recorder {
    #[must_use]
    pub fn new(log_memory: Option<usize>) -> Self {
        Self {
            log: Log::new(log_memory.unwrap_or(LOG_MEMORY)),
            depths: Vec::new(),
            inputs: Vec::new(),
            deepest: 0,
            deepest_output: 0,
            outputs: Vec::new(),
            is_output: HashSet::default(),
            instructions: 0,
            escapes: 0,
            ops: [0; OP_CLASSES],
            failed: None,
        }
    }

    /// Forgets the last region.
    pub fn clear(&mut self) {
        self.log.clear();
        self.depths.clear();
        self.inputs.clear();
        self.outputs.clear();
        self.is_output.clear();
        (self.deepest, self.deepest_output) = (0, 0);
        (self.instructions, self.escapes) = (0, 0);
        self.ops = [0; OP_CLASSES];
    }

    /// Number of the next value.
    #[must_use]
    pub fn next(&self) -> u32 {
        FIRST_VALUE + self.depths.len() as u32
    }

    #[inline]
    #[must_use]
    pub fn depth(&self, value: u32) -> u32 {
        self.depths[(value - FIRST_VALUE) as usize]
    }

    /// Where to append an event with so many results; `None` if there is no room, now or ever since.
    #[inline]
    fn event(&mut self, results: u32) -> Option<&mut Vec<u32>> {
        if self.failed.is_some() || self.next() + results >= VALUE_LIMIT {
            self.failed.get_or_insert_with(|| {
                format!(
                    "it has more than {VALUE_LIMIT} values, which is all that the values model can follow; declare a smaller region or run a smaller input"
                )
            });
            return None;
        }
        match self.log.event() {
            Ok(words) => Some(words),
            Err(error) => {
                self.failed = Some(format!(
                    "cannot keep the log ({error}); it goes to a temporary file: make room there or name another directory in TMPDIR"
                ));
                None
            }
        }
    }

    /// A new input value.
    pub fn input(&mut self, declaration: u32, address: u64, size: u8, lazy: bool) -> Option<u32> {
        let value = self.next();
        let kind = if lazy { EventKind::LazyInput } else { EventKind::Input };
        self.event(1)?.push(Head::new(kind, 0, 1, 0, size).0);
        self.depths.push(0);
        if !lazy {
            self.inputs.push(Input { declaration, address, value, size });
        }
        Some(value)
    }

    /// An instruction; the number of its first result.
    #[inline]
    pub fn instruction(&mut self, cell: u32, op: ValueOp, operands: &[u32], sizes: &[u8]) -> Option<u32> {
        let operands = &operands[..operands.len().min(MAX_OPERANDS)];
        let results = sizes.len() as u32;
        let depth = 1 + operands.iter().map(|v| self.depth(*v)).max().unwrap_or(0);
        let first = self.next();
        let words = self.event(results)?;
        words.extend([Head::new(EventKind::Instruction, operands.len(), results, op as u8, sizes[0]).0, cell]);
        if let Some(second) = sizes.get(1) {
            words.push(u32::from(*second));
        }
        for operand in operands {
            words.push(*operand);
        }
        self.depths.push(depth);
        if results > 1 {
            self.depths.push(depth);
        }
        if self.deepest < FIRST_VALUE || depth >= self.depth(self.deepest) {
            self.deepest = first;
        }
        self.instructions += 1;
        self.ops[op.class() as usize] += 1;
        Some(first)
    }

    /// A read of each operand without a result.
    #[inline]
    pub fn escape(&mut self, cell: u32, operand: u32) -> bool {
        let Some(words) = self.event(0) else { return false };
        words.extend([Head::new(EventKind::Escape, 1, 0, 0, 0).0, cell, operand]);
        self.escapes += 1;
        true
    }

    /// The value is an output, declared at this cell; false if that was known.
    pub fn output(&mut self, value: u32, cell: u32) -> bool {
        let is_new = self.is_output.insert(value);
        if is_new {
            self.outputs.push(Output { value, cell });
            self.deepest_output = self.deepest_output.max(self.depth(value));
        }
        is_new
    }
}
