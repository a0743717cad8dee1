// variants: far near
// A ring of 4096 links is walked: its places lie apart by 1 KiB (4 MiB in all), or side by side (16 KiB).
fn main() {
    const LINKS: usize = 4096;
    let apart = if VARIANT == "far" { 256 + 16 } else { 1 };
    let mut order: Vec<u32> = (0..LINKS as u32).collect();
    let mut x = 5u32;
    for i in (1..LINKS).rev() {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        order.swap(i, x as usize % (i + 1));
    }
    let mut next = vec![0u32; LINKS * apart];
    for i in 0..LINKS {
        next[order[i] as usize * apart] = order[(i + 1) % LINKS];
    }
    let (mut at, mut sum) = (0usize, 0u64);
    for _ in 0..6_400_000 {
        at = next[at * apart] as usize;
        sum += at as u64;
    }
    println!("{sum}");
}
