//! r = xs[i]: an input used as an index.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::show;

fn index_escape(xs: &[f64], i: usize) -> f64 {
    // SAFETY: `main` passes an index that is in bounds. (The check would be an instruction of its own.)
    unsafe { *xs.as_ptr().wrapping_add(i) }
}

fn main() {
    let xs = kernel::input(3);
    let i = 1;
    input(from_ref(&i));
    begin(c"index_escape");
    let r = index_escape(xs, i);
    output(from_ref(&r));
    end(c"index_escape");
    show(from_ref(&r));
}
