// variants: mixed grouped
// Events of six kinds in random order or grouped by kind: the jump of the match is predicted only for groups.
fn main() {
    let mut x = 1u32;
    let mut events: Vec<(u8, u32)> = (0..40_000)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            ((x >> 8) as u8 % 6, x >> 12)
        })
        .collect();
    if VARIANT == "grouped" {
        events.sort_by_key(|event| event.0);
    }
    let (mut sum, mut bits, mut most, mut ones) = (0u64, 0u32, 0u32, 0u32);
    let mut table = [0u64; 16];
    for round in 0..184u32 {
        for &(kind, value) in &events {
            match kind {
                0 => sum = sum.wrapping_add(u64::from(value) * 7),
                1 => bits ^= value.rotate_left(round),
                2 => most = most.max(value ^ round),
                3 => ones += (value & 0xff).count_ones(),
                4 => table[(value % 16) as usize] += 1,
                _ => table[(value / 16 % 16) as usize] += u64::from(value),
            }
        }
    }
    println!("{sum} {bits} {most} {ones} {table:?}");
}
