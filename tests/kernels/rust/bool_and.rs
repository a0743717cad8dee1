//! r = a and b with a false: a branch on an input; b is never read.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::show;

fn bool_and(a: &bool, b: &bool) -> bool {
    if *a { *b } else { *a }
}

fn main() {
    let (a, b) = (false, true);
    input(from_ref(&a));
    input(from_ref(&b));
    begin(c"bool_and");
    let r = bool_and(&a, &b);
    output(from_ref(&r));
    end(c"bool_and");
    show(from_ref(&r));
}
