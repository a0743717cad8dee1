//! `plan training`: what a step of training holds on each device, and what tensor-parallel devices exchange in it.
//! Formulas: `dmdprof_models::training`.

use dmdprof_models::collectives::{Link, ring_all_reduce};
use dmdprof_models::training::{self, Batch, Keeping, Layout, Memory, Recompute, Shape};

use super::super::input::{Default, Input, Inputs};
use super::super::question::Question;
use super::super::shared;
use super::super::unit::{Allowed, Unit};
use super::super::value::{Answer, Name, Number};

const ZERO_STAGE: &str = "mlsysim 0.1.2, TrainingMemoryModel; ZeRO, Rajbhandari et al. 2020";
const KORTHIKANTI: &str = "Korthikanti et al. 2023, as in mlsysim 0.3.0";
const MEGATRON: &str = "Shoeybi et al. 2019: two on the way forward, two on the way back; mlsysim 0.1.2 counted two";

const OPTIMISERS: &[&str] = &["adam", "sgd", "none"];
const STAGES: &[&str] = &["0", "1", "2", "3"];
const RECOMPUTE: &[&str] = &["selective", "none", "full"];
const YES_NO: &[&str] = &["yes", "no"];
const NO_YES: &[&str] = &["no", "yes"];

const fn count(key: &'static str, default: Default, help: &'static str) -> Input {
    Input::new(key, Unit::Count, Allowed::Positive, default, help)
}

const fn word(key: &'static str, words: &'static [&'static str], why: &'static str, help: &'static str) -> Input {
    Input::new(key, Unit::Word(words), Allowed::Any, Default::Assumed(0.0, why), help)
}

const MODEL: &[Input] = &[
    Input::new("parameters", Unit::Number, Allowed::Positive, Default::Required, "parameters of the model"),
    count("layers", Default::Required, "layers"),
    count("hidden", Default::Required, "width: heads x size of a head"),
    count("heads", Default::Optional, "heads of attention; only for --recompute none"),
    count("tokens", Default::Required, "tokens of a sequence"),
    count("batch", Default::Assumed(1.0, "one"), "sequences of a micro-batch on a device"),
    count("micro-batches", Default::Assumed(1.0, "one"), "micro-batches of a step, one after the other"),
    Input::new(
        "element",
        Unit::Bytes,
        Allowed::Positive,
        Default::Assumed(2.0, "half precision"),
        "bytes per element of weights, gradients and activations",
    ),
];

const DEVICES: &[Input] = &[
    count("tensor", Default::Assumed(1.0, "none"), "devices of a tensor-parallel group"),
    count("pipeline", Default::Assumed(1.0, "none"), "devices of a pipeline"),
    count("expert", Default::Assumed(1.0, "none"), "devices of an expert-parallel group"),
    count("copies", Default::Assumed(1.0, "one"), "copies of the model (data-parallel)"),
    word("zero", STAGES, "nothing is shared out", "ZeRO stage: 1 optimiser, 2 also gradients, 3 also weights"),
    word("sequence", YES_NO, "as in Korthikanti et al.", "tensor-parallel devices share the sequence out, too"),
    shared::MEMORY,
];

const KEEPING: &[Input] = &[
    word("optimiser", OPTIMISERS, "12 B: a copy and two moments", "adam, sgd (a copy, 4 B) or none"),
    word("recompute", RECOMPUTE, "attention", "what is computed again on the way back: selective, none, full"),
    Input::new(
        "trained",
        Unit::Share,
        Allowed::NotNegative,
        Default::Assumed(1.0, "all"),
        "part of the parameters that is trained",
    ),
    count(
        "in-flight",
        Default::Assumed(1.0, "as in mlsysim; the first stage of a pipeline holds as many as it has stages"),
        "micro-batches whose activations are held at once",
    ),
    Input::new(
        "bucket",
        Unit::Share,
        Allowed::NotNegative,
        Default::Assumed(0.05, "mlsysim's"),
        "part of the gradients that is held a second time to be sent",
    ),
];

const EXCHANGE: &[Input] = &[
    Input::new(
        "all-reduces",
        Unit::Number,
        Allowed::NotNegative,
        Default::Assumed(training::ALL_REDUCES, "two on the way forward, two on the way back; mlsysim 0.1.2 has 2"),
        "all-reduces of activations per layer and micro-batch",
    ),
    shared::LINK,
    Input::new(
        "latency",
        Unit::Seconds,
        Allowed::NotNegative,
        Default::Assumed(500e-9, "mlsysim's inside a node"),
        "latency of a step of an exchange",
    ),
];

pub const QUESTION: Question = Question {
    name: "training",
    about: "A step of training: memory of a device by part, and the all-reduces of tensor-parallel devices",
    more: "Weights, gradients, the optimiser's state, activations and buffers of a transformer, shared out as stated. The exchange of activations is \
           not hidden behind computing. Fragmentation of the allocator and workspaces of kernels are not seen.",
    examples: "\
Examples:
  dmdprof plan training --parameters 70.6e9 --layers 80 --hidden 8192 --tokens 4096 --batch 2 --tensor 8 --pipeline 4 \\
      --copies 8 --zero 1 --machine h100-sxm --link '450 GB/s'
  dmdprof plan training --parameters 8.03e9 --layers 32 --hidden 4096 --tokens 8192 --tensor 1,2,4,8 --recompute selective,full
  dmdprof plan training --parameters 70.6e9 --layers 80 --hidden 8192 --tokens 4096 --tensor 8 --link '450 GB/s' --all-reduces 2,4",
    inputs: &[MODEL, DEVICES, KEEPING, EXCHANGE],
    goal: "needed",
    least: true,
    time: "exchange",
    answer,
    tables: None,
};

struct Stated {
    shape: Shape,
    layout: Layout,
    batch: Batch,
}

fn stated(inputs: &Inputs<'_>) -> anyhow::Result<Stated> {
    let number = |key| inputs.get(key);
    Ok(Stated {
        shape: Shape {
            parameters: number("parameters")?.value,
            layers: number("layers")?.count(),
            hidden: number("hidden")?.value,
            heads: inputs.maybe("heads")?.map(|heads| heads.value),
            element: number("element")?.value,
        },
        layout: Layout {
            tensor: number("tensor")?.count(),
            pipeline: number("pipeline")?.count(),
            expert: number("expert")?.count(),
            copies: number("copies")?.count(),
        },
        batch: Batch { sequences: number("batch")?.value, tokens: number("tokens")?.value },
    })
}

fn answer(inputs: &Inputs<'_>, answer: &mut Answer) -> anyhow::Result<()> {
    let Stated { shape, layout, batch } = stated(inputs)?;
    let recompute = match inputs.word("recompute")? {
        "selective" => Recompute::Selective,
        "full" => Recompute::Full,
        _ => {
            // Said by name before the model refuses it.
            inputs.get("heads")?;
            Recompute::None
        }
    };
    let keeping = Keeping {
        trained: inputs.get("trained")?.value,
        optimiser: [training::ADAM, training::SGD, 0.0][inputs.get("optimiser")?.value as usize],
        zero: inputs.get("zero")?.count(),
        recompute,
        sequence: inputs.word("sequence")? == "yes",
        in_flight: inputs.get("in-flight")?.value,
        bucket: inputs.get("bucket")?.value,
    };
    let held = training::memory(&shape, &layout, &keeping, &batch)?;
    let message = answer.figure(
        Name("message", "bytes of an all-reduce of activations", Unit::Bytes),
        training::message(&shape, &batch)?,
        "batch * tokens * hidden * element",
        &[
            ("batch", inputs.get("batch")?),
            ("tokens", inputs.get("tokens")?),
            ("hidden", inputs.get("hidden")?),
            ("element", inputs.get("element")?),
        ],
        "Shoeybi et al. 2019",
    );
    let layers = answer.figure(
        Name("layers_each", "layers of a device", Unit::Count),
        layout.layers(shape.layers) as f64,
        "ceil(layers / PP)",
        &[("layers", inputs.get("layers")?), ("PP", inputs.get("pipeline")?)],
        "a pipeline's stages",
    );
    let parts = [
        state(inputs, answer, &keeping, &held)?,
        vec![activations(inputs, answer, &keeping, &held, layers)?, buffers(inputs, answer, &held, message)?],
    ]
    .concat();
    sum(inputs, answer, &held, &parts)?;
    exchange(inputs, answer, message, layers)
}

/// Weights, gradients and what the optimiser keeps.
fn state(inputs: &Inputs<'_>, answer: &mut Answer, keeping: &Keeping, held: &Memory) -> anyhow::Result<Vec<Number>> {
    let of_group = [("TP", inputs.get("tensor")?), ("PP", inputs.get("pipeline")?), ("EP", inputs.get("expert")?)];
    let all = [("parameters", inputs.get("parameters")?)];
    let mine = answer.figure(
        Name("parameters_each", "parameters of a device", Unit::Number),
        all[0].1.value / of_group.iter().map(|(_, devices)| devices.value).product::<f64>(),
        "parameters / (TP * PP * EP)",
        &[&all[..], &of_group].concat(),
        ZERO_STAGE,
    );
    let (element, trained) = (inputs.get("element")?, inputs.get("trained")?);
    let copies = inputs.get("copies")?;
    let stage = inputs.get("zero")?;
    // Over how many copies a part is shared out: one, below the stage that does.
    let over = |from: u64| Number { value: if stage.count() >= from { copies.value } else { 1.0 }, ..copies };
    let weights = answer.figure(
        Name("weights", "weights", Unit::Bytes),
        held.weights,
        "n * element / copies",
        &[("n", mine), ("element", element), ("copies", over(3))],
        ZERO_STAGE,
    );
    let gradients = answer.figure(
        Name("gradients", "gradients", Unit::Bytes),
        held.gradients,
        "n * trained * element / copies",
        &[("n", mine), ("trained", trained), ("element", element), ("copies", over(2))],
        ZERO_STAGE,
    );
    let each = Number { value: keeping.optimiser, unit: Unit::Bytes, guess: inputs.get("optimiser")?.guess };
    let optimiser = answer.figure(
        Name("optimiser_state", "state of the optimiser", Unit::Bytes),
        held.optimiser,
        "n * trained * each / copies",
        &[("n", mine), ("trained", trained), ("each", each), ("copies", over(1))],
        ZERO_STAGE,
    );
    Ok(vec![weights, gradients, optimiser])
}

fn activations(
    inputs: &Inputs<'_>,
    answer: &mut Answer,
    keeping: &Keeping,
    held: &Memory,
    layers: Number,
) -> anyhow::Result<Number> {
    let tensor = inputs.get("tensor")?;
    let apart = Number { value: if keeping.sequence { tensor.value } else { 1.0 }, ..tensor };
    let mut with = vec![
        ("l", layers),
        ("g", inputs.get("in-flight")?),
        ("s", inputs.get("tokens")?),
        ("b", inputs.get("batch")?),
        ("h", inputs.get("hidden")?),
        ("e", inputs.get("element")?),
        ("apart", apart),
    ];
    let formula = match keeping.recompute {
        Recompute::Selective => "l * g * 34 * s * b * h * e / 2 / apart",
        Recompute::Full => "l * g * 2 * s * b * h * e / 2 / apart",
        Recompute::None => {
            with.push(("a", inputs.get("heads")?));
            "l * g * (34 * s * b * h + 5 * a * s^2 * b) * e / 2 / apart"
        }
    };
    let name = Name("activations", "activations kept for the way back", Unit::Bytes);
    let found = answer.figure(name, held.activations, formula, &with, KORTHIKANTI);
    if apart.value > 1.0 {
        answer.figure(
            Name("activations_mlsysim", "activations, not shared out among tensor-parallel devices", Unit::Bytes),
            found.value * tensor.value,
            "activations * TP",
            &[("activations", found), ("TP", tensor)],
            "mlsysim 0.1.2; 0.3.0 shares them out",
        );
    } else if tensor.value > 1.0 {
        answer.note("Activations are those of one device: without the sequence shared out that is an upper bound.");
    }
    Ok(found)
}

fn buffers(inputs: &Inputs<'_>, answer: &mut Answer, held: &Memory, message: Number) -> anyhow::Result<Number> {
    let (bucket, gradients) = (inputs.get("bucket")?, answer.get("gradients").expect("added before"));
    let name = Name("buffers", "buffers to send and receive", Unit::Bytes);
    let with = [("gradients", gradients), ("bucket", bucket), ("message", message)];
    Ok(if inputs.get("pipeline")?.count() > 1 {
        answer.figure(name, held.buffers, "gradients * bucket + 2 * message", &with, ZERO_STAGE)
    } else {
        answer.figure(name, held.buffers, "gradients * bucket", &with[..2], ZERO_STAGE)
    })
}

fn sum(inputs: &Inputs<'_>, answer: &mut Answer, held: &Memory, parts: &[Number]) -> anyhow::Result<()> {
    let names = ["weights", "gradients", "optimiser", "activations", "buffers"];
    let with: Vec<(&'static str, Number)> = names.into_iter().zip(parts.iter().copied()).collect();
    let needed = answer.figure(
        Name("needed", "memory of a device", Unit::Bytes),
        held.total(),
        "weights + gradients + optimiser + activations + buffers",
        &with,
        "sum",
    );
    let Some(memory) = inputs.maybe("memory")? else { return Ok(()) };
    answer.figure(
        Name("used", "part of the memory of a device", Unit::Number),
        needed.value / memory.value,
        "needed / memory",
        &[("needed", needed), ("memory", memory)],
        "definition",
    );
    answer.add_found(
        Name("fits", "it has room", Unit::Word(NO_YES)),
        f64::from(u8::from(needed.value <= memory.value)),
        "whether needed is at most memory",
        &[("needed", needed), ("memory", memory)],
        "definition",
    );
    Ok(())
}

fn exchange(inputs: &Inputs<'_>, answer: &mut Answer, message: Number, layers: Number) -> anyhow::Result<()> {
    let tensor = inputs.get("tensor")?;
    if tensor.count() == 1 {
        return Ok(());
    }
    let Some(bandwidth) = inputs.maybe("link")? else {
        answer.note("The exchange of activations is left out: link is not known (link = \"450 GB/s\").");
        return Ok(());
    };
    let Stated { shape, layout, batch } = stated(inputs)?;
    let latency = inputs.get("latency")?;
    let link = Link { bandwidth: bandwidth.value, latency: latency.value };
    let (each, micro) = (inputs.get("all-reduces")?, inputs.get("micro-batches")?);
    let one = answer.figure(
        Name("all_reduce", "one all-reduce of activations", Unit::Seconds),
        ring_all_reduce(message.value, tensor.count(), &link)?,
        "2 * (TP - 1) * (message / (TP * BW) + L)",
        &[("TP", tensor), ("message", message), ("BW", bandwidth), ("L", latency)],
        "mlsysim math.qmd",
    );
    answer.figure(
        Name("exchange", "all-reduces of activations of a step", Unit::Seconds),
        training::exchange(&shape, &layout, &batch, micro.count(), each.value, &link)?,
        "r * layers * m * all_reduce",
        &[("r", each), ("layers", layers), ("m", micro), ("all_reduce", one)],
        MEGATRON,
    );
    answer.figure(
        Name("exchange_mlsysim", "the same, one all-reduce of twice the bytes in each of all layers", Unit::Seconds),
        training::doubled_exchange(&shape, tensor.count(), &batch, micro.count(), &link)?,
        "layers * 2 * (TP - 1) * (2 * message * m / (TP * BW) + L)",
        &[
            ("layers", inputs.get("layers")?),
            ("TP", tensor),
            ("message", message),
            ("m", micro),
            ("BW", bandwidth),
            ("L", latency),
        ],
        "mlsysim 0.1.2; 0.3.0 has four, each with its latency",
    );
    Ok(())
}
