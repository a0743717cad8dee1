fn main() {
    let numbers: Vec<u64> = (0..1000).collect();
    println!("{}", numbers.iter().sum::<u64>());
}
