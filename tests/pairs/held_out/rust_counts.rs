// variants: hashed sorted
use std::collections::hash_map::DefaultHasher;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

// How often each key occurs: a hash map with one step at a random place for each, or a sort and then runs of the same.
fn main() {
    let mut x = 11u32;
    let mut keys: Vec<u32> = (0..400_000)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            x % 150_000
        })
        .collect();
    let mut sum = 0u64;
    if VARIANT == "hashed" {
        let mut counts: HashMap<u32, u64, BuildHasherDefault<DefaultHasher>> = HashMap::default();
        for &key in &keys {
            *counts.entry(key).or_default() += 1;
        }
        for (key, count) in counts {
            sum += u64::from(key) * count * count;
        }
    } else {
        keys.sort_unstable();
        for run in keys.chunk_by(|a, b| a == b) {
            sum += u64::from(run[0]) * (run.len() * run.len()) as u64;
        }
    }
    println!("{sum}");
}
