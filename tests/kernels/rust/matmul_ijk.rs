//! C = A B, one element of C after the other.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show, vector};

fn matmul_ijk(n: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    let mut i = 0;
    while i < n {
        let mut j = 0;
        while j < n {
            let mut s = a[i * n] * b[j];
            let mut k = 1;
            while k < n {
                s += a[i * n + k] * b[k * n + j];
                k += 1;
            }
            c[i * n + j] = s;
            j += 1;
        }
        i += 1;
    }
}

fn main() {
    let n = parameter("n");
    let (a, b, c) = (input(n * n), input(n * n), vector(n * n));
    begin(c"matmul_ijk");
    matmul_ijk(n, a, b, c);
    output(c);
    end(c"matmul_ijk");
    show(c);
}
