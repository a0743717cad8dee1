// variants: wide bits
// Distinct keys of many: marks of 4 bytes touch 32 MiB of new pages at random, bits only 1 MiB.
fn main() {
    const KEYS: u32 = 1 << 23;
    let mut x = 9u32;
    let mut keys = (0..2_500_000).map(|_| {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x % KEYS
    });
    let mut distinct = 0;
    if VARIANT == "wide" {
        let mut marks = vec![0u32; KEYS as usize];
        for key in keys.by_ref() {
            distinct += u32::from(marks[key as usize] == 0);
            marks[key as usize] = 1;
        }
    } else {
        let mut marks = vec![0u64; KEYS as usize / 64];
        for key in keys.by_ref() {
            let (word, bit) = (&mut marks[key as usize / 64], key % 64);
            distinct += u32::from(*word >> bit & 1 == 0);
            *word |= 1 << bit;
        }
    }
    println!("{distinct}");
}
