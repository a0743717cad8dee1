//! The polynomial with coefficients c[0..n] at x, by Horner's rule.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::{parameter, show};

fn horner(n: usize, c: &[f64], x: f64) -> f64 {
    let mut r = c[n];
    let mut i = n;
    while i > 0 {
        i -= 1;
        r = r * x + c[i];
    }
    r
}

fn main() {
    let n = parameter("n");
    let c = kernel::input(n + 1);
    let x = 0.5;
    input(from_ref(&x));
    begin(c"horner");
    let r = horner(n, c, x);
    output(from_ref(&r));
    end(c"horner");
    show(from_ref(&r));
}
