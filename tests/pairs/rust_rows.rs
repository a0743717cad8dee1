// variants: columns rows
fn main() {
    const N: usize = 1500;
    let rows: Vec<Vec<u32>> = (0..N).map(|i| (0..N).map(|j| ((i * j) % 7) as u32).collect()).collect();
    let mut sum = 0u64;
    for t in 0..3 {
        for i in 0..N {
            for j in 0..N {
                let x = if VARIANT == "rows" { rows[i][j] } else { rows[j][i] };
                sum += u64::from(x ^ t);
            }
        }
    }
    println!("{sum}");
}
