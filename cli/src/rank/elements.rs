//! Buffers of numbers, as programs declare their outputs, and how far two of them are apart.
//!
//! Takes two buffers of the same length and the type of their elements; refuses lengths that are no whole number of
//! elements. Equal bits are no difference, whatever they mean; a NaN against anything else, and infinities against
//! anything but themselves, are infinitely different. Integers are compared exactly.

use clap::ValueEnum;

/// `--elements`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Elements {
    #[default]
    F64,
    F32,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

/// The largest difference, and the element that has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Largest {
    pub difference: f64,
    pub element: usize,
}

impl Elements {
    /// Bytes of one.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// As on the command line.
    #[must_use]
    pub fn word(self) -> String {
        self.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
    }

    /// The largest absolute difference, the first of equals; 0 for equal buffers. `None` if the length is no whole
    /// number of elements.
    #[must_use]
    pub fn largest(self, a: &[u8], b: &[u8]) -> Option<Largest> {
        debug_assert_eq!(a.len(), b.len());
        let size = self.size();
        if !a.len().is_multiple_of(size) {
            return None;
        }
        let mut largest = Largest { difference: 0.0, element: 0 };
        for (element, (x, y)) in a.chunks_exact(size).zip(b.chunks_exact(size)).enumerate() {
            let difference = if x == y { 0.0 } else { self.difference(x, y) };
            if difference > largest.difference {
                largest = Largest { difference, element };
            }
        }
        Some(largest)
    }

    /// Of two elements with different bits.
    fn difference(self, x: &[u8], y: &[u8]) -> f64 {
        let float = |bytes: &[u8]| match self {
            Self::F32 => f64::from(f32::from_le_bytes(fixed(bytes))),
            _ => f64::from_le_bytes(fixed(bytes)),
        };
        match self {
            Self::F64 | Self::F32 => between(float(x), float(y)),
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => between_integers(signed(x), signed(y)),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => between_integers(unsigned(x), unsigned(y)),
        }
    }
}

/// Absolute difference of two numbers; NaNs are equal to each other, and infinitely far from the rest.
#[must_use]
pub fn between(x: f64, y: f64) -> f64 {
    if x == y || (x.is_nan() && y.is_nan()) {
        return 0.0;
    }
    let difference = (x - y).abs();
    if difference.is_nan() { f64::INFINITY } else { difference }
}

/// Absolute difference of two integers of at most 64 bits.
#[must_use]
pub fn between_integers(x: i128, y: i128) -> f64 {
    x.abs_diff(y) as f64
}

fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("an element has the size of its type")
}

fn unsigned(bytes: &[u8]) -> i128 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | i128::from(*byte))
}

fn signed(bytes: &[u8]) -> i128 {
    let value = unsigned(bytes);
    let range = 1i128 << (8 * bytes.len());
    if value >= range / 2 { value - range } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<T: Copy, const N: usize>(numbers: &[T], of: impl Fn(T) -> [u8; N]) -> Vec<u8> {
        numbers.iter().flat_map(|n| of(*n)).collect()
    }

    fn doubles(a: &[f64], b: &[f64]) -> Option<Largest> {
        Elements::F64.largest(&bytes(a, f64::to_le_bytes), &bytes(b, f64::to_le_bytes))
    }

    fn difference(a: &[f64], b: &[f64]) -> f64 {
        doubles(a, b).expect("whole elements").difference
    }

    #[test]
    fn the_largest_difference_and_its_first_element_are_found() {
        let found = doubles(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.5, 2.5, 4.25]);
        assert_eq!(found, Some(Largest { difference: 0.5, element: 1 }));
        assert_eq!(difference(&[], &[]), 0.0);
    }

    #[test]
    fn numbers_that_are_none() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        assert_eq!(difference(&[nan, inf, -inf], &[nan, inf, -inf]), 0.0);
        assert_eq!(difference(&[nan], &[f64::from_bits(nan.to_bits() | 1)]), 0.0, "another NaN is none the less one");
        assert_eq!(difference(&[0.0], &[-0.0]), 0.0);
        for (a, b) in [(nan, 1.0), (1.0, nan), (inf, 1.0), (inf, -inf), (nan, inf), (f64::MAX, f64::MIN)] {
            assert_eq!(difference(&[a], &[b]), inf, "{a} {b}");
        }
    }

    #[test]
    fn integers_are_exact_and_have_signs() {
        let largest = |kind: Elements, a: &[u8], b: &[u8]| kind.largest(a, b).expect("whole elements").difference;
        assert_eq!((largest(Elements::I8, &[255], &[1]), largest(Elements::U8, &[255], &[1])), (2.0, 254.0));
        let words = |n: u64| n.to_le_bytes();
        assert_eq!(largest(Elements::U64, &words(u64::MAX), &words(u64::MAX - 1)), 1.0);
        assert_eq!(largest(Elements::I64, &words(u64::MAX), &words(0)), 1.0);
        assert_eq!(largest(Elements::I16, &[0, 128], &[255, 127]), 65535.0);
        let floats = |n: f32| n.to_le_bytes();
        assert_eq!(largest(Elements::F32, &floats(1.5), &floats(1.0)), 0.5);
    }

    #[test]
    fn half_an_element_is_refused() {
        assert_eq!(Elements::I32.largest(&[0; 6], &[0; 6]), None);
        assert_eq!(Elements::U8.word(), "u8");
    }
}
