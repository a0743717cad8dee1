//! Dot product, all products first, then added pairwise.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show, vector};

fn dot_tree(n: usize, a: &[f64], b: &[f64]) -> f64 {
    let t = vector(n);
    let mut i = 0;
    while i < n {
        t[i] = a[i] * b[i];
        i += 1;
    }
    let mut left = n / 2;
    while left >= 1 {
        let mut i = 0;
        while i < left {
            t[i] = t[2 * i] + t[2 * i + 1];
            i += 1;
        }
        left /= 2;
    }
    t[0]
}

fn main() {
    let n = parameter("n");
    let (a, b) = (input(n), input(n));
    begin(c"dot_tree");
    let s = dot_tree(n, a, b);
    output(from_ref(&s));
    end(c"dot_tree");
    show(from_ref(&s));
}
