//! r[i] = a[i] + s; both r and a are returned.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::{show, vector};

fn return_inputs(a: &[f64], s: f64, r: &mut [f64]) {
    let mut i = 0;
    while i < 4 {
        r[i] = a[i] + s;
        i += 1;
    }
}

fn main() {
    let (a, r) = (kernel::input(4), vector(4));
    let s = 5.0;
    input(from_ref(&s));
    begin(c"return_inputs");
    return_inputs(a, s, r);
    output(r);
    output(a);
    end(c"return_inputs");
    show(r);
}
