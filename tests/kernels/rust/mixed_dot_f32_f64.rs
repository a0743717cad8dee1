//! Dot product of 4-byte numbers, converted to 8 bytes one by one.

mod kernel;

use std::slice::from_ref;

use dmdprof_markers::{begin, end, input, output};
use kernel::{parameter, room, show};

fn mixed_dot_f32_f64(n: usize, a: &[f32], b: &[f32]) -> f64 {
    let mut s = 0.0;
    let mut i = 0;
    while i < n {
        let (ca, cb) = (a[i] as f64, b[i] as f64);
        let p = ca * cb;
        s = if i == 0 { p } else { s + p };
        i += 1;
    }
    s
}

fn main() {
    let n = parameter("n");
    let (a, b) = (room::<f32>(n), room::<f32>(n));
    let mut i = 0;
    while i < n {
        a[i] = 1.0 + i as f32 / 16.0;
        b[i] = 2.0 - i as f32 / 32.0;
        i += 1;
    }
    input(a);
    input(b);
    begin(c"mixed_dot_f32_f64");
    let s = mixed_dot_f32_f64(n, a, b);
    output(from_ref(&s));
    end(c"mixed_dot_f32_f64");
    show(from_ref(&s));
}
