//! Cholesky factor of A, right-looking, in a copy; the lower triangle is returned row by row.

mod kernel;

use dmdprof_markers::{begin, end, input, output};
use kernel::{parameter, show, vector};

fn cholesky(n: usize, original: &[f64], a: &mut [f64]) {
    a.copy_from_slice(original);
    let mut k = 0;
    while k < n {
        a[k * n + k] = a[k * n + k].powf(0.5);
        let mut i = k + 1;
        while i < n {
            a[i * n + k] = a[i * n + k] / a[k * n + k];
            i += 1;
        }
        let mut j = k + 1;
        while j < n {
            let mut i = j;
            while i < n {
                a[i * n + j] = a[i * n + j] - a[i * n + k] * a[j * n + k];
                i += 1;
            }
            j += 1;
        }
        k += 1;
    }
}

fn main() {
    let n = parameter("n");
    let (a, factor) = (vector(n * n), vector(n * n));
    for i in 0..n {
        for j in 0..n {
            a[i * n + j] = if i == j { (2 * n) as f64 } else { 1.0 / (1 + i + j) as f64 };
        }
    }
    input(a);
    begin(c"cholesky");
    cholesky(n, a, factor);
    let mut i = 0;
    while i < n {
        output(&factor[i * n..=i * n + i]);
        i += 1;
    }
    end(c"cholesky");
    for i in 0..n {
        show(&factor[i * n..=i * n + i]);
    }
}
