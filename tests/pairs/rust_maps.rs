// variants: tree sorted
use std::collections::BTreeMap;

struct Random(u32);
impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
}

// Look-ups in a tree of nodes that were inserted at random, or in one look-up table over all keys.
fn main() {
    const KEYS: u32 = 1 << 18;
    let mut random = Random(1);
    let mut sum = 0u64;
    if VARIANT == "tree" {
        let mut map = BTreeMap::new();
        for _ in 0..200_000 {
            let key = random.next() % KEYS;
            map.insert(key, u64::from(key));
        }
        for _ in 0..300_000 {
            sum += map.get(&(random.next() % KEYS)).copied().unwrap_or(0);
        }
    } else {
        let mut map = vec![0u64; KEYS as usize];
        for _ in 0..200_000 {
            let key = random.next() % KEYS;
            map[key as usize] = u64::from(key);
        }
        for _ in 0..300_000 {
            sum += map[(random.next() % KEYS) as usize];
        }
    }
    println!("{sum}");
}
