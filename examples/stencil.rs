//! 5-point stencil (Jacobi sweeps) on an n x n grid of doubles: by rows, by columns, in square blocks.
//!
//!     dmdprof run examples/stencil.rs [n]          (default n = 512; 2 sweeps per variant)
//!
//! What it must cost (ByteDMD, leading order, per grid point; a double read at depth D costs 8 sqrt(D)):
//!
//! - the neighbour *ahead* (south when sweeping by rows) comes from the sweep before: both grids were touched in
//!   between, 16 n^2 bytes: 8 * 4 n. No order of a single sweep can avoid this term. Only the first sweep is cheaper:
//!   it finds the grid as `fill` left it, at a depth of 8 n^2 (1 + y) in row y n (what was written after it or read
//!   since, and the result so far), which is 8 * 3.45 n on average by rows and in blocks; by columns, as in
//!   transpose.rs, 8 * 3.08 n.
//! - the neighbours *one line away* (north, and east when it is first needed in this line) were last used one line ago:
//!   three lines read and one written, 32 n bytes: 2 * 8 sqrt(32 n).
//! - the others were used one or two points ago: a few dozen bytes.
//!
//! - `sweep_rows`: 8 n^2 (7.45 n + 4 sqrt(32 n)) for both sweeps.
//! - `sweep_columns`: 8 n^2 (7.08 n + 4 sqrt(32 n)): from the second sweep on, columns cost what rows do, by symmetry.
//! - `sweep_blocks`: 8 n^2 (7.45 n + 4 sqrt(32 BLOCK)): only the second term shrinks, so blocks gain little: the way to a
//!   lower cost is to fuse sweeps, not to reorder one.
//!
//! Measured at the default size, with the distance of the formula. The numbers are exact; those in C are the same with
//! clang 14 to 19.
//!
//!     cost sweep_rows    9103445289 formula -0.3 %
//!     cost sweep_columns 8712738754 formula -0.4 %
//!     cost sweep_blocks  8429181738 formula -1.9 %
//!
//! By columns, C and Rust make the same accesses. By rows and in blocks both read two points at a time, and Rust, which
//! has bounds to check, the last two of a line singly: that moves one part in 10^5.
//!
//! To try: the lines beyond 32 KiB, where the sweep by columns uses one double of each line it touches and falls far
//! behind; a fourth variant that does both sweeps on a block before moving on.

const BLOCK: usize = 32;
const SWEEPS: usize = 2;

#[inline(never)]
fn fill(n: usize, grid: &mut [f64]) {
    for (i, x) in grid.iter_mut().enumerate() {
        *x = ((i / n * 31 + i % n * 17) % 64) as f64;
    }
}

/// A macro, so that the accesses belong to the sweep and each sweep has its row in the report.
macro_rules! point {
    ($n:expr, $from:expr, $at:expr) => {
        0.25 * $from[$at] + 0.1875 * ($from[$at - $n] + $from[$at - 1] + $from[$at + 1] + $from[$at + $n])
    };
}

#[inline(never)]
fn sweep_rows(n: usize, from: &[f64], to: &mut [f64]) {
    for i in 1..n - 1 {
        let rows = &from[(i - 1) * n..(i + 2) * n];
        let (north, rest) = rows.split_at(n);
        let (here, south) = rest.split_at(n);
        let to = &mut to[i * n..(i + 1) * n];
        for j in 1..n - 1 {
            to[j] = 0.25 * here[j] + 0.1875 * (north[j] + here[j - 1] + here[j + 1] + south[j]);
        }
    }
}

#[inline(never)]
fn sweep_columns(n: usize, from: &[f64], to: &mut [f64]) {
    for j in 1..n - 1 {
        for i in 1..n - 1 {
            to[i * n + j] = point!(n, from, i * n + j);
        }
    }
}

#[inline(never)]
fn sweep_blocks(n: usize, from: &[f64], to: &mut [f64]) {
    for i0 in (1..n - 1).step_by(BLOCK) {
        for j0 in (1..n - 1).step_by(BLOCK) {
            for i in i0..(i0 + BLOCK).min(n - 1) {
                for j in j0..(j0 + BLOCK).min(n - 1) {
                    to[i * n + j] = point!(n, from, i * n + j);
                }
            }
        }
    }
}

fn report(name: &str, n: usize, grid: &[f64]) {
    let sum: f64 = grid.iter().sum();
    println!("{name} {n}: {sum:.3}");
}

fn main() {
    let n: usize = std::env::args().nth(1).map_or(512, |arg| arg.parse().expect("the size is a number"));
    let (mut u, mut v) = (vec![0.0; n * n], vec![0.0; n * n]);

    // Every variant starts from the same stack: the target grid below the source grid, freshly written.
    fill(n, &mut v);
    fill(n, &mut u);
    for _ in 0..SWEEPS / 2 {
        sweep_rows(n, &u, &mut v);
        sweep_rows(n, &v, &mut u);
    }
    report("rows", n, &u);

    fill(n, &mut v);
    fill(n, &mut u);
    for _ in 0..SWEEPS / 2 {
        sweep_columns(n, &u, &mut v);
        sweep_columns(n, &v, &mut u);
    }
    report("columns", n, &u);

    fill(n, &mut v);
    fill(n, &mut u);
    for _ in 0..SWEEPS / 2 {
        sweep_blocks(n, &u, &mut v);
        sweep_blocks(n, &v, &mut u);
    }
    report("blocks", n, &u);
}
