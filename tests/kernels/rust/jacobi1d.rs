//! T sweeps of averaging three neighbours; the ends stay.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show, vector};

fn jacobi1d(n: usize, sweeps: usize, mut u: &'static [f64]) -> &'static [f64] {
    let mut sweep = 0;
    while sweep < sweeps {
        let v = vector(n);
        let mut i = 1;
        while i + 1 < n {
            v[i] = (u[i - 1] + u[i] + u[i + 1]) * (1.0 / 3.0);
            i += 1;
        }
        v[0] = u[0];
        v[n - 1] = u[n - 1];
        u = v;
        sweep += 1;
    }
    u
}

fn main() {
    let (n, sweeps) = (parameter("n"), parameter("T"));
    let u = input(n);
    begin(c"jacobi1d");
    let result = jacobi1d(n, sweeps, u);
    output(result);
    end(c"jacobi1d");
    show(result);
}
