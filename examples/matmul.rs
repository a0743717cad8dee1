//! Matrix product C = A B of n x n doubles: i-j-k, i-k-j and tiled.
//!
//!     dmdprof run examples/matmul.rs [n]          (default n = 128)
//!
//! What each variant must cost (ByteDMD, leading order, bytes; a double is 8 bytes read at about the same depth, so a
//! read at depth D costs 8 sqrt(D)):
//!
//! | function       | reads                        | depth of the reads                       | cost                               |
//! |----------------|------------------------------|------------------------------------------|------------------------------------|
//! | `matmul_ijk`   | n^3 of A, n^3 of B           | A: one row + one column = 16 n; B: all of B = 8 n^2 | 8 n^3 (sqrt(8) n + 4 sqrt(n)) |
//! | `matmul_ikj`   | n^3 of B, n^3 of C, n^2 of A | C: two rows = 16 n; B: all of B = 8 n^2  | 8 n^3 (sqrt(8) n + 4 sqrt(n))      |
//! | `matmul_tiled` | as i-k-j; A n^3 / TILE       | B: one tile = 8 TILE^2, once per n / TILE visits from far away | about 8 n^3 (sqrt(8) TILE + 4 sqrt(TILE)) + the far visits, 8 n^3 / TILE times sqrt(8) n |
//!
//! So the two plain orders cost the same to first order: both drag the whole of B past every row of C, and the cost of
//! a byte does not depend on its neighbours. Tiling replaces n by TILE in the dominant term. The far visits grow as
//! n / TILE, so the best tile grows as sqrt(n).
//!
//! To try: other sizes (doubling n multiplies the plain orders by almost 16, the tiled one by less); another TILE;
//! `--line 64`, where depth is counted in cache lines and i-j-k, which walks B by columns, falls behind i-k-j.

use std::hint::black_box;

const TILE: usize = 16;

#[inline(never)]
fn fill(m: &mut [f64], factor: usize) {
    for (i, x) in m.iter_mut().enumerate() {
        *x = (i * factor % 13) as f64;
    }
}

#[inline(never)]
fn matmul_ijk(n: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    for i in 0..n {
        for j in 0..n {
            let mut sum = 0.0;
            for k in 0..n {
                sum += a[i * n + k] * b[k * n + j];
            }
            c[i * n + j] = sum;
        }
    }
}

#[inline(never)]
fn matmul_ikj(n: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    for i in 0..n {
        let c_row = &mut c[i * n..(i + 1) * n];
        for k in 0..n {
            let x = a[i * n + k];
            for (c, b) in c_row.iter_mut().zip(&b[k * n..(k + 1) * n]) {
                *c += x * b;
            }
        }
    }
}

#[inline(never)]
fn matmul_tiled(n: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    for i0 in (0..n).step_by(TILE) {
        for k0 in (0..n).step_by(TILE) {
            for j0 in (0..n).step_by(TILE) {
                let (i1, k1, j1) = ((i0 + TILE).min(n), (k0 + TILE).min(n), (j0 + TILE).min(n));
                for i in i0..i1 {
                    let c_row = &mut c[i * n + j0..i * n + j1];
                    for k in k0..k1 {
                        let x = a[i * n + k];
                        for (c, b) in c_row.iter_mut().zip(&b[k * n + j0..k * n + j1]) {
                            *c += x * b;
                        }
                    }
                }
            }
        }
    }
}

type Kernel = fn(usize, &[f64], &[f64], &mut [f64]);

fn main() {
    let n = std::env::args().nth(1).map_or(128, |arg| arg.parse().expect("the size is a number"));
    let variants: [(&str, Kernel); 3] = [("i-j-k", matmul_ijk), ("i-k-j", matmul_ikj), ("tiled", matmul_tiled)];
    let (mut a, mut b, mut c) = (vec![0.0; n * n], vec![0.0; n * n], vec![0.0; n * n]);
    for (name, kernel) in black_box(variants) {
        // Every variant starts from the same stack: A below B below C, freshly written.
        fill(&mut a, 7);
        fill(&mut b, 11);
        fill(&mut c, 0);
        kernel(n, &a, &b, &mut c);
        let checksum: f64 = c.iter().enumerate().map(|(i, x)| x * (i % 5 + 1) as f64).sum();
        println!("{name} {n}: {checksum}");
    }
}
