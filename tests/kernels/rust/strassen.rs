//! C = A B by Strassen's seven products, down to blocks of `leaf`.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{block, difference, input, parameter, place, show, sum, vector};

fn matmul_ijk(n: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    let mut i = 0;
    while i < n {
        let mut j = 0;
        while j < n {
            let mut s = a[i * n] * b[j];
            let mut k = 1;
            while k < n {
                s += a[i * n + k] * b[k * n + j];
                k += 1;
            }
            c[i * n + j] = s;
            j += 1;
        }
        i += 1;
    }
}

fn strassen(n: usize, leaf: usize, a: &[f64], b: &[f64]) -> &'static [f64] {
    let c = vector(n * n);
    if n <= leaf {
        matmul_ijk(n, a, b, c);
        return c;
    }
    let h = n / 2;
    let (a11, a12, a21, a22) = (block(h, a, 0, 0), block(h, a, 0, 1), block(h, a, 1, 0), block(h, a, 1, 1));
    let (b11, b12, b21, b22) = (block(h, b, 0, 0), block(h, b, 0, 1), block(h, b, 1, 0), block(h, b, 1, 1));
    let (left, right) = (sum(h, a11, a22), sum(h, b11, b22));
    let m1 = strassen(h, leaf, left, right);
    let left = sum(h, a21, a22);
    let m2 = strassen(h, leaf, left, b11);
    let right = difference(h, b12, b22);
    let m3 = strassen(h, leaf, a11, right);
    let right = difference(h, b21, b11);
    let m4 = strassen(h, leaf, a22, right);
    let left = sum(h, a11, a12);
    let m5 = strassen(h, leaf, left, b22);
    let (left, right) = (difference(h, a21, a11), sum(h, b11, b12));
    let m6 = strassen(h, leaf, left, right);
    let (left, right) = (difference(h, a12, a22), sum(h, b21, b22));
    let m7 = strassen(h, leaf, left, right);
    place(h, c, 0, 0, sum(h, difference(h, sum(h, m1, m4), m5), m7));
    place(h, c, 0, 1, sum(h, m3, m5));
    place(h, c, 1, 0, sum(h, m2, m4));
    place(h, c, 1, 1, sum(h, sum(h, difference(h, m1, m2), m3), m6));
    c
}

fn main() {
    let (n, leaf) = (parameter("n"), parameter("leaf"));
    let (a, b) = (input(n * n), input(n * n));
    begin(c"strassen");
    let c = strassen(n, leaf, a, b);
    output(c);
    end(c"strassen");
    show(c);
}
