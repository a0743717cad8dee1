// variants: fresh kept
// A buffer of 40 MiB for each round: new ones come from the system and fault page by page, a kept one only once.
fn main() {
    const BYTES: usize = 40 << 20;
    let mut kept = Vec::new();
    let mut sum = 0u64;
    for round in 0..3usize {
        if VARIANT == "fresh" {
            kept = Vec::new();
        }
        if kept.is_empty() {
            kept = vec![0u8; BYTES];
        }
        for at in (round..BYTES).step_by(1024) {
            kept[at] = (at / 1024 + round) as u8;
        }
        sum += (round..BYTES).step_by(1024).map(|at| u64::from(kept[at])).sum::<u64>();
    }
    println!("{sum}");
}
