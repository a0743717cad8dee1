//! Makes the words of a ring small, one chunk at a time, and gives them back.
//!
//! Takes words and the lengths of their records, gives bytes; the other side learns the lengths as they go. Records of
//! one kind mostly follow each other in the same order, and their operands mostly advance by constants, so each
//! record's first word is coded against what followed its predecessor last time, and each operand against where its own
//! last values point. Words that are not a known record are stored as they are: nothing depends on their meaning.
//!
//! A chunk is three lengths, tags, and data. A record is one tag, which has in four bits each how many bytes of data
//! its first two operands take, and one more for every two operands further; other tags come before that and say what
//! the record is, if it is not what was expected. Lengths come apart from the data so that neither side has to look at
//! bytes one by one.
//!
//! ```text
//!   | words | bytes of tags | bytes of data | tags ... | data ... |     lengths as in `oplog::varint`
//!
//!   a record's own tag:  7             4 3            0
//!                       | 2nd operand   | 1st operand  |              bytes of data, 0 to 8 each
//! ```
//!
//! The first chunk of a small program, 6 words in 33 bytes. The words are de05000000000000, 1, 7ffff7cf0740, 0, 0, and
//! 0000555555563830:
//!
//! ```text
//!   06 07 17      6 words, 7 bytes of tags, 23 of data
//!
//!   tags                                           data
//!   f2 05   NEW: a kind of records of 5 words      00 00 00 00 00 00 05 de   its first word
//!   61      operands of 1 byte and of 6            02 80 0e 9e ef ff ff      zigzag of 1 and of 7ffff7cf0740
//!   00      two operands of no bytes               nothing: 0, as expected
//!   f2 01   NEW: a kind of records of 1 word       30 38 56 55 55 55 00 00
//!   00      it has no operands
//! ```

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{
    hash::FastHash,
    oplog::varint::{put, put_with, take, unzigzag, zigzag},
};

/// Tags that are no lengths.
mod tag {
    /// The rest of the chunk is plain words.
    pub const PLAIN: u8 = 0xf0;
    /// A record of a kind that was seen, by its number, which follows.
    pub const KNOWN: u8 = 0xf1;
    /// A record of a new kind; its length in words follows, its first word is in the data.
    pub const NEW: u8 = 0xf2;
}

/// Operands whose lengths are in a record's own tag.
const FIRST: usize = 2;
/// Words are written and read eight bytes at a time, whatever their length.
const WORD: usize = 8;
/// Most bytes of tags that the start of a record takes: its kind, number or length, and its own tag.
const MOST_TAGS: usize = 8;

/// Where an operand's values have been going.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(from = "(u64, i64, bool)", into = "(u64, i64, bool)")]
struct Operand {
    last: u64,
    step: u64,
    /// The last step, if the one before was equal; else 0.
    further: u64,
}

impl Operand {
    /// What is to be written of a value.
    #[inline(always)]
    fn code(&mut self, value: u64) -> u64 {
        let coded = zigzag(value.wrapping_sub(self.expected()));
        self.saw(value);
        coded
    }

    /// The value of which this was written.
    #[inline(always)]
    fn value(&mut self, coded: u64) -> u64 {
        let value = self.expected().wrapping_add(unzigzag(coded));
        self.saw(value);
        value
    }

    #[inline(always)]
    fn expected(&self) -> u64 {
        self.last.wrapping_add(self.further)
    }

    #[inline(always)]
    fn saw(&mut self, value: u64) {
        let step = value.wrapping_sub(self.last);
        *self = Self { last: value, step, further: if step == self.step { step } else { 0 } };
    }
}

/// In a file a step is a signed number, as most are small.
impl From<Operand> for (u64, i64, bool) {
    fn from(operand: Operand) -> Self {
        (operand.last, operand.step as i64, operand.further != 0)
    }
}

impl From<(u64, i64, bool)> for Operand {
    fn from((last, step, goes_on): (u64, i64, bool)) -> Self {
        Self { last, step: step as u64, further: if goes_on { step as u64 } else { 0 } }
    }
}

/// A kind of records: all with the same first word.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Kind {
    word: u64,
    /// Words of the record, the first included.
    len: u32,
    /// The kind that followed it last.
    next: u32,
    /// Where its operands after the first two are.
    others: u32,
    first: [Operand; FIRST],
}

/// What both sides know.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Model {
    kinds: Vec<Kind>,
    operands: Vec<Operand>,
    /// Kind of the last record.
    last: u32,
}

impl Model {
    /// The kind that followed the last one when it came last.
    #[inline(always)]
    fn expected(&self) -> u32 {
        self.kinds.get(self.last as usize).map_or(0, |kind| kind.next)
    }

    #[inline(always)]
    fn get(&self, number: u32) -> Option<&Kind> {
        self.kinds.get(number as usize)
    }

    /// Another kind than the expected one follows the last.
    fn surprise(&mut self, number: u32) {
        if let Some(last) = self.kinds.get_mut(self.last as usize) {
            last.next = number;
        }
    }

    /// Adds a kind and gives its number; nothing if there are too many.
    fn add(&mut self, word: u64, len: usize) -> Option<u32> {
        let number = u32::try_from(self.kinds.len()).ok()?;
        let (len, others) = (u32::try_from(len).ok()?, u32::try_from(self.operands.len()).ok()?);
        let more = (len as usize).saturating_sub(1 + FIRST);
        self.operands.resize(self.operands.len() + more, Operand::default());
        self.kinds.push(Kind { word, len, next: 0, others, first: Default::default() });
        Some(number)
    }

    /// A record of a kind is next: its length, its first operands, and the others.
    #[inline(always)]
    fn open(&mut self, number: u32) -> (usize, &mut [Operand; FIRST], &mut [Operand]) {
        self.last = number;
        let kind = &mut self.kinds[number as usize];
        let (len, others) = (kind.len as usize, kind.others as usize);
        let more = len.saturating_sub(1 + FIRST);
        (len, &mut kind.first, &mut self.operands[others..others + more])
    }
}

/// Bytes that are written from the start, over what was there.
#[derive(Debug, Default)]
struct Output {
    bytes: Vec<u8>,
    len: usize,
}

impl Output {
    /// Starts again, with room for so many bytes.
    fn start(&mut self, room: usize) {
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        self.len = 0;
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// The low bytes of a word, as many as are not zero; gives how many.
    #[inline(always)]
    fn short(&mut self, word: u64) -> u8 {
        let len = (u64::BITS as usize + 7 - word.leading_zeros() as usize) / 8;
        self.bytes[self.len..self.len + WORD].copy_from_slice(&word.to_le_bytes());
        self.len += len;
        len as u8
    }

    fn word(&mut self, word: u64) {
        self.bytes[self.len..self.len + WORD].copy_from_slice(&word.to_le_bytes());
        self.len += WORD;
    }

    fn number(&mut self, number: u32) {
        put_with(number.into(), |byte| self.byte(byte));
    }

    fn written(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[derive(Debug, Default)]
pub struct Encoder {
    model: Model,
    number_of: HashMap<u64, u32, FastHash>,
    tags: Output,
    data: Output,
}

impl Encoder {
    /// Appends the next chunk. `len_of` knows the length in words of the record that starts with a word.
    pub fn chunk(&mut self, words: &[u64], mut len_of: impl FnMut(u64) -> Option<usize>, out: &mut Vec<u8>) {
        self.tags.start((words.len() + 1) * MOST_TAGS);
        self.data.start((words.len() + 1) * WORD);
        let mut rest = words;
        while let Some(&word) = rest.first() {
            let expected = self.model.expected();
            let is_expected = |kind: &Kind| (kind.word == word) & (kind.len as usize <= rest.len());
            let number = if self.model.get(expected).is_some_and(is_expected) {
                expected
            } else if let Some(number) = self.other(word, rest.len(), &mut len_of) {
                number
            } else {
                self.tags.byte(tag::PLAIN);
                rest.iter().for_each(|&word| self.data.word(word));
                break;
            };
            let (len, first, others) = self.model.open(number);
            let (record, after) = rest.split_at(len);
            rest = after;
            // Most records have no operand or one, and what is written of these is next to nothing: no loops.
            let mut lens = 0;
            if len > 1 {
                lens = self.data.short(first[0].code(record[1]));
            }
            if len > 2 {
                lens |= self.data.short(first[1].code(record[2])) << 4;
            }
            self.tags.byte(lens);
            if len > 1 + FIRST {
                for (pair, values) in others.chunks_mut(2).zip(record[1 + FIRST..].chunks(2)) {
                    let mut lens = 0;
                    for ((operand, &value), shift) in pair.iter_mut().zip(values).zip([0, 4]) {
                        lens |= self.data.short(operand.code(value)) << shift;
                    }
                    self.tags.byte(lens);
                }
            }
        }
        put(out, words.len() as u64);
        put(out, self.tags.len as u64);
        put(out, self.data.len as u64);
        out.extend_from_slice(self.tags.written());
        out.extend_from_slice(self.data.written());
    }

    /// Says which kind of record starts with a word that was not expected, unless it is none that fits.
    #[inline(never)]
    fn other(&mut self, word: u64, room: usize, len_of: &mut impl FnMut(u64) -> Option<usize>) -> Option<u32> {
        let number = if let Some(&number) = self.number_of.get(&word) {
            if self.model.get(number)?.len as usize > room {
                return None;
            }
            self.tags.byte(tag::KNOWN);
            self.tags.number(number);
            number
        } else {
            let len = len_of(word).filter(|len| (1..=room).contains(len))?;
            let number = self.model.add(word, len)?;
            self.number_of.insert(word, number);
            self.tags.byte(tag::NEW);
            self.tags.number(len as u32);
            self.data.word(word);
            number
        };
        self.model.surprise(number);
        Some(number)
    }
}

/// Data that is read eight bytes at a time.
struct Input<'a> {
    rest: &'a [u8],
}

impl Input<'_> {
    /// A word of which so many bytes were written.
    #[inline(always)]
    fn short(&mut self, len: u8) -> Option<u64> {
        let word = match self.rest.first_chunk() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => self.last_bytes(),
        };
        self.rest = self.rest.get(usize::from(len)..)?;
        let beyond = u64::BITS.checked_sub(8 * u32::from(len))?;
        Some(word & u64::MAX.checked_shr(beyond).unwrap_or(0))
    }

    /// What is left, where that is less than a word.
    #[cold]
    fn last_bytes(&self) -> u64 {
        self.rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
    }

    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*word))
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Decoder {
    model: Model,
}

impl Decoder {
    /// Whether it knows nothing that no decoder can; to be asked of one that was read from a file.
    pub fn is_sound(&self) -> bool {
        let Model { kinds, operands, .. } = &self.model;
        let mut others = 0u64;
        let in_order = kinds.iter().all(|kind| {
            let is_next = kind.len > 0 && u64::from(kind.others) == others;
            others += (kind.len as u64).saturating_sub(1 + FIRST as u64);
            is_next
        });
        in_order && others == operands.len() as u64
    }

    /// The words of the next chunk, which are at most so many; `None` if the bytes do not start with a chunk. Moves on
    /// behind it.
    pub fn chunk(&mut self, bytes: &mut &[u8], most: usize) -> Option<Vec<u64>> {
        let count = usize::try_from(take(bytes)?).ok().filter(|&count| count <= most)?;
        let (tags_len, data_len) = (usize::try_from(take(bytes)?).ok()?, usize::try_from(take(bytes)?).ok()?);
        let (mut tags, rest) = bytes.split_at_checked(tags_len)?;
        let (data, rest) = rest.split_at_checked(data_len)?;
        *bytes = rest;
        let mut data = Input { rest: data };
        let mut words = Vec::with_capacity(count);
        while words.len() < count {
            let mut lens = byte(&mut tags)?;
            let mut number = self.model.expected();
            if lens == tag::PLAIN {
                while words.len() < count {
                    words.push(data.word()?);
                }
                break;
            } else if lens > tag::PLAIN {
                number = self.other(lens, count - words.len(), &mut tags, &mut data)?;
                lens = byte(&mut tags)?;
            }
            let kind = self.model.get(number)?;
            if kind.len as usize > count - words.len() {
                return None;
            }
            words.push(kind.word);
            let (len, first, others) = self.model.open(number);
            for (operand, shift) in first.iter_mut().take(len - 1).zip([0, 4]) {
                words.push(operand.value(data.short(lens >> shift & 0xf)?));
            }
            for pair in others.chunks_mut(2) {
                let lens = byte(&mut tags)?;
                for (operand, shift) in pair.iter_mut().zip([0, 4]) {
                    words.push(operand.value(data.short(lens >> shift & 0xf)?));
                }
            }
        }
        (tags.is_empty() && data.rest.is_empty()).then_some(words)
    }

    /// The kind of a record that was not expected.
    fn other(&mut self, tag: u8, room: usize, tags: &mut &[u8], data: &mut Input<'_>) -> Option<u32> {
        let number = match tag {
            tag::KNOWN => u32::try_from(take(tags)?).ok()?,
            tag::NEW => {
                let len = usize::try_from(take(tags)?).ok().filter(|len| (1..=room).contains(len))?;
                self.model.add(data.word()?, len)?
            }
            _ => return None,
        };
        self.model.get(number)?;
        self.model.surprise(number);
        Some(number)
    }
}

#[inline(always)]
fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(chunks: &[Vec<u64>], len_of: impl Fn(u64) -> Option<usize>) -> Result<usize, TestCaseError> {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        let mut bytes = Vec::new();
        for words in chunks {
            encoder.chunk(words, &len_of, &mut bytes);
        }
        let mut rest = &bytes[..];
        for words in chunks {
            let decoded = decoder.chunk(&mut rest, words.len());
            prop_assert_eq!(decoded.as_ref(), Some(words));
        }
        prop_assert!(rest.is_empty());
        Ok(bytes.len())
    }

    #[test]
    fn a_regular_loop_takes_a_byte_per_record() {
        let words: Vec<u64> = (0..1000u64).flat_map(|i| [0x4000, 0x7000_0000 + i * 8, 0x7100_0000 - i * 64]).collect();
        let size = round_trip(&[words], |_| Some(3)).expect("as it was");
        assert!(size < 1050, "{size}");
    }

    #[test]
    fn values_of_every_length_come_back() {
        let value = |i: u64| (i % 7 + 1) << (i * 5 % 64) ^ (i % 3).wrapping_neg();
        for len in 1..8usize {
            let record = |i: u64| std::iter::once(0x4000).chain((1..len as u64).map(move |at| value(i * 7 + at)));
            let words: Vec<u64> = (0..500).flat_map(record).collect();
            round_trip(&[words], |_| Some(len)).expect("as it was");
        }
    }

    proptest! {
        #[test]
        fn any_words_come_back(chunks in prop::collection::vec(prop::collection::vec(0u64..12, 0..60), 1..5)) {
            // Lengths that fit, that do not, and words that start nothing.
            round_trip(&chunks, |word| (word % 4 > 0).then_some((word % 5) as usize))?;
            round_trip(&chunks, |_| None)?;
        }

        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>, most in 0usize..100) {
            let mut decoder = Decoder::default();
            let mut rest = &bytes[..];
            while let Some(words) = decoder.chunk(&mut rest, most) {
                prop_assert!(words.len() <= most);
            }
        }

        #[test]
        fn a_damaged_chunk_is_survived(flips in prop::collection::vec((0usize..200, 0u8..8), 1..4)) {
            let words: Vec<u64> = (0..60u64).flat_map(|i| [i % 3, i * 8, i * i]).collect();
            let mut bytes = Vec::new();
            Encoder::default().chunk(&words, |_| Some(3), &mut bytes);
            for (at, bit) in flips {
                let at = at % bytes.len();
                bytes[at] ^= 1 << bit;
            }
            let mut decoder = Decoder::default();
            let mut rest = &bytes[..];
            let _ = decoder.chunk(&mut rest, words.len());
            let _ = decoder.chunk(&mut rest, words.len());
        }
    }
}
