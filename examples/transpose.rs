//! Transpose of an n x n matrix of doubles: by rows of the result, and in square blocks.
//!
//!     dmdprof run examples/transpose.rs [n]          (default n = 512)
//!
//! What it must cost (ByteDMD, leading order): each of the 8 n^2 bytes is read exactly once, and between its writing and
//! its reading lies a constant fraction of the two matrices. For element (x n, y n) of the source, read by columns, the
//! depth is 8 n^2 ((1 - x)(1 - y) + 2 y): what was written after it and is not yet read, what was read before it, and the
//! result so far. The mean root of that bracket is about 1.09, so both variants cost about 8 n^2 * 1.09 sqrt(8) n.
//! Blocking does not change it: with nothing read twice, no order of the reads saves bytes.
//!
//! Measured at the default size, with the distance of the formula. The numbers are exact and the same in C (clang 14 to
//! 19) and in Rust, because both make the same accesses.
//!
//!     cost transpose_naive   3325975883 formula -0.5 %
//!     cost transpose_blocked 3338547123 formula -0.8 %
//!
//! The difference that everybody knows is a difference of *lines*: beyond 32 KiB, `transpose_naive` walks down a
//! column and finds each line again, for its second to eighth double, only after a whole column of n lines and
//! n / 8 lines of result, while `transpose_blocked` finds it again after BLOCK lines (and BLOCK / 8 of result).
//!
//! To try: compare the lines of the two functions; n = 4096 with the traffic curve, where the naive variant needs a
//! cache of 64 n bytes to read every line once and the blocked one a cache of 64 BLOCK bytes.

const BLOCK: usize = 16;

#[inline(never)]
fn fill(m: &mut [f64]) {
    for (i, x) in m.iter_mut().enumerate() {
        *x = (i * 7 % 1021) as f64;
    }
}

#[inline(never)]
fn transpose_naive(n: usize, from: &[f64], to: &mut [f64]) {
    for i in 0..n {
        for j in 0..n {
            to[i * n + j] = from[j * n + i];
        }
    }
}

#[inline(never)]
fn transpose_blocked(n: usize, from: &[f64], to: &mut [f64]) {
    for i0 in (0..n).step_by(BLOCK) {
        for j0 in (0..n).step_by(BLOCK) {
            for i in i0..(i0 + BLOCK).min(n) {
                for j in j0..(j0 + BLOCK).min(n) {
                    to[i * n + j] = from[j * n + i];
                }
            }
        }
    }
}

fn report(name: &str, n: usize, m: &[f64]) {
    let sum: f64 = m.iter().enumerate().map(|(i, x)| x * (i % 7 + 1) as f64).sum();
    println!("{name} {n}: {sum}");
}

fn main() {
    let n: usize = std::env::args().nth(1).map_or(512, |arg| arg.parse().expect("the size is a number"));
    let (mut from, mut to) = (vec![0.0; n * n], vec![0.0; n * n]);

    // Both variants start from the same stack: the result below the source, freshly written.
    fill(&mut to);
    fill(&mut from);
    transpose_naive(n, &from, &mut to);
    report("naive", n, &to);

    fill(&mut to);
    fill(&mut from);
    transpose_blocked(n, &from, &mut to);
    report("blocked", n, &to);
}
