//! Which options go together.
//!
//! Each option says once what it asks of the analysis, and what an analysis with it has no longer; so do sampled runs
//! and parts of traces, which take the same options. Two that ask for and take away the same thing are refused, with
//! the reason and what to do instead.

use std::collections::BTreeSet;

use super::{
    options::{LivenessArg, MeasureArgs},
    values::ModelArg,
};

/// Who does the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// A whole run, or one that was recorded.
    Run,
    Sample,
    /// A part of a trace, apart from the others.
    Slice,
}

/// What an analysis has that not all have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trait {
    /// What is on the stack has an address.
    Addresses,
    /// The stack is one of bytes.
    Bytes,
    /// Bytes may leave the stack.
    Ends,
    /// Everything is known while the program runs.
    Meanwhile,
    /// A thread is analysed by itself.
    OneThread,
    /// Every access of the run is seen.
    Whole,
    /// A part of a run can be analysed before the one in front of it.
    Apart,
}
use Trait::{Addresses, Apart, Bytes, Ends, Meanwhile, OneThread, Whole};

struct Rule {
    name: &'static str,
    is_given: fn(&MeasureArgs, Driver) -> bool,
    asks: &'static [Trait],
    takes: &'static [Trait],
}

const fn rule(
    name: &'static str,
    asks: &'static [Trait],
    takes: &'static [Trait],
    is_given: fn(&MeasureArgs, Driver) -> bool,
) -> Rule {
    Rule { name, is_given, asks, takes }
}

/// What lines ask for.
const LINES: [Trait; 2] = [Addresses, Whole];

const RULES: [Rule; 19] = [
    rule("--model values", &[OneThread, Apart], &[Addresses], |a, _| a.stack.model == ModelArg::Values),
    rule("--sample", &[Addresses, OneThread], &[Whole], |_, driver| driver == Driver::Sample),
    rule("dmdprof slice", &[], &[Apart], |_, driver| driver == Driver::Slice),
    rule("threads that share a stack", &[Apart], &[OneThread], |a, _| a.stack.threads.are_together()),
    rule("--sharing", &[Bytes, Whole, Apart], &[OneThread], |a, _| a.subject.sharing),
    rule("--liveness", &[Addresses], &[], |a, _| a.stack.liveness.is_some()),
    rule("--liveness none", &[], &[Ends], |a, _| a.stack.liveness() == LivenessArg::None),
    rule("--liveness exact", &[Bytes, OneThread, Whole, Apart], &[Meanwhile], |a, _| {
        a.stack.liveness() == LivenessArg::Exact
    }),
    rule("--lines-only", &[Addresses, OneThread, Whole], &[Bytes, Ends], |a, _| a.stack.lines_only),
    rule("--line-size", &LINES, &[], |a, _| !a.stack.line_size.is_empty()),
    rule("--cache", &[Addresses, OneThread, Whole, Apart], &[], |a, _| a.cache.is_some()),
    rule("--hazards", &[Addresses, OneThread, Whole], &[], |a, _| a.hazards),
    rule("--cycles", &[Addresses], &[], |a, _| a.cycles.is_some()),
    rule("--optimum", &[Addresses, Bytes, Ends, OneThread, Whole, Apart], &[Meanwhile], |a, _| a.optimum.is_some()),
    rule("--flows", &[Addresses, Bytes, Meanwhile, OneThread, Whole, Apart], &[], |a, _| a.flows),
    rule("--window", &[Addresses, Bytes, Meanwhile, OneThread, Whole, Apart], &[], |a, _| a.window.is_some()),
    rule("--sequence", &[Whole, Apart], &[], |a, _| a.sequence.is_some()),
    rule("--objects", &[Addresses], &[], |a, _| a.subject.objects),
    rule("--roi", &[Addresses], &[], |a, _| a.stack.roi.is_some()),
];

/// Why an option asks for something.
fn why(name: &str, asked: Trait) -> &'static str {
    match (name, asked) {
        ("--liveness", Addresses) => "in the values model a value leaves right after its last read",
        ("--roi", Addresses) => "with --model values declare regions (dmdprof_begin, dmdprof_end)",
        ("--window", Addresses) => "the events of values are listed by dmdprof ir",
        (_, Addresses) => "values have no addresses",
        (_, Bytes) => "it is about bytes",
        (_, Ends) => "a memory that knows the future knows what is given up; leave --liveness out, or use exact",
        (_, Meanwhile) => {
            "it is followed while the program runs, and that is known only after it; use two runs, or dmdprof record \
             and two replays"
        }
        (_, OneThread) => "it is followed in one thread",
        ("--liveness exact" | "--optimum", _) => "what is read again is known only of whole runs",
        (_, Whole) => "it needs all accesses, and a sample is a part of them",
        (_, Apart) => "it goes over all accesses of a run in order",
    }
}

/// What to do about an option that others do not go with.
fn instead(name: &str) -> &'static str {
    match name {
        "dmdprof slice" => "; use dmdprof replay",
        "threads that share a stack" => "; use --threads private",
        "--sharing" => "; leave out --sharing",
        _ => "",
    }
}

/// What the first two options that do not go together are told.
fn conflict(args: &MeasureArgs, driver: Driver) -> Option<String> {
    let given: Vec<&Rule> = RULES.iter().filter(|rule| (rule.is_given)(args, driver)).collect();
    let asked = given.iter().flat_map(|rule| rule.asks.iter().map(|of| (rule.name, *of)));
    let mut refused = asked.filter_map(|(name, of)| {
        let other = given.iter().find(|rule| rule.takes.contains(&of))?.name;
        let why = why(name, of);
        Some(match (of, instead(other), instead(name)) {
            (Addresses, ..) => format!("{name} is about the memory model; {why}"),
            (_, "", instead) | (_, instead, _) => format!("{name} cannot be combined with {other}: {why}{instead}"),
        })
    });
    refused.next()
}

/// The lines that a stack is kept of: those asked for, else those of the caches, else the usual ones if nothing that
/// was asked for is without lines.
#[must_use]
pub fn line_sizes(args: &MeasureArgs, driver: Driver) -> Vec<u32> {
    let mut given = RULES.iter().filter(|rule| (rule.is_given)(args, driver));
    let stack = &args.stack;
    match &args.cache {
        _ if !stack.line_size.is_empty() => stack.line_size.clone(),
        Some(cache) => vec![cache.line()],
        None if stack.no_lines || given.any(|rule| LINES.iter().any(|of| rule.takes.contains(of))) => Vec::new(),
        None => vec![USUAL_LINE],
    }
}

/// Bytes of a line, if nobody says how many: most processors have these.
const USUAL_LINE: u32 = 64;
/// Sizes of lines that are measured at once, at most.
const MOST_LINE_SIZES: usize = 4;

/// What options need that is not there.
fn lack(args: &MeasureArgs) -> Option<&'static str> {
    let MeasureArgs { stack, cache, cycles, .. } = args;
    let (is_together, sizes) = (stack.threads.are_together(), &stack.line_size);
    let is_other = |line: u32| sizes.first().is_some_and(|first| *first != line);
    let lacks = [
        (
            stack.threads.levels && !is_together,
            "--levels is about a stack that threads share, beside their own; add --threads shared",
        ),
        (
            stack.model == ModelArg::Memory && stack.values.is_given(),
            "--bytes-per-element, --fma and --inputs are about values; add --model values",
        ),
        (
            cache.as_ref().is_some_and(|cache| is_other(cache.line())),
            "the lines of --cache must be the first of --line-size; put them first, or leave --line-size out",
        ),
        (
            cycles.is_some() && stack.roi.is_some(),
            "--cycles follows the whole program; leave --roi out, and read its functions in the report",
        ),
        (
            stack.no_lines && cache.is_some(),
            "--cache shows what memories of its lines without sets would fetch; leave --no-lines out",
        ),
        (sizes.iter().collect::<BTreeSet<_>>().len() < sizes.len(), "--line-size names a size twice"),
        (sizes.len() > MOST_LINE_SIZES, "--line-size takes at most four sizes, as each has a stack of its own"),
    ];
    lacks.into_iter().find(|(is_so, _)| *is_so).map(|(_, what)| what)
}

/// Ends with a message on options that do not go together; `needs_profile` is an option whose answer is in a profile,
/// which a sample does not give, and `needs_bytes` one that goes by depths of bytes.
pub fn check(args: &MeasureArgs, driver: Driver, needs_profile: Option<&str>, needs_bytes: Option<&str>) {
    if let Some(option) = needs_profile.filter(|_| driver == Driver::Sample) {
        refuse(&format!("{option} cannot be combined with --sample: it needs a profile, and a sample gives estimates"));
    }
    if let Some(option) = needs_bytes.filter(|_| args.stack.lines_only) {
        refuse(&format!("{option} cannot be combined with --lines-only: it goes by depths of bytes"));
    }
    if let Some(what) = conflict(args, driver).or(lack(args).map(str::to_owned)) {
        refuse(&what);
    }
}

/// Ends with a message on options that contradict each other.
pub fn refuse(what: &str) -> ! {
    clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, format!("{what}\n")).exit();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::typed::of_words;

    fn said(words: &str, driver: Driver) -> String {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let args: MeasureArgs = of_words(&words);
        conflict(&args, driver).or(lack(&args).map(str::to_owned)).unwrap_or_default()
    }

    #[test]
    fn what_goes_together_is_not_refused() {
        for words in [
            "",
            "--liveness exact --optimum --objects --line-size 64,128 --roi f",
            "--flows --flow-contexts --window 9 --cache 1024,2,64 --line-size 64 --objects --sequence main",
            "--lines-only --objects --line-size 64,128 --cache 1024,2,64",
            "--threads shared --levels --objects --line-size 64",
            "--sharing --line-size 32",
            "--model values --sequence f --fma one",
        ] {
            assert_eq!(said(words, Driver::Run), "", "{words}");
        }
        assert_eq!(said("--objects --roi f --liveness none", Driver::Sample), "");
        assert_eq!(said("--cycles=zen4-9654-core", Driver::Sample), "");
        assert_eq!(said("--objects --roi f --line-size 64", Driver::Slice), "");
    }

    #[test]
    fn lines_are_measured_where_they_can_be() {
        let sizes = |words: &str, driver: Driver| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            line_sizes(&of_words(&words), driver)
        };
        let usual = [
            "",
            "--lines-only",
            "--flows --objects",
            "--threads shared --levels",
            "--sharing",
            "--liveness exact --optimum",
        ];
        for words in usual {
            assert_eq!(sizes(words, Driver::Run), [64], "{words}");
        }
        assert_eq!(sizes("--roi f", Driver::Slice), [64]);
        for words in ["--no-lines", "--model values"] {
            assert_eq!(sizes(words, Driver::Run), [0; 0], "{words}");
        }
        assert_eq!(sizes("--objects", Driver::Sample), [0; 0]);
        assert_eq!(sizes("--line-size 128,32", Driver::Run), [128, 32]);
        assert_eq!(sizes("--cache 1024,2,32", Driver::Run), [32]);
    }

    #[test]
    fn what_does_not_is_told_why() {
        let all = [
            ("--model values --sharing", Driver::Run),
            ("--threads shared --liveness exact", Driver::Run),
            ("--threads shared --lines-only", Driver::Run),
            ("--lines-only --flows", Driver::Run),
            ("--liveness exact --window 9", Driver::Run),
            ("--optimum --flows", Driver::Run),
            ("--optimum --liveness none", Driver::Run),
            ("--model values --objects", Driver::Run),
            ("--model values --window 9", Driver::Run),
            ("--fma one", Driver::Run),
            ("--line-size 64,64", Driver::Run),
            ("--no-lines --cache 1024,2,64", Driver::Run),
            ("--line-size 128 --cache 1024,2,64", Driver::Run),
            ("--threads shared", Driver::Sample),
            ("--line-size 64", Driver::Sample),
            ("--flows", Driver::Slice),
            ("--liveness exact", Driver::Slice),
        ];
        let said: Vec<String> = all.map(|(words, driver)| said(words, driver)).into();
        insta::assert_snapshot!(said.join("\n"));
    }
}
