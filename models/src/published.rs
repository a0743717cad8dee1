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
