// variants: unicode ascii
// Capitals of a text with a few signs: by Unicode's rules letter by letter, or for ASCII only, by vectors.
fn main() {
    let letters: Vec<char> = "the quick brown fox, 27 dogs → ".chars().collect();
    let mut text: String = letters.iter().cycle().take(60_000).collect();
    let mut sum = 0u64;
    for t in 0..66usize {
        let upper = if VARIANT == "unicode" { text.to_uppercase() } else { text.to_ascii_uppercase() };
        sum += upper.bytes().skip(t).step_by(97).map(u64::from).sum::<u64>();
        text.replace_range(t % 20..=t % 20, "q");
    }
    println!("{sum}");
}
