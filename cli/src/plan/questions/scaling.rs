//! `plan scaling`: a program on 1 to 100,000 devices. Formulas: `dmdprof_models::scaling`, `collectives`.

use dmdprof_models::collectives::{self, Hierarchy, Link};
use dmdprof_models::scaling::{self, Program, Regime, Scaled};

use super::super::bill;
use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::shared;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};
use crate::document::{Column, Sheet, Value};

const COLLECTIVES: &[&str] = &[
    "ring",
    "tree",
    "hierarchical",
    "hierarchical-full",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "point-to-point",
];
const REGIMES: &[&str] = &["strong", "weak"];
const MLS: &str = "mlsysim math.qmd";
/// Devices that are looked at for the knee, and up to which each number is; above, numbers are 1 % apart.
const MOST: u64 = 100_000;
const EACH: u64 = 4096;

/// Numbers of devices to look at, in whole nodes of `step`.
fn numbers(step: u64) -> Vec<u64> {
    let mut numbers = vec![1];
    let mut next = step.max(2).next_multiple_of(step);
    while next <= MOST {
        numbers.push(next);
        let gap = if next < EACH { step } else { (next / 100).next_multiple_of(step) };
        next += gap;
    }
    let last = MOST - MOST % step;
    if numbers.last().is_some_and(|n| *n < last) {
        numbers.push(last);
    }
    numbers
}

const INPUTS: &[Input] = &[
    Input::new(
        "devices",
        Unit::Count,
        Allowed::Positive,
        Default::Text("1..100000", "the whole curve"),
        "number of devices",
    ),
    Input::new("time", Unit::Seconds, Allowed::Positive, Default::Known("time"), "time on one device"),
    Input::new(
        "regime",
        Unit::Word(REGIMES),
        Allowed::Any,
        Default::Assumed(0.0, "the same problem on more devices"),
        "strong: the same problem; weak: as much per device as before",
    ),
    Input::new(
        "serial",
        Unit::Share,
        Allowed::NotNegative,
        Default::KnownOr("serial", 0.0, "all of it can be shared out"),
        "part of the time that more devices do not shorten",
    ),
    Input::new(
        "collective",
        Unit::Word(COLLECTIVES),
        Allowed::Any,
        Default::Assumed(0.0, "a ring all-reduce"),
        "how devices exchange: ring, tree, hierarchical, hierarchical-full, all-gather, reduce-scatter, all-to-all, point-to-point",
    ),
    Input::new(
        "message",
        Unit::Bytes,
        Allowed::NotNegative,
        Default::Optional,
        "bytes of an exchange: a size, `peak live`, `object NAME` or `4 x object NAME`",
    ),
    Input::new(
        "shrink",
        Unit::Number,
        Allowed::NotNegative,
        Default::Assumed(0.0, "as large on any number of devices"),
        "message on N devices = message / N^shrink: 0 slabs, 0.5 squares, 0.667 cubes",
    ),
    Input::new(
        "exchanges",
        Unit::Number,
        Allowed::NotNegative,
        Default::Assumed(1.0, "one"),
        "exchanges in the time on one device",
    ),
    shared::LINK,
    shared::LATENCY,
    Input::new(
        "node-devices",
        Unit::Count,
        Allowed::Positive,
        Default::Optional,
        "devices of a node, for hierarchical exchanges",
    ),
    Input::new("node-link", Unit::BytesPerSecond, Allowed::Positive, Default::Optional, "bandwidth inside a node"),
    Input::new(
        "node-latency",
        Unit::Seconds,
        Allowed::NotNegative,
        Default::Assumed(500e-9, "mlsysim's inside a node"),
        "latency inside a node",
    ),
    Input::new(
        "communication",
        Unit::Seconds,
        Allowed::NotNegative,
        Default::Optional,
        "time of all exchanges, instead of message and link",
    ),
    Input::new(
        "tensor",
        Unit::Seconds,
        Allowed::NotNegative,
        Default::Assumed(0.0, "none"),
        "further time lost to tensor-parallel exchanges",
    ),
    Input::new(
        "bubble",
        Unit::Seconds,
        Allowed::NotNegative,
        Default::Assumed(0.0, "none"),
        "further time lost to a pipeline's bubble (plan pipeline)",
    ),
    Input::new(
        "expert",
        Unit::Seconds,
        Allowed::NotNegative,
        Default::Assumed(0.0, "none"),
        "further time lost to experts' exchanges (plan experts)",
    ),
    Input::new(
        "overlap",
        Unit::Share,
        Allowed::NotNegative,
        Default::Assumed(0.0, "nothing overlaps"),
        "part of the computing behind which exchanges hide",
    ),
    Input::new(
        "worth",
        Unit::Share,
        Allowed::Positive,
        Default::Assumed(0.5, "half of the devices' time is useful"),
        "efficiency from which a device is worth having",
    ),
];

pub const QUESTION: Question = Question {
    name: "scaling",
    about: "A program on 1 to 100,000 devices: time, efficiency, the knee, and how many are worth it",
    more: "The time on one device is the roofline's estimate of a profile on a machine, or stated. Exchanges are priced step by step on equal links \
           without contention; load imbalance, jitter and software overhead are not seen, so real curves bend earlier.",
    examples: "\
Examples:
  dmdprof plan scaling --profile stencil.data --machine skx-6148 --message '2 x object halo' --exchanges 20 \\
      --collective point-to-point --link '12.5 GB/s'
  dmdprof plan scaling --time '10 s' --message '1 GB' --link '50 GB/s' --devices 1..1024 --plot
  dmdprof plan scaling --time '10 s' --message '1 GB' --link '50 GB/s' --devices 8 --explain
  dmdprof plan scaling --time '10 s' --message '8 GB' --collective hierarchical --devices 32 --link '25 GB/s' \\
      --node-devices 8 --node-link '300 GB/s'",
    inputs: &[INPUTS, bill::INPUTS],
    goal: "throughput",
    least: false,
    time: "time",
    answer,
    tables: Some(tables),
};

/// The exchange of `message` bytes on `n` devices.
struct Exchange {
    seconds: f64,
    formula: &'static str,
    with: Vec<(&'static str, Number)>,
    source: &'static str,
}

fn link(inputs: &Inputs<'_>) -> anyhow::Result<(Link, Number, Number)> {
    let (bandwidth, latency) = (inputs.get("link")?, inputs.get("latency")?);
    Ok((Link { bandwidth: bandwidth.value, latency: latency.value }, bandwidth, latency))
}

fn exchange(inputs: &Inputs<'_>, devices: Number, message: Number) -> anyhow::Result<Exchange> {
    let (link, bandwidth, latency) = link(inputs)?;
    let (n, m) = (devices.count(), message.value);
    let with = vec![("N", devices), ("M", message), ("BW", bandwidth), ("L", latency)];
    let plain = |seconds, formula| Ok(Exchange { seconds, formula, with: with.clone(), source: MLS });
    match inputs.word("collective")? {
        "ring" => plain(collectives::ring_all_reduce(m, n, &link)?, "2 * (N - 1) * (M / (N * BW) + L)"),
        "tree" => plain(collectives::tree_all_reduce(m, n, &link)?, "2 * ceil(log2(N)) * (M / BW + L)"),
        "all-gather" => plain(collectives::all_gather(m, n, &link)?, "(N - 1) * (M / (N * BW) + L)"),
        "reduce-scatter" => plain(collectives::reduce_scatter(m, n, &link)?, "(N - 1) * (M / (N * BW) + L)"),
        "all-to-all" => plain(collectives::all_to_all(m, n, &link)?, "(N - 1) / N * M / BW + (N - 1) * L"),
        // One device has nobody to send to.
        "point-to-point" if n == 1 => plain(0.0, "0"),
        "point-to-point" => plain(collectives::point_to_point(m, &link)?, "M / BW + L"),
        word => hierarchical(inputs, devices, message, word == "hierarchical-full"),
    }
}

fn hierarchical(inputs: &Inputs<'_>, devices: Number, message: Number, full: bool) -> anyhow::Result<Exchange> {
    let (across, bandwidth, latency) = link(inputs)?;
    let of_node = inputs.get("node-devices")?;
    let (inside, inside_latency) = (inputs.get("node-link")?, inputs.get("node-latency")?);
    let (n, d) = (devices.count(), of_node.count());
    // Fewer devices than a node has are part of one node.
    let d = d.min(n);
    anyhow::ensure!(
        n.is_multiple_of(d),
        "devices and node-devices contradict each other: {n} devices are not whole nodes of {d}"
    );
    let hierarchy = Hierarchy {
        nodes: n / d,
        devices: d,
        inside: Link { bandwidth: inside.value, latency: inside_latency.value },
        across,
    };
    let whole = |value: u64, from: Number| Number { value: value as f64, ..from };
    let with = vec![
        ("nodes", whole(n / d, devices)),
        ("D", whole(d, of_node)),
        ("M", message),
        ("BW_node", inside),
        ("L_node", inside_latency),
        ("BW", bandwidth),
        ("L", latency),
    ];
    Ok(if full {
        Exchange {
            seconds: collectives::hierarchical_full_all_reduce(message.value, &hierarchy)?,
            formula: "4 * (D - 1) * (M / (D * BW_node) + L_node) + 2 * (nodes - 1) * (M / (nodes * BW) + L)",
            with,
            source: "mlsysim at aed43c5b: the ring inside a node twice, the whole message across",
        }
    } else {
        Exchange {
            seconds: collectives::hierarchical_all_reduce(message.value, &hierarchy)?,
            formula: "2 * (D - 1) * (M / (D * BW_node) + L_node) + 2 * (nodes - 1) * (M / (D * nodes * BW) + L)",
            with,
            source: "reduce-scatter inside, all-reduce across on M / D, all-gather inside; mlsysim's first form is hierarchical-full",
        }
    })
}

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let devices = inputs.get("devices")?;
    let found = figures_at(inputs, devices, answer)?;
    let time = answer.get("time").expect("just added");
    if inputs.word("regime")? == "weak" {
        answer.note("Weak scaling: N devices do N times as much, so time stays and speedup is in work per time.");
    }
    debug_assert!(found.efficiency <= 1.0 + 1e-9);
    bill::add(inputs, answer, devices, time)
}

/// Figures at a number of devices.
fn figures_at(inputs: &Inputs<'_>, devices: Number, answer: &mut Answer) -> anyhow::Result<Scaled> {
    let exchanges = match inputs.maybe("communication")? {
        Some(stated) => stated,
        None => communication(inputs, devices, answer)?,
    };
    let (tensor, bubble, expert) = (inputs.get("tensor")?, inputs.get("bubble")?, inputs.get("expert")?);
    let lost = exchanges.value + tensor.value + bubble.value + expert.value;
    let all = answer.figure(
        Name("communication_all", "exchanges and waiting", Unit::Seconds),
        lost,
        "exchanges + tensor + bubble + expert",
        &[("exchanges", exchanges), ("tensor", tensor), ("bubble", bubble), ("expert", expert)],
        MLS,
    );
    let (single, serial, overlap) = (inputs.get("time")?, inputs.get("serial")?, inputs.get("overlap")?);
    let weak = inputs.word("regime")? == "weak";
    let regime = if weak { Regime::Weak } else { Regime::Strong };
    let program = Program { time: single.value, serial: serial.value, overlap: overlap.value };
    let found = scaling::scale(&program, regime, devices.count(), lost)?;
    let computing = answer.figure(
        Name("computing", "computing", Unit::Seconds),
        found.computing,
        if weak { "T1" } else { "T1 * (s + (1 - s) / N)" },
        &[("T1", single), ("s", serial), ("N", devices)],
        if weak { "Gustafson 1988" } else { "Amdahl 1967" },
    );
    let exposed = answer.figure(
        Name("exposed", "exchanges that nothing hides", Unit::Seconds),
        found.exposed,
        "max(0, C - o * computing)",
        &[("C", all), ("o", overlap), ("computing", computing)],
        "overlap of exchanges with computing",
    );
    let time = answer.figure(
        Name("time", "time", Unit::Seconds),
        found.time,
        "computing + exposed",
        &[("computing", computing), ("exposed", exposed)],
        "sum of both",
    );
    let speedup = answer.figure(
        Name("speedup", "speedup", Unit::Number),
        found.speedup,
        if weak { "N * T1 / time" } else { "T1 / time" },
        &[("N", devices), ("T1", single), ("time", time)],
        "definition",
    );
    answer.figure(
        Name("throughput", "problems of one device per time", Unit::PerSecond),
        found.speedup / single.value,
        "speedup / T1",
        &[("speedup", speedup), ("T1", single)],
        "definition",
    );
    let efficiency = answer.figure(
        Name("efficiency", "efficiency", Unit::Share),
        found.efficiency,
        "speedup / N",
        &[("speedup", speedup), ("N", devices)],
        "mlsysim math.qmd: T / (T + T_dp + T_tp + T_bubble + T_a2a)",
    );
    answer.figure(
        Name("effective", "effective devices", Unit::Number),
        found.efficiency * devices.value,
        "efficiency * N",
        &[("efficiency", efficiency), ("N", devices)],
        MLS,
    );
    Ok(found)
}

fn communication(inputs: &Inputs<'_>, devices: Number, answer: &mut Answer) -> anyhow::Result<Number> {
    let (whole, shrink) = (inputs.get("message")?, inputs.get("shrink")?);
    let part = answer.figure(
        Name("message_each", "message of an exchange", Unit::Bytes),
        whole.value / devices.value.powf(shrink.value),
        "M / N^shrink",
        &[("M", whole), ("N", devices), ("shrink", shrink)],
        "surface of a part",
    );
    let one = exchange(inputs, devices, part)?;
    let each =
        answer.figure(Name("exchange", "one exchange", Unit::Seconds), one.seconds, one.formula, &one.with, one.source);
    let count = inputs.get("exchanges")?;
    Ok(answer.figure(
        Name("communication", "all exchanges", Unit::Seconds),
        each.value * count.value,
        "exchanges * exchange",
        &[("exchanges", count), ("exchange", each)],
        "sum",
    ))
}

/// The knee and what is worth it, of the inputs of the first point.
fn tables(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let hierarchical =
        inputs.maybe("communication")?.is_none() && inputs.word("collective")?.starts_with("hierarchical");
    let step = if hierarchical { inputs.get("node-devices")?.count() } else { 1 };
    let mut curve = Vec::new();
    let mut devices = inputs.get("devices")?;
    for n in numbers(step) {
        devices.value = n as f64;
        curve.push((n, figures_at(inputs, devices, &mut Answer::default())?));
    }
    let least = inputs.get("worth")?;
    let found = scaling::worth(&curve, least.value)?;
    let at = |n: u64| curve.iter().find(|(devices, _)| *devices == n).expect("one of the curve").1;
    let mut sheet = Sheet::new(
        "worth",
        "How many devices",
        vec![
            Column::new("what", ["", ""], 0),
            Column::new("devices", ["", "devices"], 0),
            Column::new("seconds", ["", "time"], 0),
            Column::new("speedup", ["", "speedup"], 0),
            Column::new("efficiency", ["", "efficiency"], 0),
        ],
    );
    let guess = answer.get("time").is_some_and(|time| time.guess);
    let rows = [
        ("knee: exchanges begin to take longer than half of the time".to_owned(), found.knee),
        (format!("worth having: efficiency at least {}", least.unit.show(least.value)), found.worth),
        ("fastest".to_owned(), found.fastest),
    ];
    for (what, n) in rows {
        let scaled = at(n);
        sheet.row([
            Value::Text(what).into(),
            Value::Count(n.into()).guessed(guess),
            Value::Seconds(scaled.time).guessed(guess),
            Value::Ratio(scaled.speedup).guessed(guess),
            Value::Share(scaled.efficiency).guessed(guess),
        ]);
    }
    if [found.knee, found.worth, found.fastest].iter().any(|n| *n > EACH) {
        sheet.remarks.push(format!("Above {EACH} devices numbers 1 % apart were looked at."));
    }
    if found.at_the_end {
        sheet.remarks.push(format!("Up to {MOST} devices more are always faster; nothing above was looked at."));
    }
    answer.sheets.push(sheet);
    Ok(())
}
