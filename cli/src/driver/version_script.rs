//! Linker version scripts: which symbols of a library others can see.
//!
//! Takes a script's text and symbols, gives the script in which these symbols are global as well; `None` when the text
//! has no node to put them in. Everything else is left as it is, byte for byte.

/// Adds the symbols to the first node. A name takes precedence over the usual `local: *`.
pub fn with_global(script: &str, symbols: &[&str]) -> Option<String> {
    let body = skip_to(script, 0, |byte| byte == b'{')? + 1;
    let first_word = skip_to(script, body, |byte| !byte.is_ascii_whitespace())?;
    let list: String = symbols.iter().map(|symbol| format!(" {symbol};")).collect();
    // A node is a bare list, or has sections: the two do not mix.
    let (at, inserted) = match section(&script[first_word..]) {
        Some(("global", length)) => (first_word + length, list),
        Some(_) => (body, format!(" global:{list}")),
        None => (body, list),
    };
    Some(format!("{}{inserted}{}", &script[..at], &script[at..]))
}

/// `global:` or `local:` at the start of the text, with the length up to and including the colon.
fn section(text: &str) -> Option<(&str, usize)> {
    let colon = text.find(':')?;
    let name = text[..colon].trim_end();
    matches!(name, "global" | "local").then_some((name, colon + 1))
}

/// Position of the first wanted byte from `at` on that is outside of comments and quotes.
fn skip_to(script: &str, mut at: usize, wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let bytes = script.as_bytes();
    while at < bytes.len() {
        let end_of = |close: &str| script.get(at + 1..)?.find(close).map(|found| at + 1 + found + close.len());
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'*') => at = end_of("*/")?,
            b'#' => at = end_of("\n")?,
            byte if wanted(byte) => return Some(at),
            b'"' => at = end_of("\"")?,
            _ => at += 1,
        }
    }
    None
}

/// A `--dynamic-list` that names the symbols.
pub fn dynamic_list(symbols: &[&str]) -> String {
    format!("{{ {}; }};\n", symbols.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_join_the_first_node() {
        let with = |script| with_global(script, &["a", "b"]);
        assert_eq!(with("{ local: *; };").as_deref(), Some("{ global: a; b; local: *; };"));
        assert_eq!(with("{ global : f; local: *; };").as_deref(), Some("{ global : a; b; f; local: *; };"));
        assert_eq!(with("{ f; };").as_deref(), Some("{ a; b; f; };"));
        assert_eq!(with("{ };").as_deref(), Some("{ a; b; };"));
        assert_eq!(
            with("/* { */ # {\nV_1 { /* x */ global: f; local: *; };\nV_2 { g; } V_1;").as_deref(),
            Some("/* { */ # {\nV_1 { /* x */ global: a; b; f; local: *; };\nV_2 { g; } V_1;")
        );
        assert_eq!(with("{ extern \"C++\" { f*; }; };").as_deref(), Some("{ a; b; extern \"C++\" { f*; }; };"));
        assert_eq!(with_global("/* é { ", &["a"]), None);
        assert_eq!(with_global("nothing", &["a"]), None);
    }
}
