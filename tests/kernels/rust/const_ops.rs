//! u = 10 - 10a: constants are free and never on the stack.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::show;

fn const_ops(a: f64) -> f64 {
    let t = a * 10.0;
    10.0 - t
}

fn main() {
    let a = 5.0;
    input(from_ref(&a));
    begin(c"const_ops");
    let u = const_ops(a);
    output(from_ref(&u));
    end(c"const_ops");
    show(from_ref(&u));
}
