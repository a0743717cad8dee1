//! `plan pipeline`: stages on devices, micro-batches, the bubble, memory per stage. Formulas:
//! `dmdprof_models::pipeline`.

use anyhow::{Context, bail};
use dmdprof_models::pipeline::{self, Schedule};

use super::super::bill;
use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::shared;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};
use crate::document::{Column, Sheet, Value};
use crate::shared::names;

const SCHEDULES: &[&str] = &["plain", "interleaved", "zero-bubble"];
const MLS: &str = "mlsysim math.qmd";
/// Calls of a sequence that are told apart; longer ones are cut between runs of one function only.
const CALLS: u64 = 1024;

const INPUTS: &[Input] = &[
    Input::new(
        "devices",
        Unit::Count,
        Allowed::Positive,
        Default::Required,
        "devices, each with a stage (or chunks of several)",
    ),
    Input::new("batches", Unit::Count, Allowed::Positive, Default::Required, "micro-batches"),
    Input::new(
        "schedule",
        Unit::Word(SCHEDULES),
        Allowed::Any,
        Default::Assumed(0.0, "one forward, one backward"),
        "order of work: plain, interleaved, zero-bubble",
    ),
    Input::new(
        "chunks",
        Unit::Count,
        Allowed::Positive,
        Default::Assumed(1.0, "one"),
        "chunks per device, for the interleaved schedule",
    ),
    Input::new(
        "busy",
        Unit::Seconds,
        Allowed::NotNegative,
        Default::Perhaps("time"),
        "time that a device works; default: the estimate, shared out among the devices",
    ),
    Input::new(
        "forward",
        Unit::Number,
        Allowed::Positive,
        Default::Assumed(1.0, "all equal"),
        "time of a micro-batch forward, for zero-bubble",
    ),
    Input::new(
        "backward",
        Unit::Number,
        Allowed::Positive,
        Default::Assumed(1.0, "all equal"),
        "time backward for inputs, in the same unit",
    ),
    Input::new(
        "weights",
        Unit::Number,
        Allowed::Positive,
        Default::Assumed(1.0, "all equal"),
        "time backward for weights, in the same unit",
    ),
    Input::new(
        "wanted",
        Unit::Share,
        Allowed::Positive,
        Default::Assumed(0.05, "5 %"),
        "bubble for which the least number of micro-batches is given",
    ),
    Input::new(
        "state",
        Unit::Bytes,
        Allowed::NotNegative,
        Default::Perhaps("peak_live"),
        "bytes that the whole program holds, shared out among the devices",
    ),
    Input::new(
        "activation",
        Unit::Bytes,
        Allowed::NotNegative,
        Default::Assumed(0.0, "nothing stated"),
        "bytes of a micro-batch that a stage holds until it is done",
    ),
    shared::MEMORY,
    Input::new(
        "stages",
        Unit::Text,
        Allowed::Any,
        Default::Optional,
        "stages of their own length: functions `f, g, h`, or `sequence`: the recorded calls, cut",
    ),
];

pub const QUESTION: Question = Question {
    name: "pipeline",
    about: "Stages on devices: the bubble, the least number of micro-batches, memory per stage",
    more: "With --stages the stages have the estimated times of functions of the profile, or of a recorded sequence of calls (dmdprof run \
           --sequence FUNCTION) that is cut into as many stretches as there are devices, the longest as short as possible. Sending between \
           stages is not in it: add it with plan scaling.",
    examples: "\
Examples:
  dmdprof plan pipeline --devices 4 --batches 8
  dmdprof plan pipeline --devices 4 --batches 1..64 --schedule plain,zero-bubble --busy '3.5 s' --plot
  dmdprof plan pipeline --devices 4 --batches 8 --schedule interleaved --chunks 4 --explain
  dmdprof plan pipeline --profile net.data --machine h100-sxm --devices 3 --batches 16 --stages 'embed, block, head'
  dmdprof plan pipeline --profile net.data --machine h100-sxm --devices 4 --batches 16 --stages sequence",
    inputs: &[INPUTS, bill::INPUTS],
    goal: "bubble",
    least: true,
    time: "time",
    answer,
    tables: Some(tables),
};

/// A schedule, its chunks, and the times that it rests on.
type Scheduled = (Schedule, Number, Vec<(&'static str, Number)>);

fn schedule(inputs: &Inputs<'_>) -> anyhow::Result<Scheduled> {
    let chunks = inputs.get("chunks")?;
    let one = Number::new(1.0, Unit::Count);
    Ok(match inputs.word("schedule")? {
        "interleaved" => (Schedule::Interleaved(chunks.count()), chunks, Vec::new()),
        word => {
            if inputs.is_given("chunks") && chunks.value != 1.0 {
                bail!(
                    "chunks = {} contradicts schedule = {word}; chunks are of the interleaved schedule",
                    chunks.value
                );
            }
            if word == "plain" {
                (Schedule::Plain, one, Vec::new())
            } else {
                let (f, b, w) = (inputs.get("forward")?, inputs.get("backward")?, inputs.get("weights")?);
                let schedule = Schedule::ZeroBubble { forward: f.value, inputs: b.value, weights: w.value };
                (schedule, one, vec![("F", f), ("B", b), ("W", w)])
            }
        }
    })
}

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let (devices, batches) = (inputs.get("devices")?, inputs.get("batches")?);
    let (schedule, chunks, times) = schedule(inputs)?;
    let (p, m) = (devices.count(), batches.count());
    let left = answer.figure(
        Name("left", "part of the plain bubble that is left", Unit::Number),
        schedule.left()?,
        if times.is_empty() { "1" } else { "(F + B - W) / (F + B + W)" },
        &times,
        if times.is_empty() { MLS } else { "Qi et al. 2023, ZB-H1" },
    );
    let all = [("k", left), ("P", devices), ("M", batches), ("V", chunks)];
    let bubble = answer.figure(
        Name("bubble", "bubble, of the whole time", Unit::Share),
        pipeline::bubble(&schedule, p, m)?,
        "k * (P - 1) / (V * M + k * (P - 1))",
        &all,
        MLS,
    );
    let lost = answer.figure(
        Name("lost_share", "lost per busy time", Unit::Share),
        pipeline::loss(&schedule, p, m, 1.0)?,
        "k * (P - 1) / (V * M)",
        &all,
        MLS,
    );
    let wanted = inputs.get("wanted")?;
    answer.add_found(
        Name("least_batches", "micro-batches for the wanted bubble", Unit::Count),
        pipeline::least_batches(&schedule, p, wanted.value)? as f64,
        "least M with V * M >= k * (P - 1) * (1 - x) / x",
        &[("k", left), ("P", devices), ("V", chunks), ("x", wanted)],
        MLS,
    );
    if let Some(busy) = busy(inputs, devices)? {
        let seconds = pipeline::loss(&schedule, p, m, busy.value)?;
        let waiting = answer.figure(
            Name("lost", "time that a device waits", Unit::Seconds),
            seconds,
            "busy * lost_share",
            &[("busy", busy), ("lost_share", lost)],
            "f / (1 - f) of the busy time",
        );
        let time = answer.figure(
            Name("time", "time", Unit::Seconds),
            busy.value + seconds,
            "busy + waiting",
            &[("busy", busy), ("waiting", waiting)],
            "sum",
        );
        answer.figure(
            Name("lost_mlsysim", "the same in mlsysim's package", Unit::Seconds),
            pipeline::compatible_loss(&schedule, p, m, busy.value)?,
            "busy * bubble",
            &[("busy", busy), ("bubble", bubble)],
            "mlsysim's package: multiplies the busy time by a share of the whole time, which is too little",
        );
        bill::add(inputs, answer, devices, time)?;
    }
    memory(inputs, answer, devices, batches)
}

/// Stated, or the estimate of the whole program shared out.
fn busy(inputs: &Inputs<'_>, devices: Number) -> anyhow::Result<Option<Number>> {
    let busy = inputs.maybe("busy")?;
    let share = if inputs.is_given("busy") { 1.0 } else { devices.value };
    Ok(busy.map(|busy| Number { value: busy.value / share, ..busy }))
}

fn memory(inputs: &Inputs<'_>, answer: &mut Answer, devices: Number, batches: Number) -> anyhow::Result<()> {
    let Some(state) = inputs.maybe("state")? else { return Ok(()) };
    let activation = inputs.get("activation")?;
    let flight = Number { value: devices.value.min(batches.value), ..devices };
    let held = answer.figure(
        Name("stage_memory", "memory of the first stage", Unit::Bytes),
        state.value / devices.value + flight.value * activation.value,
        "state / P + min(P, M) * activation",
        &[("state", state), ("P", devices), ("M", batches), ("activation", activation)],
        "as many micro-batches are on their way as there are stages",
    );
    if let Some(memory) = inputs.maybe("memory")?
        && held.value > memory.value
    {
        answer.note(format!(
            "A stage needs {} and a device has {}: more devices, or smaller micro-batches.",
            held.unit.show(held.value),
            memory.unit.show(memory.value)
        ));
    }
    Ok(())
}

/// A stage: what it is called and how long it takes for everything.
struct Stage {
    name: String,
    seconds: f64,
    guess: bool,
}

fn tables(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let Some(text) = inputs.text("stages") else { return Ok(()) };
    let (devices, batches) = (inputs.get("devices")?.count(), inputs.get("batches")?.count());
    let Some(loaded) = inputs.defaults.loaded else { bail!("stages are of a profile; name one (profile = \"FILE\")") };
    let time = |function: &str| -> anyhow::Result<(f64, bool)> {
        let known = inputs.defaults.for_profile(loaded, Some(function));
        match known.get("time") {
            Ok(Some((number, _))) => Ok((number.value, number.guess)),
            Ok(None) => bail!("times of stages are estimates on a machine; name one (machine = \"NAME\")"),
            Err(why) => bail!("{why}"),
        }
    };
    let stages: Vec<Stage> = if text == "sequence" {
        let sequence = loaded
            .profile
            .sequences
            .first()
            .context("the profile has no call sequence; one is measured by: dmdprof run --sequence FUNCTION")?;
        let expand = sequence.calls.iter().map(|(_, n)| n).sum::<u64>() <= CALLS;
        let mut calls = Vec::new();
        for (function, n) in &sequence.calls {
            let name = names::demangle(loaded.profile.symbol(*function));
            let (seconds, guess) = time(&name)?;
            let each = seconds / loaded.workload(Some(&name))?.calls.unwrap_or(1).max(1) as f64;
            let times = if expand { *n } else { 1 };
            let seconds = if expand { each } else { each * *n as f64 };
            calls.extend((0..times).map(|_| Stage { name: name.clone(), seconds, guess }));
        }
        cut(&calls, devices)?
    } else {
        let functions: Vec<&str> = text.split(',').map(str::trim).collect();
        if functions.len() as u64 != devices {
            bail!("devices and stages contradict each other: {devices} devices, {} stages", functions.len());
        }
        functions
            .into_iter()
            .map(|name| time(name).map(|(seconds, guess)| Stage { name: name.into(), seconds, guess }))
            .collect::<anyhow::Result<_>>()?
    };
    let each: Vec<f64> = stages.iter().map(|s| s.seconds / batches as f64).collect();
    let total = pipeline::unequal(&each, batches)?;
    let longest = stages.iter().map(|s| s.seconds).fold(0.0, f64::max);
    let columns = vec![
        Column::new("stage", ["", "stage"], 0),
        Column::new("seconds", ["", "time"], 0),
        Column::new("busy", ["of the", "whole time"], 0),
        Column::new("name", ["", "calls"], 0),
    ];
    let mut sheet =
        Sheet::new("stages", "Stages of their own length, one after the other for each micro-batch", columns);
    for (i, stage) in stages.iter().enumerate() {
        sheet.row([
            Value::Count(i as u128 + 1).into(),
            Value::Seconds(stage.seconds).guessed(stage.guess),
            Value::part(stage.seconds, total).guessed(stage.guess),
            Value::Name(stage.name.clone()).into(),
        ]);
    }
    sheet.remarks.push(format!(
        "With {batches} micro-batches all takes {}: sum of one micro-batch's stages + (M - 1) * longest. The longest stage is {}.",
        Unit::Seconds.show(total),
        Unit::Seconds.show(longest)
    ));
    answer.sheets.push(sheet);
    Ok(())
}

/// Neighbouring calls as `devices` stages, the longest as short as possible.
fn cut(calls: &[Stage], devices: u64) -> anyhow::Result<Vec<Stage>> {
    let times: Vec<f64> = calls.iter().map(|c| c.seconds).collect();
    let begins = pipeline::cut(&times, devices as usize)?;
    let ends = begins.iter().skip(1).copied().chain([calls.len()]);
    Ok(begins
        .iter()
        .zip(ends)
        .map(|(begin, end)| {
            let part = &calls[*begin..end];
            let mut names: Vec<&str> = part.iter().map(|c| c.name.as_str()).collect();
            names.dedup();
            Stage {
                name: names.join(", "),
                seconds: part.iter().map(|c| c.seconds).sum(),
                guess: part.iter().any(|c| c.guess),
            }
        })
        .collect())
}
