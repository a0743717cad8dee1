//! Dot product with two accumulators, for the even and the odd elements.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show};

fn dot_2acc(n: usize, a: &[f64], b: &[f64]) -> f64 {
    let mut s0 = a[0] * b[0];
    let mut s1 = a[1] * b[1];
    let mut i = 2;
    while i < n {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        i += 2;
    }
    s0 + s1
}

fn main() {
    let n = parameter("n");
    let (a, b) = (input(n), input(n));
    begin(c"dot_2acc");
    let s = dot_2acc(n, a, b);
    output(from_ref(&s));
    end(c"dot_2acc");
    show(from_ref(&s));
}
