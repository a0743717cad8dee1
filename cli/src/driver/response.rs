//! `@file` arguments, expanded the way clang does it.
//!
//! Takes a command line, gives it with every readable `@file` replaced by the words in the file, nested ones too.
//! A file that cannot be read leaves its argument as it is, and clang will say so. Quoting follows
//! `llvm::cl::TokenizeGNUCommandLine`: blanks separate words, a backslash takes the next character literally (inside
//! either kind of quotes as well), quotes may open and close within a word.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::{OsStrExt, OsStringExt},
};

/// Files inside files; clang stops at recursion, this at a depth that only recursion reaches.
const MAX_DEPTH: usize = 32;

/// The words with those of the named files in the place of `@FILE`. What cannot be read stays, as clang leaves it.
#[must_use]
pub fn expand(args: &[OsString]) -> Vec<OsString> {
    let mut out = Vec::with_capacity(args.len());
    for arg in args {
        expand_one(arg, 0, &mut out);
    }
    out
}

fn expand_one(arg: &OsStr, depth: usize, out: &mut Vec<OsString>) {
    let content = match arg.as_bytes().split_first() {
        Some((b'@', name)) if !name.is_empty() && depth < MAX_DEPTH => fs::read(OsStr::from_bytes(name)).ok(),
        _ => None,
    };
    match content {
        Some(content) => tokenize(&content).iter().for_each(|word| expand_one(word, depth + 1, out)),
        None => out.push(arg.to_os_string()),
    }
}

/// Splits the content of a response file into words.
#[must_use]
pub fn tokenize(content: &[u8]) -> Vec<OsString> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = content.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if bytes.peek().is_some() => word.get_or_insert_default().extend(bytes.next()),
            _ if quote == Some(byte) => quote = None,
            _ if quote.is_some() => word.get_or_insert_default().push(byte),
            b'"' | b'\'' => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            b' ' | b'\t' | b'\r' | b'\n' | 0 => words.extend(word.take().map(OsString::from_vec)),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

/// The inverse of [`tokenize`], one word per line.
#[must_use]
pub fn quote(args: &[OsString]) -> Vec<u8> {
    let mut out = Vec::new();
    for arg in args {
        out.push(b'"');
        for &byte in arg.as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(byte);
        }
        out.extend(b"\"\n");
    }
    out
}
