//! Text that can stand in a terminal and in XML, and lines of it.
//!
//! Takes names as they come, gives them as [`crate::shared::printable`] has them.

pub(super) fn printable(text: &str) -> String {
    crate::shared::printable::name(text).into_owned()
}

/// Lines of at most `width` characters, broken between words and within those that alone are too long.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        let used = current.chars().count();
        if used > 0 && used + 1 + word.len() > width {
            lines.push(std::mem::take(&mut current));
        }
        while word.len() > width {
            lines.push(word.drain(..width).collect());
        }
        if !current.is_empty() && !word.is_empty() {
            current.push(' ');
        }
        current.extend(word);
    }
    if !current.is_empty() {
        lines.push(current);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_controls_the_terminal_and_no_line_is_too_long() {
        assert_eq!(printable("a\x1b[31mb\nc\u{ffff}é"), "a\\x1b[31mb\\nc\\u{ffff}é");
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a sesquipedalian b", 5), ["a", "sesqu", "ipeda", "lian", "b"]);
        assert_eq!(wrap("exact fits", 5), ["exact", "fits"]);
        assert!(wrap(" ", 5).is_empty());
    }
}
