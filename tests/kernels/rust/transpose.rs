//! B = transpose of A: moves only.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{parameter, show, vector};

fn transpose(n: usize, a: &[f64], b: &mut [f64]) {
    let mut i = 0;
    while i < n {
        let mut j = 0;
        while j < n {
            b[i * n + j] = a[j * n + i];
            j += 1;
        }
        i += 1;
    }
}

fn main() {
    let n = parameter("n");
    let (a, b) = (kernel::input(n * n), vector(n * n));
    begin(c"transpose");
    transpose(n, a, b);
    output(b);
    end(c"transpose");
    show(b);
}
