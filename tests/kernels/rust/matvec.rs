//! y = A x, row by row.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show, vector};

fn matvec(n: usize, a: &[f64], x: &[f64], y: &mut [f64]) {
    let mut i = 0;
    while i < n {
        let mut s = a[i * n] * x[0];
        let mut j = 1;
        while j < n {
            s += a[i * n + j] * x[j];
            j += 1;
        }
        y[i] = s;
        i += 1;
    }
}

fn main() {
    let n = parameter("n");
    let (a, x, y) = (input(n * n), input(n), vector(n));
    begin(c"matvec");
    matvec(n, a, x, y);
    output(y);
    end(c"matvec");
    show(y);
}
