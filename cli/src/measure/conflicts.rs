//! Combinations of options that mean nothing.
//!
//! Takes the options of an analysis. Refuses, with what to do instead, those that cannot be measured together.

use std::collections::BTreeSet;

use super::{
    analysis::{AnalysisArgs, LivenessArg},
    values::ModelArg,
};

/// Sizes of lines that are measured at once, at most.
const MOST_LINE_SIZES: usize = 4;

impl AnalysisArgs {
    /// Refuses options that are about the other model.
    pub(super) fn check(&self) {
        let refuse = |what: &str| {
            clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, format!("{what}\n")).exit();
        };
        let exact = self.liveness() == LivenessArg::Exact;
        let in_order = self.threads.are_together() || self.report.sharing;
        if in_order {
            let what = if self.report.sharing { "--sharing" } else { "threads that share a stack" };
            let help = if self.report.sharing { "leave out --sharing" } else { "use --threads private" };
            let by_object = self.report.objects || self.report.sharing;
            let alone = [
                (self.model == ModelArg::Values, "--model values", "values are followed in one thread"),
                (exact, "--liveness exact", "which bytes are dead is found by going back over one thread"),
                (self.optimum.is_some(), "--optimum", "what is read next is found by going back over one thread"),
                (self.flows, "--flows", "flows are followed in one thread"),
                (self.window.is_some(), "--window", "it lists the accesses of one thread"),
                (self.cache.is_some(), "--cache", "a hierarchy is simulated for one thread"),
                (self.line.is_some() && by_object, "--line", "objects and writers are known by byte"),
            ];
            if let Some((_, option, why)) = alone.iter().find(|(is_given, ..)| *is_given) {
                refuse(&format!("{option} cannot be combined with {what}: {why}; {help}"));
            }
        }
        if self.threads.levels && !self.threads.are_together() {
            refuse("--levels is about a stack that threads share, beside their own; add --threads shared");
        }
        if self.model == ModelArg::Memory {
            if self.values.is_given() {
                refuse("--bytes-per-element, --fma and --inputs are about values; add --model values");
            }
            if self.line.is_some() && exact {
                refuse(
                    "--liveness exact cannot be combined with --line: a line has no last read of its own, because its \
                     bytes die one by one",
                );
            }
            if self.optimum.is_some() {
                self.check_optimum(refuse);
            }
            if let (Some(size), Some(cache)) = (self.line_size.first(), &self.cache)
                && *size != cache.line()
            {
                refuse(
                    "the lines of --cache must be the first of --line-size; put them first, or leave --line-size out",
                );
            }
            let sizes: BTreeSet<u32> = self.line_size.iter().copied().collect();
            if sizes.len() < self.line_size.len() {
                refuse("--line-size names a size twice");
            }
            if sizes.len() > MOST_LINE_SIZES {
                refuse("--line-size takes at most four sizes, as each has a stack of its own");
            }
            if self.flows && self.line.is_some() {
                refuse("--flows cannot be combined with --line: the bytes of a line come from different accesses");
            }
            if self.window.is_some() && self.line.is_some() {
                refuse("--window cannot be combined with --line: it lists bytes");
            }
            if self.window.is_some() && exact {
                refuse(
                    "--window cannot be combined with --liveness exact: accesses are listed while the program runs, and \
                     which bytes are dead is known only after it",
                );
            }
            if self.flows && exact {
                refuse(
                    "--flows cannot be combined with --liveness exact: flows are followed while the program runs, and \
                     which bytes are dead is known only after it",
                );
            }
            return;
        }
        if self.liveness.is_some() {
            refuse(
                "--liveness is about the memory model; in the values model a value leaves right after its last read",
            );
        }
        if self.line.is_some() {
            refuse("--line is about the memory model; values have no addresses");
        }
        if self.optimum.is_some() {
            refuse("--optimum is about the memory model; values have no addresses");
        }
        if !self.line_size.is_empty() {
            refuse("--line-size is about the memory model; values have no addresses");
        }
        if self.cache.is_some() {
            refuse("--cache is about the memory model; values have no addresses");
        }
        if self.flows {
            refuse("--flows is about the memory model; values have no addresses");
        }
        if self.window.is_some() {
            refuse("--window is about the memory model; the events of values are listed by dmdprof ir");
        }
        if self.report.objects {
            refuse("--objects is about the memory model; values have no addresses");
        }
        if self.roi.is_some() {
            refuse("--roi is about the memory model; with --model values declare regions (dmdprof_begin, dmdprof_end)");
        }
    }

    /// Refuses options that know no next read.
    fn check_optimum(&self, refuse: impl Fn(&str)) {
        if self.line.is_some() {
            refuse("--optimum cannot be combined with --line: it is found for memories of bytes, beside their stack");
        }
        if self.liveness() == LivenessArg::None {
            refuse(
                "--optimum cannot be combined with --liveness none: a memory that knows the future knows what is given \
                 up; leave --liveness out, or use exact",
            );
        }
        if self.flows || self.window.is_some() {
            let option = if self.flows { "--flows" } else { "--window" };
            refuse(&format!(
                "--optimum cannot be combined with {option}: it is followed while the program runs, and what is read \
                 next is known only after it; use two runs, or dmdprof record and two replays"
            ));
        }
    }
}
