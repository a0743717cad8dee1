//! Names as people write them: demangling, and shortening of long template names; and what names of files tell.

use std::borrow::Cow;

use super::{itanium, printable};

/// Shown for code whose function is not known.
pub const UNKNOWN: &str = "(unknown)";

/// The name of a linked symbol as its author would write it: Rust without hashes, C++ as `c++filt` has it but without
/// the types that function templates give, C as it is.
///
/// What cannot be demangled is returned unchanged, as is what would not be printable then; the empty symbol becomes
/// [`UNKNOWN`].
#[must_use]
pub fn demangle(symbol: &str) -> String {
    if symbol.is_empty() {
        return UNKNOWN.into();
    }
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        return Some(format!("{rust:#}")).filter(|name| is_printable(name)).unwrap_or_else(|| symbol.into());
    }
    let symbol = without_llvm_suffix(symbol);
    itanium::demangle(symbol, false).filter(|name| is_printable(name)).unwrap_or_else(|| symbol.into())
}

fn is_printable(name: &str) -> bool {
    matches!(printable::name(name), Cow::Borrowed(_))
}

/// LLVM renames promoted local symbols to `name.llvm.<number>`.
fn without_llvm_suffix(symbol: &str) -> &str {
    match symbol.rsplit_once(".llvm.") {
        Some((name, digits)) if !name.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => symbol,
    }
}

/// At most `width` characters of a name, by taking away first what tells least: the parameters, then nested template
/// arguments, then all template arguments, then the middle.
#[must_use]
pub fn shorten(name: &str, width: usize) -> String {
    if length(name) <= width {
        return name.into();
    }
    let without_parameters = collapse(name, '(', ')', 1);
    let without_generics = without_generics(&without_parameters);
    let steps = [
        without_parameters.clone(),
        collapse(&without_parameters, '<', '>', 2),
        without_generics.clone(),
        without_paths_in_brackets(&without_generics),
        collapse(&without_parameters, '<', '>', 1),
    ];
    for step in &steps {
        if length(step) <= width {
            return step.clone();
        }
    }
    middle_cut(&steps[steps.len() - 1], width)
}

/// A name with `…` in place of the arguments of generic types and functions. Types and traits that a path begins with,
/// as in `<Vec<u8> as Clone>::clone`, are no arguments and stay.
#[must_use]
pub fn without_generics(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    // Brackets that are open; the number of those around arguments is at most 1.
    let mut arguments: Vec<bool> = Vec::new();
    for (at, c) in name.char_indices() {
        let hidden = arguments.last() == Some(&true);
        match c {
            '<' if is_bracket(name, at, c) => {
                let before = name[..at].trim_end_matches("::").chars().next_back();
                let of_arguments = hidden || before.is_some_and(|b| b.is_alphanumeric() || b == '_');
                if !hidden {
                    out.push_str(if of_arguments { "<…>" } else { "<" });
                }
                arguments.push(of_arguments);
            }
            '>' if is_bracket(name, at, c) && !arguments.is_empty() => {
                arguments.pop();
                if !hidden {
                    out.push('>');
                }
            }
            _ if hidden => {}
            _ => out.push(c),
        }
    }
    out
}

/// A place in the source. Code that belongs to no line, as compilers make some, has line 0.
#[must_use]
pub fn place(file: &str, line: u32) -> String {
    if line == 0 { format!("{file}:?") } else { format!("{file}:{line}") }
}

/// The end of a path, cut at a `/` where possible.
#[must_use]
pub fn shorten_path(path: &str, width: usize) -> String {
    if length(path) <= width {
        return path.into();
    }
    let tail = last(path, width.saturating_sub(1));
    match tail.find('/') {
        Some(at) if at + 1 < tail.len() => format!("…{}", &tail[at..]),
        _ => format!("…{tail}"),
    }
}

fn length(s: &str) -> usize {
    s.chars().count()
}

fn last(s: &str, n: usize) -> &str {
    let skip = length(s).saturating_sub(n);
    s.char_indices().nth(skip).map_or("", |(at, _)| &s[at..])
}

fn middle_cut(s: &str, width: usize) -> String {
    let keep = width.saturating_sub(1);
    let head: String = s.chars().take(keep / 3).collect();
    format!("{head}…{}", last(s, keep - keep / 3))
}

/// `<Vec<…> as Clone>::clone` of `<alloc::vec::Vec<…> as core::clone::Clone>::clone`.
fn without_paths_in_brackets(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut depth = 0usize;
    for (at, c) in name.char_indices() {
        match c {
            '<' if is_bracket(name, at, c) => depth += 1,
            '>' if is_bracket(name, at, c) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > 0 && c == ':' && name[at + 1..].starts_with(':') {
            let word = out.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
            // The `::` of `<A as B>::C` stays.
            if word == out.len() { out.push_str("::") } else { out.truncate(word) }
        } else if depth == 0 || c != ':' {
            out.push(c);
        }
    }
    out
}

/// Replaces what is between brackets that are nested `level` deep (1 = outermost) by `…`.
fn collapse(s: &str, open: char, close: char, level: usize) -> String {
    let mut out = String::with_capacity(s.len());
    let mut depth = 0usize;
    let mut content = 0;
    for (at, c) in s.char_indices() {
        if c == open && is_bracket(s, at, c) {
            depth += 1;
            content = if depth == level { at + c.len_utf8() } else { content };
            if depth <= level {
                out.push(c);
            }
        } else if c == close && depth > 0 && is_bracket(s, at, c) {
            if depth == level {
                let inside = &s[content..at];
                out.push_str(if matches!(inside, "" | "anonymous namespace") { inside } else { "…" });
            }
            if depth <= level {
                out.push(c);
            }
            depth -= 1;
        } else if depth < level {
            out.push(c);
        }
    }
    out
}

/// `->` and the signs of `operator<<` are no brackets.
fn is_bracket(s: &str, at: usize, c: char) -> bool {
    match c {
        '<' | '>' => {
            let name = s[..at].trim_end_matches(['<', '>', '=', '-']);
            !(name.ends_with("operator") || s[..at].ends_with('-'))
        }
        _ => true,
    }
}

/// Whether a source file belongs to a language's library and not to the user: as rustc spells paths of its library, and
/// where systems keep headers.
#[must_use]
pub fn is_library_file(path: &str) -> bool {
    let starts = ["/rustc/", "/rust/deps/", "/usr/include/", "/usr/lib/", "/usr/src/rustc-", "/usr/bin/../lib/"];
    let parts = ["/lib/rustlib/src/", "/include/c++/", "/lib/clang/"];
    starts.iter().any(|start| path.starts_with(start)) || parts.iter().any(|part| path.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_become_what_their_authors_wrote() {
        for (symbol, name) in [
            ("main", "main"),
            ("", UNKNOWN),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            (
                "_ZN6linalg8multiplyERKNS_6MatrixES2_RS0_",
                "linalg::multiply(linalg::Matrix const&, linalg::Matrix const&, linalg::Matrix&)",
            ),
            ("_ZN4util9quicksortIdEEvPT_S2_", "util::quicksort<double>(double*, double*)"),
            ("helper.llvm.123456", "helper"),
            ("_ZN3foo3barEv.llvm.99", "foo::bar()"),
            ("_ZTv0_n24_N1B1fEi", "virtual thunk to B::f(int)"),
            ("_ZThn16_N1B1fEi", "non-virtual thunk to B::f(int)"),
            ("_ZTch0_h16_N1B1fEi", "covariant return thunk to B::f(int)"),
            ("_ZNK7Größe6längeEv", "Größe::länge() const"),
            ("_Zli3_kmy", "operator\"\" _km(unsigned long long)"),
            ("_Zgarbage", "_Zgarbage"),
            ("_ZN", "_ZN"),
        ] {
            assert_eq!(demangle(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn long_names_lose_their_noise_first() {
        let name =
            "std::vector<std::pair<int, std::string>, std::allocator<int>>::emplace_back<int&>(int&, char const*)";
        assert_eq!(shorten(name, 200), name);
        for (width, short) in [
            (96, "std::vector<std::pair<int, std::string>, std::allocator<int>>::emplace_back<int&>(…)"),
            (70, "std::vector<std::pair<…>, std::allocator<…>>::emplace_back<int&>(…)"),
            (40, "std::vector<…>::emplace_back<…>(…)"),
            (20, "std::v…ce_back<…>(…)"),
        ] {
            assert_eq!(shorten(name, width), short);
            assert!(length(short) <= width);
        }
        assert_eq!(
            shorten("(anonymous namespace)::parse(char const*, unsigned long)", 40),
            "(anonymous namespace)::parse(…)"
        );
        assert_eq!(shorten("Key::operator<(Key const&, another argument)", 20), "Key::operator<(…)");
        assert_eq!(shorten("it::operator->(Key const&, another argument)", 20), "it::operator->(…)");
        assert_eq!(shorten("f(…)", 0), "…");
    }

    #[test]
    fn generic_arguments_go_and_types_of_paths_stay() {
        let path = "<alloc::vec::Vec<u8> as core::clone::Clone>::clone::<a::B>";
        assert_eq!(shorten(path, 30), "<Vec<…> as Clone>::clone::<…>");
        assert_eq!(
            shorten("<regex_automata::util::remapper::Remapper>::remap::<a::b::C>", 30),
            "<Remapper>::remap::<…>"
        );
        for (name, short) in [
            ("demo::sum::<u32, alloc::vec::Vec<u8>>", "demo::sum::<…>"),
            ("<alloc::vec::Vec<u8> as core::clone::Clone>::clone", "<alloc::vec::Vec<…> as core::clone::Clone>::clone"),
            ("<demo::Grid<f64>>::step::<3>::{closure#0}", "<demo::Grid<…>>::step::<…>::{closure#0}"),
            ("<[u8] as demo::Trait<fn(u8) -> u8>>::f", "<[u8] as demo::Trait<…>>::f"),
            ("std::vector<int>::operator<<int>(x<y>)", "std::vector<…>::operator<<int>(x<…>)"),
            ("main", "main"),
        ] {
            assert_eq!(without_generics(name), short);
        }
    }

    #[test]
    fn paths_keep_their_end() {
        assert_eq!(shorten_path("src/a.c:12", 20), "src/a.c:12");
        assert_eq!(shorten_path("library/core/src/slice/sort.rs:12", 20), "…/slice/sort.rs:12");
        assert_eq!(shorten_path("averyveryverylongname.c:12", 10), "…name.c:12");
    }
}
