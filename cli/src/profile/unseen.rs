//! Accesses that were executed and are not counted: those of inline assembly and of intrinsics that are not understood.
//!
//! They are among the calls into code without hooks, under the name of what makes them and the function that they are
//! in. Takes the coverage of a profile, gives them one by one.

use std::fmt;

use super::model::Coverage;
use crate::shared::{human, names, printable};

/// Between what is not counted and the function.
const IN: &str = " in ";
/// Lists name so many.
const SHOWN: usize = 5;

/// What makes accesses that are not counted, in one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotCounted<'a> {
    what: &'a str,
    /// Linked symbol; not known in the values model.
    function: Option<&'a str>,
    executions: u64,
}

/// Whether a callee is no code but an instruction, by its name in descriptors.
#[must_use]
pub fn is_instruction(callee: &str) -> bool {
    callee.starts_with("llvm.") || callee.starts_with("inline assembly")
}

/// The name of an instruction in a function.
#[must_use]
pub fn name_in(what: &str, function: &str) -> String {
    format!("{what}{IN}{function}")
}

/// Those of a run, most executions first.
#[must_use]
pub fn not_counted(coverage: &Coverage) -> Vec<NotCounted<'_>> {
    let calls = coverage.unseen_calls.iter().filter(|(name, _)| is_instruction(name));
    calls.map(|(name, executions)| NotCounted { executions: *executions, ..of_name(name) }).collect()
}

fn of_name(name: &str) -> NotCounted<'_> {
    match name.split_once(IN) {
        Some((what, function)) => NotCounted { what, function: Some(function), executions: 0 },
        None => NotCounted { what: name, function: None, executions: 0 },
    }
}

/// A call into code without hooks, as reports name it.
#[must_use]
pub fn shown(callee: &str) -> String {
    if !is_instruction(callee) {
        return names::shorten(&names::demangle(callee), 40);
    }
    let NotCounted { what, function, .. } = of_name(callee);
    function.map_or_else(|| what.to_owned(), |f| name_in(what, &names::shorten(&names::demangle(f), 40)))
}

/// A sentence for each of the first few, and one for the rest.
#[must_use]
pub fn sentences(coverage: &Coverage) -> Vec<String> {
    let all = not_counted(coverage);
    let mut out: Vec<String> = all.iter().take(SHOWN).map(ToString::to_string).collect();
    if let Some(more) = all.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        out.push(format!("accesses of {more} more are not counted (coverage.unseen_calls of report --format json)"));
    }
    out
}

/// Says them on standard error, whatever else is printed; `of` comes before each.
pub fn warn(of: &str, sentences: &[String]) {
    for sentence in sentences {
        printable::say(format_args!("warning: {of}{sentence}"));
    }
}

impl fmt::Display for NotCounted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = self.function {
            write!(f, "{}: ", names::demangle(function))?;
        }
        let times = human::plural(self.executions, "execution");
        write!(f, "accesses of {} are not counted ({times})", self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_told_from_functions() {
        let coverage = Coverage {
            unseen_calls: vec![
                (name_in("inline assembly", "_ZN3foo3barEv"), 1000),
                ("tmpfile".into(), 3),
                ("llvm.x86.xsave64 (64 bytes)".into(), 1),
            ],
            ..Coverage::default()
        };
        assert_eq!(
            sentences(&coverage),
            [
                "foo::bar(): accesses of inline assembly are not counted (1,000 executions)",
                "accesses of llvm.x86.xsave64 (64 bytes) are not counted (1 execution)"
            ]
        );
        let names: Vec<String> = coverage.unseen_calls.iter().map(|(name, _)| shown(name)).collect();
        assert_eq!(names, ["inline assembly in foo::bar()", "tmpfile", "llvm.x86.xsave64 (64 bytes)"]);
    }

    #[test]
    fn long_lists_are_cut() {
        let unseen_calls = (0..7).map(|n| (name_in("inline assembly", &format!("f{n}")), 1)).collect();
        let found = sentences(&Coverage { unseen_calls, ..Coverage::default() });
        assert_eq!(found.len(), 6);
        assert!(found[5].contains("2 more"), "{found:?}");
    }
}
