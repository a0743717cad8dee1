//! The words of a ring in little room.
//!
//! Takes the words of one ring chunk by chunk, gives bytes, and back; both sides learn the same as they go. Records of one
//! kind mostly follow each other in the same order, and their operands mostly advance by constants, so each record's first
//! word is coded against what followed its predecessor last time, and each operand against where its own last values
//! point. Words that are not a known record are stored as they are: nothing depends on their meaning.
//!
//! A chunk is two columns, first words and operands, both as variable-length integers. First words: 0 = the rest of the chunk
//! is plain words, 1 = as expected, n + 2 = number n of those seen so far; a new one has the next number, and its word and
//! its length in words are in the other column.

use std::collections::HashMap;

use crate::{
    exact::varint::{put, take, unzigzag, zigzag},
    session::hash::FastHash,
};

const PLAIN: u64 = 0;
const EXPECTED: u64 = 1;
const KNOWN: u64 = 2;

/// A first word that was seen.
#[derive(Clone, Copy, Debug)]
struct Head {
    word: u64,
    /// Words of the record, this one included.
    len: usize,
    /// Its operands' place in the list of all.
    operands: usize,
    /// What followed it last.
    next: usize,
}

/// Where an operand's values have been going.
#[derive(Clone, Copy, Debug, Default)]
struct Operand {
    last: u64,
    step: u64,
    /// The last two steps were equal.
    steady: bool,
}

impl Operand {
    #[inline]
    fn expected(&self) -> u64 {
        if self.steady { self.last.wrapping_add(self.step) } else { self.last }
    }

    #[inline]
    fn saw(&mut self, value: u64) {
        let step = value.wrapping_sub(self.last);
        *self = Self { last: value, step, steady: step == self.step };
    }
}

/// What both sides know.
#[derive(Debug, Default)]
struct Model {
    heads: Vec<Head>,
    operands: Vec<Operand>,
    /// Number of the last record's head.
    last: usize,
}

impl Model {
    /// The head that followed the last one when it came last.
    #[inline]
    fn expected(&self) -> Option<usize> {
        self.heads.get(self.last).map(|head| head.next)
    }

    #[inline]
    fn saw(&mut self, number: usize) {
        if let Some(last) = self.heads.get_mut(self.last) {
            last.next = number;
        }
        self.last = number;
    }

    fn add(&mut self, word: u64, len: usize) {
        let operands = self.operands.len();
        self.operands.resize(operands + len - 1, Operand::default());
        self.heads.push(Head { word, len, operands, next: 0 });
    }

    fn operands(&mut self, number: usize) -> &mut [Operand] {
        let Head { operands, len, .. } = self.heads[number];
        &mut self.operands[operands..operands + len - 1]
    }
}

#[derive(Debug, Default)]
pub struct Encoder {
    model: Model,
    number_of: HashMap<u64, usize, FastHash>,
    heads: Vec<u8>,
    operands: Vec<u8>,
}

impl Encoder {
    /// The bytes of the next chunk. `len_of` knows the length in words of the record that starts with a word.
    pub fn chunk(&mut self, words: &[u64], mut len_of: impl FnMut(u64) -> Option<usize>) -> Vec<u8> {
        let mut rest = words;
        while let Some(&word) = rest.first() {
            let Some(number) = self.head(word, rest.len(), &mut len_of) else {
                put(&mut self.heads, PLAIN);
                rest.iter().for_each(|word| self.operands.extend_from_slice(&word.to_le_bytes()));
                break;
            };
            let (record, others) = rest.split_at(self.model.heads[number].len);
            rest = others;
            for (operand, &value) in self.model.operands(number).iter_mut().zip(&record[1..]) {
                put(&mut self.operands, zigzag(value.wrapping_sub(operand.expected())));
                operand.saw(value);
            }
            self.model.saw(number);
        }
        let mut bytes = Vec::with_capacity(self.heads.len() + self.operands.len() + 10);
        put(&mut bytes, self.heads.len() as u64);
        bytes.append(&mut self.heads);
        bytes.append(&mut self.operands);
        bytes
    }

    /// Codes a first word, unless it starts no record that fits.
    #[inline]
    fn head(&mut self, word: u64, room: usize, len_of: &mut impl FnMut(u64) -> Option<usize>) -> Option<usize> {
        let fits = |model: &Model, number: usize| model.heads[number].len <= room;
        if let Some(number) = self.model.expected().filter(|&number| self.model.heads[number].word == word) {
            put(&mut self.heads, EXPECTED);
            return fits(&self.model, number).then_some(number).or_else(|| self.take_back());
        }
        if let Some(&number) = self.number_of.get(&word) {
            return fits(&self.model, number).then(|| {
                put(&mut self.heads, KNOWN + number as u64);
                number
            });
        }
        let len = len_of(word).filter(|len| (1..=room).contains(len))?;
        let number = self.model.heads.len();
        self.model.add(word, len);
        self.number_of.insert(word, number);
        put(&mut self.heads, KNOWN + number as u64);
        self.operands.extend_from_slice(&word.to_le_bytes());
        put(&mut self.operands, len as u64);
        Some(number)
    }

    fn take_back(&mut self) -> Option<usize> {
        self.heads.pop();
        None
    }
}

#[derive(Debug, Default)]
pub struct Decoder {
    model: Model,
}

impl Decoder {
    /// The `count` words of the next chunk; `None` if the bytes are not those of a chunk.
    pub fn chunk(&mut self, bytes: &[u8], count: usize) -> Option<Vec<u64>> {
        let mut rest = bytes;
        let heads_len = take(&mut rest)? as usize;
        let (mut heads, mut operands) = rest.split_at_checked(heads_len)?;
        let mut words = Vec::with_capacity(count);
        while words.len() < count {
            let number = match take(&mut heads)? {
                PLAIN => {
                    while words.len() < count {
                        words.push(plain(&mut operands)?);
                    }
                    break;
                }
                EXPECTED => self.model.expected()?,
                code => self.known((code - KNOWN) as usize, count - words.len(), &mut operands)?,
            };
            let head = *self.model.heads.get(number)?;
            if words.len() + head.len > count {
                return None;
            }
            words.push(head.word);
            for operand in self.model.operands(number) {
                let value = operand.expected().wrapping_add(unzigzag(take(&mut operands)?));
                operand.saw(value);
                words.push(value);
            }
            self.model.saw(number);
        }
        (heads.is_empty() && operands.is_empty()).then_some(words)
    }

    fn known(&mut self, number: usize, room: usize, operands: &mut &[u8]) -> Option<usize> {
        if number == self.model.heads.len() {
            let word = plain(operands)?;
            let len = take(operands)? as usize;
            if !(1..=room).contains(&len) {
                return None;
            }
            self.model.add(word, len);
        }
        Some(number)
    }
}

fn plain(bytes: &mut &[u8]) -> Option<u64> {
    let (word, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(chunks: &[Vec<u64>], len_of: impl Fn(u64) -> Option<usize>) -> Result<usize, TestCaseError> {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        let mut size = 0;
        for words in chunks {
            let bytes = encoder.chunk(words, &len_of);
            size += bytes.len();
            let decoded = decoder.chunk(&bytes, words.len());
            prop_assert_eq!(decoded.as_ref(), Some(words));
        }
        Ok(size)
    }

    #[test]
    fn a_regular_loop_takes_a_byte_per_word() {
        let words: Vec<u64> = (0..1000u64).flat_map(|i| [0x4000, 0x7000_0000 + i * 8, 0x7100_0000 - i * 64]).collect();
        let size = round_trip(&[words], |_| Some(3)).expect("as it was");
        assert!(size < 3100, "{size}");
    }

    proptest! {
        #[test]
        fn any_words_come_back(chunks in prop::collection::vec(prop::collection::vec(0u64..12, 0..60), 1..5)) {
            // Lengths that fit, that do not, and words that start nothing.
            round_trip(&chunks, |word| (word % 4 > 0).then_some((word % 5) as usize))?;
            round_trip(&chunks, |_| None)?;
        }

        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>, count in 0usize..100) {
            let mut decoder = Decoder::default();
            let _ = decoder.chunk(&bytes, count);
            let _ = decoder.chunk(&bytes, count);
        }
    }
}
