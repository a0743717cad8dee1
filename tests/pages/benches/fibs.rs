fn main() {
    println!("{}", mycrate::fib(10));
}
