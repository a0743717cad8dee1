// variants: strings numbers
use std::collections::BTreeMap;

// Counts by a key that is text, or the number that stands for it.
fn main() {
    let mut x = 1u32;
    let mut next = move || {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x % 5000
    };
    let mut total = 0u64;
    if VARIANT == "strings" {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for _ in 0..60_000 {
            *counts.entry(format!("word-{:05}", next())).or_default() += 1;
        }
        for (i, count) in counts.values().enumerate() {
            total += i as u64 * count;
        }
    } else {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for _ in 0..60_000 {
            *counts.entry(next()).or_default() += 1;
        }
        for (i, count) in counts.values().enumerate() {
            total += i as u64 * count;
        }
    }
    println!("{total}");
}
