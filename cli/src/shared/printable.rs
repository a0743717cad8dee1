//! The one place that makes names fit to be printed.
//!
//! Takes names and paths as programs, compilers and users make them, gives text that controls nothing: no terminal, no
//! order of reading, no line of a log, no spreadsheet. What is printable already stays as it is. Escapes are those of
//! `ls`, `\n` and `\x1b`, and `\u{202e}` for what is not ASCII. JSON needs none of this: it has the exact name.

use std::{borrow::Cow, fmt::Display};

/// A name or a path, in one line.
#[must_use]
pub fn name(text: &str) -> Cow<'_, str> {
    if is_printable(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    if starts_command(rest) {
        // Logs of CI systems obey lines that begin so.
        let (space, command) = rest.split_at(rest.len() - rest.trim_start().len());
        space.chars().for_each(|c| push(c, &mut out));
        out.push_str("\\x3a");
        rest = &command[1..];
    }
    while let Some(c) = rest.chars().next() {
        push(c, &mut out);
        rest = &rest[c.len_utf8()..];
        if c == '#' && rest.starts_with("#[") {
            out.push_str("\\x23");
            rest = &rest[1..];
        }
    }
    Cow::Owned(out)
}

/// A line of source code, which stands behind something else: may begin with anything.
#[must_use]
pub fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push(c, &mut out));
    out
}

/// Says something on standard error.
pub fn say(message: impl Display) {
    eprintln!("dmdprof: {}", lines(&message.to_string()));
}

/// Text of several lines, which stay: messages that quote names, and what others printed.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    if text.split('\n').all(is_printable) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.split('\n').map(name).collect::<Vec<_>>().join("\n"))
}

/// A cell of a spreadsheet, which is no formula.
#[must_use]
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    let printable = name(text);
    if printable.starts_with(['=', '+', '-', '@']) { Cow::Owned(format!("'{printable}")) } else { printable }
}

fn is_printable(text: &str) -> bool {
    // Most names are short and plain.
    let is_plain = text.bytes().all(|b| matches!(b, b' '..=b'~'));
    (is_plain || !text.chars().any(controls)) && !starts_command(text) && !text.contains("##[")
}

/// As the workflow commands of GitHub and others do, `::error ...`.
fn starts_command(text: &str) -> bool {
    text.trim_start().starts_with("::")
}

fn push(c: char, out: &mut String) {
    match c {
        _ if !controls(c) => out.push(c),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if c.is_ascii() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
        c => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
    }
}

/// Whether a character does something else than being seen: control characters, line ends, directions of writing,
/// characters without a width, and those that XML forbids.
pub fn controls(c: char) -> bool {
    let is_format = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() || is_format
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay() {
        for text in ["main", "std::vector<…>::at", "naïve/путь.c:12", "a\\b", "<A as B>::c", "x##y", ""] {
            assert!(matches!(name(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn what_controls_something_is_escaped() {
        for (text, printed) in [
            ("\x1b]0;pwned\x07\x1b[31mEVIL", "\\x1b]0;pwned\\x07\\x1b[31mEVIL"),
            ("nl\n::error file=x::injected", "nl\\n::error file=x::injected"),
            ("::error::x", "\\x3a:error::x"),
            (" \t::error::x", " \\t\\x3a:error::x"),
            ("a##[error]b", "a#\\x23[error]b"),
            ("a\r\tb\x7f", "a\\r\\tb\\x7f"),
            ("a\u{202e}cba\u{2066}\u{200b}", "a\\u{202e}cba\\u{2066}\\u{200b}"),
            ("\u{9b}31m\u{2028}\u{ffff}", "\\u{9b}31m\\u{2028}\\u{ffff}"),
        ] {
            assert_eq!(name(text), printed);
            assert!(is_printable(&name(text)), "{text:?}");
        }
    }

    #[test]
    fn lines_stay_lines_and_cells_are_no_formulas() {
        assert_eq!(lines("a\nb"), "a\nb");
        assert_eq!(lines("cannot read x\n::error::y\x1b"), "cannot read x\n\\x3a:error::y\\x1b");
        for (text, cell) in
            [("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"), ("+x", "'+x"), ("-x", "'-x"), ("@x", "'@x"), ("a=b", "a=b")]
        {
            assert_eq!(csv_cell(text), cell);
        }
    }
}
