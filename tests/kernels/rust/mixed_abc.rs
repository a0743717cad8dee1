//! r = ldexp(ldexp(a, b), c): operands of 8, 4 and 1 bytes, each instruction with two of them.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::show;

// No machine instruction adds numbers of different widths, but ldexp takes a double and an integer. The second name
// takes the integer as one byte, which the caller widens as it passes it.
#[allow(clashing_extern_declarations)]
unsafe extern "C" {
    safe fn ldexp(x: f64, exponent: i32) -> f64;
    #[link_name = "ldexp"]
    safe fn ldexp_byte(x: f64, exponent: i8) -> f64;
}

fn mixed_abc(a: f64, b: i32, c: i8) -> f64 {
    let t = ldexp(a, b);
    ldexp_byte(t, c)
}

fn main() {
    let (a, b, c) = (1.5, 2, 3);
    input(from_ref(&a));
    input(from_ref(&b));
    input(from_ref(&c));
    begin(c"mixed_abc");
    let r = mixed_abc(a, b, c);
    output(from_ref(&r));
    end(c"mixed_abc");
    show(from_ref(&r));
}
