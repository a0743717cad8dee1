//! Dot product as a sum that starts at 0: the first addition has one tracked operand.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show};

fn dot_sum(n: usize, a: &[f64], b: &[f64]) -> f64 {
    let mut s = 0.0;
    let mut i = 0;
    while i < n {
        s += a[i] * b[i];
        i += 1;
    }
    s
}

fn main() {
    let n = parameter("n");
    let (a, b) = (input(n), input(n));
    begin(c"dot_sum");
    let s = dot_sum(n, a, b);
    output(from_ref(&s));
    end(c"dot_sum");
    show(from_ref(&s));
}
