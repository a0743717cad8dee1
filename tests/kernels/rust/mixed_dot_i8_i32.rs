//! Dot product of 1-byte integers, converted to 4 bytes one by one.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::{parameter, room, show};

fn mixed_dot_i8_i32(n: usize, a: &[i8], b: &[i8]) -> i32 {
    let mut s = 0;
    let mut i = 0;
    while i < n {
        let (ca, cb) = (a[i] as i32, b[i] as i32);
        let p = ca * cb;
        s = if i == 0 { p } else { s + p };
        i += 1;
    }
    s
}

fn bytes(n: usize) -> &'static [i8] {
    let x = room(n);
    let mut i = 0;
    while i < n {
        x[i] = (1 + i % 7) as i8;
        i += 1;
    }
    input(x);
    x
}

fn main() {
    let n = parameter("n");
    let (a, b) = (bytes(n), bytes(n));
    begin(c"mixed_dot_i8_i32");
    let s = mixed_dot_i8_i32(n, a, b);
    output(from_ref(&s));
    end(c"mixed_dot_i8_i32");
    show(from_ref(&s));
}
