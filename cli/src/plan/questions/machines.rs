//! `plan machines`: what a machine must have to meet a time, and which of the shipped ones do. Formulas:
//! `dmdprof_models::iron_law`.

use dmdprof_models::iron_law;

use super::super::defaults::Defaults;
use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};
use crate::document::{Column, Sheet, Value};
use crate::machine::{Machine, zoo};

const MLS: &str = "mlsysim 0.1.2, SynthesisSolver: the iron law the other way round";
/// How many of those that are too slow are shown.
const MISSES: usize = 5;

const INPUTS: &[Input] = &[
    Input::new("within", Unit::Seconds, Allowed::Positive, Default::Required, "time that a run may take"),
    Input::new("work", Unit::Ops, Allowed::NotNegative, Default::Known("work"), "operations"),
    Input::new(
        "traffic",
        Unit::Bytes,
        Allowed::NotNegative,
        Default::Perhaps("traffic"),
        "bytes from memory; of a profile each machine's own, by its levels",
    ),
    Input::new("state", Unit::Bytes, Allowed::NotNegative, Default::Perhaps("peak_live"), "memory that a run needs"),
    Input::new(
        "eta",
        Unit::Share,
        Allowed::Positive,
        Default::KnownOr("efficiency", 0.5, "mlsysim's default"),
        "part of the peak that code reaches",
    ),
    Input::new(
        "tax",
        Unit::Seconds,
        Allowed::NotNegative,
        Default::KnownOr("floor", 0.0, "none"),
        "fixed time of a run",
    ),
];

pub const QUESTION: Question = Question {
    name: "machines",
    about: "Which machine would meet a time: the peak, bandwidth and memory it needs, and the shipped ones that do",
    more: "The roofline the other way round. With a profile each shipped machine is estimated with its own levels, as in dmdprof roofline, and one dispatch; without, \
           the stated bytes come from its memory. Machines that lack a figure have no answer.",
    examples: "\
Examples:
  dmdprof plan machines --within '50 ms' --work 16.06e9op --traffic '16.06 GB' --state '17 GB'
  dmdprof plan machines --within '2 ms' --profile solver.data
  dmdprof plan machines --within '2 ms' --profile solver.data --machine skx-6148 --explain",
    inputs: &[INPUTS],
    goal: "peak_needed",
    least: true,
    time: "within",
    answer,
    tables: Some(tables),
};

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let (within, work) = (inputs.get("within")?, inputs.get("work")?);
    let (share, tax) = (inputs.get("eta")?, inputs.get("tax")?);
    let traffic = inputs.maybe("traffic")?;
    let bytes = traffic.map_or(0.0, |traffic| traffic.value);
    let (peak, bandwidth) = iron_law::needed(share.value, tax.value, work.value, bytes, within.value)?;
    let peak = answer.figure(
        Name("peak_needed", "least peak", Unit::OpsPerSecond),
        peak,
        "W / (eta * (within - tax))",
        &[("W", work), ("eta", share), ("within", within), ("tax", tax)],
        MLS,
    );
    if let Some(traffic) = traffic {
        let bandwidth = answer.figure(
            Name("bandwidth_needed", "least bandwidth of memory", Unit::BytesPerSecond),
            bandwidth,
            "Q / (within - tax)",
            &[("Q", traffic), ("within", within), ("tax", tax)],
            MLS,
        );
        if bandwidth.value > 0.0 {
            answer.figure(
                Name("balance", "balance of a machine that has just that", Unit::OpsPerByte),
                peak.value / bandwidth.value,
                "peak / bandwidth",
                &[("peak", peak), ("bandwidth", bandwidth)],
                MLS,
            );
        }
    } else {
        answer
            .note("The bandwidth is left out: traffic is not known (traffic = \"1 GB\", or a profile and a machine).");
    }
    Ok(())
}

/// A machine's time, or why there is none.
fn time_on(inputs: &Inputs<'_>, machine: &Machine) -> Result<Number, String> {
    let known = inputs.defaults;
    let here = Defaults::new(known.loaded, known.function, Some(machine), known.choice, known.work, known.library);
    let stated = inputs.is_given("work") || inputs.is_given("traffic");
    let floor = here.get("floor").ok().flatten().map_or(0.0, |(floor, _)| floor.value);
    if known.loaded.is_some() && !stated {
        let (time, _) = here.get("time")?.ok_or("no estimate")?;
        // The estimate is of what runs there; to get it there is one dispatch.
        return Ok(Number { value: time.value + floor, ..time });
    }
    let number = |what| here.get(what).and_then(|found| found.ok_or(format!("{what} is not known")));
    let input = |key| inputs.get(key).map_err(|error| format!("{error:#}"));
    let (rate, bandwidth) = (number("rate")?.0, number("bandwidth")?.0);
    let (work, traffic) = (input("work")?, input("traffic")?);
    let machine = iron_law::Machine { peak: rate.value, efficiency: 1.0, bandwidth: bandwidth.value, tax: floor };
    let found = iron_law::estimate(&machine, work.value, traffic.value).map_err(|error| error.to_string())?;
    let is_guess = if found.bound == iron_law::Bound::Memory { bandwidth.guess } else { rate.guess };
    Ok(Number { value: found.total, unit: Unit::Seconds, guess: is_guess || work.guess || traffic.guess })
}

fn tables(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let within = inputs.get("within")?;
    let state = inputs.maybe("state")?;
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for machine in zoo::names().filter_map(zoo::machine) {
        match time_on(inputs, &machine) {
            Ok(time) => rows.push((time, machine)),
            Err(why) => refused.push((machine.name, why)),
        }
    }
    rows.sort_by(|(a, one), (b, other)| a.value.total_cmp(&b.value).then_with(|| one.name.cmp(&other.name)));
    let columns = vec![
        Column::new("machine", ["", "machine"], 0),
        Column::new("seconds", ["", "time"], 0),
        Column::new("meets", ["meets", "the time"], 0),
        Column::new("times", ["of the", "time"], 0),
        Column::new("room", ["has", "room"], 0),
    ];
    let mut sheet =
        Sheet::new("machines", format!("Machines by time; {} are asked for", within.unit.show(within.value)), columns);
    let meeting = rows.iter().filter(|(time, _)| time.value <= within.value).count();
    let all = rows.len();
    for (time, machine) in rows.into_iter().take(meeting + MISSES) {
        let yes = |yes: bool| Value::Text(if yes { "yes" } else { "no" }.into());
        let room = match (state, &machine.memory.capacity) {
            (Some(state), Some(capacity)) => yes(state.value <= capacity.value),
            _ => Value::Empty,
        };
        sheet.row([
            Value::Name(machine.name).into(),
            Value::Seconds(time.value).guessed(time.guess),
            yes(time.value <= within.value).guessed(time.guess),
            Value::Share(time.value / within.value).guessed(time.guess),
            room.into(),
        ]);
    }
    sheet.remarks.push(format!("{meeting} of {all} machines meet it; of the others the nearest are shown."));
    if inputs.defaults.loaded.is_some() {
        sheet
            .remarks
            .push("~ is a guess, as where a machine states no rate of the type that the program computes in.".into());
    }
    if let Some((name, why)) = refused.first() {
        sheet.remarks.push(format!("{} machines have no answer; the first, {name}: {why}", refused.len()));
    }
    answer.sheets.push(sheet);
    Ok(())
}
