// variants: boxed inline
struct Random(u32);
impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
}

// Numbers in boxes that have been shuffled, or side by side.
fn main() {
    const N: usize = 150_000;
    let mut random = Random(1);
    let mut order: Vec<u64> = (0..N as u64).collect();
    for i in (1..N).rev() {
        order.swap(i, random.next() as usize % (i + 1));
    }
    let mut sum = 0u64;
    if VARIANT == "boxed" {
        let mut boxes: Vec<Box<u64>> = (0..N as u64).map(Box::new).collect();
        boxes.sort_by_key(|b| order[**b as usize]);
        for t in 0..4 {
            sum += boxes.iter().map(|b| **b ^ t).sum::<u64>();
        }
    } else {
        let mut values: Vec<u64> = (0..N as u64).collect();
        values.sort_by_key(|b| order[*b as usize]);
        for t in 0..4 {
            sum += values.iter().map(|b| *b ^ t).sum::<u64>();
        }
    }
    println!("{sum}");
}
