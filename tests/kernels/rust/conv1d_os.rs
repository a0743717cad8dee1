//! Convolution out = in * f of Q outputs and S taps, one output after the other.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show, vector};

fn conv1d_os(outputs: usize, taps: usize, x: &[f64], f: &[f64], y: &mut [f64]) {
    let mut q = 0;
    while q < outputs {
        let mut a = x[q] * f[0];
        let mut s = 1;
        while s < taps {
            a += x[q + s] * f[s];
            s += 1;
        }
        y[q] = a;
        q += 1;
    }
}

fn main() {
    let (outputs, taps) = (parameter("Q"), parameter("S"));
    let (x, f, y) = (input(outputs + taps - 1), input(taps), vector(outputs));
    begin(c"conv1d_os");
    conv1d_os(outputs, taps, x, f, y);
    output(y);
    end(c"conv1d_os");
    show(y);
}
