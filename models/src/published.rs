//! What the tests of several models share: comparison of numbers, and published cases.

/// Relative difference that formulas and their independently computed values may have.
pub const FORMULA: f64 = 1e-9;

/// Fails unless `actual` is within `relative` of `expected`.
#[track_caller]
pub fn close_to(actual: f64, expected: f64, relative: f64) {
    let same = actual == expected || (actual - expected).abs() <= relative * expected.abs();
    assert!(same, "{actual} is not {expected} (relative {relative})");
}

/// Fails unless `actual` rounds to what is printed with so many decimals.
#[track_caller]
pub fn prints(actual: f64, printed: f64, decimals: i32) {
    let half = 0.5000001 * 10f64.powi(-decimals);
    assert!((actual - printed).abs() <= half, "{actual} does not print as {printed} with {decimals} decimals");
}

/// A convolution in half precision whose time on an accelerator was published.
pub struct Convolution {
    pub kernel: u64,
    pub inputs: u64,
    pub outputs: u64,
    pub side: u64,
    /// Microseconds.
    pub measured: f64,
}

impl Convolution {
    pub fn work(&self) -> u64 {
        2 * self.weights() * self.side * self.side
    }

    /// Weights, input and output once, two bytes each.
    pub fn bytes(&self) -> u64 {
        2 * (self.weights() + (self.inputs + self.outputs) * self.side * self.side)
    }

    fn weights(&self) -> u64 {
        self.kernel * self.kernel * self.inputs * self.outputs
    }
}

/// Apple Neural Engine book, table 18.5.
pub const CONVOLUTIONS: [Convolution; 4] = [
    Convolution { kernel: 3, inputs: 256, outputs: 256, side: 28, measured: 507.0 },
    Convolution { kernel: 1, inputs: 512, outputs: 512, side: 32, measured: 444.0 },
    Convolution { kernel: 1, inputs: 1024, outputs: 1024, side: 16, measured: 686.0 },
    Convolution { kernel: 1, inputs: 2048, outputs: 2048, side: 8, measured: 1047.0 },
];

/// Random numbers that are the same in every run (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// At least 0 and below 1.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Exponentially distributed.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}
