//! A second program of the same package.

fn main() {
    let mut numbers: Vec<String> = std::env::args().skip(1).collect();
    numbers.sort();
    println!("{}", numbers.join(" "));
}
