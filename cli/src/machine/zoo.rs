//! The machines that dmdprof ships: the files of `cli/machines/`, compiled in.
//!
//! Takes a name, gives the machine. How the numbers were obtained: `docs/machines.md`.

use std::path::Path;

use super::file::from_text;
use super::model::{Machine, Origin};

macro_rules! files {
    ($($name:literal)*) => {
        /// Names and texts, sorted by name.
        static FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../machines/", $name, ".toml")))),*];
    };
}

files! {
    "a100-80"
    "ane-h13"
    "ane-h13-t220"
    "ane-h17s"
    "b200"
    "clx-6248"
    "clx-6248-core"
    "dgx-spark"
    "fermi-2020-projection"
    "fermi-c2050"
    "h100-sxm"
    "h200"
    "hsw-e5-2695v3"
    "hsw-e5-2695v3-core"
    "m3-max"
    "mi300x"
    "place-cpu"
    "place-engine"
    "place-gpu"
    "ref-cpu"
    "skx-6148"
    "skx-6148-core"
    "snb-e5-2680"
    "snb-e5-2680-core"
    "toy3"
    "tpu-v4"
    "tpu-v5e"
    "tpu-v5p"
    "tpu-v6e"
    "v100"
    "zen1-7451"
    "zen1-7451-core"
    "zen2-7452"
    "zen2-7452-core"
}

/// Names of all shipped machines, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// The shipped machine of this name.
#[must_use]
pub fn machine(name: &str) -> Option<Machine> {
    let (_, text) = FILES.iter().find(|(shipped, _)| *shipped == name)?;
    let parsed = from_text(Path::new(&format!("{name}.toml")), text, Origin::Shipped);
    Some(parsed.unwrap_or_else(|problems| panic!("a shipped machine file is wrong: {problems}")).machine)
}

#[cfg(test)]
mod tests;
