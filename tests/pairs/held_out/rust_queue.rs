// variants: vector deque
use std::collections::VecDeque;

// A queue of 500 jobs: taking the first one of a vector moves all the others down, a deque moves its start.
fn main() {
    let mut vector: Vec<u32> = (0..500).collect();
    let mut deque: VecDeque<u32> = vector.iter().copied().collect();
    let mut sum = 0u64;
    for i in 0..800_000u32 {
        let job = if VARIANT == "vector" { vector.remove(0) } else { deque.pop_front().unwrap() };
        sum = (sum ^ u64::from(job)) % 1_000_003 * 7;
        let next = job.wrapping_mul(5).wrapping_add(i);
        if VARIANT == "vector" {
            vector.push(next);
        } else {
            deque.push_back(next);
        }
    }
    println!("{sum}");
}
