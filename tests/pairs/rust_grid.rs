// variants: columns rows
fn sweep(out: &mut [i32], input: &[i32], n: usize) {
    for a in 1..n - 1 {
        for b in 1..n - 1 {
            let (i, j) = if VARIANT == "rows" { (a, b) } else { (b, a) };
            let at = i * n + j;
            out[at] = (input[at - 1] + input[at + 1] + input[at - n] + input[at + n]) / 4;
        }
    }
}

fn main() {
    const N: usize = 1000;
    let mut a: Vec<i32> = (0..(N * N) as i32).map(|i| i % 1000).collect();
    let mut b = vec![0; N * N];
    for _ in 0..2 {
        sweep(&mut b, &a, N);
        sweep(&mut a, &b, N);
    }
    println!("{}", a.iter().map(|x| i64::from(*x)).sum::<i64>());
}
