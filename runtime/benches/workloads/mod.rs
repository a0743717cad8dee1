//! Traces of aligned 8-byte accesses: a word number each, the top bit set for a store. They are made before the clock runs.

pub const STORE: u32 = 1 << 31;

/// A named list of accesses.
pub struct Trace {
    pub name: &'static str,
    pub accesses: Vec<u32>,
}

/// A small generator, the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The six traces, each cut after `most` accesses.
pub fn all(most: usize) -> Vec<Trace> {
    let mut traces = vec![matmul(200), stencil(1000, 2), uniform(1 << 20), zipf(1 << 20), small(), stream()];
    for trace in &mut traces {
        trace.accesses.truncate(most);
    }
    traces
}

/// C = A B, loops i, j, k, the sum in a register.
fn matmul(n: u32) -> Trace {
    let (a, b, c) = (0, n * n, 2 * n * n);
    let mut accesses = Vec::new();
    for i in 0..n {
        for j in 0..n {
            for k in 0..n {
                accesses.extend([a + i * n + k, b + k * n + j]);
            }
            accesses.push(STORE | (c + i * n + j));
        }
    }
    Trace { name: "matmul 200, i-j-k", accesses }
}

fn stencil(n: u32, steps: u32) -> Trace {
    let mut accesses = Vec::new();
    for step in 0..steps {
        let (from, to) = if step % 2 == 0 { (0, n * n) } else { (n * n, 0) };
        for y in 1..n - 1 {
            for x in 1..n - 1 {
                let at = y * n + x;
                accesses.extend([at, at - 1, at + 1, at - n, at + n].map(|word| from + word));
                accesses.push(STORE | (to + at));
            }
        }
    }
    Trace { name: "5-point stencil 1000x1000", accesses }
}

fn uniform(words: u64) -> Trace {
    let mut random = Random(1);
    Trace { name: "uniform random, 8 MB", accesses: (0..8_000_000).map(|_| random.below(words) as u32).collect() }
}

fn zipf(words: u64) -> Trace {
    Trace { name: "Zipf(1), 8 MB", accesses: zipf_words(words, 8_000_000) }
}

/// Rank k with a probability close to 1/k; ranks are scattered over the words. `words` must be a power of two.
pub fn zipf_words(words: u64, count: usize) -> Vec<u32> {
    let mut random = Random(2);
    let (mask, half) = (words - 1, words.trailing_zeros() / 2);
    let scale = ((words + 1) as f64).ln();
    (0..count)
        .map(|_| {
            let rank = ((random.unit() * scale).exp() as u64 - 1).min(mask);
            let mut word = rank.wrapping_mul(0x9e37_79b1) & mask;
            word ^= word >> half;
            (word.wrapping_mul(0x85eb_ca6b) & mask) as u32
        })
        .collect()
}

fn small() -> Trace {
    let mut random = Random(3);
    Trace { name: "64 words", accesses: (0..8_000_000).map(|_| random.below(64) as u32).collect() }
}

fn stream() -> Trace {
    let words = 32 << 17;
    Trace { name: "32 MB stream, 4 passes", accesses: (0..4 * words).map(|at| at % words).collect() }
}
