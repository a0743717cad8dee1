//! Traces of aligned 8-byte accesses: a word number each, the top bit set for a store. They are made before the clock
//! runs.

pub const STORE: u32 = 1 << 31;

/// A named list of accesses.
pub struct Trace {
    pub name: &'static str,
    pub accesses: Vec<u32>,
    /// The same as runs, if it is loops.
    pub runs: Vec<Run>,
}

/// Iterations of some accesses that advance evenly: what the hooks of a loop record.
pub struct Run {
    /// Word numbers of the first iteration, with [`STORE`], and by how many words they advance.
    pub streams: Vec<(u32, i64)>,
    pub iterations: u32,
}

impl Run {
    fn accesses(&self) -> impl Iterator<Item = u32> + '_ {
        let at = |iteration: u32| {
            self.streams
                .iter()
                .map(move |(word, stride)| word.wrapping_add_signed((stride * i64::from(iteration)) as i32))
        };
        (0..self.iterations).flat_map(at)
    }
}

impl Trace {
    fn of_runs(name: &'static str, runs: Vec<Run>) -> Self {
        Self { name, accesses: runs.iter().flat_map(Run::accesses).collect(), runs }
    }

    fn of_words(name: &'static str, accesses: Vec<u32>) -> Self {
        Self { name, accesses, runs: Vec::new() }
    }

    /// Cuts it after the run in which it has `most` accesses, or after these.
    fn cut(&mut self, most: usize) {
        let (mut all, mut runs) = (0, 0);
        while all < most && runs < self.runs.len() {
            all += self.runs[runs].streams.len() * self.runs[runs].iterations as usize;
            runs += 1;
        }
        self.runs.truncate(runs);
        self.accesses.truncate(if runs > 0 { all } else { most });
    }
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

/// The six traces, each cut after about `most` accesses.
pub fn all(most: usize) -> Vec<Trace> {
    let mut traces = vec![matmul(200), stencil(1000, 2), uniform(1 << 20), zipf(1 << 20), small(), stream()];
    traces.iter_mut().for_each(|trace| trace.cut(most));
    traces
}

/// C = A B, loops i, j, k, the sum in a register.
fn matmul(n: u32) -> Trace {
    let (a, b, c) = (0, n * n, 2 * n * n);
    let mut runs = Vec::new();
    for i in 0..n {
        for j in 0..n {
            runs.push(Run { streams: vec![(a + i * n, 1), (b + j, i64::from(n))], iterations: n });
            runs.push(Run { streams: vec![(STORE | (c + i * n + j), 0)], iterations: 1 });
        }
    }
    Trace::of_runs("matmul 200, i-j-k", runs)
}

fn stencil(n: u32, steps: u32) -> Trace {
    let mut runs = Vec::new();
    for step in 0..steps {
        let (from, to) = if step % 2 == 0 { (0, n * n) } else { (n * n, 0) };
        for y in 1..n - 1 {
            let at = y * n + 1;
            let mut streams: Vec<(u32, i64)> = [at, at - 1, at + 1, at - n, at + n].map(|word| (from + word, 1)).into();
            streams.push((STORE | (to + at), 1));
            runs.push(Run { streams, iterations: n - 2 });
        }
    }
    Trace::of_runs("5-point stencil 1000x1000", runs)
}

fn uniform(words: u64) -> Trace {
    let mut random = Random(1);
    Trace::of_words("uniform random, 8 MB", (0..8_000_000).map(|_| random.below(words) as u32).collect())
}

fn zipf(words: u64) -> Trace {
    Trace::of_words("Zipf(1), 8 MB", zipf_words(words, 8_000_000))
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
    Trace::of_words("64 words", (0..8_000_000).map(|_| random.below(64) as u32).collect())
}

fn stream() -> Trace {
    let words = 32 << 17;
    let pass = || Run { streams: vec![(0, 1)], iterations: words };
    Trace::of_runs("32 MB stream, 4 passes", (0..4).map(|_| pass()).collect())
}
