//! `plan network`: whether a step of training waits for arithmetic or for gradients, and what compressing them is
//! worth. Formulas: `dmdprof_models::network`.

use dmdprof_models::collectives::Link;
use dmdprof_models::network::{self, Bound, Compression, Step};

use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::shared;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};

const WILLIAMS: &str = "Williams 2009, with the link in the place of memory";
const MLS: &str = "mlsysim 0.1.2, NetworkRooflineModel";
const RUN: &str = "mlsysim 0.3.0, CompressionRunModel";
const BOUNDS: &[&str] = &["compute", "network"];

const INPUTS: &[Input] = &[
    Input::new("devices", Unit::Count, Allowed::Positive, Default::Required, "devices that share gradients"),
    Input::new(
        "work",
        Unit::Ops,
        Allowed::NotNegative,
        Default::Perhaps("work"),
        "operations of a device in a step, instead of parameters and tokens",
    ),
    Input::new("parameters", Unit::Number, Allowed::Positive, Default::Optional, "parameters that a device trains"),
    Input::new("tokens", Unit::Count, Allowed::Positive, Default::Optional, "tokens of a device in a step"),
    Input::new(
        "gradients",
        Unit::Bytes,
        Allowed::NotNegative,
        Default::Optional,
        "bytes of the gradients, instead of parameters: a size, or `object NAME`",
    ),
    Input::new(
        "element",
        Unit::Bytes,
        Allowed::Positive,
        Default::Assumed(2.0, "half precision"),
        "bytes per gradient",
    ),
    shared::RATE,
    shared::LINK,
    shared::LATENCY,
];

const COMPRESSION: &[Input] = &[
    Input::new(
        "ratio",
        Unit::Number,
        Allowed::AtLeastOne,
        Default::Optional,
        "how many times fewer bytes compressed gradients are",
    ),
    Input::new(
        "penalty",
        Unit::Share,
        Allowed::NotNegative,
        Default::Assumed(0.0, "the same result in as many steps"),
        "more steps to the same result with compressed gradients",
    ),
    Input::new("steps", Unit::Count, Allowed::Positive, Default::Assumed(1.0, "one"), "steps without compression"),
];

pub const QUESTION: Question = Question {
    name: "network",
    about: "The roof of the network: arithmetic or gradients, the work that hides them, and compression",
    more: "A ring all-reduce of gradients on equal links, behind arithmetic as far as it can be (time) or after it (in_turn). Compression is taken to \
           cost no time of its own.",
    examples: "\
Examples:
  dmdprof plan network --devices 8,64,512 --parameters 8.03e9 --tokens 4096 --machine h100-sxm --link '50 GB/s'
  dmdprof plan network --devices 64 --parameters 8.03e9 --tokens 4096 --machine h100-sxm --link '3 GB/s,50 GB/s' \\
      --ratio 4 --penalty '5 %' --steps 100000",
    inputs: &[INPUTS, COMPRESSION],
    goal: "time",
    least: true,
    time: "time",
    answer,
    tables: None,
};

/// Operations of a device in a step, and its gradients.
fn sizes(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<(Number, Number)> {
    let parameters = inputs.maybe("parameters")?;
    let work = match (parameters, inputs.is_given("work")) {
        (Some(parameters), false) => {
            let tokens = inputs.get("tokens")?;
            answer.figure(
                Name("work", "operations of a device in a step", Unit::Ops),
                6.0 * parameters.value * tokens.value,
                "6 * parameters * tokens",
                &[("parameters", parameters), ("tokens", tokens)],
                "Kaplan et al. 2020: two on the way forward, four on the way back",
            )
        }
        _ => inputs.get("work")?,
    };
    let gradients = match (inputs.maybe("gradients")?, parameters) {
        (None, Some(parameters)) => {
            let element = inputs.get("element")?;
            answer.figure(
                Name("gradients", "bytes of the gradients", Unit::Bytes),
                parameters.value * element.value,
                "parameters * element",
                &[("parameters", parameters), ("element", element)],
                "one per parameter",
            )
        }
        _ => inputs.get("gradients")?,
    };
    Ok((work, gradients))
}

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let (work, gradients) = sizes(inputs, answer)?;
    let (devices, rate) = (inputs.get("devices")?, inputs.get("rate")?);
    let (bandwidth, latency) = (inputs.get("link")?, inputs.get("latency")?);
    let link = Link { bandwidth: bandwidth.value, latency: latency.value };
    let step = Step { work: work.value, rate: rate.value, gradients: gradients.value, devices: devices.count(), link };
    let found = network::estimate(&step)?;
    let sent = answer.figure(
        Name("sent", "bytes that a device sends", Unit::Bytes),
        found.sent,
        "2 * (N - 1) / N * M",
        &[("N", devices), ("M", gradients)],
        "ring all-reduce",
    );
    let computing = answer.figure(
        Name("computing", "computing", Unit::Seconds),
        found.computing,
        "W / rate",
        &[("W", work), ("rate", rate)],
        WILLIAMS,
    );
    let exchange = answer.figure(
        Name("exchange", "exchange of gradients", Unit::Seconds),
        found.exchange,
        "2 * (N - 1) * (M / (N * BW) + L)",
        &[("N", devices), ("M", gradients), ("BW", bandwidth), ("L", latency)],
        "mlsysim math.qmd",
    );
    let both = [("computing", computing), ("exchange", exchange)];
    let time = Name("time", "time of a step, exchange behind computing", Unit::Seconds);
    answer.figure(time, found.time, "max(computing, exchange)", &both, WILLIAMS);
    let in_turn = Name("in_turn", "time of a step, one after the other", Unit::Seconds);
    answer.figure(in_turn, found.computing + found.exchange, "computing + exchange", &both, "sum of both");
    let bound = Name("bound", "what takes the longer", Unit::Word(BOUNDS));
    let network = f64::from(u8::from(found.bound == Bound::Network));
    answer.add_found(bound, network, "whether the exchange is longer than computing", &both, WILLIAMS);
    answer.figure(
        Name("intensity", "operations per byte sent", Unit::OpsPerByte),
        found.intensity,
        "W / sent",
        &[("W", work), ("sent", sent)],
        WILLIAMS,
    );
    answer.figure(
        Name("ridge", "operations per byte from which arithmetic binds, without latency", Unit::OpsPerByte),
        found.ridge,
        "rate / BW",
        &[("rate", rate), ("BW", bandwidth)],
        WILLIAMS,
    );
    let enough = answer.figure(
        Name("enough", "operations of a device that hide the exchange", Unit::Ops),
        found.enough,
        "exchange * rate",
        &[("exchange", exchange), ("rate", rate)],
        WILLIAMS,
    );
    of_the_source(inputs, answer, enough)?;
    compressed(inputs, answer, &step, computing, exchange, gradients)
}

/// What needs parameters, and the figures of the source.
fn of_the_source(inputs: &Inputs<'_>, answer: &mut Answer, enough: Number) -> anyhow::Result<()> {
    let Some(parameters) = inputs.maybe("parameters")? else { return Ok(()) };
    answer.figure(
        Name("enough_tokens", "tokens of a device that hide the exchange", Unit::Number),
        enough.value / (6.0 * parameters.value),
        "enough / (6 * parameters)",
        &[("enough", enough), ("parameters", parameters)],
        WILLIAMS,
    );
    let (element, devices) = (inputs.get("element")?, inputs.get("devices")?);
    let (rate, bandwidth) = (inputs.get("rate")?, inputs.get("link")?);
    answer.figure(
        Name("intensity_mlsysim", "the same of one token, without (N - 1) / N", Unit::OpsPerByte),
        6.0 * parameters.value / (2.0 * parameters.value * element.value),
        "6 * parameters / (2 * parameters * element)",
        &[("parameters", parameters), ("element", element)],
        MLS,
    );
    answer.figure(
        Name("ridge_mlsysim", "the same with the rate of all devices against one link", Unit::OpsPerByte),
        devices.value * rate.value / bandwidth.value,
        "N * rate / BW",
        &[("N", devices), ("rate", rate), ("BW", bandwidth)],
        MLS,
    );
    Ok(())
}

fn compressed(
    inputs: &Inputs<'_>,
    answer: &mut Answer,
    step: &Step,
    computing: Number,
    exchange: Number,
    gradients: Number,
) -> anyhow::Result<()> {
    let Some(ratio) = inputs.maybe("ratio")? else { return Ok(()) };
    let (penalty, steps) = (inputs.get("penalty")?, inputs.get("steps")?);
    let found = network::compress(step, &Compression { ratio: ratio.value, penalty: penalty.value })?;
    let (devices, bandwidth, latency) = (inputs.get("devices")?, inputs.get("link")?, inputs.get("latency")?);
    let less = answer.figure(
        Name("exchange_compressed", "exchange of compressed gradients", Unit::Seconds),
        found.exchange,
        "2 * (N - 1) * (M / (ratio * N * BW) + L)",
        &[("N", devices), ("M", gradients), ("ratio", ratio), ("BW", bandwidth), ("L", latency)],
        "fewer bytes in as many steps",
    );
    answer.figure(
        Name("exchange_compressed_mlsysim", "the same, latency divided too", Unit::Seconds),
        exchange.value / ratio.value,
        "exchange / ratio",
        &[("exchange", exchange), ("ratio", ratio)],
        RUN,
    );
    let run = answer.figure(
        Name("run", "all steps, one thing after the other", Unit::Seconds),
        steps.value * (computing.value + exchange.value),
        "steps * (computing + exchange)",
        &[("steps", steps), ("computing", computing), ("exchange", exchange)],
        RUN,
    );
    let fewer = answer.figure(
        Name("run_compressed", "the same with compression", Unit::Seconds),
        run.value * found.relative,
        "steps * (1 + penalty) * (computing + compressed)",
        &[("steps", steps), ("penalty", penalty), ("computing", computing), ("compressed", less)],
        RUN,
    );
    answer.figure(
        Name("change", "what compression makes of the run", Unit::Share),
        found.relative - 1.0,
        "run_compressed / run - 1",
        &[("run_compressed", fewer), ("run", run)],
        RUN,
    );
    answer.figure(
        Name("worth", "exchange from which compression is worth it", Unit::Seconds),
        found.worth,
        "penalty * computing + (1 + penalty) * compressed",
        &[("penalty", penalty), ("computing", computing), ("compressed", less)],
        "where both runs take as long",
    );
    Ok(())
}
