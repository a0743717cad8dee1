//! The product of matmul.h, row by row; always declares its result.

fn multiply(n: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    for (row, factors) in c.chunks_exact_mut(n).zip(a.chunks_exact(n)) {
        for (factor, terms) in factors.iter().zip(b.chunks_exact(n)) {
            for (sum, term) in row.iter_mut().zip(terms) {
                *sum += factor * term;
            }
        }
    }
}

fn main() {
    let n: usize = std::env::args().nth(1).map_or(48, |n| n.parse().expect("a size"));
    let filled = |step: usize, period: usize| (0..n * n).map(|i| 1.0 / (1 + i * step % period) as f64).collect();
    let (a, b): (Vec<f64>, Vec<f64>) = (filled(7, 13), filled(11, 17));
    dmdprof_markers::input(&a);
    dmdprof_markers::input(&b);
    let mut c = vec![0.0; n * n];
    multiply(n, &a, &b, &mut c);
    dmdprof_markers::output(&c);
}
