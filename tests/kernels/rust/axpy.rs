//! r = alpha x + y.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::{parameter, show, vector};

fn axpy(n: usize, alpha: f64, x: &[f64], y: &[f64], r: &mut [f64]) {
    let mut i = 0;
    while i < n {
        r[i] = alpha * x[i] + y[i];
        i += 1;
    }
}

fn main() {
    let n = parameter("n");
    let alpha = 3.0;
    input(from_ref(&alpha));
    let (x, y, r) = (kernel::input(n), kernel::input(n), vector(n));
    begin(c"axpy");
    axpy(n, alpha, x, y, r);
    output(r);
    end(c"axpy");
    show(r);
}
