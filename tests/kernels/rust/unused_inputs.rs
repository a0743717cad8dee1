//! r = a[2] + b: the other elements of a are never read.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::show;

fn unused_inputs(a: &[f64], b: f64) -> f64 {
    a[2] + b
}

fn main() {
    let a = kernel::input(4);
    let b = 5.0;
    input(from_ref(&b));
    begin(c"unused_inputs");
    let r = unused_inputs(a, b);
    output(from_ref(&r));
    end(c"unused_inputs");
    show(from_ref(&r));
}
