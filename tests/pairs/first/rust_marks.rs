// variants: wide narrow
// Counts below 256 at 8 million random keys, as u32 (32 MiB) or u8 (8 MiB): narrow ones stay in a nearer cache.
fn count<T: Copy + Default>(add: impl Fn(&mut T) -> u64) -> u64 {
    const KEYS: u32 = 1 << 23;
    let mut counts = vec![T::default(); KEYS as usize];
    let (mut x, mut sum) = (1u32, 0u64);
    for _ in 0..2_500_000 {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        sum += add(&mut counts[(x % KEYS) as usize]);
    }
    sum
}
fn main() {
    let sum = if VARIANT == "wide" {
        count(|c: &mut u32| {
            *c = (*c + 1) & 255;
            u64::from(*c)
        })
    } else {
        count(|c: &mut u8| {
            *c = c.wrapping_add(1);
            u64::from(*c)
        })
    };
    println!("{sum}");
}
