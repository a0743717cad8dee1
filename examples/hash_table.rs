//! Hash table with 64-bit keys and values, half full: open addressing against chains, uniform against skewed look-ups.
//!
//!     dmdprof run examples/hash_table.rs [slots]          (default 65536 slots, a power of two)
//!
//! What it must cost (ByteDMD, leading order): a uniformly random byte out of F lies at any depth from 1 to F with equal
//! chance, so it costs 2/3 sqrt(F) on average, and a look-up that reads b bytes costs b * 2/3 sqrt(F).
//!
//! - `open_lookup_uniform`: 8 bytes of key per slot probed, then 8 bytes of value beside it. The keys are consecutive
//!   numbers, which this hash spreads so well that a look-up probes 1.08 slots (1.5 with random keys): 16.6 bytes;
//!   F = 16 bytes per key.
//! - `open_lookup_skewed`: 15 of 16 look-ups go to 1/64 of the keys: about (15/16)/8 + 1/16 = 0.18 of the uniform cost,
//!   with the same instructions.
//! - `chain_lookup_uniform`: 8 bytes of head, nodes of 8 bytes of key and 8 of next (the last one's is not read), 8 of
//!   value: 25.1 bytes; F = 24 bytes per key, so about 1.9 times the uniform cost.
//!
//! Measured at the default size, with the distance of the formula. The numbers are exact and the same in C (clang 14 to
//! 19) and in Rust, because both make the same accesses.
//!
//!     cost open_lookup_uniform  2094369154 formula +0.3 %
//!     cost open_lookup_skewed    386488122 formula -2.2 %
//!     cost chain_lookup_uniform 3922455935 formula -0.8 %
//!
//! (Building costs more here than in C: `vec!` writes every slot, `calloc` gets zeroed memory that nobody has touched.)
//!
//! To try: four times the slots doubles the cost of a uniform look-up and changes no instruction count; the lines beyond
//! 32 KiB, where open addressing gains (the next probe is in the same line) and chains do not.

const EMPTY: u64 = 0;

fn slot_of(key: u64, slots: usize) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize & (slots - 1)
}

/// The numbers 0, 1, 2, ... scattered: one step of SplitMix64.
fn scatter(i: u64) -> u64 {
    let x = i.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[derive(Clone, Copy)]
struct Slot {
    key: u64,
    value: u64,
}

#[inline(never)]
fn open_build(table: &mut [Slot]) {
    let slots = table.len();
    for key in 1..=slots as u64 / 2 {
        let mut at = slot_of(key, slots);
        while table[at].key != EMPTY {
            at = (at + 1) & (slots - 1);
        }
        table[at] = Slot { key, value: 3 * key };
    }
}

// The look-ups are written out, so that each kind has a row of its own in the report. Every key is in the table.

#[inline(never)]
fn open_lookup_uniform(table: &[Slot], lookups: u64) -> u64 {
    let (slots, keys) = (table.len(), table.len() as u64 / 2);
    let mut sum = 0;
    for i in 0..lookups {
        let key = scatter(i) % keys + 1;
        let mut at = slot_of(key, slots);
        while table[at].key != key {
            at = (at + 1) & (slots - 1);
        }
        sum += table[at].value;
    }
    sum
}

#[inline(never)]
fn open_lookup_skewed(table: &[Slot], lookups: u64) -> u64 {
    let (slots, keys) = (table.len(), table.len() as u64 / 2);
    let hot = (keys / 64).max(1);
    let mut sum = 0;
    for i in 0..lookups {
        let key = scatter(i) % if i % 16 == 15 { keys } else { hot } + 1;
        let mut at = slot_of(key, slots);
        while table[at].key != key {
            at = (at + 1) & (slots - 1);
        }
        sum += table[at].value;
    }
    sum
}

#[derive(Clone, Copy)]
struct Node {
    next: usize,
    key: u64,
    value: u64,
}

#[inline(never)]
fn chain_build(heads: &mut [usize], nodes: &mut [Node]) {
    for i in 0..nodes.len() {
        let key = i as u64 + 1;
        let head = &mut heads[slot_of(key, heads.len())];
        nodes[i] = Node { next: *head, key, value: 3 * key };
        *head = i;
    }
}

#[inline(never)]
fn chain_lookup_uniform(heads: &[usize], nodes: &[Node], lookups: u64) -> u64 {
    let keys = nodes.len() as u64;
    let mut sum = 0;
    for i in 0..lookups {
        let key = scatter(i) % keys + 1;
        let mut node = &nodes[heads[slot_of(key, heads.len())]];
        while node.key != key {
            node = &nodes[node.next];
        }
        sum += node.value;
    }
    sum
}

fn main() {
    let slots: usize = std::env::args().nth(1).map_or(65536, |arg| arg.parse().expect("the size is a number"));
    assert!(slots.is_power_of_two() && slots >= 2, "the number of slots is a power of two");
    let lookups = 4 * slots as u64;

    let mut table = vec![Slot { key: EMPTY, value: 0 }; slots];
    open_build(&mut table);
    println!("open addressing, uniform {slots}: {}", open_lookup_uniform(&table, lookups));
    println!("open addressing, skewed {slots}: {}", open_lookup_skewed(&table, lookups));

    let (mut heads, mut nodes) = (vec![0; slots], vec![Node { next: 0, key: 0, value: 0 }; slots / 2]);
    chain_build(&mut heads, &mut nodes);
    println!("chains, uniform {slots}: {}", chain_lookup_uniform(&heads, &nodes, lookups));
}
