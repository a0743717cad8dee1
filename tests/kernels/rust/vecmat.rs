//! y = x A, column by column.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show, vector};

fn vecmat(n: usize, a: &[f64], x: &[f64], y: &mut [f64]) {
    let mut j = 0;
    while j < n {
        let mut s = x[0] * a[j];
        let mut i = 1;
        while i < n {
            s += x[i] * a[i * n + j];
            i += 1;
        }
        y[j] = s;
        j += 1;
    }
}

fn main() {
    let n = parameter("n");
    let (a, x, y) = (input(n * n), input(n), vector(n));
    begin(c"vecmat");
    vecmat(n, a, x, y);
    output(y);
    end(c"vecmat");
    show(y);
}
