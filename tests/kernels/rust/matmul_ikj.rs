//! C = A B, a row of C from the rows of B; a first contribution is stored, not added.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show, vector};

fn matmul_ikj(n: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    let mut i = 0;
    while i < n {
        let mut k = 0;
        while k < n {
            let mut j = 0;
            while j < n {
                let p = a[i * n + k] * b[k * n + j];
                c[i * n + j] = if k == 0 { p } else { c[i * n + j] + p };
                j += 1;
            }
            k += 1;
        }
        i += 1;
    }
}

fn main() {
    let n = parameter("n");
    let (a, b, c) = (input(n * n), input(n * n), vector(n * n));
    begin(c"matmul_ikj");
    matmul_ikj(n, a, b, c);
    output(c);
    end(c"matmul_ikj");
    show(c);
}
