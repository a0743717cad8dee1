//! C = A B by Winograd's form of Strassen's products, down to single elements.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{block, difference, input, parameter, place, show, sum, vector};

fn winograd(n: usize, a: &[f64], b: &[f64]) -> &'static [f64] {
    let c = vector(n * n);
    if n == 1 {
        c[0] = a[0] * b[0];
        return c;
    }
    let h = n / 2;
    let (a11, a12, a21, a22) = (block(h, a, 0, 0), block(h, a, 0, 1), block(h, a, 1, 0), block(h, a, 1, 1));
    let (b11, b12, b21, b22) = (block(h, b, 0, 0), block(h, b, 0, 1), block(h, b, 1, 0), block(h, b, 1, 1));
    let v1 = difference(h, b22, b12);
    let v2 = sum(h, v1, b11);
    let v3 = difference(h, v2, b21);
    let v4 = difference(h, b12, b11);
    let u1 = difference(h, a11, a21);
    let u2 = sum(h, a21, a22);
    let u3 = difference(h, u1, a22);
    let u4 = sum(h, u3, a12);
    let p1 = winograd(h, a11, b11);
    let p2 = winograd(h, a12, b21);
    let p3 = winograd(h, a22, v3);
    let p4 = winograd(h, u1, v1);
    let p5 = winograd(h, u2, v4);
    let p6 = winograd(h, u4, b22);
    let p7 = winograd(h, u3, v2);
    let t1 = difference(h, p1, p7);
    let t2 = sum(h, t1, p5);
    place(h, c, 0, 0, sum(h, p1, p2));
    place(h, c, 0, 1, sum(h, t2, p6));
    place(h, c, 1, 0, sum(h, difference(h, t1, p3), p4));
    place(h, c, 1, 1, sum(h, t2, p4));
    c
}

fn main() {
    let n = parameter("n");
    let (a, b) = (input(n * n), input(n * n));
    begin(c"winograd");
    let c = winograd(n, a, b);
    output(c);
    end(c"winograd");
    show(c);
}
