//! C = A B by eight products of half the size, down to single elements.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{block, input, parameter, place, show, sum, vector};

fn matmul_rec8(n: usize, a: &[f64], b: &[f64]) -> &'static [f64] {
    let c = vector(n * n);
    if n == 1 {
        c[0] = a[0] * b[0];
        return c;
    }
    let h = n / 2;
    let mut i = 0;
    while i < 2 {
        let mut j = 0;
        while j < 2 {
            let first = matmul_rec8(h, block(h, a, i, 0), block(h, b, 0, j));
            let second = matmul_rec8(h, block(h, a, i, 1), block(h, b, 1, j));
            place(h, c, i, j, sum(h, first, second));
            j += 1;
        }
        i += 1;
    }
    c
}

fn main() {
    let n = parameter("n");
    let (a, b) = (input(n * n), input(n * n));
    begin(c"matmul_rec8");
    let c = matmul_rec8(n, a, b);
    output(c);
    end(c"matmul_rec8");
    show(c);
}
