//! What Cachegrind's output files say.

/// The total of an event (`D1mr`, `Dw`) in the text of an output file; `None` if it was not counted.
#[must_use]
pub fn total(text: &str, event: &str) -> Option<u64> {
    let column = field(text, "events:").split_whitespace().position(|name| name == event)?;
    field(text, "summary:").split_whitespace().nth(column)?.parse().ok()
}

/// What follows a key at the start of a line; nothing if no line begins so.
#[must_use]
pub fn field<'t>(text: &'t str, key: &str) -> &'t str {
    text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_found_by_the_names_of_events() {
        let text = "desc: D1 cache\ncmd: ./a.out 3\nevents: Ir Dr D1mr\nfn=main\n3 1 2 3\nsummary: 10 20 30\n";
        assert_eq!((total(text, "Dr"), total(text, "D1mr"), total(text, "Dw")), (Some(20), Some(30), None));
        assert_eq!((field(text, "cmd:"), field(text, "nothing:")), ("./a.out 3", ""));
    }
}
