// variants: one_by_one four_by_four
// A digest h = 31 h + byte: byte by byte each product waits for the last one, by fours only one in four does.
fn main() {
    let bytes: Vec<u8> = (0..1u32 << 16).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    let mut h = 7u32;
    for _ in 0..360 {
        if VARIANT == "one_by_one" {
            for &b in &bytes {
                h = h.wrapping_mul(31).wrapping_add(u32::from(b));
            }
        } else {
            for b in bytes.chunks_exact(4) {
                let last = u32::from(b[2]) * 31 + u32::from(b[3]);
                let first = u32::from(b[0]) * 29_791 + u32::from(b[1]) * 961;
                h = h.wrapping_mul(923_521).wrapping_add(first + last);
            }
        }
    }
    println!("{h}");
}
