//! Inputs from seeds: each is one of them with a few changes.
//!
//! Takes seeds and a number, gives an input; equal numbers give equal inputs, so that a defect is found again by its
//! number.

/// Random numbers (SplitMix64).
pub struct Random(u64);

impl Random {
    #[must_use]
    pub fn new(seed: u64, number: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Values at the edges of what formats allow.
const EDGES: [u64; 14] =
    [0, 1, 2, 7, 8, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, i64::MAX as u64, u64::MAX];
/// Words that mean something in text formats and names.
const WORDS: [&str; 16] = [
    "\"",
    "\\u202e",
    "\n",
    "[",
    "]",
    "=",
    "-1",
    "1e999",
    "nan",
    "\u{1b}[31m",
    "::error",
    "_ZN",
    "18446744073709551616",
    "\u{202e}",
    "\0",
    "inf",
];
const MOST_CHANGES: usize = 6;
/// Longer inputs find nothing more, only slower.
const MOST_BYTES: usize = 1 << 16;

/// The input of a number. There must be seeds.
#[must_use]
pub fn input(seeds: &[Vec<u8>], seed: u64, number: u64) -> Vec<u8> {
    let mut random = Random::new(seed, number);
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(MOST_CHANGES) {
        change(&mut bytes, seeds, &mut random);
    }
    bytes.truncate(MOST_BYTES);
    bytes
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    if bytes.is_empty() {
        bytes.push(random.next() as u8);
        return;
    }
    let at = random.below(bytes.len());
    let run = |random: &mut Random| at..(at + 1 + random.below(32)).min(bytes.len());
    match random.below(10) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => {
            let value = EDGES[random.below(EDGES.len())].to_le_bytes();
            let width = [1, 2, 4, 8][random.below(4)];
            bytes.iter_mut().skip(at).zip(&value[..width]).for_each(|(byte, new)| *byte = *new);
        }
        3 => {
            let start = at & !7;
            let edge = EDGES[random.below(EDGES.len())].to_le_bytes();
            bytes.iter_mut().skip(start).zip(edge).for_each(|(byte, new)| *byte = new);
        }
        4 => drop(bytes.drain(run(random))),
        5 => {
            let copy = bytes[run(random)].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, copy);
        }
        6 => bytes.truncate(at),
        7 => {
            let word = WORDS[random.below(WORDS.len())];
            bytes.splice(at..at, word.bytes());
        }
        8 => {
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        _ => {
            let range = run(random);
            let value = random.next() as u8;
            bytes[range].fill(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_give_equal_inputs_and_others_do_not() {
        let seeds = [b"first seed".to_vec(), b"another one, longer".to_vec(), Vec::new()];
        let all: Vec<Vec<u8>> = (0..1000).map(|n| input(&seeds, 7, n)).collect();
        assert_eq!(all, (0..1000).map(|n| input(&seeds, 7, n)).collect::<Vec<_>>());
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert!(different.len() > 800, "{}", different.len());
    }
}
