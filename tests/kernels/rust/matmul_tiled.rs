//! C = A B in t x t tiles; a first contribution is stored, not added.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show, vector};

type Corner = (usize, usize, usize);

fn tile(n: usize, t: usize, a: &[f64], b: &[f64], c: &mut [f64], (bi, bj, bk): Corner) {
    let mut i = bi;
    while i < bi + t {
        let mut j = bj;
        while j < bj + t {
            let mut k = bk;
            while k < bk + t {
                let p = a[i * n + k] * b[k * n + j];
                c[i * n + j] = if k == 0 { p } else { c[i * n + j] + p };
                k += 1;
            }
            j += 1;
        }
        i += 1;
    }
}

fn matmul_tiled(n: usize, t: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    let mut bi = 0;
    while bi < n {
        let mut bj = 0;
        while bj < n {
            let mut bk = 0;
            while bk < n {
                tile(n, t, a, b, c, (bi, bj, bk));
                bk += t;
            }
            bj += t;
        }
        bi += t;
    }
}

fn main() {
    let (n, t) = (parameter("n"), parameter("t"));
    let (a, b, c) = (input(n * n), input(n * n), vector(n * n));
    begin(c"matmul_tiled");
    matmul_tiled(n, t, a, b, c);
    output(c);
    end(c"matmul_tiled");
    show(c);
}
