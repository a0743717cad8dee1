//! r = a + a: one operand twice, charged twice.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::show;

fn dup_add(a: f64) -> f64 {
    a + a
}

fn main() {
    let a = 3.0;
    input(from_ref(&a));
    begin(c"dup_add");
    let r = dup_add(a);
    output(from_ref(&r));
    end(c"dup_add");
    show(from_ref(&r));
}
