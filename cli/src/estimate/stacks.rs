//! Which stack the traffic of a level is from: that of each thread alone for what each core has of its own, the one
//! that threads share for what several cores have together.
//!
//! Takes what a profile has of the two, and a level; gives the stack, and the bytes that the level has for the threads
//! of that stack. Says what is missing where a profile has only one of them.

use crate::document::Value;
use crate::machine::{Figure, Level, Machine};
use crate::profile::{Profile, model::ThreadMode};

/// Stacks that a profile has depths of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stack {
    /// Those of the profile itself: of each thread, or of threads that share one.
    #[default]
    Main,
    /// Those of threads alone, beside shared ones.
    Alone,
}

/// The stacks of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    /// Threads share some.
    pub shared: bool,
    /// Each thread has one of its own beside them.
    pub alone: bool,
    /// Threads of the one that most share.
    pub most: u64,
    /// Threads of the run.
    pub threads: u64,
}

impl Stacks {
    #[must_use]
    pub fn from_profile(profile: &Profile) -> Self {
        let shared = profile.meta.thread_mode != ThreadMode::Private;
        let threads = profile.coverage.threads;
        let found = profile.stacks.as_ref();
        Self {
            shared,
            alone: found.is_some_and(|stacks| stacks.alone.is_some()),
            // Of older profiles, it is all that there are.
            most: found.map_or(threads, |stacks| stacks.threads).max(1),
            threads,
        }
    }

    /// Where the traffic of a level is from.
    #[must_use]
    pub fn for_level(self, level: &Level) -> Stack {
        if self.alone && level.per_core { Stack::Alone } else { Stack::Main }
    }

    /// Bytes of a level for the threads of that stack.
    #[must_use]
    pub fn capacity(self, level: &Level, cores: Option<&Figure>) -> u64 {
        if self.shared { level.capacity_for(self.most, cores) } else { level.capacity.value as u64 }
    }

    /// Whose a stack is, in a word.
    #[must_use]
    pub fn word(self, stack: Stack) -> &'static str {
        if self.shared && stack == Stack::Main { "shared" } else { "own" }
    }

    /// `L1 of x`, with the stack that it goes by if there are several threads to share one.
    #[must_use]
    pub fn label(self, level: &Level, machine: &str) -> String {
        let name = format!("{} of {machine}", level.name);
        if self.shared { format!("{name} ({})", self.word(self.for_level(level))) } else { name }
    }

    /// Who has one part of a level together, in words.
    #[must_use]
    pub fn sharers(level: &Level) -> Value {
        let sharers = level.sharers();
        Value::Text(match () {
            () if sharers == 1.0 => "one core".into(),
            () if sharers.is_finite() => format!("{sharers} cores"),
            () if level.shared_by.is_none() => "all cores (not stated)".into(),
            () => "all cores".into(),
        })
    }

    /// Whose traffic a fast memory of all cores together sees.
    #[must_use]
    pub fn at_fast_memory(self) -> Option<String> {
        match (self.shared, self.threads > 1) {
            (true, _) => Some(format!(
                "The fast memory is of all cores together: its traffic is of the stack that up to {} threads share.",
                self.most
            )),
            (false, true) => Some(
                "The fast memory is of all cores together, but the profile has stacks of threads alone only: data that several \
                 threads use is fetched for each. dmdprof run --threads shared measures what they fetch together."
                    .into(),
            ),
            (false, false) => None,
        }
    }

    /// What the profile lacks for levels of a machine, and how to get it.
    #[must_use]
    pub fn missing(self, machine: &Machine) -> Vec<String> {
        let names = |are: &dyn Fn(&&Level) -> bool| {
            let names: Vec<&str> = machine.levels.iter().filter(are).map(|level| level.name.as_str()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let name = &machine.name;
        let mut missing = Vec::new();
        if self.threads < 2 {
            return missing;
        }
        if !self.shared
            && let Some(levels) = names(&|level| !level.per_core)
        {
            missing.push(format!(
                "{name}: cores share {levels}, but the profile has stacks of threads alone only: data that several threads use is \
                 fetched for each, and no thread takes room from another. dmdprof run --threads shared --levels measures both."
            ));
        }
        if self.shared
            && !self.alone
            && let Some(levels) = names(&|level| level.per_core)
        {
            missing.push(format!(
                "{name}: each core has its own {levels}, but the profile has the stack that threads share only: they take room from \
                 each other there. dmdprof run --levels, with the same --threads, measures both."
            ));
        }
        let cores = machine.cores.as_ref();
        for level in machine.levels.iter().filter(|level| self.shared && self.most as f64 > level.sharers()) {
            let parts = (self.most as f64 / level.sharers()).ceil().min(level.parts(cores) as f64);
            if !level.per_core && parts > 1.0 {
                missing.push(format!(
                    "{name}: {} threads share a stack, and a part of {} is for {} cores: {parts} parts are taken together, as if data \
                     that several need were there once. dmdprof run --threads clusters:{} --levels keeps them apart.",
                    self.most, level.name, level.sharers(), level.sharers()
                ));
            }
        }
        missing
    }
}
