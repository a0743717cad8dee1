//! r = b + c, after a product that nobody uses.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::show;

fn dead_result(a: f64, b: f64, c: f64) -> f64 {
    let _t = a * b;
    b + c
}

fn main() {
    let (a, b, c) = (1.0, 2.0, 3.0);
    input(from_ref(&a));
    input(from_ref(&b));
    input(from_ref(&c));
    begin(c"dead_result");
    let r = dead_result(a, b, c);
    output(from_ref(&r));
    end(c"dead_result");
    show(from_ref(&r));
}
