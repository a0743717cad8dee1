//! Convolution out = in * f of Q outputs and S taps, one tap after the other.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show, vector};

fn conv1d_ws(outputs: usize, taps: usize, x: &[f64], f: &[f64], y: &mut [f64]) {
    let mut s = 0;
    while s < taps {
        let mut q = 0;
        while q < outputs {
            let p = x[q + s] * f[s];
            y[q] = if s == 0 { p } else { y[q] + p };
            q += 1;
        }
        s += 1;
    }
}

fn main() {
    let (outputs, taps) = (parameter("Q"), parameter("S"));
    let (x, f, y) = (input(outputs + taps - 1), input(taps), vector(outputs));
    begin(c"conv1d_ws");
    conv1d_ws(outputs, taps, x, f, y);
    output(y);
    end(c"conv1d_ws");
    show(y);
}
