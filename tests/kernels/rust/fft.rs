//! Fourier transform of re + i im, radix 2, decimation in time, on a bit-reversed copy.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show, vector};

fn reversed(mut i: usize, n: usize) -> usize {
    let mut r = 0;
    let mut bit = 1;
    while bit < n {
        r = 2 * r + (i & 1);
        i /= 2;
        bit *= 2;
    }
    r
}

fn butterfly(re: &mut [f64], im: &mut [f64], p: usize, q: usize, (wr, wi): (f64, f64)) {
    let (a, b, c, d) = (re[p], im[p], re[q], im[q]);
    let (t1, t2) = (c * wr, d * wi);
    let tr = t1 - t2;
    let (t3, t4) = (c * wi, d * wr);
    let ti = t3 + t4;
    re[q] = a - tr;
    im[q] = b - ti;
    re[p] = a + tr;
    im[p] = b + ti;
}

fn fft(n: usize, (re, im): (&[f64], &[f64]), outre: &mut [f64], outim: &mut [f64]) {
    let mut i = 0;
    while i < n {
        outre[i] = re[reversed(i, n)];
        outim[i] = im[reversed(i, n)];
        i += 1;
    }
    let mut length = 2;
    while length <= n {
        let mut start = 0;
        while start < n {
            let mut j = 0;
            while j < length / 2 {
                let angle = -2.0 * 3.141592653589793 * j as f64 / length as f64;
                let twiddle = (angle.cos(), angle.sin());
                butterfly(outre, outim, start + j, start + j + length / 2, twiddle);
                j += 1;
            }
            start += length;
        }
        length *= 2;
    }
}

fn main() {
    let n = parameter("n");
    let (re, im, outre, outim) = (input(n), input(n), vector(n), vector(n));
    begin(c"fft");
    fft(n, (re, im), outre, outim);
    output(outre);
    output(outim);
    end(c"fft");
    show(outre);
    show(outim);
}
