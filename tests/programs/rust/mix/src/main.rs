//! A bit of everything: JSON, regular expressions, rayon, threads, thread-locals, panics that are caught.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic;
use std::thread;

use rayon::prelude::*;

thread_local! {
    static SEEN: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

fn words(text: &str) -> BTreeMap<String, usize> {
    let word = regex_lite::Regex::new(r"[a-z]+").expect("a valid expression");
    let mut counts = BTreeMap::new();
    for found in word.find_iter(text) {
        *counts.entry(found.as_str().to_owned()).or_default() += 1;
    }
    counts
}

fn sum_of_squares(numbers: &[u64]) -> u64 {
    numbers.iter().filter(|n| **n % 3 != 0).map(|n| n * n).sum()
}

fn in_threads() -> u64 {
    let work = |seed: u64| {
        SEEN.with_borrow_mut(|seen| {
            seen.extend((0..1000).map(|n| n * seed));
            seen.iter().rev().step_by(7).sum::<u64>()
        })
    };
    // One after the other: what is shared then has one order.
    (1..4).map(|seed| thread::spawn(move || work(seed)).join().expect("no panic")).sum()
}

fn in_parallel(numbers: &[u64]) -> u64 {
    // With the calling thread alone, so that nothing is stolen and each run takes the same steps.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().expect("a pool");
    pool.install(|| numbers.par_iter().map(|n| n ^ 5).sum())
}

fn caught(index: usize) -> String {
    panic::set_hook(Box::new(|_| {}));
    let result = panic::catch_unwind(|| {
        let table = vec![1, 2, 3];
        format!("{}", table[index])
    });
    result.unwrap_or_else(|_| "caught".into())
}

fn main() {
    let json = r#"{"name":"mix","values":[3,1,2],"nested":{"text":"the cat and the dog and the bird"}}"#;
    let value: serde_json::Value = serde_json::from_str(json).expect("valid JSON");
    println!("{}", serde_json::to_string_pretty(&value).expect("JSON"));
    println!("{:?}", words(value["nested"]["text"].as_str().unwrap_or_default()));
    let numbers: Vec<u64> = (0..20_000).collect();
    println!("{} {} {}", sum_of_squares(&numbers), in_threads(), in_parallel(&numbers));
    println!("{} {}", caught(1), caught(7));
    if cfg!(feature = "loud") {
        println!("LOUD");
    }
    std::process::exit(if std::env::args().count() > 1 { 3 } else { 0 });
}
