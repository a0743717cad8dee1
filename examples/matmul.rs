//! Matrix product C = A B of n x n doubles: i-j-k, i-k-j and tiled.
//!
//!     dmdprof run examples/matmul.rs [n]          (default n = 128)
//!
//! What each variant must cost (ByteDMD, leading order). A double is 8 bytes at neighbouring depths, so reading it at
//! depth D costs 8 sqrt(D):
//!
//! - `matmul_ijk`: n^3 reads of A at depth 16 n (one row of A and one column of B since the last time), n^3 reads of B at
//!   depth 8 n^2 (all of B): 8 n^3 (sqrt(8) n + 4 sqrt(n)).
//! - `matmul_ikj`: n^3 reads of C at depth 16 n (one row of C, one row of B), n^3 reads of B at depth 8 n^2: the same.
//! - `matmul_tiled`, with T = TILE: B at depth 8 T^2 and C at depth 16 T inside a tile; once per visit of a tile B comes
//!   from depth 8 n^2, C from 16 T n and A from 24 T^2, n^3 / T times each:
//!   8 n^3 (sqrt(8) (T + n / T) + 4 (sqrt(T) + sqrt(n / T)) + 5).
//!
//! So the two plain orders cost the same to first order: both drag the whole of B past every row of C, and the cost of
//! a byte does not depend on its neighbours. Tiling replaces n by T + n / T, least at T = sqrt(n): n^4 becomes n^3.5.
//!
//! Measured at the default size, with the distance of the formula. The numbers are exact and the same in C (clang 14 to
//! 19) and in Rust, because both make the same accesses.
//!
//!     cost matmul_ijk   7019846664 formula  -2.7 %
//!     cost matmul_ikj   7098918814 formula  -3.7 %
//!     cost matmul_tiled 1918246248 formula -12.4 %
//!
//! What the formula leaves out: the first read of each element, from below everything (8 n^2 sqrt(24) n for A), the rows
//! of A and C in between, which beside a small tile are not small, and that roots are rounded up.
//!
//! To try: other sizes (doubling n multiplies the plain orders by almost 16, the tiled one by less); another TILE;
//! the lines beyond 32 KiB, where i-j-k, which walks B by columns, falls behind i-k-j.

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

fn report(name: &str, n: usize, c: &[f64]) {
    let checksum: f64 = c.iter().enumerate().map(|(i, x)| x * (i % 5 + 1) as f64).sum();
    println!("{name} {n}: {checksum}");
}

fn main() {
    let n = std::env::args().nth(1).map_or(128, |arg| arg.parse().expect("the size is a number"));
    let (mut a, mut b, mut c) = (vec![0.0; n * n], vec![0.0; n * n], vec![0.0; n * n]);

    // Every variant starts from the same stack: A below B below C, freshly written.
    fill(&mut a, 7);
    fill(&mut b, 11);
    fill(&mut c, 0);
    matmul_ijk(n, &a, &b, &mut c);
    report("i-j-k", n, &c);

    fill(&mut a, 7);
    fill(&mut b, 11);
    fill(&mut c, 0);
    matmul_ikj(n, &a, &b, &mut c);
    report("i-k-j", n, &c);

    fill(&mut a, 7);
    fill(&mut b, 11);
    fill(&mut c, 0);
    matmul_tiled(n, &a, &b, &mut c);
    report("tiled", n, &c);
}
