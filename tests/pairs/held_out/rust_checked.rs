// variants: checked wrapping
// Sums of two rows: with checks for overflow the loop may leave at each step, without them it is in vectors.
#[inline(never)]
fn add(out: &mut [u32], a: &[u32], b: &[u32]) {
    for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
        *o = if VARIANT == "checked" { x.checked_add(y).expect("no overflow") } else { x.wrapping_add(y) };
    }
}
fn main() {
    let mut a: Vec<u32> = (0..2048u32).map(|i| i.wrapping_mul(40_503) & 0xffff).collect();
    let b: Vec<u32> = (0..2048u32).map(|i| i.wrapping_mul(2_654_435) & 0xffff).collect();
    let mut out = vec![0; 2048];
    let mut sum = 0u64;
    for t in 0..18_000 {
        a[t % 2048] += 1;
        add(&mut out, &a, &b);
        sum += u64::from(out[t * 7 % 2048]);
    }
    println!("{sum}");
}
