//! Columns of numbers, as small as they get before compression.
//!
//! Takes lists of whole numbers, gives one run of bytes and where in it each list is. A number is written in groups of
//! 7 bits, the lowest first, the highest bit of a byte saying that more come (LEB128). Columns of numbers that grow are
//! differences, those that jump are differences with the sign in the lowest bit.
//!
//! The numbers 0, 127 and 128 are `00 | 7f | 80 01`; 5, 3 and 3 as differences are 5, -2 and 0: `0a | 03 | 00`. The
//! test below has both.

use serde::Serialize;

/// A column in the bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackedColumn {
    pub name: String,
    pub count: usize,
    /// First byte, and bytes.
    pub at: usize,
    pub bytes: usize,
}

#[derive(Default)]
pub struct Pack {
    places: Vec<PackedColumn>,
    bytes: Vec<u8>,
}

impl Pack {
    /// Adds numbers as they are.
    pub fn numbers(&mut self, name: String, list: impl Iterator<Item = u128>) {
        let at = self.bytes.len();
        let mut count = 0;
        for number in list {
            self.number(number);
            count += 1;
        }
        self.places.push(PackedColumn { name, count, at, bytes: self.bytes.len() - at });
    }

    /// Adds numbers with the sign in the lowest bit.
    pub fn signed(&mut self, name: String, list: impl Iterator<Item = i128>) {
        self.numbers(name, list.map(|number| ((number << 1) ^ (number >> 127)) as u128));
    }

    /// Adds numbers, each as its difference from the one before.
    pub fn differences(&mut self, name: String, list: impl Iterator<Item = u32>) {
        let mut before = 0;
        self.signed(
            name,
            list.map(move |number| {
                let step = i128::from(number) - before;
                before = i128::from(number);
                step
            }),
        );
    }

    fn number(&mut self, mut number: u128) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    #[must_use]
    pub fn finish(self) -> (Vec<PackedColumn>, Vec<u8>) {
        (self.places, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_bytes_as_they_need() {
        let mut pack = Pack::default();
        pack.numbers("a".into(), [0, 127, 128, u128::MAX].into_iter());
        pack.differences("b".into(), [5, 3, 3].into_iter());
        let (places, bytes) = pack.finish();
        assert_eq!(bytes[..4], [0, 127, 0x80, 1]);
        assert_eq!((places[0].count, places[0].bytes), (4, 4 + 19));
        assert_eq!(bytes[places[1].at..], [10, 3, 0]);
    }
}
