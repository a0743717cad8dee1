//! The events of one region in the order they happened, long enough to be swept backwards and priced forwards.
//!
//! Takes events, gives them back as chunks of words; chunks beyond what memory should hold lie in a temporary file
//! without a name. Refuses to go on when that file cannot grow.
//!
//! An event is a head word, for instructions and escapes the number of a cell, of two results the bytes of the second,
//! then operands: numbers of values, whose top bit says that the value dies here. Results are numbered by counting, in
//! both directions.
//!
//! ```text
//!           31 29 28    21 20        13 12   11 10     9 8      3 2    0
//!          +-----+--------+------------+-------+--------+--------+------+
//!   head   |  0  | size   | operation  | used  | results| operands| kind |
//!          +-----+--------+------------+-------+--------+--------+------+
//! ```
//!
//! `add` of the values 3 and 2 in cell 7, 4 bytes, whose result is used and whose second operand dies:
//!
//! ```text
//!   00828a10   Instruction, 2 operands, 1 result, the first one used, operation 20 = ValueOp::Add, 4 bytes
//!   00000007   cell 7
//!   00000003   value 3
//!   80000002   value 2, which dies
//! ```

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An instruction with operands and results.
    Instruction,
    /// A read without a result.
    Escape,
    /// A new input; no operands, one result.
    Input,
    /// An input whose place on the stack is not known: it enters at the bottom when it is first read.
    LazyInput,
}

/// Top bit of an operand.
pub const DIES: u32 = 1 << 31;
/// Operands of one event.
pub const MAX_OPERANDS: usize = 63;

/// First word of an event, from bit 0: kind 3 bits, operands 6, results 2, used results 2, operation 8, size of the
/// first result 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head(pub u32);

impl Head {
    #[must_use]
    pub fn new(kind: EventKind, operands: usize, results: u32, op: u8, size: u8) -> Self {
        Self(kind as u32 | (operands as u32) << 3 | results << 9 | u32::from(op) << 13 | u32::from(size) << 21)
    }

    #[inline]
    #[must_use]
    pub fn kind(self) -> EventKind {
        match self.0 & 7 {
            0 => EventKind::Instruction,
            1 => EventKind::Escape,
            2 => EventKind::Input,
            _ => EventKind::LazyInput,
        }
    }

    #[inline]
    #[must_use]
    pub fn operands(self) -> usize {
        (self.0 >> 3 & 63) as usize
    }

    /// 0 to 2.
    #[inline]
    #[must_use]
    pub fn results(self) -> u32 {
        self.0 >> 9 & 3
    }

    #[inline]
    #[must_use]
    pub fn is_used(self, result: u32) -> bool {
        self.0 >> (11 + result) & 1 == 1
    }

    #[must_use]
    pub fn with_used(self, result: u32, used: bool) -> Self {
        Self(self.0 & !(1 << (11 + result)) | u32::from(used) << (11 + result))
    }

    #[inline]
    #[must_use]
    pub fn op(self) -> u8 {
        (self.0 >> 13) as u8
    }

    /// Bytes of the first result.
    #[inline]
    #[must_use]
    pub fn size(self) -> u8 {
        (self.0 >> 21) as u8
    }

    /// Words before the operands.
    #[inline]
    #[must_use]
    pub fn prefix(self) -> usize {
        let has_cell = matches!(self.kind(), EventKind::Instruction | EventKind::Escape);
        // The size of a second result has a word of its own.
        1 + usize::from(has_cell) + usize::from(self.results() > 1)
    }

    #[inline]
    #[must_use]
    pub fn words(self) -> usize {
        self.prefix() + self.operands()
    }
}

/// Words of a full chunk, about.
const CHUNK: usize = 1 << 18;
/// Longest event: head, cell, second size, operands.
const LONGEST: usize = 3 + MAX_OPERANDS;

enum Chunk {
    Here(Vec<u32>),
    /// Words at this word offset of the file.
    There {
        start: u64,
        len: usize,
    },
}

/// The log of one region.
pub struct Log {
    chunks: Vec<Chunk>,
    open: Vec<u32>,
    file: Option<File>,
    file_words: u64,
    kept: usize,
    /// Chunks that stay in memory.
    limit: usize,
}

impl Log {
    /// A log that keeps about so many bytes in memory.
    #[must_use]
    pub fn new(memory: usize) -> Self {
        let limit = memory / (CHUNK * 4);
        Self { chunks: Vec::new(), open: Vec::new(), file: None, file_words: 0, kept: 0, limit }
    }

    /// Forgets everything and gives the file's space back.
    pub fn clear(&mut self) {
        self.chunks.clear();
        self.open.clear();
        self.file = None;
        self.file_words = 0;
        self.kept = 0;
    }

    /// Where to append one event.
    #[inline]
    pub fn event(&mut self) -> io::Result<&mut Vec<u32>> {
        if self.open.len() + LONGEST > CHUNK {
            self.close_chunk()?;
        }
        Ok(&mut self.open)
    }

    fn close_chunk(&mut self) -> io::Result<()> {
        if self.open.is_empty() {
            return Ok(());
        }
        if self.kept < self.limit {
            self.kept += 1;
            self.chunks.push(Chunk::Here(std::mem::replace(&mut self.open, Vec::with_capacity(CHUNK))));
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        write_at(file, self.file_words, &self.open)?;
        self.chunks.push(Chunk::There { start: self.file_words, len: self.open.len() });
        self.file_words += self.open.len() as u64;
        self.open.clear();
        Ok(())
    }

    /// Visits the chunks from the last to the first; what the visitor changes is kept.
    pub fn backwards(&mut self, mut visit: impl FnMut(&mut [u32])) -> io::Result<()> {
        self.close_chunk()?;
        for chunk in self.chunks.iter_mut().rev() {
            match chunk {
                Chunk::Here(words) => visit(words),
                Chunk::There { start, len } => {
                    let file = self.file.as_mut().ok_or_else(|| io::Error::other("the log's file is gone"))?;
                    let mut words = read_at(file, *start, *len)?;
                    visit(&mut words);
                    write_at(file, *start, &words)?;
                }
            }
        }
        Ok(())
    }

    /// Visits the chunks in order. All events must have been swept.
    pub fn forwards(&mut self, mut visit: impl FnMut(&[u32])) -> io::Result<()> {
        for chunk in &self.chunks {
            match chunk {
                Chunk::Here(words) => visit(words),
                Chunk::There { start, len } => {
                    let file = self.file.as_mut().ok_or_else(|| io::Error::other("the log's file is gone"))?;
                    visit(&read_at(file, *start, *len)?);
                }
            }
        }
        Ok(())
    }
}

fn write_at(file: &mut File, start: u64, words: &[u32]) -> io::Result<()> {
    file.seek(SeekFrom::Start(start * 4))?;
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    file.write_all(&bytes)
}

fn read_at(file: &mut File, start: u64, len: usize) -> io::Result<Vec<u32>> {
    file.seek(SeekFrom::Start(start * 4))?;
    let mut bytes = vec![0; len * 4];
    file.read_exact(&mut bytes)?;
    Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

/// Where each event of a chunk starts.
pub fn starts(words: &[u32], into: &mut Vec<u32>) {
    into.clear();
    let mut at = 0;
    while at < words.len() {
        into.push(at as u32);
        at += Head(words[at]).words();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_keep_all_their_fields() {
        let head = Head::new(EventKind::Instruction, 63, 2, 255, 255).with_used(1, true);
        assert_eq!((head.kind(), head.operands(), head.results()), (EventKind::Instruction, 63, 2));
        assert_eq!((head.op(), head.size(), head.is_used(0), head.is_used(1)), (255, 255, false, true));
        assert_eq!(head.words(), 66);
        assert!(!head.with_used(1, false).is_used(1));
        assert_eq!(Head::new(EventKind::LazyInput, 0, 1, 0, 8).words(), 1);
    }

    #[test]
    fn what_goes_to_the_file_comes_back_with_its_marks() {
        for memory in [0, CHUNK * 4, usize::MAX] {
            let mut log = Log::new(memory);
            let event = |i: u32| [Head::new(EventKind::Escape, 1, 0, 0, 0).0, i, i];
            const EVENTS: u32 = 400_000;
            (0..EVENTS).for_each(|i| log.event().expect("room on disk").extend(event(i)));
            let mut expected = EVENTS;
            let mut at = Vec::new();
            log.backwards(|words| {
                starts(words, &mut at);
                for &start in at.iter().rev() {
                    expected -= 1;
                    assert_eq!(words[start as usize + 1], expected);
                    words[start as usize + 2] |= DIES;
                }
            })
            .expect("readable");
            assert_eq!(expected, 0);
            log.forwards(|words| {
                for event in words.chunks(3) {
                    assert_eq!(event[2], expected | DIES);
                    expected += 1;
                }
            })
            .expect("readable");
            assert_eq!(expected, EVENTS);
        }
    }
}
