// variants: records indices
#[derive(Clone, Copy)]
struct Record {
    key: u32,
    data: [u64; 15],
}

// Sorts large records, or their keys with numbers and moves each record once.
fn main() {
    const N: usize = 40_000;
    let mut x = 1u32;
    let mut records: Vec<Record> = Vec::with_capacity(N);
    for i in 0..N {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        records.push(Record { key: x, data: [i as u64; 15] });
    }
    if VARIANT == "records" {
        records.sort_by_key(|r| r.key);
    } else {
        let mut order: Vec<(u32, u32)> = records.iter().enumerate().map(|(i, r)| (r.key, i as u32)).collect();
        order.sort();
        records = order.iter().map(|(_, i)| records[*i as usize]).collect();
    }
    let sum = records.iter().enumerate().fold(0u64, |s, (i, r)| s.wrapping_add(r.data[7].wrapping_mul(i as u64)));
    println!("{sum}");
}
