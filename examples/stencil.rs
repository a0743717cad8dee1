//! 5-point stencil (Jacobi sweeps) on an n x n grid of doubles: by rows, by columns, in square blocks.
//!
//!     dmdprof run examples/stencil.rs [n]          (default n = 512; 2 sweeps per variant)
//!
//! What it must cost (ByteDMD, leading order, per grid point; a double read at depth D costs 8 sqrt(D)):
//!
//! - the neighbour *ahead* (south when sweeping by rows) comes from the sweep before: everything was touched in between,
//!   both grids, 16 n^2 bytes: 8 * 4 n. This term dominates and no order of a single sweep can avoid it.
//! - the neighbours *one line away* (north, and east when it is first needed in this line) were last used one line ago:
//!   three lines read and one written, 32 n bytes: 2 * 8 sqrt(32 n).
//! - the others were used one or two points ago: a few dozen bytes.
//!
//! Total about 8 n^2 (4 n + 2 sqrt(32 n)) per sweep for `sweep_rows` and, by symmetry, for `sweep_columns`.
//! `sweep_blocks` replaces n by BLOCK in the second term only (except at the blocks' edges), so it gains little: the way
//! to a lower cost is to fuse sweeps, not to reorder one.
//! The compiler vectorises the sweep by rows: two or four points are then read together, which changes the small terms.
//!
//! To try: `--line 64`, where the sweep by columns uses one double of each line it touches and falls far behind;
//! a fourth variant that does both sweeps on a block before moving on.

const BLOCK: usize = 32;
const SWEEPS: usize = 2;

#[inline(never)]
fn fill(n: usize, grid: &mut [f64]) {
    for (i, x) in grid.iter_mut().enumerate() {
        *x = ((i / n * 31 + i % n * 17) % 64) as f64;
    }
}

#[inline(always)]
fn point(n: usize, from: &[f64], i: usize, j: usize) -> f64 {
    let at = i * n + j;
    0.25 * from[at] + 0.1875 * (from[at - n] + from[at - 1] + from[at + 1] + from[at + n])
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
            to[i * n + j] = point(n, from, i, j);
        }
    }
}

#[inline(never)]
fn sweep_blocks(n: usize, from: &[f64], to: &mut [f64]) {
    for i0 in (1..n - 1).step_by(BLOCK) {
        for j0 in (1..n - 1).step_by(BLOCK) {
            for i in i0..(i0 + BLOCK).min(n - 1) {
                for j in j0..(j0 + BLOCK).min(n - 1) {
                    to[i * n + j] = point(n, from, i, j);
                }
            }
        }
    }
}

type Sweep = fn(usize, &[f64], &mut [f64]);

fn main() {
    let n: usize = std::env::args().nth(1).map_or(512, |arg| arg.parse().expect("the size is a number"));
    let variants: [(&str, Sweep); 3] = [("rows", sweep_rows), ("columns", sweep_columns), ("blocks", sweep_blocks)];
    let (mut u, mut v) = (vec![0.0; n * n], vec![0.0; n * n]);
    for (name, sweep) in std::hint::black_box(variants) {
        // Every variant starts from the same stack: the target grid below the source grid, freshly written.
        fill(n, &mut v);
        fill(n, &mut u);
        for _ in 0..SWEEPS / 2 {
            sweep(n, &u, &mut v);
            sweep(n, &v, &mut u);
        }
        let checksum: f64 = u.iter().sum();
        println!("{name} {n}: {checksum:.3}");
    }
}
