// variants: tree sorted
use std::collections::BTreeMap;

// Look-ups among 300000 keys: a tree of small nodes with 11 keys at most, or binary search in one sorted vector.
fn main() {
    let mut x = 3u32;
    let mut next = move || {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x
    };
    let mut pairs: Vec<(u32, u32)> = (0..300_000).map(|i| (next() >> 4, i)).collect();
    pairs.sort_unstable();
    pairs.dedup_by_key(|pair| pair.0);
    let tree: BTreeMap<u32, u32> = if VARIANT == "tree" { pairs.iter().copied().collect() } else { BTreeMap::new() };
    let mut sum = 0u64;
    for i in 0..250_000 {
        let key = if i % 2 == 0 { next() >> 4 } else { pairs[next() as usize % pairs.len()].0 };
        let found = if VARIANT == "tree" {
            tree.get(&key).copied()
        } else {
            pairs.binary_search_by_key(&key, |pair| pair.0).ok().map(|at| pairs[at].1)
        };
        sum += found.map_or(1, u64::from);
    }
    println!("{sum}");
}
