//! A table whose hash has a random seed.

use std::collections::HashMap;

fn main() {
    let table: HashMap<u64, u64> = (0..2000).map(|i| (i * 7, i)).collect();
    let sum: u64 = (0..2000).filter_map(|i| table.get(&i)).sum();
    println!("{sum}");
}
