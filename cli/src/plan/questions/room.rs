//! Room for requests whose state is in pages, and first phases in parts: what `plan serving` adds where they are asked
//! for. Formulas: `dmdprof_models::serving`.

use dmdprof_models::serving::{self, Lengths};

use super::super::input::Inputs;
use super::super::unit::Unit;
use super::super::value::{Answer, Name, Number};

const PAGES: &str = "mlsysim after 0.1.2, ContinuousBatchingModel; Kwon et al. 2023";
const PARTS: &str = "mlsysim 0.1.2, ServingModel; Agrawal et al. 2024";
const LATER: &str = "a later revision of mlsysim's package; not in its document";

/// The batch limit where each request holds what it needs in pages, against one slot of the longest each.
///
/// # Errors
/// Lengths that contradict each other, and a memory that holds not one request.
pub(super) fn paged(
    inputs: &Inputs<'_>,
    answer: &mut Answer,
    per_token: Number,
    model: Number,
    memory: Number,
) -> anyhow::Result<Option<Number>> {
    let Some(page) = inputs.maybe("page")? else { return Ok(None) };
    let (tokens, length) = (inputs.get("tokens")?, inputs.get("answer")?);
    let whole = Number { value: tokens.value + length.value, guess: length.guess, ..tokens };
    let mean = inputs.maybe("mean")?.unwrap_or(whole);
    let longest = inputs.maybe("longest")?.unwrap_or(mean);
    let lengths = Lengths { mean: mean.value, longest: longest.value };
    let (scale, each) = (lengths.scale()?, lengths.pages(page.count())?);
    let name = Name("pages", "pages of a request, on average", Unit::Number);
    let pages = if scale.is_infinite() {
        answer.figure(name, each, "ceil(longest / page)", &[("longest", longest), ("page", page)], PAGES)
    } else {
        let scale = answer.add_found(
            Name("scale", "scale of exponential lengths", Unit::Number),
            scale,
            "u of u * (1 - exp(-longest / u)) = mean, by bisection",
            &[("longest", longest), ("mean", mean)],
            PAGES,
        );
        let formula = "(1 - exp(0 - ceil(longest / page) * page / u)) / (1 - exp(0 - page / u))";
        answer.figure(name, each, formula, &[("longest", longest), ("page", page), ("u", scale)], PAGES)
    };
    let most = serving::paged_limit(memory.value, model.value, per_token.value, page.count(), &lengths)?;
    let limit = answer.figure(
        Name("batch_paged", "requests that have room at once, in pages", Unit::Count),
        most as f64,
        "floor((memory - model) / (per_token * page * pages))",
        &[("memory", memory), ("model", model), ("per_token", per_token), ("page", page), ("pages", pages)],
        PAGES,
    );
    answer.figure(
        Name("unused_paged", "part of the pages that is empty", Unit::Share),
        (1.0 - mean.value / (page.value * each)).max(0.0),
        "max(0, 1 - mean / (page * pages))",
        &[("mean", mean), ("page", page), ("pages", pages)],
        PAGES,
    );
    let slots = answer.figure(
        Name("batch_reserved", "requests that have room, a slot of the longest each", Unit::Count),
        ((memory.value - model.value) / (per_token.value * longest.value)).floor(),
        "floor((memory - model) / (per_token * longest))",
        &[("memory", memory), ("model", model), ("per_token", per_token), ("longest", longest)],
        PAGES,
    );
    if slots.value >= 1.0 {
        let read = |n: f64| n / (model.value + n * mean.value * per_token.value);
        answer.figure(
            Name("paged_gain", "tokens per second with pages over those with slots", Unit::Number),
            read(limit.value) / read(slots.value),
            "paged / (model + paged * mean * k) / (slots / (model + slots * mean * k))",
            &[("paged", limit), ("model", model), ("mean", mean), ("k", per_token), ("slots", slots)],
            PAGES,
        );
    }
    Ok(Some(limit))
}

/// The first phase in parts, if they are asked for; else as it was.
///
/// # Errors
/// Inputs that cannot be used.
pub(super) fn in_parts(
    inputs: &Inputs<'_>,
    answer: &mut Answer,
    first: Number,
    tokens: Number,
) -> anyhow::Result<Number> {
    let Some(chunk) = inputs.maybe("chunk")? else { return Ok(first) };
    let tax = inputs.get("tax")?;
    let found = serving::in_parts(first.value, tax.value, tokens.count(), chunk.count())?;
    let parts = answer.figure(
        Name("parts", "parts of the first phase", Unit::Count),
        found.count,
        "ceil(tokens / chunk)",
        &[("tokens", tokens), ("chunk", chunk)],
        PARTS,
    );
    let stall = answer.figure(
        Name("stall", "longest wait of another request's step", Unit::Seconds),
        found.longest,
        "(first - tax) * min(chunk, tokens) / tokens + tax",
        &[("first", first), ("tax", tax), ("chunk", chunk), ("tokens", tokens)],
        PARTS,
    );
    if inputs.is_given("parameters") && inputs.is_given("layers") && inputs.is_given("hidden") {
        let (layers, hidden, batch) = (inputs.get("layers")?, inputs.get("hidden")?, inputs.get("batch")?);
        let (peak, efficiency) = (inputs.get("peak")?, inputs.get("eta")?);
        let attention = 4.0 * chunk.value.min(tokens.value) * tokens.value * hidden.value * layers.value * batch.value;
        answer.figure(
            Name("stall_later", "with attention's operations, each part over all tokens", Unit::Seconds),
            stall.value + attention / (peak.value * efficiency.value),
            "stall + 4 * min(chunk, tokens) * tokens * hidden * layers * batch / (P * eta)",
            &[
                ("stall", stall),
                ("chunk", chunk),
                ("tokens", tokens),
                ("hidden", hidden),
                ("layers", layers),
                ("batch", batch),
                ("P", peak),
                ("eta", efficiency),
            ],
            LATER,
        );
    }
    Ok(answer.figure(
        Name("first_token_parts", "time to the first token, in parts", Unit::Seconds),
        found.all,
        "first + (parts - 1) * tax",
        &[("first", first), ("parts", parts), ("tax", tax)],
        PARTS,
    ))
}
