//! Sum of R rounds over a, odd rounds descending.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show};

fn zigzag_scan(n: usize, rounds: usize, a: &[f64]) -> f64 {
    let mut s = a[0];
    let mut visit = 1;
    while visit < n * rounds {
        let i = visit % n;
        s += a[if visit / n % 2 == 0 { i } else { n - 1 - i }];
        visit += 1;
    }
    s
}

fn main() {
    let (n, rounds) = (parameter("n"), parameter("R"));
    let a = input(n);
    begin(c"zigzag_scan");
    let s = zigzag_scan(n, rounds, a);
    output(from_ref(&s));
    end(c"zigzag_scan");
    show(from_ref(&s));
}
