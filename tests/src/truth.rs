//! What the truth programs must cost, from first principles.
//!
//! Takes nothing but the definition of the model: one LRU stack of bytes by address; reading a byte with `a` live bytes
//! above it is a read at depth `a + 1` and costs `ceil(sqrt(depth))`; the bytes of an access are priced against the
//! stack before it and then lie on top in address order; a store is free; a byte that nobody wrote enters at the
//! bottom. [`ByteStack`] is that definition, word for word and as slow as it sounds; [`Truth::all`] replays each
//! program of `tests/truth` on it. Where a closed form exists, it is here too, is compared with the replay at small
//! sizes, and supplies the numbers for sizes that the replay could not do.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// `S(n)`: cost of reading each of the depths `1..=n` once.
#[must_use]
pub fn sum_of_roots(n: u64) -> u128 {
    let n = u128::from(n);
    let m = if n == 0 { 0 } else { (n - 1).isqrt() + 1 };
    m * (6 * n + 3 * m - 2 * m * m - u128::from(m > 0)) / 6
}

/// Cost of one byte at `depth >= 1`.
#[must_use]
pub fn root(depth: u64) -> u128 {
    u128::from((depth - 1).isqrt()) + 1
}

/// What a function did, exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub cost: u128,
    pub read: u64,
    pub written: u64,
    /// Bytes read before anything wrote them; also counted in `read` and `depths`.
    pub cold: u64,
    /// Bytes read at each depth.
    pub depths: BTreeMap<u64, u64>,
}

impl Tally {
    /// One byte read at each depth of `above + 1 ..= above + bytes`, `times` times: the closed form of a block.
    pub fn reads(&mut self, above: u64, bytes: u64, times: u64) {
        self.cost += (sum_of_roots(above + bytes) - sum_of_roots(above)) * u128::from(times);
        self.read += bytes * times;
        for depth in above + 1..=above + bytes {
            *self.depths.entry(depth).or_default() += times;
        }
    }

    /// Bytes read at depths in `low..=high`.
    #[must_use]
    pub fn between(&self, low: u64, high: u64) -> u64 {
        self.depths.range(low..=high).map(|(_, bytes)| bytes).sum()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    None,
    Hints,
    Exact,
}

impl Liveness {
    /// The argument of `--liveness`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Hints => "hints",
            Self::Exact => "exact",
        }
    }
}

/// The model: the addresses of the live bytes, bottom first.
#[derive(Debug)]
pub struct ByteStack {
    bytes: Vec<u64>,
    liveness: Liveness,
}

/// Copies are priced in blocks of at most this many bytes.
const COPY_BLOCK: u64 = 64;

impl ByteStack {
    #[must_use]
    pub fn new(liveness: Liveness) -> Self {
        Self { bytes: Vec::new(), liveness }
    }

    fn lift(&mut self, address: u64, bytes: u64) {
        self.bytes.retain(|b| !(address..address + bytes).contains(b));
        self.bytes.extend(address..address + bytes);
    }

    pub fn read(&mut self, tally: &mut Tally, address: u64, bytes: u64) {
        let mut cold = 0;
        for byte in address..address + bytes {
            let depth = match self.bytes.iter().rev().position(|&b| b == byte) {
                Some(above) => above as u64 + 1,
                None => {
                    cold += 1;
                    self.bytes.len() as u64 + cold
                }
            };
            tally.cost += root(depth);
            *tally.depths.entry(depth).or_default() += 1;
        }
        tally.read += bytes;
        tally.cold += cold;
        self.lift(address, bytes);
    }

    pub fn write(&mut self, tally: &mut Tally, address: u64, bytes: u64) {
        tally.written += bytes;
        self.lift(address, bytes);
    }

    pub fn copy(&mut self, tally: &mut Tally, to: u64, from: u64, bytes: u64) {
        for start in (0..bytes).step_by(COPY_BLOCK as usize) {
            let block = COPY_BLOCK.min(bytes - start);
            self.read(tally, from + start, block);
            self.write(tally, to + start, block);
        }
    }

    /// Free, scope end, return, or with exact liveness the last use: the bytes leave, unless nothing ever leaves.
    pub fn end(&mut self, address: u64, bytes: u64) {
        if self.liveness != Liveness::None {
            self.bytes.retain(|b| !(address..address + bytes).contains(b));
        }
    }

    /// Bytes live now.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Addresses of the replay. The model does not care where things are, only which bytes are the same.
const A: u64 = 1 << 32;
const B: u64 = 2 << 32;
const C: u64 = 3 << 32;

/// What one function of one program must show.
#[derive(Clone, Debug)]
pub struct Truth {
    /// File in `tests/truth`.
    pub source: &'static str,
    /// Macros of the program.
    pub defines: Vec<(&'static str, u64)>,
    pub liveness: Liveness,
    /// Symbol and what it must show, exclusive of its callees.
    pub functions: Vec<(&'static str, Tally)>,
}

impl Truth {
    fn kernel(source: &'static str, defines: &[(&'static str, u64)], liveness: Liveness, tally: Tally) -> Self {
        Self { source, defines: defines.to_vec(), liveness, functions: vec![("kernel", tally)] }
    }

    /// A name for messages and file names.
    #[must_use]
    pub fn name(&self) -> String {
        let defines: String = self.defines.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        format!("{}{defines} liveness={}", self.source, self.liveness.name())
    }

    /// Every program at every size and liveness that the tests run; computed once.
    #[must_use]
    pub fn all() -> &'static [Self] {
        static ALL: OnceLock<Vec<Truth>> = OnceLock::new();
        ALL.get_or_init(Self::compute)
    }

    fn compute() -> Vec<Self> {
        use Liveness::{Exact, Hints, None};
        let mut all = Vec::new();
        for liveness in [Hints, None] {
            all.push(Self::kernel("cyclic.c", &[], liveness, cyclic(liveness, 256, 4)));
            all.push(Self::kernel("cyclic.c", &[("N", 100_000), ("PASSES", 5)], liveness, cyclic_closed(100_000, 5)));
            all.push(Self::kernel("zigzag.c", &[], liveness, zigzag(liveness, 256, 4)));
            all.push(Self::kernel("zigzag.c", &[("N", 100_000), ("PASSES", 3)], liveness, zigzag_closed(100_000, 3)));
            all.push(Self::kernel("chase.c", &[], liveness, chase(liveness, 256, 3)));
            all.push(Self::kernel("chase.c", &[("N", 4096), ("LAPS", 9)], liveness, chase_closed(4096, 9)));
            all.push(Self::kernel("copy.c", &[], liveness, copy(liveness, 4096)));
            all.push(Self::kernel("copy.c", &[("N", 1000)], liveness, copy(liveness, 1000)));
            all.push(Self::kernel("copy.c", &[("N", 640_000)], liveness, copy_closed(640_000)));
            all.push(Self::kernel("overlap.c", &[], liveness, overlap(liveness, 1000, 24)));
            all.push(Self::kernel("overlap.c", &[("SHIFT", 128)], liveness, overlap(liveness, 1000, 128)));
            for k in [0, 1, 7, 63, 64, 4095, 1_000_000] {
                all.push(Self::kernel("planted.c", &[("K", k)], liveness, planted_closed(k)));
            }
            all.push(Self::kernel("reborn.c", &[], liveness, reborn(liveness, 32, 5, false)));
            all.push(slots(liveness, 32, 5));
            all.push(Self::kernel("cold.c", &[], liveness, cold(liveness, 128)));
            all.push(Self::kernel("widths.c", &[], liveness, widths(liveness, 248, 4000)));
            all.push(Self::kernel("update.c", &[], liveness, update(liveness, 128, 3)));
            all.push(Self::kernel("strings.c", &[], liveness, strings(liveness, 40, 9)));
            all.push(Self::kernel("cyclic.rs", &[], liveness, cyclic(liveness, 256, 4)));
        }
        all.push(Self::kernel("reborn.c", &[("FRESH", 1)], Hints, reborn(Hints, 32, 5, true)));
        all.push(Self::kernel("growth.c", &[], Hints, growth(4, 6)));
        all.push(Self::kernel("growth.c", &[("FIRST", 64), ("GROWTHS", 4)], Hints, growth(64, 4)));
        all.push(Self::kernel("growth.rs", &[], Hints, growth(4, 6)));
        all.push(Self::kernel("cyclic.c", &[], Exact, exact_cyclic(256, 4)));
        all.push(Self::kernel("cyclic.c", &[("N", 100_000), ("PASSES", 5)], Exact, exact_cyclic_closed(100_000, 5)));
        all.push(Self::kernel("cyclic.rs", &[], Exact, exact_cyclic(256, 4)));
        all.push(Self::kernel("copy.c", &[], Exact, exact_copy(4096)));
        all.push(Self::kernel("copy.c", &[("N", 640_000)], Exact, exact_copy_closed(640_000)));
        all.push(Self::kernel("reborn.c", &[], Exact, exact_reborn(32, 5)));
        for k in [0, 7, 64, 1_000_000] {
            all.push(Self::kernel("planted.c", &[("K", k)], Exact, exact_planted(k)));
        }
        all
    }
}

/// A stack on which `words` words at `base` were stored in ascending order by somebody else.
fn filled(liveness: Liveness, base: u64, words: u64) -> ByteStack {
    let mut stack = ByteStack::new(liveness);
    for i in 0..words {
        stack.write(&mut Tally::default(), base + 8 * i, 8);
    }
    stack
}

#[must_use]
pub fn cyclic(liveness: Liveness, n: u64, passes: u64) -> Tally {
    let (mut stack, mut tally) = (filled(liveness, A, n), Tally::default());
    for _ in 0..passes {
        for i in 0..n {
            stack.read(&mut tally, A + 8 * i, 8);
        }
    }
    tally
}

/// `passes * n * (S(8n) - S(8n - 8))`.
#[must_use]
pub fn cyclic_closed(n: u64, passes: u64) -> Tally {
    let mut tally = Tally::default();
    tally.reads(8 * n - 8, 8, passes * n);
    tally
}

/// As `cyclic`; in the last pass each word leaves when it is read.
#[must_use]
pub fn exact_cyclic(n: u64, passes: u64) -> Tally {
    let (mut stack, mut tally) = (filled(Liveness::Exact, A, n), Tally::default());
    for pass in 1..=passes {
        for i in 0..n {
            stack.read(&mut tally, A + 8 * i, 8);
            if pass == passes {
                stack.end(A + 8 * i, 8);
            }
        }
    }
    tally
}

/// `(passes - 1) * n * (S(8n) - S(8n - 8)) + S(8n)`: in the last pass the lowest word of ever fewer is read.
#[must_use]
pub fn exact_cyclic_closed(n: u64, passes: u64) -> Tally {
    let mut tally = Tally::default();
    tally.reads(8 * n - 8, 8, (passes - 1) * n);
    tally.reads(0, 8 * n, 1);
    tally
}

#[must_use]
pub fn zigzag(liveness: Liveness, n: u64, passes: u64) -> Tally {
    let (mut stack, mut tally) = (filled(liveness, A, n), Tally::default());
    for pass in 0..passes {
        for i in 0..n {
            let word = if pass % 2 == 0 { n - 1 - i } else { i };
            stack.read(&mut tally, A + 8 * word, 8);
        }
    }
    tally
}

/// `passes * S(8n)`.
#[must_use]
pub fn zigzag_closed(n: u64, passes: u64) -> Tally {
    let mut tally = Tally::default();
    tally.reads(0, 8 * n, passes);
    tally
}

#[must_use]
pub fn chase(liveness: Liveness, n: u64, laps: u64) -> Tally {
    let (mut stack, mut tally) = (filled(liveness, A, n), Tally::default());
    let mut node = 0;
    for _ in 0..laps * n {
        stack.read(&mut tally, A + 8 * node, 8);
        node = (5 * node + 3) % n;
    }
    assert_eq!(node, 0, "not a cycle");
    tally
}

/// First lap by counting, then `(laps - 1) * n * (S(8n) - S(8n - 8))`.
#[must_use]
pub fn chase_closed(n: u64, laps: u64) -> Tally {
    let mut tally = Tally::default();
    let mut visited = vec![false; n as usize];
    let mut node = 0;
    for step in 0..n {
        let higher = visited[node as usize + 1..].iter().filter(|&&visited| !visited).count() as u64;
        tally.reads(8 * (step + higher), 8, 1);
        visited[node as usize] = true;
        node = (5 * node + 3) % n;
    }
    assert!(visited.into_iter().all(|visited| visited), "not a cycle");
    tally.reads(8 * n - 8, 8, (laps - 1) * n);
    tally
}

#[must_use]
pub fn copy(liveness: Liveness, n: u64) -> Tally {
    let (mut stack, mut tally) = (filled(liveness, A, n / 8), Tally::default());
    stack.copy(&mut tally, B, A, n);
    for i in 0..n / 8 {
        stack.read(&mut tally, B + 8 * i, 8);
    }
    tally
}

/// For `n = 64 b`: block `k` is copied from depths `n - 64 + 64 k + 1 ..= n + 64 k`; together `S(2n - 64) - S(n - 64)`.
/// Then the stack is, from the bottom, source block, copied block, source block, ...: the 8 words of copied block `k`
/// have above them 56 bytes of their own block and words read, `128 (b - 1 - k)` of later blocks and `64 k` read
/// before.
#[must_use]
pub fn copy_closed(n: u64) -> Tally {
    assert_eq!(n % COPY_BLOCK, 0);
    let mut tally = Tally { written: n, ..Tally::default() };
    let blocks = n / COPY_BLOCK;
    tally.reads(n - 64, n, 1);
    // The copy is one read of each depth of n - 64 + 1 ..= 2n - 64.
    for k in 0..blocks {
        tally.reads(56 + 128 * (blocks - 1 - k) + 64 * k, 8, 8);
    }
    tally
}

/// As `copy`; source and copy are read once and leave then.
#[must_use]
pub fn exact_copy(n: u64) -> Tally {
    let (mut stack, mut tally) = (filled(Liveness::Exact, A, n / 8), Tally::default());
    for start in (0..n).step_by(COPY_BLOCK as usize) {
        let block = COPY_BLOCK.min(n - start);
        stack.read(&mut tally, A + start, block);
        stack.end(A + start, block);
        stack.write(&mut tally, B + start, block);
    }
    for i in 0..n / 8 {
        stack.read(&mut tally, B + 8 * i, 8);
        stack.end(B + 8 * i, 8);
    }
    tally
}

/// For `n = 64 b`: every block is copied from below the `n - 64` other bytes, source or copy: `b (S(n) - S(n - 64))`.
/// Then the lowest word of ever fewer is read: `S(n)`.
#[must_use]
pub fn exact_copy_closed(n: u64) -> Tally {
    assert_eq!(n % COPY_BLOCK, 0);
    let mut tally = Tally { written: n, ..Tally::default() };
    tally.reads(n - COPY_BLOCK, COPY_BLOCK, n / COPY_BLOCK);
    tally.reads(0, n, 1);
    tally
}

#[must_use]
pub fn overlap(liveness: Liveness, n: u64, shift: u64) -> Tally {
    let (mut stack, mut tally) = (filled(liveness, A, n / 8), Tally::default());
    stack.copy(&mut tally, A + shift, A, n);
    for i in 0..(n + shift) / 8 {
        stack.read(&mut tally, A + 8 * i, 8);
    }
    tally
}

#[must_use]
pub fn planted(liveness: Liveness, k: u64) -> Tally {
    let (mut stack, mut tally) = (ByteStack::new(liveness), Tally::default());
    stack.write(&mut tally, A, 8);
    for i in 0..k {
        stack.write(&mut tally, B + i, 1);
    }
    stack.read(&mut tally, A, 8);
    tally
}

/// `S(k + 8) - S(k)`.
#[must_use]
pub fn planted_closed(k: u64) -> Tally {
    let mut tally = Tally { written: 8 + k, ..Tally::default() };
    tally.reads(k, 8, 1);
    tally
}

/// The allocator of this replay always hands out the same address.
#[must_use]
pub fn reborn(liveness: Liveness, m: u64, rounds: u64, fresh: bool) -> Tally {
    let (mut stack, mut tally) = (filled(liveness, A, 1), Tally::default());
    for _ in 0..rounds {
        if fresh {
            stack.read(&mut tally, B, 8);
        }
        for i in 0..m {
            stack.write(&mut tally, B + 8 * i, 8);
        }
        for i in 0..m {
            stack.read(&mut tally, B + 8 * i, 8);
        }
        stack.end(B, 8 * m);
        stack.read(&mut tally, A, 8);
    }
    tally
}

/// `rounds * (m (S(8m) - S(8m - 8)) + hot word)`, hot word `S(8)` with hints and `S(8m + 8) - S(8m)` without, and with
/// hints `S(16) - S(8)` per fresh read.
#[must_use]
pub fn reborn_closed(liveness: Liveness, m: u64, rounds: u64, fresh: bool) -> Tally {
    let mut tally = Tally { written: 8 * m * rounds, ..Tally::default() };
    if fresh {
        assert_eq!(liveness, Liveness::Hints, "without hints it depends on the allocator");
        tally.reads(8, 8, rounds);
        tally.cold = 8 * rounds;
    }
    tally.reads(8 * m - 8, 8, m * rounds);
    tally.reads(if liveness == Liveness::Hints { 0 } else { 8 * m }, 8, rounds);
    tally
}

/// `rounds * (S(8m) + S(8))`: the words of a block are read once, the lowest of ever fewer, and the hot word is then
/// alone.
#[must_use]
pub fn exact_reborn(m: u64, rounds: u64) -> Tally {
    let mut tally = Tally { written: 8 * m * rounds, ..Tally::default() };
    tally.reads(0, 8 * m, rounds);
    tally.reads(0, 8, rounds);
    tally
}

/// `S(8)`, whatever `k`: the bytes between are never read, so they never were on the stack.
#[must_use]
pub fn exact_planted(k: u64) -> Tally {
    let mut tally = Tally { written: 8 + k, ..Tally::default() };
    tally.reads(0, 8, 1);
    tally
}

#[must_use]
pub fn slots(liveness: Liveness, m: u64, rounds: u64) -> Truth {
    let mut stack = filled(liveness, A, 1);
    let (mut kernel, mut slot) = (Tally::default(), Tally::default());
    for _ in 0..rounds {
        for i in 0..m {
            stack.write(&mut slot, B + 8 * i, 8);
        }
        for i in 0..m {
            stack.read(&mut slot, B + 8 * i, 8);
        }
        stack.end(B, 8 * m);
        stack.read(&mut kernel, A, 8);
        for i in 0..m {
            stack.write(&mut kernel, C + 8 * i, 8);
        }
        stack.read(&mut kernel, C, 8);
        stack.end(C, 8 * m);
        stack.read(&mut kernel, A, 8);
    }
    Truth { source: "slots.c", defines: Vec::new(), liveness, functions: vec![("kernel", kernel), ("slot", slot)] }
}

/// With hints. The replay's allocator never moves the block; the program's does; the numbers must be the same.
#[must_use]
pub fn growth(first: u64, growths: u64) -> Tally {
    let (mut stack, mut tally) = (filled(Liveness::Hints, A, 1), Tally::default());
    for i in 0..first {
        stack.write(&mut tally, B + 8 * i, 8);
    }
    let mut size = first;
    for growth in 0..growths {
        stack.write(&mut tally, C + 8 * growth, 8);
        for i in size..2 * size {
            stack.write(&mut tally, B + 8 * i, 8);
        }
        size *= 2;
        for i in 0..size {
            stack.read(&mut tally, B + 8 * i, 8);
        }
    }
    stack.end(B + 8, 8 * (size - 1));
    stack.read(&mut tally, A, 8);
    stack.read(&mut tally, B, 8);
    tally
}

/// After a growth to `2s` words the `s` old ones are found below `2s` words (the word in the way is among them), the
/// `s` new ones below `2s - 1`. After the shrink the hot word lies below the `growths` words in the way and one more,
/// the last word below the hot word.
#[must_use]
pub fn growth_closed(first: u64, growths: u64) -> Tally {
    let last = first << growths;
    let mut tally = Tally { written: 8 * (last + growths), ..Tally::default() };
    for growth in 0..growths {
        let s = first << growth;
        tally.reads(8 * 2 * s, 8, s);
        tally.reads(8 * (2 * s - 1), 8, s);
    }
    tally.reads(8 * (growths + 1), 8, 1);
    tally.reads(8, 8, 1);
    tally
}

#[must_use]
pub fn cold(liveness: Liveness, n: u64) -> Tally {
    let (mut stack, mut tally) = (filled(liveness, A, 1), Tally::default());
    for _ in 0..2 {
        for base in [B, C] {
            for i in 0..n {
                stack.read(&mut tally, base + 8 * i, 8);
            }
        }
    }
    tally
}

/// `S(16n + 8) - S(8)` for the first pass, `2n (S(16n) - S(16n - 8))` for the second.
#[must_use]
pub fn cold_closed(n: u64) -> Tally {
    let mut tally = Tally { cold: 16 * n, ..Tally::default() };
    tally.reads(8, 16 * n, 1);
    tally.reads(16 * n - 8, 8, 2 * n);
    tally
}

#[must_use]
pub fn widths(liveness: Liveness, n: u64, accesses: u64) -> Tally {
    let (mut stack, mut tally) = (ByteStack::new(liveness), Tally::default());
    for i in 0..n + 8 {
        stack.write(&mut Tally::default(), A + i, 1);
    }
    let mut x = 1u64;
    for _ in 0..accesses {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let address = A + (x >> 33) % (n + 1);
        let bytes = 1 << (x >> 29 & 3);
        if x >> 29 & 4 == 0 {
            stack.read(&mut tally, address, bytes);
        } else {
            stack.write(&mut tally, address, bytes);
        }
    }
    tally
}

#[must_use]
pub fn update(liveness: Liveness, n: u64, passes: u64) -> Tally {
    let (mut stack, mut tally) = (filled(liveness, A, n), Tally::default());
    for _ in 0..passes {
        for i in 0..n {
            stack.read(&mut tally, A + 8 * i, 8);
            stack.write(&mut tally, A + 8 * i, 8);
        }
    }
    tally
}

#[must_use]
pub fn strings(liveness: Liveness, length: u64, matched: u64) -> Tally {
    let (mut stack, mut tally) = (ByteStack::new(liveness), Tally::default());
    for i in 0..64 {
        stack.write(&mut Tally::default(), A + i, 1);
    }
    stack.read(&mut tally, A, length + 1);
    stack.read(&mut tally, A, matched + 1);
    tally
}

/// `S(64) - S(63 - length)` for strlen; then those bytes lie on top in address order:
/// `S(length + 1) - S(length - matched)`.
#[must_use]
pub fn strings_closed(length: u64, matched: u64) -> Tally {
    let mut tally = Tally::default();
    tally.reads(63 - length, length + 1, 1);
    tally.reads(length - matched, matched + 1, 1);
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_sum_of_roots_agrees_with_the_sum() {
        let mut sum = 0;
        for n in 0..5000 {
            assert_eq!(sum_of_roots(n), sum, "S({n})");
            sum += root(n + 1);
        }
        // Published values.
        for (n, value) in [(1u64, 1u128), (2, 3), (4, 7), (5, 10), (9, 22), (10, 26), (16, 50), (17, 55), (100, 715)] {
            assert_eq!(sum_of_roots(n), value);
        }
        assert_eq!(sum_of_roots(1000), 21584);
        assert_eq!(sum_of_roots(1_000_000), 667_166_500);
        assert_eq!(sum_of_roots(1 << 32), 187_652_131_946_496);
        assert_eq!(sum_of_roots(1 << 40), 768_614_886_160_203_776);
    }

    #[test]
    fn closed_forms_of_exact_liveness_agree_with_the_replay() {
        for n in [1, 2, 3, 17, 64] {
            for passes in [1, 2, 3, 4] {
                assert_eq!(exact_cyclic(n, passes), exact_cyclic_closed(n, passes));
            }
        }
        for n in [64, 128, 192, 1024] {
            assert_eq!(exact_copy(n), exact_copy_closed(n));
        }
    }

    #[test]
    fn closed_forms_agree_with_the_replay() {
        for liveness in [Liveness::Hints, Liveness::None] {
            for n in [1, 2, 3, 17, 64] {
                for passes in [1, 2, 3, 4] {
                    assert_eq!(cyclic(liveness, n, passes), cyclic_closed(n, passes));
                    assert_eq!(zigzag(liveness, n, passes), zigzag_closed(n, passes));
                }
            }
            for n in [2, 4, 64, 128] {
                for laps in [1, 2, 3] {
                    assert_eq!(chase(liveness, n, laps), chase_closed(n, laps));
                }
            }
            for n in [64, 128, 192, 1024] {
                assert_eq!(copy(liveness, n), copy_closed(n));
            }
            for k in [0, 1, 7, 100] {
                assert_eq!(planted(liveness, k), planted_closed(k));
            }
            for m in [1, 2, 32] {
                assert_eq!(reborn(liveness, m, 5, false), reborn_closed(liveness, m, 5, false));
            }
            for n in [1, 5, 32] {
                assert_eq!(cold(liveness, n), cold_closed(n));
            }
            assert_eq!(strings(liveness, 40, 9), strings_closed(40, 9));
            let update = update(liveness, 32, 3);
            assert_eq!(update.written, update.read);
            assert_eq!(Tally { written: 0, ..update }, cyclic_closed(32, 3));
        }
        for m in [1, 2, 32] {
            assert_eq!(reborn(Liveness::Hints, m, 5, true), reborn_closed(Liveness::Hints, m, 5, true));
        }
        for (first, growths) in [(1, 1), (4, 6), (3, 3)] {
            assert_eq!(growth(first, growths), growth_closed(first, growths));
        }
    }

    #[test]
    fn bytes_of_one_access_lie_in_address_order() {
        let (mut stack, mut tally) = (ByteStack::new(Liveness::Hints), Tally::default());
        stack.write(&mut tally, 100, 8);
        stack.read(&mut tally, 100, 1);
        assert_eq!(tally.depths, BTreeMap::from([(8, 1)]));
        stack.read(&mut tally, 107, 1);
        assert_eq!(tally.depths, BTreeMap::from([(2, 1), (8, 1)]));
    }

    #[test]
    fn liveness_changes_what_the_scope_programs_cost() {
        for (hints, none) in [
            (reborn(Liveness::Hints, 32, 5, false), reborn(Liveness::None, 32, 5, false)),
            (slots(Liveness::Hints, 32, 5).functions[0].1.clone(), slots(Liveness::None, 32, 5).functions[0].1.clone()),
        ] {
            assert!(hints.cost < none.cost);
            assert_eq!(hints.read, none.read);
        }
    }

    #[test]
    fn histograms_add_up() {
        for truth in Truth::all() {
            for (function, tally) in &truth.functions {
                assert_eq!(tally.depths.values().sum::<u64>(), tally.read, "{} {function}", truth.name());
                let cost: u128 = tally.depths.iter().map(|(&depth, &bytes)| root(depth) * u128::from(bytes)).sum();
                assert_eq!(cost, tally.cost, "{} {function}", truth.name());
            }
        }
    }
}
