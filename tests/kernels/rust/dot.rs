//! Dot product.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show};

fn dot(n: usize, a: &[f64], b: &[f64]) -> f64 {
    let mut s = a[0] * b[0];
    let mut i = 1;
    while i < n {
        s += a[i] * b[i];
        i += 1;
    }
    s
}

fn main() {
    let n = parameter("n");
    let (a, b) = (input(n), input(n));
    begin(c"dot");
    let s = dot(n, a, b);
    output(from_ref(&s));
    end(c"dot");
    show(from_ref(&s));
}
