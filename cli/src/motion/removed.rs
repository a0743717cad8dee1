//! What the optimiser took away: loops and variables that a source has as it is written, and its program has not.
//!
//! Takes the tables of the program and of the same source built without optimisation; gives a sentence. A loop is one
//! of its line: of several there, all must be gone.

use std::collections::BTreeSet;

use dmdprof_runtime::{abi::NONE, sites::SiteTable};

use super::convert::is_library;
use crate::shared::names::demangle;

/// Names in a list.
const MOST: usize = 12;
/// Bytes of the smallest variable that is worth a word: more than a scalar.
const SMALLEST: u64 = 17;

/// `None` if nothing is gone.
#[must_use]
pub fn sentence<'t>(program: impl Iterator<Item = &'t SiteTable> + Clone, plain: &SiteTable) -> Option<String> {
    let left: BTreeSet<(&str, u32)> = program.clone().flat_map(loops).collect();
    let known: BTreeSet<&str> = program.flat_map(variables).collect();
    let loops: BTreeSet<(&str, u32)> = loops(plain).filter(|place| !left.contains(place)).collect();
    let variables: BTreeSet<&str> = variables(plain).filter(|name| !known.contains(name)).collect();
    let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let loops = list(loops.into_iter().map(|(path, line)| format!("{}:{line}", file(path))).collect());
    let variables = list(variables.into_iter().map(demangle).collect());
    let gone = match (loops, variables) {
        (None, None) => return None,
        (Some(loops), None) => format!("the loops at {loops}"),
        (None, Some(variables)) => format!("the variables {variables}"),
        (Some(loops), Some(variables)) => format!("the loops at {loops} and the variables {variables}"),
    };
    Some(format!(
        "Gone in the optimised program (unrolled, merged or never needed): {gone}. With -O 0 they are counted."
    ))
}

fn loops(table: &SiteTable) -> impl Iterator<Item = (&str, u32)> {
    table.loops.iter().filter(|of| of.frame != NONE).filter_map(|of| {
        let frame = table.frames.get(of.frame as usize)?;
        let file = table.strings.get(frame.file as usize)?;
        (frame.line > 0 && !is_library(file)).then_some((file.as_str(), frame.line))
    })
}

fn variables(table: &SiteTable) -> impl Iterator<Item = &str> {
    let is_own = |name: &str| !name.starts_with("__");
    let variables = table.data.iter().filter(|datum| !datum.is_section && datum.size >= SMALLEST);
    variables.map(|datum| datum.name.as_str()).filter(move |name| is_own(name))
}

fn list(names: Vec<String>) -> Option<String> {
    let rest = names.len().saturating_sub(MOST);
    let text = names.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    match (names.is_empty(), rest) {
        (true, _) => None,
        (false, 0) => Some(text),
        (false, rest) => Some(format!("{text} and {rest} more")),
    }
}
