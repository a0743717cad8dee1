//! `plan fusion`: a chain of regions run as one. Formulas: `dmdprof_models::fusion`.

use anyhow::{Context, bail};
use dmdprof_models::fusion::{self, Device, Region};

use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::shared;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};
use crate::estimate::fuse;
use crate::estimate::view::View;

const ANE: &str = "Apple Neural Engine book, chapter 18";

const INPUTS: &[Input] = &[
    Input::new(
        "regions",
        Unit::Text,
        Allowed::Any,
        Default::Optional,
        "WORK, BYTES, INTERNAL of each region, with ; between: internal bytes are those that only later regions use",
    ),
    Input::new(
        "functions",
        Unit::Text,
        Allowed::Any,
        Default::Optional,
        "functions of a profile with flows, in order: `scale, add, clamp`",
    ),
    shared::RATE,
    shared::BANDWIDTH,
    Input::new("floor", Unit::Seconds, Allowed::NotNegative, Default::KnownOr("floor", 0.0, "none"), "dispatch floor"),
];

pub const QUESTION: Question = Question {
    name: "fusion",
    about: "A chain of n regions run as one: what is saved by one floor and by not writing and reading what only the chain uses",
    more: "From a profile (dmdprof run --flows): work and bytes beyond the last cache of each function, and the bytes that one function of the chain \
           writes and a later one reads next; what others read again later is saved once only.",
    examples: "\
Examples:
  dmdprof plan fusion --machine ane-h13 \\
      --regions '102760448 op, 933888 B, 401408 B; 102760448 op, 933888 B, 401408 B; 102760448 op, 933888 B, 0 B'
  dmdprof run --flows -o chain.data ./filters && dmdprof plan fusion --profile chain.data --machine skx-6148-core \\
      --functions 'scale, add, clamp'",
    inputs: &[INPUTS],
    goal: "fused",
    least: true,
    time: "fused",
    answer,
    tables: None,
};

fn stated(text: &str) -> anyhow::Result<Vec<Region>> {
    let region = |part: &str| -> anyhow::Result<Region> {
        let fields: Vec<&str> = part.split(',').map(str::trim).collect();
        let [work, bytes, internal] = fields[..] else {
            bail!("regions: write WORK, BYTES, INTERNAL, as in 103 Mop, 934 kB, 401 kB, not {:?}", part.trim());
        };
        let read = |unit: Unit, text| unit.parse(text).map_err(|why| anyhow::anyhow!("regions: {why}"));
        let (work, bytes, internal) = (read(Unit::Ops, work)?, read(Unit::Bytes, bytes)?, read(Unit::Bytes, internal)?);
        Ok(Region { work, bytes, internal })
    };
    text.split(';').filter(|part| !part.trim().is_empty()).map(region).collect()
}

fn measured(inputs: &Inputs<'_>, text: &str) -> anyhow::Result<Vec<Region>> {
    let known = inputs.defaults;
    let loaded = known.loaded.context("functions are of a profile; name one (profile = \"FILE\")")?;
    let machine =
        known.machine.context("which bytes come from memory depends on the machine; name one (machine = \"NAME\")")?;
    let view = View::new(machine, known.choice)?;
    let functions: Vec<&str> = text.split(',').map(str::trim).collect();
    fuse::chain(&loaded.profile, view.last().link.capacity, &functions, known.work)
}

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let chain = match (inputs.text("regions"), inputs.text("functions")) {
        (Some(regions), None) => stated(regions)?,
        (None, Some(functions)) => measured(inputs, functions)?,
        (None, None) => bail!("regions or functions: state what the chain is made of"),
        _ => bail!("regions and functions contradict each other: state one of them"),
    };
    let (rate, bandwidth, floor) = (inputs.get("rate")?, inputs.get("bandwidth")?, inputs.get("floor")?);
    let device = Device { rate: rate.value, bandwidth: bandwidth.value, floor: floor.value };
    let found = fusion::estimate(&device, &chain)?;
    let sum = |of: fn(&Region) -> f64| chain.iter().map(of).sum::<f64>();
    let count = Number::new(chain.len() as f64, Unit::Count);
    let work = answer.add_found(
        Name("work", "work of the chain", Unit::Ops),
        sum(|r| r.work),
        "sum of the regions' work",
        &[("regions", count)],
        ANE,
    );
    let bytes = answer.add_found(
        Name("bytes", "bytes of the chain", Unit::Bytes),
        sum(|r| r.bytes),
        "sum of the regions' bytes",
        &[("regions", count)],
        ANE,
    );
    let internal = answer.add_found(
        Name("internal", "bytes that only the chain uses", Unit::Bytes),
        sum(|r| r.internal),
        "sum of the regions' internal bytes",
        &[("regions", count)],
        ANE,
    );
    let one_by_one = answer.add_found(
        Name("unfused", "one by one", Unit::Seconds),
        found.unfused,
        "sum of max(F / f, B / BW) + t0 of each region",
        &[("f", rate), ("BW", bandwidth), ("t0", floor), ("regions", count)],
        ANE,
    );
    let with = [("F", work), ("f", rate), ("B", bytes), ("m", internal), ("BW", bandwidth), ("t0", floor)];
    let fused = answer.figure(
        Name("fused", "as one", Unit::Seconds),
        found.fused,
        "max(F / f, (B - 2 * m) / BW) + t0",
        &with,
        ANE,
    );
    if let Some(speedup) = found.speedup() {
        answer.figure(
            Name("speedup", "speedup", Unit::Number),
            speedup,
            "unfused / fused",
            &[("unfused", one_by_one), ("fused", fused)],
            ANE,
        );
    }
    answer.figure(
        Name("one_floor", "one by one with one floor only", Unit::Seconds),
        found.unfused - (count.value - 1.0) * floor.value,
        "unfused - (regions - 1) * t0",
        &[("unfused", one_by_one), ("regions", count), ("t0", floor)],
        "what the floors alone cost",
    );
    Ok(())
}
