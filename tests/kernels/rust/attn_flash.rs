//! Attention in blocks of Bk keys with a running maximum; squares stand for exp and reciprocal.

mod kernel;

use dmdprof_markers::{begin, end, output};
use kernel::{input, parameter, show, vector};

fn attn_flash(n: usize, d: usize, size: usize, (q, k, v): (&[f64], &[f64], &[f64]), out: &mut [f64]) {
    let scale = 1.0 / (d as f64).sqrt();
    let (s, p, o, ob) = (vector(size), vector(size), vector(d), vector(d));
    let mut i = 0;
    while i < n {
        let q = &q[i * d..];
        let (mut m, mut l) = (0.0, 0.0);
        let mut start = 0;
        while start < n {
            let (k, v) = (&k[start * d..], &v[start * d..]);
            let mut j = 0;
            while j < size {
                let mut a = q[0] * k[j * d];
                let mut c = 1;
                while c < d {
                    a += q[c] * k[j * d + c];
                    c += 1;
                }
                s[j] = a * scale;
                j += 1;
            }
            let mut mb = s[0];
            let mut j = 1;
            while j < size {
                mb = mb.max(s[j]);
                j += 1;
            }
            let mut lb = 0.0;
            let mut j = 0;
            while j < size {
                let e = s[j] - mb;
                p[j] = e * e;
                lb = if j == 0 { p[j] } else { lb + p[j] };
                j += 1;
            }
            let mut c = 0;
            while c < d {
                let mut a = p[0] * v[c];
                let mut j = 1;
                while j < size {
                    a += p[j] * v[j * d + c];
                    j += 1;
                }
                ob[c] = a;
                c += 1;
            }
            if start == 0 {
                m = mb;
                l = lb;
                o.copy_from_slice(ob);
            } else {
                let mn = m.max(mb);
                let x = m - mn;
                let alpha = x * x;
                let y = mb - mn;
                let beta = y * y;
                let (kept, added) = (alpha * l, beta * lb);
                l = kept + added;
                let mut c = 0;
                while c < d {
                    let (kept, added) = (alpha * o[c], beta * ob[c]);
                    o[c] = kept + added;
                    c += 1;
                }
                m = mn;
            }
            start += size;
        }
        let inverse = l * l;
        let mut c = 0;
        while c < d {
            out[i * d + c] = o[c] * inverse;
            c += 1;
        }
        i += 1;
    }
}

fn main() {
    let (n, d, size) = (parameter("N"), parameter("d"), parameter("Bk"));
    let (q, k, v, o) = (input(n * d), input(n * d), input(n * d), vector(n * d));
    begin(c"attn_flash");
    attn_flash(n, d, size, (q, k, v), o);
    output(o);
    end(c"attn_flash");
    show(o);
}
