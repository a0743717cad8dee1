// variants: ijk ikj
fn main() {
    const N: usize = 220;
    let a: Vec<f64> = (0..N * N).map(|i| (i % 5) as f64).collect();
    let b: Vec<f64> = (0..N * N).map(|i| (i % 7) as f64).collect();
    let mut c = vec![0.0; N * N];
    for i in 0..N {
        if VARIANT == "ijk" {
            for j in 0..N {
                for k in 0..N {
                    c[i * N + j] += a[i * N + k] * b[k * N + j];
                }
            }
        } else {
            for k in 0..N {
                for j in 0..N {
                    c[i * N + j] += a[i * N + k] * b[k * N + j];
                }
            }
        }
    }
    println!("{}", c.iter().sum::<f64>());
}
