pub fn fib(n: u64) -> u64 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

pub fn parse(text: &str) -> Vec<i64> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn parses_large() {
    let text = "12 34 ".repeat(100);
    assert_eq!(parse(&text).len(), 200);
}
