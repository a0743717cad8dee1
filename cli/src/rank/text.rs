//! Printed results, and how far two of them are apart.
//!
//! Takes two texts. Without a tolerance they must be the same bytes. With one they are compared token by token: blanks
//! and line ends separate, brackets, quotes, commas, semicolons, colons and equals signs are tokens of their own. Two
//! numbers are as far apart as their values, integers exactly; everything else must be equal.

use std::iter::Peekable;

use super::difference::Difference;
use super::elements::{between, between_integers};

/// How far `found` is from `expected`; no tolerance means byte for byte.
#[must_use]
pub fn compare(expected: &[u8], found: &[u8], by_number: bool) -> Difference {
    if expected == found {
        return Difference::none();
    }
    if !by_number {
        return Difference::because(other_text(first_other_line(expected, found)));
    }
    by_token(&String::from_utf8_lossy(expected), &String::from_utf8_lossy(found))
}

fn other_text(line: usize) -> String {
    format!("prints another text from line {line} on")
}

/// The first line that is not the same, counted from 1.
fn first_other_line(a: &[u8], b: &[u8]) -> usize {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).map(|(a, _)| *a);
    same.filter(|byte| *byte == b'\n').count() + 1
}

fn by_token(expected: &str, found: &str) -> Difference {
    let (mut expected, mut found) = (tokens(expected).peekable(), tokens(found).peekable());
    let mut largest = 0.0;
    loop {
        match (expected.next(), found.next()) {
            (None, None) => return Difference::from_size(largest),
            (Some(_), None) => return Difference::because("prints less".into()),
            (None, Some((line, _))) => return Difference::because(format!("prints more, from line {line} on")),
            (Some((_, a)), Some((line, b))) => match apart(a, b) {
                None => return Difference::because(other_text(line)),
                Some(f64::INFINITY) => return Difference::because(format!("prints {b} instead of {a} in line {line}")),
                Some(difference) => largest = f64::max(largest, difference),
            },
        }
    }
}

/// `None` for texts that are not numbers, or not both, and differ.
fn apart(a: &str, b: &str) -> Option<f64> {
    if a == b {
        return Some(0.0);
    }
    if let (Ok(a), Ok(b)) = (a.parse::<i128>(), b.parse::<i128>()) {
        return Some(between_integers(a, b));
    }
    Some(between(a.parse().ok()?, b.parse().ok()?))
}

/// Tokens with their lines, counted from 1.
fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(line, text)| Tokens::from_text(text).map(move |token| (line + 1, token)))
}

struct Tokens<'a> {
    text: &'a str,
    chars: Peekable<std::str::CharIndices<'a>>,
}

impl<'a> Tokens<'a> {
    fn from_text(text: &'a str) -> Self {
        Tokens { text, chars: text.char_indices().peekable() }
    }
}

fn stands_alone(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '"' | '\'' | ',' | ';' | ':' | '=')
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        while self.chars.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        let (start, first) = self.chars.next()?;
        if !stands_alone(first) {
            while self.chars.next_if(|(_, c)| !c.is_whitespace() && !stands_alone(*c)).is_some() {}
        }
        let end = self.chars.peek().map_or(self.text.len(), |(at, _)| *at);
        Some(&self.text[start..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(a: &str, b: &str) -> Difference {
        compare(a.as_bytes(), b.as_bytes(), false)
    }

    fn numeric(a: &str, b: &str) -> Difference {
        compare(a.as_bytes(), b.as_bytes(), true)
    }

    fn because(why: &str) -> Difference {
        Difference::because(why.into())
    }

    #[test]
    fn without_a_tolerance_every_byte_counts() {
        assert_eq!(exact("a\nb\nc\n", "a\nb\nc\n"), Difference::none());
        assert_eq!(exact("a\nb\nc\n", "a\nb\nd\n"), because("prints another text from line 3 on"));
        assert_eq!(exact("1.0\n", "1.00\n"), because("prints another text from line 1 on"));
        assert_eq!(exact("a\n", "a\nb\n"), because("prints another text from line 2 on"));
        assert_eq!(exact("", "a"), because("prints another text from line 1 on"));
    }

    #[test]
    fn numbers_are_compared_by_value_wherever_they_stand() {
        assert_eq!(numeric("sum=1.5, n: 3\n", "sum = 1.25, n: 3"), Difference::from_size(0.25));
        assert_eq!(numeric("[1, 2e0,-3]", "[1.0, 2, -3.5]"), Difference::from_size(0.5));
        assert_eq!(numeric("1\n2\n", "1 2"), Difference::none());
        assert_eq!(
            numeric("9007199254740993", "9007199254740992"),
            Difference::from_size(1.0),
            "beyond the integers of f64"
        );
        assert_eq!(numeric("nan inf -inf", "NaN inf -inf"), Difference::none());
    }

    #[test]
    fn words_and_counts_must_agree() {
        assert_eq!(numeric("a\nbest: x\n", "a\nbest: y\n"), because("prints another text from line 2 on"));
        assert_eq!(numeric("a3f9", "a3f8"), because("prints another text from line 1 on"), "a word with digits");
        assert_eq!(numeric("0x10", "0x11"), because("prints another text from line 1 on"));
        assert_eq!(numeric("1 2 3", "1 2"), because("prints less"));
        assert_eq!(numeric("1\n", "1\n2\n"), because("prints more, from line 2 on"));
        assert_eq!(numeric("1 2", "1 nan"), because("prints nan instead of 2 in line 1"));
        assert_eq!(numeric("1\n", "one\n"), because("prints another text from line 1 on"));
    }
}
