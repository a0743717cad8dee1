//! Attention with the whole N x N matrix of scores; squares stand for exp and reciprocal.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show, vector};

fn attn_naive(n: usize, d: usize, (q, k, v): (&[f64], &[f64], &[f64]), o: &mut [f64]) {
    let scale = 1.0 / (d as f64).sqrt();
    let (s, p) = (vector(n * n), vector(n * n));
    let mut i = 0;
    while i < n {
        let mut j = 0;
        while j < n {
            let mut a = q[i * d] * k[j * d];
            let mut c = 1;
            while c < d {
                a += q[i * d + c] * k[j * d + c];
                c += 1;
            }
            s[i * n + j] = a * scale;
            j += 1;
        }
        i += 1;
    }
    let mut i = 0;
    while i < n {
        let row = &s[i * n..];
        let mut m = row[0];
        let mut j = 1;
        while j < n {
            let _unused = row[j] - m;
            m = m.max(row[j]);
            j += 1;
        }
        let mut total = 0.0;
        let mut j = 0;
        while j < n {
            let e = row[j] - m;
            p[i * n + j] = e * e;
            total = if j == 0 { p[i * n + j] } else { total + p[i * n + j] };
            j += 1;
        }
        let inverse = total * total;
        let mut j = 0;
        while j < n {
            p[i * n + j] = p[i * n + j] * inverse;
            j += 1;
        }
        i += 1;
    }
    let mut i = 0;
    while i < n {
        let mut c = 0;
        while c < d {
            let mut a = p[i * n] * v[c];
            let mut j = 1;
            while j < n {
                a += p[i * n + j] * v[j * d + c];
                j += 1;
            }
            o[i * d + c] = a;
            c += 1;
        }
        i += 1;
    }
}

fn main() {
    let (n, d) = (parameter("N"), parameter("d"));
    let (q, k, v, o) = (input(n * d), input(n * d), input(n * d), vector(n * d));
    begin(c"attn_naive");
    attn_naive(n, d, (q, k, v), o);
    output(o);
    end(c"attn_naive");
    show(o);
}
