// variants: list vector
use std::collections::LinkedList;

fn main() {
    const N: u64 = 300_000;
    let mut sum = 0u64;
    if VARIANT == "list" {
        let mut list = LinkedList::new();
        for i in 0..N {
            list.push_back(i);
        }
        for t in 0..8 {
            sum += list.iter().map(|x| x ^ t).sum::<u64>();
        }
    } else {
        let vector: Vec<u64> = (0..N).collect();
        for t in 0..8 {
            sum += vector.iter().map(|x| x ^ t).sum::<u64>();
        }
    }
    println!("{sum}");
}
