//! Sum of R rounds over a, always ascending: the worst case of LRU.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show};

fn cyclic_scan(n: usize, rounds: usize, a: &[f64]) -> f64 {
    let mut s = a[0];
    let mut visit = 1;
    while visit < n * rounds {
        s += a[visit % n];
        visit += 1;
    }
    s
}

fn main() {
    let (n, rounds) = (parameter("n"), parameter("R"));
    let a = input(n);
    begin(c"cyclic_scan");
    let s = cyclic_scan(n, rounds, a);
    output(from_ref(&s));
    end(c"cyclic_scan");
    show(from_ref(&s));
}
