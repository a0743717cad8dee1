//! C++ names as the Itanium ABI writes them, which all compilers on Linux follow.
//!
//! Takes a linked symbol, gives the name in the words of `c++filt`; refuses what is no such symbol. [`parse`],
//! [`types`] and [`expression`] read it into nodes ([`tree`]), [`print`] and [`print_expression`] write these.
//!
//! Own code, as the one crate without C and C++ in it (cpp_demangle 0.5) leaves out parameters of constructor
//! templates, takes the arguments of one template for those of another, and reads neither literal operators nor names
//! outside of ASCII: of 12,000 symbols of three libraries 1,575 differed in more than how numbers are written.
//! `tests.rs` has a part of them, and says what differs here.

mod expression;
mod parse;
mod print;
mod print_expression;
#[cfg(test)]
mod tests;
mod tree;
mod types;

/// The name as its author would write it. `with_results`: with the types that function templates give, as `c++filt` has
/// it; without, one name of a function is a part of no other.
pub fn demangle(symbol: &str, with_results: bool) -> Option<String> {
    let text = symbol.strip_prefix("_Z").or_else(|| symbol.strip_prefix("__Z"))?;
    let mut parser = parse::Parser::new(text);
    let root = parser.encoding()?;
    let suffixes = clones(parser.rest)?;
    let mut name = print::text(&parser.tree, root, with_results)?;
    for suffix in suffixes {
        name.push_str(&format!(" [clone {suffix}]"));
    }
    Some(name)
}

/// `.part.1` and `.cold` of `.part.1.cold`: what a compiler adds to the names of parts and copies.
fn clones(mut rest: &str) -> Option<Vec<&str>> {
    let mut all = Vec::new();
    while !rest.is_empty() {
        let word = rest.strip_prefix('.')?;
        let letters = word.find(|c: char| !(c.is_ascii_alphabetic() || c == '_')).unwrap_or(word.len());
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let mut end = 1 + if letters == 0 { digits(word) } else { letters };
        while let Some(number) = rest[end..].strip_prefix('.').map(digits).filter(|length| *length > 0) {
            end += 1 + number;
        }
        (end > 1).then_some(())?;
        let (suffix, behind) = rest.split_at(end);
        all.push(suffix);
        rest = behind;
    }
    Some(all)
}
