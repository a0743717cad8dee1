//! r = b + c > a + d: the comparison is an instruction with a result.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::show;

fn composite(a: f64, b: f64, c: f64, d: f64) -> bool {
    let e = b + c;
    let f = a + d;
    e > f
}

fn main() {
    let (a, b, c, d) = (1.0, 2.0, 3.0, 4.0);
    input(from_ref(&a));
    input(from_ref(&b));
    input(from_ref(&c));
    input(from_ref(&d));
    begin(c"composite");
    let r = composite(a, b, c, d);
    output(from_ref(&r));
    end(c"composite");
    show(from_ref(&r));
}
