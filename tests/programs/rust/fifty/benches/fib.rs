fn main() {
    divan::main();
}

#[divan::bench]
fn sorts_a_thousand() -> Vec<u64> {
    fifty::sorted(divan::black_box(1000))
}
