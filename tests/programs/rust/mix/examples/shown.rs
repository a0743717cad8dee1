//! An example.

fn main() {
    println!("{}", (1..=10).map(|n: u32| n.to_string()).collect::<Vec<_>>().concat());
}
