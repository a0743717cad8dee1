//! Names that only the source text has: the variable that a loop counts with, the variable that an allocation goes to.
//!
//! Takes lines, gives names where the line has the usual form, and nothing where it has not: a wrong name is worse than
//! none.

use std::{collections::HashMap, path::Path};

use crate::shared::source_file;

/// Source files, read once each.
#[derive(Default)]
pub struct Sources(HashMap<String, Vec<String>>);

impl Sources {
    fn line(&mut self, file: &str, line: u32) -> Option<&str> {
        let lines = self
            .0
            .entry(file.to_owned())
            .or_insert_with(|| source_file::lines(&source_file::read(Path::new(file)).unwrap_or_default()));
        lines.get(line.checked_sub(1)? as usize).map(String::as_str)
    }

    pub fn loop_variable(&mut self, file: &str, line: u32, column: u32) -> Option<String> {
        loop_variable(self.line(file, line)?, column)
    }

    pub fn assigned(&mut self, file: &str, line: u32, column: u32) -> Option<String> {
        assigned(self.line(file, line)?, column)
    }
}

/// The variable of the loop whose head is at (or around) a column, from 1 on.
fn loop_variable(line: &str, column: u32) -> Option<String> {
    let starts: Vec<(usize, &str)> = words(line).filter(|(_, word)| matches!(*word, "for" | "while")).collect();
    let column = column.max(1) as usize;
    // The last head that does not begin after the place; loops without a column begin with the first.
    let (start, word) = *starts.iter().rev().find(|(at, _)| at < &column).or(starts.first())?;
    let rest = line[start + word.len()..].trim_start();
    let head = rest.trim_start_matches('(');
    if word == "while" {
        return tested(head);
    }
    // `for (i, x) in ...`: in C the bracket is still open.
    let is_whole = |pattern: &str| pattern.matches('(').count() == pattern.matches(')').count();
    if let Some((pattern, _)) = rest.split_once(" in ").filter(|(pattern, _)| is_whole(pattern)) {
        let pattern = pattern.trim().trim_start_matches('&').trim_start_matches("mut ");
        return (!pattern.is_empty() && pattern.len() <= 20).then(|| pattern.to_owned());
    }
    let declared = head.split(';').next()?;
    let name = match (declared.split_once('='), declared.split_once(':')) {
        (Some((left, _)), _) => left,
        (None, Some((left, _))) => left,
        (None, None) => return None,
    };
    last_identifier(name)
}

/// The variable that a condition such as `i < n`, `--n > 0` or `p` is about.
fn tested(condition: &str) -> Option<String> {
    let condition = condition.trim_start_matches(['!', '-', '+']);
    let name = first_identifier(condition).filter(|name| condition.starts_with(name.as_str()))?;
    let rest = condition[name.len()..].trim_start();
    let is_compared = rest.starts_with(['<', '>', '=', '!', ')', '{']) || rest.starts_with("--");
    (is_compared && name != "true").then_some(name)
}

/// What the value of a call at (or before) a column goes to, in the statement that the column is in.
fn assigned(line: &str, column: u32) -> Option<String> {
    let column = (column.max(1) as usize - 1).min(line.len());
    let start = line.get(..column)?.rfind(';').map_or(0, |at| at + 1);
    let stop = line[column..].find(';').map_or(line.len(), |at| column + at);
    let (line, end) = (&line[start..stop], column - start);
    let before = line.get(..end).filter(|text| text.contains('=')).unwrap_or(line);
    // The first of a whole line, else the one right before the call.
    let at = if before.len() == line.len() { before.find('=')? } else { before.rfind('=')? };
    let left = &before[..at];
    if left.ends_with(['<', '>', '!', '+', '-', '*', '/', '=']) {
        return None;
    }
    let left = left.trim();
    if let Some(pattern) = left.strip_prefix("let ") {
        return first_identifier(pattern.trim_start().trim_start_matches("mut "));
    }
    let left = match left.strip_suffix(']') {
        Some(element) => element.rsplit_once('[').map_or(element, |(array, _)| array),
        None => left,
    };
    let start = left.rfind(|c: char| !(is_part(c) || matches!(c, '.' | '>' | '-'))).map_or(0, |at| at + 1);
    let name = left[start..].trim_start_matches(['-', '>', '.']);
    name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_').then(|| name.to_owned())
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Identifiers and keywords with the place of each.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let code = line.split("//").next().unwrap_or(line);
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + code[rest..].find(is_part)?;
        let len = code[start..].find(|c: char| !is_part(c)).unwrap_or(code.len() - start);
        rest = start + len;
        Some((start, &code[start..rest]))
    })
}

fn first_identifier(text: &str) -> Option<String> {
    let word = words(text).next()?.1;
    word.chars().next().is_some_and(|c| !c.is_ascii_digit()).then(|| word.to_owned())
}

fn last_identifier(text: &str) -> Option<String> {
    let word = words(text).last()?.1;
    word.chars().next().is_some_and(|c| !c.is_ascii_digit()).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_count_with() {
        for (line, column, name) in [
            ("  for (int i = 0; i < n; i++)", 3, Some("i")),
            ("for(k=0;k<n;k++)", 1, Some("k")),
            ("for (size_t i = 0; i < n; i++) for (size_t j = 0; j < n; j++) {", 1, Some("i")),
            ("for (size_t i = 0; i < n; i++) for (size_t j = 0; j < n; j++) {", 32, Some("j")),
            ("for (auto &row : rows) {", 1, Some("row")),
            ("    for k in 0..n {", 14, Some("k")),
            ("    for (i, x) in v.iter().enumerate() {", 5, Some("(i, x)")),
            ("    while i < n {", 11, Some("i")),
            ("  while (p != NULL) {", 3, Some("p")),
            ("  while let Some(x) = it.next() {", 3, None),
            ("  for (;;) {", 3, None),
            ("    while (table[h].key && table[h].key != k) {", 5, None),
            ("    while (n--) {", 5, Some("n")),
            ("    while !done {", 5, Some("done")),
            ("    loop {", 5, None),
            ("  } while (--n > 0);", 3, Some("n")),
            ("  sum += a[i]; // for each", 3, None),
        ] {
            assert_eq!(loop_variable(line, column).as_deref(), name, "{line}");
        }
    }

    #[test]
    fn allocations_go_to() {
        for (line, column, name) in [
            ("  double *A = malloc(n * n * sizeof *A);", 15, Some("A")),
            ("  A = malloc(n);", 7, Some("A")),
            ("  double *a = malloc(n), *b = malloc(n), *c = malloc(n), sum = 0;", 31, Some("b")),
            ("  s->data = calloc(n, 8);", 13, Some("s->data")),
            ("  rows[i] = malloc(n);", 13, Some("rows")),
            ("    let mut a: Vec<f64> = vec![0.0; n];", 27, Some("a")),
            ("    let b = Box::new([0; 8]);", 13, Some("b")),
            ("  if (flags[0]) table = malloc(n);", 25, Some("table")),
            ("  Node *y = p->ch[i]; Node *z = new Node;", 33, Some("z")),
            ("  x = x * 3 + 1; m[x]++;", 19, None),
            ("  return malloc(n);", 10, None),
            ("  if (n <= grow(p)) {", 12, None),
        ] {
            assert_eq!(assigned(line, column).as_deref(), name, "{line}");
        }
    }
}
