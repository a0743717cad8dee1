// variants: any_base base_ten
// Sums of digits: in a base that is known at run time each digit waits for a division, in base 10 for a product.
fn digits(mut n: u64, base: u64) -> u64 {
    let mut sum = 0;
    while n > 0 {
        sum += n % base;
        n /= base;
    }
    sum
}
fn main() {
    let base = std::hint::black_box(10);
    let (mut x, mut sum) = (88_172_645_463_325_252u64, 0u64);
    for _ in 0..320_000 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        sum += digits(x, if VARIANT == "any_base" { base } else { 10 });
    }
    println!("{sum} {base}");
}
