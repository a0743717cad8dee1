//! Numbers values and writes the log of the open region.
//!
//! Takes instructions with the numbers of their operands, gives numbers of results. After the first failure (no room for the log, too
//! many values) it records nothing more and keeps the reason.

use super::{
    FIRST_VALUE,
    labels::VALUE_LIMIT,
    log::{EventKind, Head, Log, MAX_OPERANDS},
    price::Input,
    shadow::Label,
};
use crate::{abi::OP_CLASSES, steps::ValueOp};

/// Bytes of log that stay in memory unless the user says otherwise.
const LOG_MEMORY: usize = 256 << 20;

pub struct Recorder {
    pub log: Log,
    /// Longest chain of instructions behind each value.
    pub depths: Vec<u32>,
    pub inputs: Vec<Input>,
    /// The latest value with the longest chain.
    pub deepest: Label,
    pub deepest_output: u32,
    pub instructions: u64,
    pub escapes: u64,
    pub ops: [u64; OP_CLASSES],
    pub failed: Option<String>,
    words: Vec<u32>,
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
            instructions: 0,
            escapes: 0,
            ops: [0; OP_CLASSES],
            failed: None,
            words: Vec::new(),
        }
    }

    /// Forgets the last region.
    pub fn clear(&mut self) {
        self.log.clear();
        self.depths.clear();
        self.inputs.clear();
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

    fn push(&mut self, depth: u32, results: u32) -> bool {
        if self.failed.is_some() {
            return false;
        }
        if self.next() + results >= VALUE_LIMIT {
            self.failed = Some(format!(
                "the region has more than {VALUE_LIMIT} values, which is all that the values model can follow; declare a smaller region or run a smaller input"
            ));
            return false;
        }
        if let Err(error) = self.log.push(&self.words) {
            self.failed = Some(format!(
                "cannot keep the log of the region ({error}); it goes to a temporary file: make room there or name another directory in TMPDIR"
            ));
            return false;
        }
        self.depths.extend(std::iter::repeat_n(depth, results as usize));
        true
    }

    /// A new input value.
    pub fn input(&mut self, declaration: u32, address: u64, size: u8, lazy: bool) -> Option<u32> {
        let value = self.next();
        let kind = if lazy { EventKind::LazyInput } else { EventKind::Input };
        self.words.clear();
        self.words.push(Head::new(kind, 0, 1, 0, size).0);
        if !self.push(0, 1) {
            return None;
        }
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
        self.words.clear();
        self.words.push(Head::new(EventKind::Instruction, operands.len(), results, op as u8, sizes[0]).0);
        self.words.push(cell);
        self.words.extend(sizes.get(1).map(|s| u32::from(*s)));
        self.words.extend_from_slice(operands);
        let depth = 1 + operands.iter().map(|v| self.depth(*v)).max().unwrap_or(0);
        let first = self.next();
        if !self.push(depth, results) {
            return None;
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
        self.words.clear();
        self.words.extend([Head::new(EventKind::Escape, 1, 0, 0, 0).0, cell, operand]);
        let done = self.push(0, 0);
        self.escapes += u64::from(done);
        done
    }

    /// The values are outputs.
    pub fn keep(&mut self, values: &[u32]) {
        for some in values.chunks(MAX_OPERANDS) {
            self.words.clear();
            self.words.push(Head::new(EventKind::Keep, some.len(), 0, 0, 0).0);
            self.words.extend_from_slice(some);
            self.push(0, 0);
            for value in some {
                self.deepest_output = self.deepest_output.max(self.depth(*value));
            }
        }
    }
}
