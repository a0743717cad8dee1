// variants: collected chained
fn main() {
    let input: Vec<u64> = (0..600_000).collect();
    let mut sum = 0u64;
    for t in 0..4 {
        if VARIANT == "collected" {
            let a: Vec<u64> = input.iter().map(|x| x * 3 + t).collect();
            let b: Vec<u64> = a.iter().filter(|x| *x % 4 != 1).copied().collect();
            let c: Vec<u64> = b.iter().map(|x| x ^ 0x55).collect();
            sum += c.iter().sum::<u64>();
        } else {
            sum += input.iter().map(|x| x * 3 + t).filter(|x| x % 4 != 1).map(|x| x ^ 0x55).sum::<u64>();
        }
    }
    println!("{sum}");
}
