//! When each byte is read next: one time per byte of the program, in pages of 4 KiB.
//!
//! Takes address ranges and times, gives what was known of the range. A page keeps one time for each 8 bytes as long as
//! whole aligned 8 bytes are asked for, and for each 4, 2 or 1 once they are not: memory is 1, 2, 4 or 8 times that of
//! the program's pages. Any 64-bit address works; ranges that would run past the last address are cut there.

use crate::{engine::clamped, pages::Pages, pieces::pieces};

const PAGE: u64 = 4096;
/// Bytes with one time in a page that nobody has asked smaller parts of, as a power of two.
const COARSEST: u32 = 3;

/// No read comes.
pub const NEVER: u64 = 0;
/// No read comes, but it is declared output.
pub const KEPT: u64 = 1;

/// Bytes in a row that are read at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedRange {
    pub start: u64,
    pub len: u64,
    /// Not `NEVER`.
    pub time: u64,
}

/// Adds a part; it may continue the last one.
fn add(parts: &mut Vec<TimedRange>, part: TimedRange) {
    match parts.last_mut() {
        Some(last) if last.time == part.time && part.start.wrapping_sub(last.start) == last.len => last.len += part.len,
        _ => parts.push(part),
    }
}

#[derive(Default)]
struct Page {
    /// Bytes of a time, as a power of two.
    shift: u32,
    /// None: no byte is read again.
    times: Vec<u64>,
}

impl Page {
    /// The times of a range that begins and ends where one does.
    fn range(&self, from: u64, to: u64) -> std::ops::Range<usize> {
        (from >> self.shift) as usize..(to >> self.shift) as usize
    }

    /// Tells bytes apart as far as a range needs it. Gives more memory held, in bytes.
    fn refine(&mut self, from: u64, to: u64) -> u64 {
        let before = self.times.len();
        if self.times.is_empty() {
            self.shift = COARSEST.min((from | to).trailing_zeros());
            self.times = vec![NEVER; (PAGE >> self.shift) as usize];
        }
        let shift = self.shift.min((from | to).trailing_zeros());
        if shift < self.shift {
            let each = 1 << (self.shift - shift);
            self.times = self.times.iter().flat_map(|&time| std::iter::repeat_n(time, each)).collect();
            self.shift = shift;
        }
        8 * (self.times.len() - before) as u64
    }
}

/// The next read of every byte.
#[derive(Default)]
pub struct NextUse {
    pages: Pages<Page>,
    held: u64,
    most: u64,
}

impl NextUse {
    /// Most memory held for times, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.most
    }

    /// Bytes of a range of which no read comes are kept from now on.
    pub fn keep(&mut self, addr: u64, len: u64) {
        let (mut at, known) = (addr, self.known_ranges(addr, len));
        let end = TimedRange { start: addr + clamped(addr, len), len: 0, time: NEVER };
        let mut none = Vec::new();
        for part in known.into_iter().chain([end]) {
            self.exchange(at, part.start - at, KEPT, &mut none);
            at = part.start + part.len;
        }
        debug_assert!(none.is_empty(), "nothing was known");
    }

    /// Adds what is known of a range to a list, and has its bytes read at a time from now on.
    pub fn exchange(&mut self, addr: u64, len: u64, time: u64, parts: &mut Vec<TimedRange>) {
        for (number, from, part) in pieces(addr, clamped(addr, len), PAGE) {
            let to = from + part;
            let page = if time == NEVER {
                match self.pages.find(number) {
                    Some(page) if !page.times.is_empty() => page,
                    _ => continue,
                }
            } else {
                self.pages.get_or_insert(number, Box::default)
            };
            self.held += page.refine(from, to);
            self.most = self.most.max(self.held);
            let (range, bytes, start) = (page.range(from, to), 1 << page.shift, number * PAGE + from);
            for (slot, nth) in page.times[range].iter_mut().zip(0u64..) {
                if *slot != NEVER {
                    add(parts, TimedRange { start: start + nth * bytes, len: bytes, time: *slot });
                }
                *slot = time;
            }
        }
    }

    /// What is known of a range, in order of addresses.
    pub fn known_ranges(&mut self, addr: u64, len: u64) -> Vec<TimedRange> {
        let mut found = Vec::new();
        self.pages.each_part(addr, clamped(addr, len), PAGE, |page, start, range| {
            let (from, to) = (range.start as u64, range.end as u64);
            if page.times.is_empty() {
                return;
            }
            // Ranges may begin and end within the bytes of a time.
            for (time, nth) in page.times.iter().zip(0u64..) {
                let (low, high) = ((nth << page.shift).max(from), ((nth + 1) << page.shift).min(to));
                if *time != NEVER && low < high {
                    found.push(TimedRange { start: start + (low - from), len: high - low, time: *time });
                }
            }
        });
        found.sort_unstable_by_key(|part| part.start);
        let mut parts = Vec::with_capacity(found.len());
        found.into_iter().for_each(|part| add(&mut parts, part));
        parts
    }

    /// No byte of a range is read any more.
    pub fn clear(&mut self, addr: u64, len: u64) {
        let mut change = 0i64;
        self.pages.each_part(addr, clamped(addr, len), PAGE, |page, _, range| {
            let (from, to) = (range.start as u64, range.end as u64);
            if page.times.is_empty() {
                return;
            }
            if to - from == PAGE {
                change -= 8 * page.times.len() as i64;
                page.times = Vec::new();
                return;
            }
            change += page.refine(from, to) as i64;
            let range = page.range(from, to);
            page.times[range].fill(NEVER);
        });
        self.held = self.held.wrapping_add_signed(change);
        self.most = self.most.max(self.held);
    }

    /// What is known of `to` becomes known of `from`, as before a move; nothing of the target's other bytes is needed.
    pub fn unmove(&mut self, from: u64, to: u64, len: u64) {
        let len = clamped(from, len).min(clamped(to, len));
        if from == to || len == 0 {
            return;
        }
        let parts = self.known_ranges(to, len);
        self.clear(to, len);
        self.clear(from, len);
        let mut none = Vec::new();
        for part in parts {
            self.exchange(part.start - to + from, part.len, part.time, &mut none);
        }
        debug_assert!(none.is_empty(), "it was cleared");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(next: &mut NextUse, addr: u64, len: u64, time: u64) -> Vec<(u64, u64, u64)> {
        let mut parts = Vec::new();
        next.exchange(addr, len, time, &mut parts);
        tuples(&parts)
    }

    fn tuples(parts: &[TimedRange]) -> Vec<(u64, u64, u64)> {
        parts.iter().map(|part| (part.start, part.len, part.time)).collect()
    }

    #[test]
    fn times_are_told_apart_as_far_as_they_are_asked_for() {
        let mut next = NextUse::default();
        assert!(exchange(&mut next, 4090 & !7, 16, 5).is_empty());
        assert_eq!(next.heap_bytes(), 2 * PAGE, "a time for 8 bytes, on two pages");
        assert_eq!(exchange(&mut next, 4090, 3, 7), [(4090, 3, 5)]);
        assert_eq!(next.heap_bytes(), 9 * PAGE);
        let all = [(4088, 2, 5), (4090, 3, 7), (4093, 11, 5)];
        assert_eq!(tuples(&next.known_ranges(0, u64::MAX)), all);
        assert_eq!(tuples(&next.known_ranges(4091, 4)), [(4091, 2, 7), (4093, 2, 5)]);
        assert_eq!(tuples(&next.known_ranges(4097, 2)), [(4097, 2, 5)], "within a time");
        assert_eq!(exchange(&mut next, 4088, 16, NEVER), all);
        assert!(exchange(&mut next, 4088, 16, NEVER).is_empty());
    }

    #[test]
    fn pages_that_are_cleared_are_given_back() {
        let mut next = NextUse::default();
        exchange(&mut next, 4096, 8, 3);
        exchange(&mut next, 9000, 8, 4);
        next.clear(0, 9004);
        assert_eq!(tuples(&next.known_ranges(0, 1 << 20)), [(9004, 4, 4)]);
        assert_eq!((next.held, next.most), (2 * PAGE, 2 * PAGE), "the second page has times of 4 bytes now");
        next.clear(1 << 40, 1 << 45);
        assert_eq!(exchange(&mut next, u64::MAX - 3, 8, 9), []);
        assert_eq!(exchange(&mut next, u64::MAX - 7, 100, NEVER), [(u64::MAX - 3, 4, 9)], "there are no more");
    }

    #[test]
    fn moves_go_backwards_even_if_the_ranges_overlap() {
        let mut next = NextUse::default();
        exchange(&mut next, 1010, 3, 6);
        exchange(&mut next, 1013, 2, 8);
        next.unmove(1000, 1008, 16);
        assert_eq!(tuples(&next.known_ranges(0, 5000)), [(1002, 3, 6), (1005, 2, 8)]);
    }
}
