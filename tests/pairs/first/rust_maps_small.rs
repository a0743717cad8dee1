// variants: hashed ordered
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

// Counts of 100 keys: the hash map computes SipHash but jumps little, the tree compares keys and jumps at random.
fn main() {
    let mut x = 1u32;
    let mut next = move || {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x % 100
    };
    let mut total = 0u64;
    if VARIANT == "hashed" {
        let mut counts: HashMap<u32, u64, BuildHasherDefault<DefaultHasher>> = HashMap::default();
        for _ in 0..1_200_000 {
            *counts.entry(next()).or_default() += 1;
        }
        for (key, count) in counts {
            total += u64::from(key) * count;
        }
    } else {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for _ in 0..1_200_000 {
            *counts.entry(next()).or_default() += 1;
        }
        for (key, count) in counts {
            total += u64::from(key) * count;
        }
    }
    println!("{total}");
}
