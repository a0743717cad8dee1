//! A sort on four threads of rayon, which steal work from each other.

use rayon::prelude::*;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("a pool");
    let mut seed = 1u64;
    let mut numbers: Vec<u64> = (0..20_000)
        .map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 33
        })
        .collect();
    let sum = pool.install(|| {
        numbers.par_sort_unstable();
        numbers.par_iter().enumerate().map(|(at, n)| at as u64 ^ n).sum::<u64>()
    });
    let is_sorted = numbers.is_sorted();
    println!("{sum} {is_sorted}");
}
