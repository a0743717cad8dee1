//! C = A B of 1-byte integers, converted to 4 bytes at each use.

mod kernel;

use dmdprof_markers::{begin, end, input, output};
use kernel::{parameter, room, show};

fn mixed_gemm_i8_i32(n: usize, a: &[i8], b: &[i8], c: &mut [i32]) {
    let mut i = 0;
    while i < n {
        let mut j = 0;
        while j < n {
            let mut s = 0;
            let mut k = 0;
            while k < n {
                let (ca, cb) = (a[i * n + k] as i32, b[k * n + j] as i32);
                let p = ca * cb;
                s = if k == 0 { p } else { s + p };
                k += 1;
            }
            c[i * n + j] = s;
            j += 1;
        }
        i += 1;
    }
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
    let (a, b, c) = (bytes(n * n), bytes(n * n), room::<i32>(n * n));
    begin(c"mixed_gemm_i8_i32");
    mixed_gemm_i8_i32(n, a, b, c);
    output(c);
    end(c"mixed_gemm_i8_i32");
    show(c);
}
