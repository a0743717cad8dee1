//! (q, r) = divmod(a, b), then (q + r) + a: one instruction with two results.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::show;

#[repr(C)]
struct Division {
    quotient: i64,
    remainder: i64,
}

unsafe extern "C" {
    safe fn ldiv(a: i64, b: i64) -> Division;
}

fn divmod_chain(a: i64, b: i64) -> i64 {
    let d = ldiv(a, b);
    let t = d.quotient + d.remainder;
    t + a
}

fn main() {
    let (a, b) = (10, 3);
    input(from_ref(&a));
    input(from_ref(&b));
    begin(c"divmod_chain");
    let u = divmod_chain(a, b);
    output(from_ref(&u));
    end(c"divmod_chain");
    show(from_ref(&u));
}
