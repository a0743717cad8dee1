//! `plan checkpoint`: how often to save, and what failures leave of the time. Formulas: `dmdprof_models::reliability`.

use anyhow::Context;
use dmdprof_models::reliability;

use super::super::bill;
use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};

const RULES: &[&str] = &["daly", "young"];
const MLS: &str = "mlsysim math.qmd";

const INPUTS: &[Input] = &[
    Input::new(
        "devices",
        Unit::Count,
        Allowed::Positive,
        Default::Text("1..100000", "the whole curve"),
        "devices, any of which brings all down",
    ),
    Input::new(
        "mtbf",
        Unit::Seconds,
        Allowed::Lasting,
        Default::Optional,
        "mean time between failures of a device: `10000 h`, or `infinite`",
    ),
    Input::new(
        "parts",
        Unit::Text,
        Allowed::Any,
        Default::Optional,
        "parts of a device, instead of mtbf: `4 x 10000 h + 2 x 50000 h`",
    ),
    Input::new(
        "state",
        Unit::Bytes,
        Allowed::NotNegative,
        Default::Perhaps("peak_live"),
        "bytes of a checkpoint: a size, `peak live`, `object NAME`",
    ),
    Input::new("storage", Unit::BytesPerSecond, Allowed::Positive, Default::Optional, "bandwidth of the storage"),
    Input::new(
        "save",
        Unit::Seconds,
        Allowed::Positive,
        Default::Optional,
        "time to save, instead of state and storage",
    ),
    Input::new(
        "restart",
        Unit::Seconds,
        Allowed::NotNegative,
        Default::Optional,
        "time to restart [default: that of saving]",
    ),
    Input::new(
        "rule",
        Unit::Word(RULES),
        Allowed::Any,
        Default::Assumed(0.0, "the better of the two"),
        "best interval by daly or young",
    ),
    Input::new(
        "interval",
        Unit::Seconds,
        Allowed::Positive,
        Default::Optional,
        "computing time between checkpoints, instead of the best",
    ),
    Input::new(
        "time",
        Unit::Seconds,
        Allowed::NotNegative,
        Default::Perhaps("time"),
        "length of the run without failures",
    ),
];

pub const QUESTION: Question = Question {
    name: "checkpoint",
    about: "Checkpoints: the best interval (Young, Daly), waste and goodput of 1 to 100,000 devices",
    more: "The state is the profile's peak live bytes, or stated. Failures are independent and at a constant rate; the first-order waste is given \
           beside the goodput, which also counts failures while saving and restarting.",
    examples: "\
Examples:
  dmdprof plan checkpoint --mtbf '10000 h' --save '60 s' --devices 1000 --explain
  dmdprof plan checkpoint --mtbf '50000 h' --state '140 GB' --storage '100 GB/s' --plot
  dmdprof plan checkpoint --profile solver.data --mtbf '50000 h' --storage '1 GB/s' --devices 1,100,10000
  dmdprof plan checkpoint --parts '4 x 10000 h + 2 x 50000 h + 2 x 20000 h' --save '60 s' --devices 64",
    inputs: &[INPUTS, bill::INPUTS],
    goal: "goodput",
    least: false,
    time: "whole",
    answer,
    tables: None,
};

fn parts(text: &str) -> anyhow::Result<f64> {
    let part = |part: &str| -> anyhow::Result<(u64, f64)> {
        let form =
            || format!("parts: write NUMBER x TIME + ..., as in 4 x 10000 h + 2 x 50000 h, not {:?}", part.trim());
        let (number, time) = part.split_once(" x ").with_context(form)?;
        let number = number.trim().parse::<u64>().ok().with_context(form)?;
        let time = Unit::Seconds.parse(time).map_err(|why| anyhow::anyhow!("parts: {why}"))?;
        Ok((number, time))
    };
    let list = text.split('+').map(part).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(reliability::parts(&list)?)
}

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let devices = inputs.get("devices")?;
    let mtbf = match inputs.text("parts") {
        Some(_) if inputs.is_given("mtbf") => anyhow::bail!("mtbf and parts contradict each other: state one"),
        Some(text) => answer.add_found(
            Name("mtbf_device", "mean time between failures of a device", Unit::Seconds),
            parts(text)?,
            "1 / sum of number / mean time of each kind of part",
            &[],
            MLS,
        ),
        None => inputs.get("mtbf").context("mtbf or parts")?,
    };
    let cluster = answer.figure(
        Name("mtbf_all", "mean time between failures of all", Unit::Seconds),
        reliability::cluster(mtbf.value, devices.count())?,
        "mtbf / devices",
        &[("mtbf", mtbf), ("devices", devices)],
        MLS,
    );
    let m = cluster.value;
    let save = saving(inputs, answer)?;
    let with = [("d", save), ("M", cluster)];
    let young = answer.figure(
        Name("young", "interval by Young", Unit::Seconds),
        reliability::young(save.value, m)?,
        "sqrt(2 * d * M)",
        &with,
        "Young 1974; mlsysim math.qmd",
    );
    let daly = answer.figure(
        Name("daly", "interval by Daly", Unit::Seconds),
        reliability::daly(save.value, m)?,
        if save.value < 2.0 * m { "sqrt(2 * d * M) * (1 + sqrt(d / (2 * M)) / 3 + d / (2 * M) / 9) - d" } else { "M" },
        &with,
        "Daly 2006; a comment in mlsysim's package adds d, Daly subtracts it",
    );
    let best = if inputs.word("rule")? == "daly" { daly } else { young };
    let tau = inputs.maybe("interval")?.unwrap_or(best);
    if m.is_infinite() && !inputs.is_given("interval") {
        answer.note("Nothing fails, so there are no checkpoints.");
    }
    let with = [("tau", tau), ("d", save), ("M", cluster)];
    answer.figure(
        Name("waste", "waste, to first order", Unit::Share),
        reliability::waste(tau.value, save.value, m)?,
        if m.is_infinite() { "d / tau" } else { "d / tau + tau / (2 * M)" },
        &with,
        MLS,
    );
    let restart = inputs.maybe("restart")?.unwrap_or(save);
    let goodput = answer.figure(
        Name("goodput", "goodput: useful part of the time", Unit::Share),
        reliability::goodput(tau.value, save.value, restart.value, m)?,
        match (m.is_infinite(), tau.value.is_infinite()) {
            (true, true) => "1",
            (true, false) => "tau / (tau + d)",
            (false, _) => "tau / (M * exp(R / M) * (exp((tau + d) / M) - 1))",
        },
        &[with[0], with[1], with[2], ("R", restart)],
        "Daly 2006",
    );
    let Some(time) = inputs.maybe("time")? else { return Ok(()) };
    answer.figure(
        Name("failure", "probability of a failure in the run", Unit::Share),
        reliability::failure(time.value, m)?,
        "1 - exp(0 - T / M)",
        &[("T", time), ("M", cluster)],
        MLS,
    );
    let whole = answer.figure(
        Name("whole", "the run with failures and checkpoints", Unit::Seconds),
        time.value / goodput.value,
        "T / goodput",
        &[("T", time), ("goodput", goodput)],
        "definition",
    );
    bill::add(inputs, answer, devices, whole)
}

fn saving(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<Number> {
    if let Some(save) = inputs.maybe("save")? {
        return Ok(save);
    }
    let (state, storage) = (inputs.get("state")?, inputs.get("storage")?);
    Ok(answer.figure(
        Name("save", "time to save", Unit::Seconds),
        state.value / storage.value,
        "state / storage",
        &[("state", state), ("storage", storage)],
        "peak live bytes over the bandwidth of the storage",
    ))
}
