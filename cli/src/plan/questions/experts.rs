//! `plan experts`: devices shared out among kinds of parallelism, and the exchange with experts. Formulas:
//! `dmdprof_models::experts`.

use dmdprof_models::collectives::{self, Link};
use dmdprof_models::experts::{self, Tokens};

use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::shared;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};

const MLS: &str = "mlsysim math.qmd";
const ROUTING: &str = "mlsysim 0.1.2, MoERoutingModel: an expert gets a token at most once";

const INPUTS: &[Input] = &[
    Input::new("devices", Unit::Count, Allowed::Positive, Default::Required, "all devices"),
    Input::new(
        "tensor",
        Unit::Count,
        Allowed::Positive,
        Default::Assumed(1.0, "none"),
        "devices of a tensor-parallel group",
    ),
    Input::new("pipeline", Unit::Count, Allowed::Positive, Default::Assumed(1.0, "none"), "devices of a pipeline"),
    Input::new(
        "expert",
        Unit::Count,
        Allowed::Positive,
        Default::Assumed(1.0, "none"),
        "devices of an expert-parallel group",
    ),
    Input::new("tokens", Unit::Count, Allowed::Positive, Default::Optional, "tokens of a device in a step"),
    Input::new(
        "token",
        Unit::Bytes,
        Allowed::NotNegative,
        Default::Optional,
        "bytes of a token: a size, or `object NAME`",
    ),
    Input::new("each", Unit::Count, Allowed::Positive, Default::Assumed(1.0, "one"), "experts that a token goes to"),
    Input::new(
        "experts",
        Unit::Count,
        Allowed::Positive,
        Default::Optional,
        "experts of a layer: bounds the imbalance",
    ),
    Input::new(
        "parameters",
        Unit::Number,
        Allowed::Positive,
        Default::Optional,
        "parameters at work for a token, for what imbalance makes of them; needs experts",
    ),
    Input::new("layers", Unit::Count, Allowed::Positive, Default::Assumed(1.0, "one"), "layers with experts"),
    Input::new(
        "imbalance",
        Unit::Number,
        Allowed::AtLeastOne,
        Default::Optional,
        "load of the fullest expert over the mean [default: that of random routing]",
    ),
    shared::LINK,
    shared::LATENCY,
];

pub const QUESTION: Question = Question {
    name: "experts",
    about: "Expert parallelism: copies of the model, bytes and time of the exchange, load imbalance",
    more: "Each layer sends its tokens to their experts and the results back: two all-to-alls, at the pace of the fullest expert. Unless an \
           imbalance is stated it is that of tokens which choose at random, a lower bound of what trained routers do.",
    examples: "\
Examples:
  dmdprof plan experts --devices 256 --tensor 8 --pipeline 4
  dmdprof plan experts --devices 64 --expert 8 --experts 8 --each 2 --imbalance 1,2,4,8 --tokens 4096 --token '8 KiB' --link '50 GB/s'
  dmdprof plan experts --devices 64 --expert 8,16,32,64 --tokens 4096 --token '8 KiB' --each 2 --layers 32 --link '50 GB/s'",
    inputs: &[INPUTS],
    goal: "exchange",
    least: true,
    time: "exchange",
    answer,
    tables: None,
};

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let devices = inputs.get("devices")?;
    let (tensor, pipeline, expert) = (inputs.get("tensor")?, inputs.get("pipeline")?, inputs.get("expert")?);
    let copies = experts::data_parallel(devices.count(), tensor.count(), pipeline.count(), expert.count())
        .map_err(|error| anyhow::anyhow!("devices, tensor, pipeline and expert contradict each other: {error}"))?;
    answer.figure(
        Name("copies", "data-parallel degree: copies of the model", Unit::Count),
        copies as f64,
        "floor(devices / (TP * PP * EP))",
        &[("devices", devices), ("TP", tensor), ("PP", pipeline), ("EP", expert)],
        MLS,
    );
    if expert.count() == 1 {
        answer.note("With one device per expert-parallel group nothing is sent to experts.");
        return Ok(());
    }
    let (tokens, token, each) = (inputs.get("tokens")?, inputs.get("token")?, inputs.get("each")?);
    let work = Tokens { tokens: tokens.value, experts_each: each.value, bytes: token.value };
    let message = answer.figure(
        Name("message", "bytes a device sends to experts, one way", Unit::Bytes),
        work.message()?,
        "tokens * each * token",
        &[("tokens", tokens), ("each", each), ("token", token)],
        MLS,
    );
    let imbalance = match inputs.maybe("imbalance")? {
        Some(stated) => stated,
        None => random(answer, tokens, each, expert)?,
    };
    let imbalance = bounded(inputs, answer, imbalance, each)?;
    let (layers, bandwidth, latency) = (inputs.get("layers")?, inputs.get("link")?, inputs.get("latency")?);
    let link = Link { bandwidth: bandwidth.value, latency: latency.value };
    answer.figure(
        Name("exchange", "exchange with experts", Unit::Seconds),
        experts::exchange(&work, expert.count(), layers.count(), imbalance.value, &link)?,
        "2 * layers * ((EP - 1) / EP * message * imbalance / BW + (EP - 1) * L)",
        &[
            ("layers", layers),
            ("EP", expert),
            ("message", message),
            ("imbalance", imbalance),
            ("BW", bandwidth),
            ("L", latency),
        ],
        "two all-to-alls per layer (mlsysim), at the pace of the fullest expert",
    );
    answer.figure(
        Name("exchange_mlsysim", "the same, one all-to-all for all layers, one way", Unit::Seconds),
        collectives::all_to_all(message.value * imbalance.value, expert.count(), &link)?,
        "(EP - 1) / EP * message * imbalance / BW + (EP - 1) * L",
        &[("EP", expert), ("message", message), ("imbalance", imbalance), ("BW", bandwidth), ("L", latency)],
        "mlsysim 0.1.2, DistributedModel",
    );
    Ok(())
}

/// The imbalance that so many experts can have, and how many of them are kept as busy as by even tokens.
fn bounded(inputs: &Inputs<'_>, answer: &mut Answer, imbalance: Number, each: Number) -> anyhow::Result<Number> {
    let Some(experts) = inputs.maybe("experts")? else { return Ok(imbalance) };
    let bounded = answer.figure(
        Name("imbalance_bounded", "imbalance, at most all tokens at one expert", Unit::Number),
        experts::bounded(imbalance.value, experts.count(), each.count())?,
        "min(imbalance, experts / each)",
        &[("imbalance", imbalance), ("experts", experts), ("each", each)],
        ROUTING,
    );
    answer.figure(
        Name("experts_busy", "experts that a token keeps busy", Unit::Number),
        each.value * bounded.value,
        "each * imbalance",
        &[("each", each), ("imbalance", bounded)],
        ROUTING,
    );
    if let Some(parameters) = inputs.maybe("parameters")? {
        answer.figure(
            Name("parameters_busy", "parameters at work for a token, at the pace of the fullest", Unit::Number),
            parameters.value * bounded.value,
            "parameters * imbalance",
            &[("parameters", parameters), ("imbalance", bounded)],
            ROUTING,
        );
    }
    Ok(bounded)
}

fn random(answer: &mut Answer, tokens: Number, each: Number, expert: Number) -> anyhow::Result<Number> {
    let value = experts::random_imbalance(tokens.value * expert.value * each.value, expert.count())?;
    // An assumption about the router.
    let tokens = Number { guess: true, ..tokens };
    Ok(answer.figure(
        Name("imbalance", "load of the fullest expert over the mean", Unit::Number),
        value,
        "1 + sqrt(2 * ln(EP) * (1 - 1 / EP) / (tokens * each))",
        &[("EP", expert), ("tokens", tokens), ("each", each)],
        "Raab, Steger 1998: tokens of all EP devices choose at random",
    ))
}
