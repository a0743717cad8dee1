//! One token through a transformer layer of embedding size E, all weights 1.

mod kernel;

use dmdprof_markers::{begin, end, input, output};
use kernel::{parameter, show, vector};

const TOKENS: usize = 4;
const POSITIONS: usize = 4;

unsafe extern "C" {
    /// Called directly, so that it counts for its caller: `f64::powf` would be a function of its own.
    safe fn pow(x: f64, y: f64) -> f64;
}

/// Embedding of token 0 at position 0.
fn embed(e: usize, wte: &[f64], wpe: &[f64], x: &mut [f64]) {
    let mut i = 0;
    while i < e {
        x[i] = wte[i] + wpe[i];
        i += 1;
    }
}

fn rmsnorm(e: usize, x: &[f64], y: &mut [f64]) {
    let mut s = 0.0;
    let mut i = 0;
    while i < e {
        s += x[i] * x[i];
        i += 1;
    }
    let ms = s * (1.0 / e as f64);
    let scale = pow(ms, -0.5);
    let mut i = 0;
    while i < e {
        y[i] = x[i] * scale;
        i += 1;
    }
}

/// y = w x for a matrix of `rows` x `columns`, each sum started at 0.
fn linear(rows: usize, columns: usize, x: &[f64], w: &[f64], y: &mut [f64]) {
    let mut r = 0;
    while r < rows {
        let mut s = 0.0;
        let mut c = 0;
        while c < columns {
            s += w[r * columns + c] * x[c];
            c += 1;
        }
        y[r] = s;
        r += 1;
    }
}

/// The score of the only position, which nobody uses: its weight is 1 whatever it is.
fn scores(size: usize, q: &[f64], k: &[f64]) {
    let mut s = 0.0;
    let mut j = 0;
    while j < size {
        s += q[j] * k[j];
        j += 1;
    }
    let _unused = s / (size as f64).sqrt();
}

fn residual(e: usize, x: &mut [f64], before: &[f64]) {
    let mut i = 0;
    while i < e {
        x[i] = x[i] + before[i];
        i += 1;
    }
}

fn relu(n: usize, x: &mut [f64]) {
    let mut i = 0;
    while i < n {
        x[i] = x[i] * (x[i] > 0.0) as u8 as f64;
        i += 1;
    }
}

fn microgpt(e: usize, heads: usize, weights: &[&[f64]; 9], logits: &mut [f64]) {
    let [wte, wpe, lm_head, wq, wk, wv, wo, fc1, fc2] = *weights;
    let (embedded, before, x, hidden) = (vector(e), vector(e), vector(e), vector(4 * e));
    let (q, k, v, attended) = (vector(e), vector(e), vector(e), vector(e));
    let size = e / heads;

    embed(e, wte, wpe, embedded);
    rmsnorm(e, embedded, before);
    rmsnorm(e, before, x);
    linear(e, e, x, wq, q);
    linear(e, e, x, wk, k);
    linear(e, e, x, wv, v);
    let mut h = 0;
    while h < heads {
        let head = h * size..(h + 1) * size;
        scores(size, &q[head.clone()], &k[head.clone()]);
        attended[head.clone()].copy_from_slice(&v[head]);
        h += 1;
    }
    linear(e, e, attended, wo, x);
    residual(e, x, before);
    before.copy_from_slice(x);
    rmsnorm(e, before, x);
    linear(4 * e, e, x, fc1, hidden);
    relu(4 * e, hidden);
    linear(e, 4 * e, hidden, fc2, x);
    residual(e, x, before);
    linear(TOKENS, e, x, lm_head, logits);
}

fn ones(n: usize) -> &'static [f64] {
    let w = vector(n);
    let mut i = 0;
    while i < n {
        w[i] = 1.0;
        i += 1;
    }
    input(w);
    w
}

fn main() {
    let (e, heads) = (parameter("E"), parameter("heads"));
    let weights = [
        ones(TOKENS * e),
        ones(POSITIONS * e),
        ones(TOKENS * e),
        ones(e * e),
        ones(e * e),
        ones(e * e),
        ones(e * e),
        ones(4 * e * e),
        ones(4 * e * e),
    ];
    let logits = vector(TOKENS);
    begin(c"microgpt");
    microgpt(e, heads, &weights, logits);
    output(logits);
    end(c"microgpt");
    show(logits);
}
