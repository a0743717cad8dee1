//! `plan chips`: a machine scaled to another chip of its family. Formulas: `dmdprof_models::stages`.

use anyhow::{Context, bail};
use dmdprof_models::stages::{self, Device, Dispatch, Size};

use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};

const ANE: &str = "Apple Neural Engine book, chapter 18: bandwidth with units, floor with 1/clock, rate with units, clock and efficiency";
const TABLE: &str = "Apple Neural Engine book, table 34.1";

/// The 28 targets of the book's compiler and their units; those of which it gives a range are 0.
const TARGETS: &[&str] = &[
    "h11", "h12", "m9", "t0", "h13", "h13g", "t1", "h14", "h14g", "h14c", "h15", "h15g", "h15c", "h16", "h16g", "h16s",
    "h16c", "h17", "h17a", "h17g", "h17s", "h17c", "h17d", "h18", "m11", "u1", "u2", "u3",
];
const UNITS: [u8; 28] = [0, 0, 0, 0, 4, 8, 4, 4, 8, 32, 4, 8, 32, 4, 8, 16, 32, 4, 4, 8, 16, 32, 64, 4, 1, 4, 4, 4];

const INPUTS: &[Input] = &[
    Input::new(
        "target",
        Unit::Word(TARGETS),
        Allowed::Any,
        Default::Optional,
        "a target of the book's family, h11 to h18, for its units",
    ),
    Input::new("units", Unit::Count, Allowed::Positive, Default::Optional, "units of the chip, if no target is named"),
    Input::new("clock", Unit::Hertz, Allowed::Positive, Default::Required, "its clock"),
    Input::new("share", Unit::Share, Allowed::Positive, Default::Assumed(1.0, "as the base"), "its share of the peak"),
    Input::new("rate", Unit::OpsPerSecond, Allowed::Positive, Default::Known("rate"), "rate of the base"),
    Input::new(
        "bandwidth",
        Unit::BytesPerSecond,
        Allowed::Positive,
        Default::Known("bandwidth"),
        "bandwidth of the base",
    ),
    Input::new("floor", Unit::Seconds, Allowed::NotNegative, Default::Known("floor"), "dispatch floor of the base"),
    Input::new(
        "base-units",
        Unit::Count,
        Allowed::Positive,
        Default::Optional,
        "units of the base [default: 4 of ane-h13, 16 of ane-h17s]",
    ),
    Input::new(
        "base-clock",
        Unit::Hertz,
        Allowed::Positive,
        Default::Optional,
        "clock of the base [default: 1.43 GHz of ane-h13, 2.36 GHz of ane-h17s]",
    ),
    Input::new(
        "base-share",
        Unit::Share,
        Allowed::Positive,
        Default::Assumed(1.0, "as stated with the rate"),
        "share of the peak that the base's rate stands for",
    ),
    Input::new(
        "work",
        Unit::Ops,
        Allowed::NotNegative,
        Default::Perhaps("work"),
        "operations of a dispatch, for its time",
    ),
    Input::new("bytes", Unit::Bytes, Allowed::NotNegative, Default::Perhaps("traffic"), "bytes of a dispatch"),
];

pub const QUESTION: Question = Question {
    name: "chips",
    about: "A machine's rate, bandwidth and floor scaled to another chip of its family, from units and clock",
    more: "Against the source's own fits the rule is 37 % low in bandwidth, 27 % high in the floor and 102 % high in the rate, so everything is \
           an estimate (~). The book's table has the units of its 28 targets, not their clocks: state the clock.",
    examples: "\
Examples:
  dmdprof plan chips --machine ane-h13 --target h17s --clock '2.36 GHz' --share 0.84
  dmdprof plan chips --machine ane-h13 --units 8 --clock '1.2..1.6 GHz in 5' --work '925 Mop' --bytes '2 MB' --plot
  dmdprof plan chips --machine ane-h13 --target h13g,h14c,h17d --clock '1.43 GHz'",
    inputs: &[INPUTS],
    goal: "rate_scaled",
    least: false,
    time: "time",
    answer,
    tables: None,
};

/// Units and clock of machines whose files name them.
fn base(inputs: &Inputs<'_>, key: &'static str, which: usize, unit: Unit) -> anyhow::Result<Number> {
    if let Some(stated) = inputs.maybe(key)? {
        return Ok(stated);
    }
    let name = inputs.defaults.machine.map(|m| m.name.as_str()).unwrap_or_default();
    let sizes = match name {
        "ane-h13" | "ane-h13-t220" => [4.0, 1.43e9],
        "ane-h17s" => [16.0, 2.36e9],
        _ => bail!("{key} is not known of this machine; state it"),
    };
    Ok(Number::new(sizes[which], unit))
}

fn units(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<Number> {
    let target = inputs.maybe("target")?;
    let stated = inputs.maybe("units")?;
    let Some(target) = target else { return stated.context("target or units: state one of them") };
    let of_target = UNITS[target.value as usize];
    match stated {
        None if of_target == 0 => bail!("units of this target are given as 1 to 4 only; state them: units = 2"),
        Some(units) if of_target > 0 && units.value != f64::from(of_target) => {
            bail!("target and units contradict each other: the target has {of_target}, {} are stated", units.value)
        }
        Some(units) => Ok(units),
        None => Ok(answer.add_found(
            Name("units", "units", Unit::Count),
            f64::from(of_target),
            "of the target",
            &[("target", target)],
            TABLE,
        )),
    }
}

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let units = units(inputs, answer)?;
    let (clock, efficiency) = (inputs.get("clock")?, inputs.get("share")?);
    let (rate, bandwidth, floor) = (inputs.get("rate")?, inputs.get("bandwidth")?, inputs.get("floor")?);
    let from_units = base(inputs, "base-units", 0, Unit::Count)?;
    let from_clock = base(inputs, "base-clock", 1, Unit::Hertz)?;
    let from_efficiency = inputs.get("base-share")?;
    let device = Device { rate: rate.value, bandwidth: bandwidth.value, floor: floor.value, setup: 0.0 };
    let from = Size { units: from_units.value, clock: from_clock.value, efficiency: from_efficiency.value };
    let to = Size { units: units.value, clock: clock.value, efficiency: efficiency.value };
    let scaled = stages::scale(&device, from, to)?;
    // The rule is off by factors: whatever it gives is an estimate.
    let guess = |number: Number| Number { guess: true, ..number };
    let new_rate = answer.figure(
        Name("rate_scaled", "rate", Unit::OpsPerSecond),
        scaled.rate,
        "rate * units / units0 * clock / clock0 * eff / eff0",
        &[
            ("rate", guess(rate)),
            ("units", units),
            ("units0", from_units),
            ("clock", clock),
            ("clock0", from_clock),
            ("eff", efficiency),
            ("eff0", from_efficiency),
        ],
        ANE,
    );
    let new_bandwidth = answer.figure(
        Name("bandwidth_scaled", "bandwidth", Unit::BytesPerSecond),
        scaled.bandwidth,
        "BW * units / units0",
        &[("BW", guess(bandwidth)), ("units", units), ("units0", from_units)],
        ANE,
    );
    let new_floor = answer.figure(
        Name("floor_scaled", "dispatch floor", Unit::Seconds),
        scaled.floor,
        "t0 * clock0 / clock",
        &[("t0", guess(floor)), ("clock0", from_clock), ("clock", clock)],
        ANE,
    );
    answer.figure(
        Name("bandwidth_by_clock", "bandwidth by clock alone", Unit::BytesPerSecond),
        bandwidth.value * clock.value / from_clock.value,
        "BW * clock / clock0",
        &[("BW", guess(bandwidth)), ("clock", clock), ("clock0", from_clock)],
        "the source's check: its fit is 3.8 times that",
    );
    let (Some(work), Some(bytes)) = (inputs.maybe("work")?, inputs.maybe("bytes")?) else { return Ok(()) };
    let dispatch = Dispatch { work: work.value, sparsity: 0.0, bytes: bytes.value, inputs: 0 };
    let latency = stages::estimate(&scaled, &dispatch)?;
    answer.figure(
        Name("time", "time of a dispatch", Unit::Seconds),
        latency.total,
        "max(W / rate, bytes / BW) + t0",
        &[("W", work), ("rate", new_rate), ("bytes", bytes), ("BW", new_bandwidth), ("t0", new_floor)],
        "Apple Neural Engine book, chapter 18: three stages",
    );
    Ok(())
}
