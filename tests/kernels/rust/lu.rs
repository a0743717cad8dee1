//! LU factors of A without pivoting, in a copy.

mod kernel;

use dmdprof_markers::{begin, end, input, output};
use kernel::{filled, parameter, show, vector};

fn lu(n: usize, original: &[f64], a: &mut [f64]) {
    a.copy_from_slice(original);
    let mut k = 0;
    while k < n {
        let mut i = k + 1;
        while i < n {
            a[i * n + k] = a[i * n + k] / a[k * n + k];
            let mut j = k + 1;
            while j < n {
                a[i * n + j] = a[i * n + j] - a[i * n + k] * a[k * n + j];
                j += 1;
            }
            i += 1;
        }
        k += 1;
    }
}

fn main() {
    let n = parameter("n");
    let (a, factors) = (filled(n * n), vector(n * n));
    let mut i = 0;
    while i < n {
        a[i * n + i] += (2 * n) as f64; // no small pivot
        i += 1;
    }
    input(a);
    begin(c"lu");
    lu(n, a, factors);
    output(factors);
    end(c"lu");
    show(factors);
}
