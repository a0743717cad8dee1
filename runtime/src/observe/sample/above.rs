//! The price of a read whose depth is known from some buckets only.
//!
//! What is above the bytes in their own bucket is known. Of the other buckets some were drawn; they stand for all, so
//! that the depth has no bias. Its root has one, as a root of a mean is more than the mean of the roots. The spread of
//! the buckets tells how much, to the second order, and that is added.

/// Where no other bucket that was drawn has bytes above, this part of what one line of them would stand for is assumed.
/// Then the mean of the roots is right within 1 % where one line is drawn on average, and within 7 % where half a line
/// is; below, prices are small, and too large.
const UNSEEN: f64 = 0.2;

/// What is above the bytes of a read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Above {
    /// Bytes that are known.
    known: f64,
    /// The sum of the bytes of the buckets that were drawn, of their squares, and their number.
    sum: f64,
    squares: f64,
    buckets: usize,
}

/// Of one read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    pub cost: f64,
    /// How much the cost grows with each byte of depth.
    pub slope: f64,
}

impl Above {
    /// So many bytes are known to be above.
    pub fn exactly(bytes: u64) -> Self {
        Above { known: bytes as f64, ..Self::default() }
    }

    /// A bucket that was drawn has so many bytes above.
    pub fn bucket(&mut self, bytes: u64) {
        let bytes = bytes as f64;
        self.sum += bytes;
        self.squares += bytes * bytes;
        self.buckets += 1;
    }

    /// The price of `len` bytes; one bucket that was drawn stands for `scale`, and lines of others have about
    /// `mean_line` bytes.
    pub fn price(&self, len: u32, scale: f64, mean_line: f64) -> Price {
        let len = f64::from(len);
        let mut depth = self.known + scale * self.sum + len / 2.0;
        if self.sum == 0.0 {
            depth += UNSEEN * mean_line * (scale - 1.0).max(0.0);
        }
        let buckets = self.buckets as f64;
        let spread = if self.buckets > 1 {
            (self.squares - self.sum * self.sum / buckets).max(0.0) * buckets / (buckets - 1.0)
        } else {
            self.squares
        };
        let variance = scale * (scale - 1.0).max(0.0) * spread;
        let root = depth.sqrt();
        // A price is a whole number, on average half above the root.
        Price { cost: len * (root + 0.5 + variance / (8.0 * depth * root)), slope: len / (2.0 * root) }
    }
}
