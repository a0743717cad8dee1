//! How numbers were made, and whether two of them may be compared.
//!
//! Takes two [`Provenance`], gives every [`Difference`] between them with what to do about it. Those of the model make
//! numbers incomparable; those of the build and the input mean that another program or another run was measured.

use std::collections::BTreeMap;

use crate::profile::Profile;
use crate::profile::model::{CacheLevel, CycleCore, Liveness, Meta, Outcome, Unit};

use super::key::PathMap;

/// Everything a number depends on besides the program's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Name and version, with what else there is to choose.
    pub model: String,
    pub liveness: String,
    pub threads: String,
    pub unit: String,
    /// Bytes of the lines of which fills and write-backs were measured; `None`: of none.
    pub line_size: Option<u32>,
    pub roi: Option<String>,
    /// The core that followed: its machine, and a hash of its numbers; empty if none did.
    pub core: String,
    /// The caches that were simulated, the nearest to the processor first; empty if none were.
    pub caches: String,
    /// Compilers of the code with hooks, with their optimisation levels; sorted. Empty if not known.
    pub compilers: Vec<String>,
    /// The program (its file name) and its arguments.
    pub command: Vec<String>,
    /// SHA-256 of the files that the run read, as far as they were named; `None` if nobody looked.
    pub inputs: Option<BTreeMap<String, String>>,
    /// How the program ended.
    pub exit: String,
}

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Model,
    Liveness,
    Threads,
    Unit,
    LineSize,
    Roi,
    Core,
    Caches,
    Compilers,
    Command,
    Inputs,
    Exit,
}

impl What {
    /// Whether the numbers have another meaning, and not only another cause.
    #[must_use]
    pub fn is_of_the_model(self) -> bool {
        matches!(self, What::Model | What::Liveness | What::Threads | What::Unit | What::LineSize)
            || self.part().is_some()
    }

    /// If only some numbers have another meaning, the beginning of their paths.
    #[must_use]
    pub fn part(self) -> Option<&'static str> {
        match self {
            What::Core => Some("cycles_"),
            What::Caches => Some("caches_"),
            _ => None,
        }
    }
}

/// One disagreement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub what: What,
    pub before: String,
    pub after: String,
}

impl Difference {
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.what {
            What::Model => "model",
            What::Liveness => "liveness",
            What::Threads => "threads",
            What::Unit => "unit",
            What::LineSize => "line size",
            What::Roi => "region of interest",
            What::Core => "core",
            What::Caches => "caches",
            What::Compilers => "compilers",
            What::Command => "command",
            What::Inputs => "inputs",
            What::Exit => "end of the program",
        }
    }

    /// What to do, for a gate.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self.what {
            What::Model => {
                "costs of different models have nothing to do with each other; measure with the same dmdprof and options"
            }
            What::Liveness => "give both runs the same --liveness",
            What::Threads => "give both runs the same thread mode",
            What::Unit => "give both runs --lines-only, or none",
            What::LineSize => "give both runs the same --line-size",
            What::Roi => "give both runs the same --roi, or none",
            What::Core => {
                "cycles on different cores have nothing to do with each other; give both runs the same --cycles, and the same dmdprof"
            }
            What::Caches => "caches of other sizes fetch other lines; give both runs the same --cache",
            What::Compilers => "other compilers make other code; build with the same one",
            What::Command => "give both runs the same command",
            What::Inputs => "other inputs make other numbers; restore the file",
            What::Exit => "a run that ends differently did other work; find out why it does",
        }
    }
}

impl Provenance {
    /// What a profile says; inputs are not in it.
    #[must_use]
    pub fn from_profile(profile: &Profile, paths: &PathMap) -> Self {
        let meta = &profile.meta;
        Provenance {
            model: model(meta),
            liveness: match meta.liveness {
                Liveness::None => "none",
                Liveness::Hints => "hints",
                Liveness::Exact => "exact",
            }
            .into(),
            threads: meta.thread_mode.to_string(),
            unit: match meta.unit {
                Unit::Byte => "bytes".into(),
                Unit::Lines => "lines only".into(),
            },
            line_size: profile.line_size(),
            roi: meta.roi.clone(),
            core: profile.cycles.as_ref().and_then(|cycles| cycles.cores.first()).map_or_else(String::new, core),
            caches: profile.caches.iter().map(cache).collect::<Vec<_>>().join("; "),
            compilers: profile.compilers.clone(),
            command: command(&meta.command, paths),
            inputs: None,
            exit: match meta.outcome {
                Outcome::Exited(code) => code.to_string(),
                Outcome::Signaled(signal) => format!("signal {signal}"),
                Outcome::Unknown => "unknown".into(),
            },
        }
    }

    /// Every difference, those of the model first.
    #[must_use]
    pub fn differences(&self, after: &Provenance) -> Vec<Difference> {
        let list = |words: &[String]| words.join(", ");
        let roi = |provenance: &Provenance| provenance.roi.clone().unwrap_or_else(|| "none".into());
        let size = |provenance: &Provenance| provenance.line_size.map_or_else(String::new, |size| size.to_string());
        let pairs = [
            (What::Model, self.model.clone(), after.model.clone()),
            (What::Liveness, self.liveness.clone(), after.liveness.clone()),
            (What::Threads, self.threads.clone(), after.threads.clone()),
            (What::Unit, self.unit.clone(), after.unit.clone()),
            (What::LineSize, size(self), size(after)),
            (What::Roi, roi(self), roi(after)),
            (What::Core, self.core.clone(), after.core.clone()),
            (What::Caches, self.caches.clone(), after.caches.clone()),
            (What::Compilers, list(&self.compilers), list(&after.compilers)),
            (What::Command, self.command.join(" "), after.command.join(" ")),
            (What::Exit, self.exit.clone(), after.exit.clone()),
        ];
        // Old baselines have no lines, no core followed most runs, few have caches, and profiles may lack compilers;
        // what both have is compared.
        let unknown = |what: What, text: &str| {
            (what.part().is_some() || matches!(what, What::Compilers | What::LineSize)) && text.is_empty()
        };
        let differ = pairs
            .into_iter()
            .filter(|(what, before, after)| before != after && !unknown(*what, before) && !unknown(*what, after));
        let mut all: Vec<Difference> = differ.map(|(what, before, after)| Difference { what, before, after }).collect();
        if let (Some(before), Some(after)) = (&self.inputs, &after.inputs) {
            all.extend(inputs(before, after));
        }
        all
    }
}

fn core(core: &CycleCore) -> String {
    format!("{} {:016x}", core.name, core.figures)
}

fn cache(level: &CacheLevel) -> String {
    let policy = if level.plru { ",plru" } else { "" };
    format!("{},{},{}{policy}", level.bytes, level.ways, level.line)
}

fn model(meta: &Meta) -> String {
    let mut text = format!("{} {}", meta.model, meta.model_version);
    if let Some(values) = &meta.values {
        match values.bytes_per_element {
            Some(n) => text.push_str(&format!(", {n} bytes per element")),
            None => text.push_str(", sizes of types"),
        }
        text.push_str(if values.fma_is_one { ", fma one" } else { ", fma two" });
    }
    text
}

/// Where the program lies does not matter; its arguments do.
fn command(words: &[String], paths: &PathMap) -> Vec<String> {
    let program = words.first().map(|p| p.rsplit('/').next().unwrap_or(p).to_owned());
    let is_path = |word: &str| word.starts_with('/');
    let arguments = words.iter().skip(1).map(|w| if is_path(w) { paths.apply(w) } else { w.clone() });
    program.into_iter().chain(arguments).collect()
}

fn inputs(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<Difference> {
    let short =
        |hash: Option<&String>| hash.map_or_else(|| "absent".into(), |h| h.chars().take(12).collect::<String>());
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    changed
        .map(|name| Difference {
            what: What::Inputs,
            before: format!("{name} {}", short(before.get(name))),
            after: format!("{name} {}", short(after.get(name))),
        })
        .collect()
}
