//! Hash table with 64-bit keys and values, half full: open addressing against chains, uniform against skewed look-ups.
//!
//!     dmdprof run examples/hash_table.rs [slots]          (default 65536 slots, a power of two)
//!
//! What it must cost (ByteDMD, leading order): a uniformly random byte out of F lies, on average over all depths from 1 to
//! F, at a root-mean price of 2/3 sqrt(F). A look-up that reads b bytes of a table whose touched bytes are F costs
//! b * 2/3 sqrt(F).
//!
//! - `open_lookup_uniform`: 8 bytes of key per slot probed, then 8 bytes of value. The keys are consecutive numbers, which
//!   this hash spreads so well that a look-up probes 1.08 slots (1.5 with random keys): 16.6 bytes; F = 16 bytes per key.
//! - `chain_lookup_uniform`: 4 bytes of list head, nodes of 8 bytes of key and 4 of next, of which the last one's next is
//!   not read, 8 bytes of value; F = heads, keys, links and values.
//! - `open_lookup_skewed`: 15 of 16 look-ups go to 1/64 of the keys: F shrinks to F/64 for those, so the cost falls to
//!   about (15/16)/8 + 1/16 = 0.18 of the uniform one. The instructions executed are the same.
//!
//! To try: four times the slots doubles the cost of a uniform look-up and changes no instruction count; `--line 64`,
//! where open addressing gains (the next probe is in the same line) and chains do not.

const EMPTY: u64 = 0;
const NIL: u32 = u32::MAX;

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

struct Open {
    keys: Vec<u64>,
    values: Vec<u64>,
}

#[inline(never)]
fn open_build(slots: usize) -> Open {
    let mut table = Open { keys: vec![EMPTY; slots], values: vec![0; slots] };
    for i in 1..=slots as u64 / 2 {
        let key = i;
        let mut at = slot_of(key, slots);
        while table.keys[at] != EMPTY {
            at = (at + 1) & (slots - 1);
        }
        table.keys[at] = key;
        table.values[at] = 3 * key;
    }
    table
}

#[inline(always)]
fn open_find(table: &Open, key: u64) -> u64 {
    let mask = table.keys.len() - 1;
    let mut at = slot_of(key, table.keys.len());
    loop {
        match table.keys[at] {
            found if found == key => return table.values[at],
            EMPTY => return 0,
            _ => at = (at + 1) & mask,
        }
    }
}

#[inline(never)]
fn open_lookup_uniform(table: &Open, lookups: u64) -> u64 {
    let keys = table.keys.len() as u64 / 2;
    (0..lookups).fold(0, |sum, i| sum + open_find(table, scatter(i) % keys + 1))
}

#[inline(never)]
fn open_lookup_skewed(table: &Open, lookups: u64) -> u64 {
    let keys = table.keys.len() as u64 / 2;
    let hot = (keys / 64).max(1);
    (0..lookups).fold(0, |sum, i| {
        let range = if i % 16 == 15 { keys } else { hot };
        sum + open_find(table, scatter(i) % range + 1)
    })
}

struct Chains {
    heads: Vec<u32>,
    keys: Vec<u64>,
    next: Vec<u32>,
    values: Vec<u64>,
}

#[inline(never)]
fn chain_build(slots: usize) -> Chains {
    let count = slots / 2;
    let mut table =
        Chains { heads: vec![NIL; slots], keys: vec![0; count], next: vec![NIL; count], values: vec![0; count] };
    for i in 0..count {
        let key = i as u64 + 1;
        let at = slot_of(key, slots);
        table.keys[i] = key;
        table.values[i] = 3 * key;
        table.next[i] = table.heads[at];
        table.heads[at] = i as u32;
    }
    table
}

#[inline(never)]
fn chain_lookup_uniform(table: &Chains, lookups: u64) -> u64 {
    let keys = table.keys.len() as u64;
    (0..lookups).fold(0, |sum, i| {
        let key = scatter(i) % keys + 1;
        let mut node = table.heads[slot_of(key, table.heads.len())];
        while node != NIL && table.keys[node as usize] != key {
            node = table.next[node as usize];
        }
        sum + if node == NIL { 0 } else { table.values[node as usize] }
    })
}

fn main() {
    let slots: usize = std::env::args().nth(1).map_or(65536, |arg| arg.parse().expect("the size is a number"));
    assert!(slots.is_power_of_two() && slots >= 2, "the number of slots is a power of two");
    let lookups = 4 * slots as u64;

    let open = open_build(slots);
    println!("open addressing, uniform {slots}: {}", open_lookup_uniform(&open, lookups));
    println!("open addressing, skewed {slots}: {}", open_lookup_skewed(&open, lookups));
    let chains = chain_build(slots);
    println!("chains, uniform {slots}: {}", chain_lookup_uniform(&chains, lookups));
}
