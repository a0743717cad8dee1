//! r = 2a if a > 0, otherwise a: a branch on a comparison.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::{number, show};

fn relu_branch(a: f64) -> f64 {
    if a > 0.0 { a * 2.0 } else { a }
}

fn main() {
    let a = number("value") as f64;
    input(from_ref(&a));
    begin(c"relu_branch");
    let r = relu_branch(a);
    output(from_ref(&r));
    end(c"relu_branch");
    show(from_ref(&r));
}
