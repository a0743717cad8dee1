//! Cuts a chunk of words into records, and tells what loops and rows of records have in common.

use crate::{
    abi::{Item, ItemKind, SegmentKind, item_flag},
    engine::{Kind, Stream},
};

/// Hands the rest of a chunk to `record`, which does its first record and tells how many words that had, until nothing
/// is left. A record that cannot be decoded ends it: gives the number of words that are lost by that.
pub fn each(words: &[u64], mut record: impl FnMut(&[u64]) -> Option<usize>) -> u64 {
    let mut at = 0;
    while at < words.len() {
        match record(&words[at..]) {
            Some(used) => at += used,
            None => return (words.len() - at) as u64,
        }
    }
    0
}

/// Whether a record says that a loop touched more bytes than any loop can: it is damaged, or the program writes what it
/// likes.
#[inline]
#[must_use]
pub fn is_endless(kind: u8, items: &[Item], rest: &[u64]) -> bool {
    const ANY: u64 = 1 << 16;
    const MOST_BYTES: u32 = 60;
    let Some(&iterations) = rest.get(1).filter(|_| kind == SegmentKind::Loop as u8) else { return false };
    let bytes = || items.iter().map(|item| u128::from(item.size) + 1).sum::<u128>() * u128::from(iterations);
    iterations >= ANY && bytes() >> MOST_BYTES != 0
}

/// What an item of a loop's record advances by in each iteration.
#[must_use]
pub fn stride(item: &Item, record: &[u64]) -> i64 {
    if item.flags & item_flag::STRIDE_WORD == 0 { item.stride } else { record[usize::from(item.word2)] as i64 }
}

/// Where an item of a loop's record is in an iteration, counted from 0.
#[must_use]
pub fn address_in(item: &Item, record: &[u64], iteration: u64) -> u64 {
    let ahead = iteration.wrapping_sub(record[1]) as i64;
    record[usize::from(item.word)]
        .wrapping_add_signed(item.offset.wrapping_add(stride(item, record).wrapping_mul(ahead)))
}

/// Number of records of `len` words, from the start of `rest` on, that are equal but for constant steps of their words.
#[inline]
#[must_use]
pub fn alike(rest: &[u64], len: usize) -> usize {
    // Two neighbours always have constant steps; a third decides, mostly at its first word.
    let steps_like_the_last = |next: usize| {
        let rows = &rest[next - 2 * len..next + len];
        rows[2 * len] == rows[0]
            && (1..len).all(|word| {
                let at = |row: usize| rows[row * len + word];
                at(2).wrapping_sub(at(1)) == at(1).wrapping_sub(at(0))
            })
    };
    let mut end = 2 * len;
    while end + len <= rest.len() && steps_like_the_last(end) {
        end += len;
    }
    end / len
}

/// What a load or a store does in iterations of `len` words that advance by constants; `rest` starts with its record in
/// the first, and this and the second tell.
#[must_use]
pub fn stream(item: &Item, rest: &[u64], len: usize) -> Stream {
    let word = usize::from(item.word);
    let kind = if item.kind == ItemKind::Load as u8 { Kind::Load } else { Kind::Store };
    let stride = rest[len + word].wrapping_sub(rest[word]) as i64;
    Stream { addr: rest[word].wrapping_add_signed(item.offset), stride, len: item.size, kind }
}
