// variants: mixed by_kind
// Shapes behind `dyn`: in random order each virtual call jumps where nobody knows, by kind the calls are predicted.
trait Shape {
    fn area(&self, scale: u64) -> u64;
}
struct Square(u64);
struct Oblong(u64, u64);
struct Ring(u64, u64);
struct Step(u64);
impl Shape for Square {
    fn area(&self, scale: u64) -> u64 {
        self.0 * self.0 * scale
    }
}
impl Shape for Oblong {
    fn area(&self, scale: u64) -> u64 {
        self.0 * self.1 + scale
    }
}
impl Shape for Ring {
    fn area(&self, scale: u64) -> u64 {
        3 * (self.0 * self.0 - self.1 * self.1) ^ scale
    }
}
impl Shape for Step {
    fn area(&self, scale: u64) -> u64 {
        self.0 * (self.0 + 1) / 2 + scale
    }
}
fn main() {
    let mut x = 7u32;
    let mut of_kind: Vec<(u32, Box<dyn Shape>)> = Vec::new();
    for _ in 0..20_000 {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        let size = u64::from(x >> 20) + 2;
        let shape: Box<dyn Shape> = match x >> 8 & 3 {
            0 => Box::new(Square(size)),
            1 => Box::new(Oblong(size, size / 2)),
            2 => Box::new(Ring(size, size / 3)),
            _ => Box::new(Step(size)),
        };
        of_kind.push((x >> 8 & 3, shape));
    }
    if VARIANT == "by_kind" {
        of_kind.sort_by_key(|shape| shape.0);
    }
    let sum: u64 = (0..200).map(|t| of_kind.iter().map(|shape| shape.1.area(t)).sum::<u64>()).sum();
    println!("{sum}");
}
