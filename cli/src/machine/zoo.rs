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
    "ane-h13-chain"
    "ane-h13-conv"
    "ane-h13-matmul"
    "ane-h13-t220"
    "ane-h17s"
    "ane-h17s-conv"
    "ane-h17s-matmul"
    "b200"
    "cerebras-cs3"
    "clx-6248"
    "clx-6248-core"
    "dgx-spark"
    "emr-8570"
    "emr-8570-core"
    "esp32-s3"
    "fermi-2020-projection"
    "fermi-c2050"
    "gaudi2"
    "gaudi3"
    "gb200"
    "gnr-6980p"
    "gnr-6980p-core"
    "groq-lpu"
    "h100-sxm"
    "h200"
    "himax-we1"
    "hsw-e5-2695v3"
    "hsw-e5-2695v3-core"
    "icx-8380"
    "icx-8380-core"
    "iphone-15-pro"
    "jetson-agx-orin"
    "jetson-orin-nano"
    "jetson-orin-nx"
    "m3-max"
    "m5-cpu"
    "m5-gpu"
    "mi250x"
    "mi300x"
    "neoverse-v1-graviton3"
    "neoverse-v1-graviton3-core"
    "neoverse-v2-graviton4"
    "neoverse-v2-graviton4-core"
    "nrf52840"
    "pixel-8"
    "place-cpu"
    "place-engine"
    "place-gpu"
    "ref-cpu"
    "skx-6148"
    "skx-6148-core"
    "snapdragon-8-gen3"
    "snb-e5-2680"
    "snb-e5-2680-core"
    "spr-8480"
    "spr-8480-core"
    "stm32f407"
    "t4"
    "toy3"
    "tpu-v1"
    "tpu-v2"
    "tpu-v3"
    "tpu-v4"
    "tpu-v5e"
    "tpu-v5p"
    "tpu-v6e"
    "trainium2"
    "v100"
    "zen1-7451"
    "zen1-7451-core"
    "zen2-7452"
    "zen2-7452-core"
    "zen3-7763"
    "zen3-7763-core"
    "zen4-9654"
    "zen4-9654-core"
    "zen5-9655"
    "zen5-9655-core"
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
