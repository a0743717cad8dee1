//! Hash tables whose order depends on random seeds; what is printed does not.

use std::collections::{HashMap, HashSet};

fn count(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for word in text.split(' ') {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

fn main() {
    let text: Vec<String> = (0..5000u32).map(|n| format!("w{}", n * n % 977)).collect();
    let text = text.join(" ");
    let counts = count(&text);
    let others = std::thread::spawn(|| (0..1000u32).map(|n| n * 7).collect::<HashSet<_>>()).join().expect("no panic");
    println!("{} {} {}", counts.len(), counts.values().sum::<usize>(), others.iter().map(|n| u64::from(*n)).sum::<u64>());
}
