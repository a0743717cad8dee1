//! `plan serving`: requests with a first phase and steps, by formula or from profiles. Formulas:
//! `dmdprof_models::serving`, `queueing`. Pages and parts of a first phase are in [`super::room`].

use std::rc::Rc;

use anyhow::{Context, bail};
use dmdprof_models::queueing;
use dmdprof_models::serving::{self, Cache, Line};

use super::super::bill;
use super::super::defaults::Loaded;
use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::shared;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};
use super::room;
use crate::document::{Column, Sheet, Value};
use crate::shared::human;

const MLS: &str = "mlsysim math.qmd";
const LATER: &str = "a later revision of mlsysim's package; not in its document";

const INPUTS: &[Input] = &[
    Input::new("tokens", Unit::Count, Allowed::Positive, Default::Required, "tokens of a request before its answer"),
    Input::new(
        "answer",
        Unit::Count,
        Allowed::Positive,
        Default::Assumed(128.0, "one short answer"),
        "tokens of an answer",
    ),
    Input::new("batch", Unit::Count, Allowed::Positive, Default::Assumed(1.0, "one at a time"), "requests at once"),
    Input::new(
        "prefill",
        Unit::Text,
        Allowed::Any,
        Default::Optional,
        "profile of the first phase, with its length: 64=prefill.data",
    ),
    Input::new(
        "step",
        Unit::Text,
        Allowed::Any,
        Default::Optional,
        "profiles of one step at two or more lengths: 64=a.data, 128=b.data",
    ),
    Input::new(
        "step-function",
        Unit::Text,
        Allowed::Any,
        Default::Optional,
        "function of these profiles that is one step, with all that it calls",
    ),
    Input::new(
        "prefill-function",
        Unit::Text,
        Allowed::Any,
        Default::Optional,
        "function of the profile of the first phase",
    ),
    Input::new("parameters", Unit::Number, Allowed::Positive, Default::Optional, "parameters of the model"),
    Input::new("model", Unit::Bytes, Allowed::Positive, Default::Optional, "bytes of the model"),
    Input::new("layers", Unit::Count, Allowed::Positive, Default::Optional, "layers"),
    Input::new(
        "hidden",
        Unit::Count,
        Allowed::Positive,
        Default::Optional,
        "heads that are not shared x size of a head",
    ),
    Input::new(
        "element",
        Unit::Bytes,
        Allowed::Positive,
        Default::Assumed(2.0, "half precision"),
        "bytes per element of the state",
    ),
    Input::new(
        "state-per-token",
        Unit::Bytes,
        Allowed::NotNegative,
        Default::Optional,
        "bytes of state per token, instead of layers and hidden",
    ),
    Input::new(
        "page",
        Unit::Count,
        Allowed::Positive,
        Default::Optional,
        "tokens of a page of state: the batch limit with pages (vLLM has 16)",
    ),
    Input::new(
        "mean",
        Unit::Number,
        Allowed::Positive,
        Default::Optional,
        "mean length of requests, with pages [default: tokens and answer]",
    ),
    Input::new(
        "longest",
        Unit::Count,
        Allowed::Positive,
        Default::Optional,
        "length of the longest request, with pages [default: all are as long as the mean]",
    ),
    Input::new(
        "chunk",
        Unit::Count,
        Allowed::Positive,
        Default::Optional,
        "tokens of a part of the first phase, between which steps of others run",
    ),
    Input::new("peak", Unit::OpsPerSecond, Allowed::Positive, Default::Known("peak"), "peak rate"),
    Input::new(
        "eta",
        Unit::Share,
        Allowed::Positive,
        Default::KnownOr("efficiency", 0.5, "mlsysim's default"),
        "part of the peak that the first phase reaches",
    ),
    shared::BANDWIDTH,
    shared::MEMORY,
    Input::new(
        "tax",
        Unit::Seconds,
        Allowed::NotNegative,
        Default::KnownOr("floor", 0.0, "none"),
        "fixed time per request",
    ),
    Input::new(
        "arrivals",
        Unit::PerSecond,
        Allowed::Positive,
        Default::Optional,
        "requests that arrive, for the number of replicas",
    ),
    Input::new(
        "percentile",
        Unit::Share,
        Allowed::Positive,
        Default::Assumed(0.95, "95 %"),
        "share of requests that must meet the service level",
    ),
    Input::new("level", Unit::Seconds, Allowed::Positive, Default::Optional, "service level: time of a whole request"),
];

pub const QUESTION: Question = Question {
    name: "serving",
    about: "Requests with a first phase and steps: time to the first and each further token, batch limit, replicas",
    more: "The first phase is bound by arithmetic, a step by the bytes of model and state. Measured instead of computed: --prefill names a profile of \
           the first phase and --step profiles of one step at two or more lengths; what grows with the length is the state, what does not is the \
           model. Steps of a batch read the model once; contention and scheduling are not seen.",
    examples: "\
Examples:
  dmdprof plan serving --machine h100-sxm --parameters 8.03e9 --model '16.06 GB' --layers 32 --hidden 1024 --tokens 2048
  dmdprof plan serving --machine h100-sxm --parameters 8.03e9 --model '16.06 GB' --layers 32 --hidden 1024 --tokens 2048 \\
      --batch 1..256 --plot --arrivals '5 /s' --level '5 s'
  dmdprof plan serving --machine h100-sxm --parameters 8.03e9 --model '16.06 GB' --layers 32 --hidden 1024 --tokens 896 \\
      --page 16,128 --longest 8192 --chunk 512
  dmdprof plan serving --machine skx-6148-core --prefill 64=prefill.data --step 64=s64.data,128=s128.data --tokens 64",
    inputs: &[INPUTS, bill::INPUTS],
    goal: "throughput",
    least: false,
    time: "request",
    answer,
    tables: Some(tables),
};

/// Profiles with their lengths.
type OfLengths = Vec<(f64, Rc<Loaded>)>;

fn profiles(inputs: &Inputs<'_>, key: &str) -> anyhow::Result<Option<OfLengths>> {
    let Some(text) = inputs.text(key) else { return Ok(None) };
    let part = |part: &str| {
        let form = || format!("{key}: write LENGTH=FILE, as in 64=step-64.data, not {part:?}");
        let (length, file) = part.trim().split_once('=').with_context(form)?;
        let length = length.trim().parse::<u32>().ok().filter(|n| *n > 0).with_context(form)?;
        Ok((f64::from(length), inputs.defaults.library.read(file.trim())?))
    };
    text.split(',').map(part).collect::<anyhow::Result<Vec<_>>>().map(Some)
}

/// An estimate of a profile on the machine of the point.
fn estimate(inputs: &Inputs<'_>, loaded: &Loaded, function: Option<&str>) -> anyhow::Result<Number> {
    let known = inputs.defaults.for_profile(loaded, function);
    match known.get("time") {
        Ok(Some((number, _))) => {
            let calls = loaded.workload(function)?.calls.unwrap_or(1).max(1) as f64;
            Ok(Number { value: number.value / if function.is_some() { calls } else { 1.0 }, ..number })
        }
        Ok(None) => bail!("profiles of phases are estimated on a machine; name one (machine = \"NAME\")"),
        Err(why) => bail!("{}: {why}", loaded.name),
    }
}

/// What was measured of steps: bytes held, and time, both over the length.
struct Steps {
    held: Line,
    time: Line,
    guess: bool,
    lengths: Vec<f64>,
    peaks: Vec<f64>,
    times: Vec<f64>,
}

fn steps(inputs: &Inputs<'_>) -> anyhow::Result<Option<Steps>> {
    let Some(list) = profiles(inputs, "step")? else { return Ok(None) };
    if list.len() < 2 {
        bail!("step: how the state grows needs profiles of two or more lengths, as in 64=a.data, 128=b.data");
    }
    let lengths: Vec<f64> = list.iter().map(|(length, _)| *length).collect();
    let peaks: Vec<f64> = list.iter().map(|(_, loaded)| loaded.profile.totals.peak_live as f64).collect();
    let function = inputs.text("step-function");
    let numbers = list.iter().map(|(_, l)| estimate(inputs, l, function)).collect::<anyhow::Result<Vec<_>>>()?;
    let times: Vec<f64> = numbers.iter().map(|n| n.value).collect();
    Ok(Some(Steps {
        held: serving::growth(&lengths, &peaks)?,
        time: serving::growth(&lengths, &times)?,
        guess: numbers.iter().any(|n| n.guess),
        lengths,
        peaks,
        times,
    }))
}

/// Bytes of state per token, and of the model.
fn sizes(inputs: &Inputs<'_>, answer: &mut Answer, steps: Option<&Steps>) -> anyhow::Result<(Number, Number)> {
    if let Some(steps) = steps {
        let count = [("profiles", Number::new(steps.lengths.len() as f64, Unit::Count))];
        let per_token = answer.add_found(
            Name("state_per_token", "state per token", Unit::Bytes),
            steps.held.slope.max(0.0),
            "slope of peak live bytes over the length",
            &count,
            "least squares through the profiles",
        );
        let model = answer.add_found(
            Name("model", "what does not grow: the model", Unit::Bytes),
            steps.held.at_zero.max(0.0),
            "peak live bytes at length 0 on that line",
            &count,
            "least squares through the profiles",
        );
        return Ok((per_token, model));
    }
    let model = inputs.get("model")?;
    if let Some(stated) = inputs.maybe("state-per-token")? {
        return Ok((stated, model));
    }
    let (layers, hidden, element) = (inputs.get("layers")?, inputs.get("hidden")?, inputs.get("element")?);
    let cache = Cache { layers: layers.value, hidden: hidden.value, element: element.value };
    let per_token = answer.figure(
        Name("state_per_token", "state per token", Unit::Bytes),
        cache.per_token()?,
        "2 * hidden * layers * element",
        &[("hidden", hidden), ("layers", layers), ("element", element)],
        "mlsysim math.qmd: keys and values",
    );
    Ok((per_token, model))
}

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let steps = steps(inputs)?;
    let (tokens, batch, length) = (inputs.get("tokens")?, inputs.get("batch")?, inputs.get("answer")?);
    let (per_token, model) = sizes(inputs, answer, steps.as_ref())?;
    let state = answer.figure(
        Name("state", "state of the batch", Unit::Bytes),
        serving::state(per_token.value, tokens.value, batch.value)?,
        "per_token * tokens * batch",
        &[("per_token", per_token), ("tokens", tokens), ("batch", batch)],
        "mlsysim math.qmd; its text prints 540 GB where this gives 343.6 GB",
    );
    limit(inputs, answer, per_token, model, batch)?;
    let first = first(inputs, answer, tokens, batch)?;
    let bandwidth = inputs.get("bandwidth")?;
    let each = answer.figure(
        Name("each_token", "time per further token", Unit::Seconds),
        serving::each_token(model.value, state.value, bandwidth.value)?,
        "(model + state) / BW",
        &[("model", model), ("state", state), ("BW", bandwidth)],
        MLS,
    );
    if let Some(steps) = &steps {
        let (at_zero, slope) = (
            Number { guess: steps.guess, ..Number::new(steps.time.at_zero, Unit::Seconds) },
            Number::new(steps.time.slope, Unit::Seconds),
        );
        answer.figure(
            Name("each_estimated", "the same as the profiles of steps are estimated, one request", Unit::Seconds),
            steps.time.value_at(tokens.value),
            "at_zero + slope * tokens",
            &[("at_zero", at_zero), ("slope", slope), ("tokens", tokens)],
            "least squares through the roofline's estimates",
        );
    }
    later(inputs, answer, first, each)?;
    let first = room::in_parts(inputs, answer, first, tokens)?;
    throughput(inputs, answer, first, each, batch, length)
}

fn limit(
    inputs: &Inputs<'_>,
    answer: &mut Answer,
    per_token: Number,
    model: Number,
    batch: Number,
) -> anyhow::Result<()> {
    let (tokens, length) = (inputs.get("tokens")?, inputs.get("answer")?);
    let Some(memory) = inputs.maybe("memory")? else {
        answer.note(
            "The batch limit is left out: memory is not known (memory = \"80 GB\", or a machine that states it).",
        );
        return Ok(());
    };
    let one = per_token.value * (tokens.value + length.value);
    let most = serving::batch_limit(memory.value, model.value, one)?;
    if most == u64::MAX {
        return Ok(());
    }
    let limit = answer.figure(
        Name("batch_limit", "requests that have room at once", Unit::Count),
        most as f64,
        "floor((memory - model) / (per_token * (tokens + answer)))",
        &[("memory", memory), ("model", model), ("per_token", per_token), ("tokens", tokens), ("answer", length)],
        "what memory leaves beside the model",
    );
    let limit = room::paged(inputs, answer, per_token, model, memory)?.unwrap_or(limit);
    if batch.value > limit.value {
        answer.note(format!("A batch of {} has no room: {} is the most at this length.", batch.value, limit.value));
    }
    Ok(())
}

fn first(inputs: &Inputs<'_>, answer: &mut Answer, tokens: Number, batch: Number) -> anyhow::Result<Number> {
    let tax = inputs.get("tax")?;
    if let Some(list) = profiles(inputs, "prefill")? {
        let (length, loaded) = &list[0];
        let time = estimate(inputs, loaded, inputs.text("prefill-function"))?;
        let measured = Number::new(*length, Unit::Count);
        return Ok(answer.figure(
            Name("first_token", "time to the first token", Unit::Seconds),
            time.value * tokens.value / length * batch.value + tax.value,
            "time * tokens / profiled * batch + tax",
            &[("time", time), ("tokens", tokens), ("profiled", measured), ("batch", batch), ("tax", tax)],
            "the roofline's estimate of the profile, in proportion to the tokens",
        ));
    }
    let (parameters, peak, efficiency) = (inputs.get("parameters")?, inputs.get("peak")?, inputs.get("eta")?);
    let seconds =
        serving::first_token(parameters.value, tokens.value, batch.value, peak.value, efficiency.value, tax.value)?;
    Ok(answer.figure(
        Name("first_token", "time to the first token", Unit::Seconds),
        seconds,
        "2 * parameters * tokens * batch / (P * eta) + tax",
        &[
            ("parameters", parameters),
            ("tokens", tokens),
            ("batch", batch),
            ("P", peak),
            ("eta", efficiency),
            ("tax", tax),
        ],
        MLS,
    ))
}

/// What a later revision of the source adds, where its inputs are stated.
fn later(inputs: &Inputs<'_>, answer: &mut Answer, first: Number, each: Number) -> anyhow::Result<()> {
    if !inputs.is_given("parameters") || !inputs.is_given("layers") || !inputs.is_given("hidden") {
        return Ok(());
    }
    let (tokens, batch, layers, hidden) =
        (inputs.get("tokens")?, inputs.get("batch")?, inputs.get("layers")?, inputs.get("hidden")?);
    let (peak, efficiency) = (inputs.get("peak")?, inputs.get("eta")?);
    let attention = 4.0 * tokens.value.powi(2) * hidden.value * layers.value * batch.value;
    answer.figure(
        Name("first_token_later", "with attention's operations", Unit::Seconds),
        first.value + attention / (peak.value * efficiency.value),
        "first + 4 * tokens^2 * hidden * layers * batch / (P * eta)",
        &[
            ("first", first),
            ("tokens", tokens),
            ("hidden", hidden),
            ("layers", layers),
            ("batch", batch),
            ("P", peak),
            ("eta", efficiency),
        ],
        LATER,
    );
    let tax = Number { guess: true, ..Number::new(10e-6, Unit::Seconds) };
    answer.figure(
        Name("each_token_later", "with 10 us per layer", Unit::Seconds),
        each.value + layers.value * tax.value,
        "each + layers * layer_tax",
        &[("each", each), ("layers", layers), ("layer_tax", tax)],
        LATER,
    );
    Ok(())
}

fn throughput(
    inputs: &Inputs<'_>,
    answer: &mut Answer,
    first: Number,
    each: Number,
    batch: Number,
    length: Number,
) -> anyhow::Result<()> {
    let request = answer.figure(
        Name("request", "time of a whole request", Unit::Seconds),
        first.value + (length.value - 1.0) * each.value,
        "first + (answer - 1) * each",
        &[("first", first), ("answer", length), ("each", each)],
        "the first token and the others",
    );
    let through = answer.figure(
        Name("throughput", "tokens per second of a device", Unit::PerSecond),
        batch.value * length.value / request.value,
        "batch * answer / request",
        &[("batch", batch), ("answer", length), ("request", request)],
        "tokens over time",
    );
    let mut devices = Number::new(1.0, Unit::Count);
    if let Some(arrivals) = inputs.maybe("arrivals")? {
        devices = replicas(inputs, answer, arrivals, request, batch)?;
        answer.figure(
            Name("tokens_in_all", "tokens per second of all replicas", Unit::PerSecond),
            devices.value * through.value,
            "replicas * throughput",
            &[("replicas", devices), ("throughput", through)],
            "sum",
        );
        // What is paid for a request is the replicas' time between two of them.
        let gap = Number { value: 1.0 / arrivals.value, ..request };
        return bill::add(inputs, answer, devices, gap);
    }
    let part = Number { value: request.value / batch.value, ..request };
    bill::add(inputs, answer, devices, part)
}

fn replicas(
    inputs: &Inputs<'_>,
    answer: &mut Answer,
    arrivals: Number,
    request: Number,
    batch: Number,
) -> anyhow::Result<Number> {
    let percentile = inputs.get("percentile")?;
    let Some(level) = inputs.maybe("level")? else {
        return Ok(answer.figure(
            Name("replicas", "replicas that keep up", Unit::Count),
            (arrivals.value * request.value / batch.value).floor() + 1.0,
            "floor(arrivals * request / batch) + 1",
            &[("arrivals", arrivals), ("request", request), ("batch", batch)],
            "the load must be below 1; a service level asks for more",
        ));
    };
    let slots = queueing::least_servers(arrivals.value, request.value, percentile.value, level.value)?;
    Ok(answer.add_found(
        Name("replicas", "replicas for the service level", Unit::Count),
        (slots as f64 / batch.value).ceil(),
        "fewest M/M/c servers with that percentile, over the batch, rounded up",
        &[("arrivals", arrivals), ("request", request), ("percentile", percentile), ("level", level), ("batch", batch)],
        "Erlang 1917; each place of a batch is a server",
    ))
}

fn tables(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let Some(steps) = steps(inputs)? else { return Ok(()) };
    let columns = vec![
        Column::new("length", ["", "length"], 0),
        Column::new("peak_live", ["peak", "live"], 0),
        Column::new("line", ["on the", "line"], 0),
        Column::new("seconds", ["estimated", "time"], 0),
    ];
    let mut sheet = Sheet::new("growth", "Steps at different lengths", columns);
    for ((length, peak), time) in steps.lengths.iter().zip(&steps.peaks).zip(&steps.times) {
        sheet.row([
            Value::Count(*length as u128).into(),
            Value::Bytes(*peak as u128).into(),
            Value::Bytes(steps.held.value_at(*length).max(0.0) as u128).into(),
            Value::Seconds(*time).guessed(steps.guess),
        ]);
    }
    sheet.remarks.push(format!("Farthest from the line: {} of a measurement.", human::share(steps.held.error)));
    answer.sheets.push(sheet);
    Ok(())
}
