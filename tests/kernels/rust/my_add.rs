//! r = (a + b) + c.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::show;

fn my_add(a: f64, b: f64, c: f64) -> f64 {
    let t = a + b;
    t + c
}

fn main() {
    let (a, b, c) = (1.0, 2.0, 3.0);
    input(from_ref(&a));
    input(from_ref(&b));
    input(from_ref(&c));
    begin(c"my_add");
    let r = my_add(a, b, c);
    output(from_ref(&r));
    end(c"my_add");
    show(from_ref(&r));
}
