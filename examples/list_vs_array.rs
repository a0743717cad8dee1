//! Sum of n 64-bit numbers: in an array, in a linked list laid out in order, in a linked list scattered in memory.
//!
//!     dmdprof run examples/list_vs_array.rs [n]          (default n = 32768; 8 passes each)
//!
//! What it must cost (ByteDMD, leading order, after the first pass): a pass meets every byte again after all the others,
//! so every byte lies at the depth of the whole structure.
//!
//! - `sum_array`: 8 n bytes at depth 8 n: 8 n sqrt(8 n) per pass.
//! - `sum_list_in_order`, `sum_list_scattered`: 16 n bytes (number and link) at depth 16 n: 16 n sqrt(16 n) per pass,
//!   sqrt(8) = 2.8 times the array. Both lists cost the same: the cost of a byte does not depend on its neighbours.
//!
//! Every node also carries 48 bytes that nobody reads. They cost nothing here, because only bytes that are touched
//! are on the stack.
//!
//! Measured at the default size, with the distance of the formula. The numbers are exact and the same in C (clang 14 to
//! 19) and in Rust, because both make the same accesses.
//!
//!     cost sum_array          1073741824 formula +0.0 %
//!     cost sum_list_in_order  3040870400 formula -0.1 %
//!     cost sum_list_scattered 3040870400 formula -0.1 %
//!
//! The array is met exactly: the compiler reads 16 bytes at once, at depths 8 n - 15 to 8 n, whose roots all round up to
//! sqrt(8 n) = 512. For the lists, sqrt(16 n) = 724.08 rounds up to 725.
//!
//! To try: the lines beyond 32 KiB, where each node drags its whole line in, so both lists read 8 for the array's one;
//! a node of 16 bytes (`PAYLOAD` = 0), where the order in memory begins to matter for lines.

const PASSES: usize = 8;
const PAYLOAD: usize = 6;
const END: u64 = u64::MAX;

#[derive(Clone)]
#[repr(C, align(16))]
struct Node {
    number: u64,
    next: u64,
    _payload: [u64; PAYLOAD],
}

#[inline(never)]
fn fill_array(array: &mut [u64]) {
    for (i, x) in array.iter_mut().enumerate() {
        *x = i as u64 * 7 % 1009;
    }
}

/// Links node 0, 1 * step, 2 * step, ... modulo n; `step` is odd and n a power of two, so that all nodes are reached.
#[inline(never)]
fn fill_list(nodes: &mut [Node], step: usize) {
    let n = nodes.len();
    for i in 0..n {
        let at = i * step % n;
        nodes[at].number = i as u64 * 7 % 1009;
        nodes[at].next = if i + 1 == n { END } else { ((i + 1) * step % n) as u64 };
    }
}

/// The sum so far goes in and out, so that no compiler merges the passes.
#[inline(never)]
fn sum_array(array: &[u64], mut sum: u64) -> u64 {
    for x in array {
        sum += x;
    }
    sum
}

/// The same loop twice, so that each list has a row of its own in the report.
#[inline(never)]
fn sum_list_in_order(nodes: &[Node], mut sum: u64) -> u64 {
    let mut at = 0;
    while at != END {
        let node = &nodes[at as usize];
        sum += node.number;
        at = node.next;
    }
    sum
}

/// Adds 1 to the sum, because the compiler would otherwise merge this function with the one above.
#[inline(never)]
fn sum_list_scattered(nodes: &[Node], mut sum: u64) -> u64 {
    let mut at = 0;
    while at != END {
        let node = &nodes[at as usize];
        sum += node.number;
        at = node.next;
    }
    sum + 1
}

/// By value, so that the sums stay in registers until they are printed.
fn report(name: &str, n: usize, sum: u64) {
    println!("{name} {n}: {sum}");
}

fn main() {
    let n: usize = std::env::args().nth(1).map_or(32768, |arg| arg.parse().expect("the size is a number"));
    assert!(n.is_power_of_two(), "the size is a power of two");
    let (mut in_array, mut in_order, mut scattered) = (0, 0, 0);

    let mut array = vec![0; n];
    fill_array(&mut array);
    for _ in 0..PASSES {
        in_array = sum_array(&array, in_array);
    }
    report("array", n, in_array);

    let mut nodes = vec![Node { number: 0, next: 0, _payload: [0; PAYLOAD] }; n];
    fill_list(&mut nodes, 1);
    for _ in 0..PASSES {
        in_order = sum_list_in_order(&nodes, in_order);
    }
    report("list in order", n, in_order);

    fill_list(&mut nodes, (n * 618 / 1000) | 1);
    for _ in 0..PASSES {
        scattered = sum_list_scattered(&nodes, scattered) - 1;
    }
    report("list scattered", n, scattered);
}
