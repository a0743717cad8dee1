//! Training: what a step holds on each device, and what tensor-parallel devices exchange in it.
//!
//! Takes a model's shape, how devices share it out and how its state is kept; gives bytes per device by part, and the
//! time of the all-reduces of activations. Refuses devices, layers or lengths that are none, shares above 1, and
//! attention that is kept without a number of heads.
//!
//! Sources: mlsysim (Machine Learning Systems book), training solver of 0.1.2 and 0.3.0, after Shoeybi et al.
//! (Megatron-LM, arXiv 1909.08053), Rajbhandari et al. (ZeRO, 2020) and Korthikanti et al. (activation recomputation,
//! 2023).
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | n | parameters of a device: all / (TP PP EP) | 1 |
//! | e | bytes per element of weights, gradients and activations | B |
//! | z | ZeRO stage: from 1 the optimiser's state is shared out among the DP copies, from 2 gradients, at 3 weights | 1 |
//! | s, b, h, a | tokens of a sequence, sequences of a micro-batch, width, heads of attention | 1 |
//! | l | layers of a device: ceil(layers / PP) | 1 |
//!
//! * weights `n e`, gradients `n t e` (t: the part that is trained), optimiser `n t o` with o = 12 B for Adam (a copy
//!   in single precision and two moments), 4 B for the copy only, each over DP as z says
//! * activations `l g c e / 2`, with c = `34 s b h` if attention is computed again, `34 s b h + 5 a s^2 b` if nothing
//!   is, `2 s b h` if all is; over TP where the sequence is shared out too; g micro-batches are held at once
//! * buffers: a part of the gradients, and with a pipeline `2 b s h e` for what comes in and goes out
//! * tensor-parallel exchange `r l m (2 (TP - 1) (b s h e / (TP BW) + L))`: r all-reduces a layer, m micro-batches.
//!   r = 4: two on the way forward, two on the way back (Shoeybi et al., section 3)
//!
//! 0.1.2 of the source has r = 2, as one all-reduce of twice the bytes ([`doubled_exchange`]), and never shares
//! activations out among TP devices; 0.1.1 has c = `10 s b h` for the first case and multiplies it by e.
//!
//! Edge cases: TP = 1 exchanges nothing. Without the sequence shared out, activations are those of one device: an
//! upper bound, as in the source.

use crate::collectives::{Link, ring_all_reduce};
use crate::error::{InputError, at_most, count, not_negative, positive};

/// All-reduces of activations per layer and micro-batch: two on the way forward, two on the way back.
pub const ALL_REDUCES: f64 = 4.0;

/// Bytes per trained parameter of Adam: a copy of the weight and two moments, in single precision.
pub const ADAM: f64 = 12.0;

/// Bytes per trained parameter of plain descent: the copy only.
pub const SGD: f64 = 4.0;

/// A transformer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// All parameters.
    pub parameters: f64,
    /// All layers.
    pub layers: u64,
    /// h.
    pub hidden: f64,
    /// a; only where attention is kept.
    pub heads: Option<f64>,
    /// e.
    pub element: f64,
}

/// How devices share a model out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// TP.
    pub tensor: u64,
    /// PP.
    pub pipeline: u64,
    /// EP.
    pub expert: u64,
    /// DP.
    pub copies: u64,
}

impl Layout {
    fn check(&self) -> Result<(), InputError> {
        count("tensor-parallel devices", self.tensor)?;
        count("pipeline-parallel devices", self.pipeline)?;
        count("expert-parallel devices", self.expert)?;
        count("copies of the model", self.copies)?;
        Ok(())
    }

    /// Layers of a device.
    #[must_use]
    pub fn layers(&self, all: u64) -> u64 {
        all.div_ceil(self.pipeline.max(1))
    }
}

/// What is computed again on the way back instead of being kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recompute {
    /// Attention.
    Selective,
    /// Nothing.
    None,
    /// Everything but the input of each layer.
    Full,
}

/// How the state is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Keeping {
    /// t, 0 to 1.
    pub trained: f64,
    /// o, bytes per trained parameter.
    pub optimiser: f64,
    /// z, 0 to 3.
    pub zero: u64,
    /// Of activations.
    pub recompute: Recompute,
    /// Whether devices of a tensor-parallel group share the sequence out where they do not share out the width.
    pub sequence: bool,
    /// g: micro-batches whose activations are held at once.
    pub in_flight: f64,
    /// Part of the gradients that is held a second time to be sent.
    pub bucket: f64,
}

/// One micro-batch on one device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch {
    /// b.
    pub sequences: f64,
    /// s.
    pub tokens: f64,
}

/// Bytes of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// Of the parameters.
    pub weights: f64,
    /// Of their gradients.
    pub gradients: f64,
    /// Of the optimiser's state.
    pub optimiser: f64,
    /// Kept for the way back.
    pub activations: f64,
    /// To send and receive.
    pub buffers: f64,
}

impl Memory {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.weights + self.gradients + self.optimiser + self.activations + self.buffers
    }
}

/// Bytes of one all-reduce of activations: `b s h e`.
///
/// # Errors
///
/// If a figure is negative.
pub fn message(shape: &Shape, batch: &Batch) -> Result<f64, InputError> {
    let elements = not_negative("sequences", batch.sequences)? * not_negative("tokens", batch.tokens)?;
    Ok(elements * not_negative("width", shape.hidden)? * not_negative("bytes per element", shape.element)?)
}

/// What a layer keeps of a micro-batch, all devices together.
fn kept(shape: &Shape, batch: &Batch, recompute: Recompute) -> Result<f64, InputError> {
    let Batch { sequences: b, tokens: s } = *batch;
    let (elements, half) = (s * b * shape.hidden, shape.element / 2.0);
    Ok(half
        * match recompute {
            Recompute::Selective => 34.0 * elements,
            Recompute::Full => 2.0 * elements,
            Recompute::None => {
                let heads = shape.heads.ok_or(InputError::Empty { quantity: "heads of attention".into() })?;
                34.0 * elements + 5.0 * positive("heads of attention", heads)? * s * s * b
            }
        })
}

/// What a device holds.
///
/// # Errors
///
/// If a count is 0, a figure negative, a share above 1, the stage above 3, or heads are needed and not given.
pub fn memory(shape: &Shape, layout: &Layout, keeping: &Keeping, batch: &Batch) -> Result<Memory, InputError> {
    layout.check()?;
    count("layers", shape.layers)?;
    let share = |quantity, value| at_most(quantity, 1.0, not_negative(quantity, value)?);
    at_most("ZeRO stage", 3.0, keeping.zero as f64)?;
    let of_group = layout.tensor as f64 * layout.pipeline as f64 * layout.expert as f64;
    let parameters = positive("parameters", shape.parameters)? / of_group;
    let trained = parameters * share("trained part", keeping.trained)?;
    let shared = |from: u64| if keeping.zero >= from { layout.copies as f64 } else { 1.0 };
    let gradients = trained * shape.element / shared(2);
    let one = message(shape, batch)?;
    let apart = if keeping.sequence { layout.tensor as f64 } else { 1.0 };
    let held = layout.layers(shape.layers) as f64 * not_negative("micro-batches in flight", keeping.in_flight)?;
    Ok(Memory {
        weights: parameters * shape.element / shared(3),
        gradients,
        optimiser: trained * not_negative("bytes of the optimiser", keeping.optimiser)? / shared(1),
        activations: held * kept(shape, batch, keeping.recompute)? / apart,
        buffers: gradients * share("bucket", keeping.bucket)? + if layout.pipeline > 1 { 2.0 * one } else { 0.0 },
    })
}

/// Seconds of the all-reduces of activations of a step: `each` per layer and micro-batch.
///
/// # Errors
///
/// If a count is 0, a figure negative, or the link is refused.
pub fn exchange(
    shape: &Shape,
    layout: &Layout,
    batch: &Batch,
    micro_batches: u64,
    each: f64,
    link: &Link,
) -> Result<f64, InputError> {
    layout.check()?;
    let times = not_negative("all-reduces per layer", each)? * layout.layers(shape.layers) as f64;
    Ok(times * count("micro-batches", micro_batches)? * ring_all_reduce(message(shape, batch)?, layout.tensor, link)?)
}

/// Seconds of the all-reduces of activations as 0.1.2 of the source has them: one per layer, of all layers, with twice
/// the bytes of the step.
///
/// # Errors
///
/// As for [`exchange`].
pub fn doubled_exchange(
    shape: &Shape,
    tensor: u64,
    batch: &Batch,
    micro_batches: u64,
    link: &Link,
) -> Result<f64, InputError> {
    let bytes = 2.0 * message(shape, batch)? * count("micro-batches", micro_batches)?;
    Ok(shape.layers as f64 * ring_all_reduce(bytes, tensor, link)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to};
    use proptest::prelude::*;

    const LLAMA: Shape = Shape { parameters: 70.6e9, layers: 80, hidden: 8192.0, heads: Some(64.0), element: 2.0 };
    const LAYOUT: Layout = Layout { tensor: 8, pipeline: 4, expert: 1, copies: 8 };
    const KEEPING: Keeping = Keeping {
        trained: 1.0,
        optimiser: ADAM,
        zero: 1,
        recompute: Recompute::Selective,
        sequence: true,
        in_flight: 1.0,
        bucket: 0.05,
    };

    /// What `TrainingMemoryModel` of mlsysim 0.3.0 gives for Llama 3.1 70B.
    #[test]
    fn the_memory_of_the_source() {
        let batch = Batch { sequences: 2.0, tokens: 4096.0 };
        let found = memory(&LLAMA, &LAYOUT, &KEEPING, &batch).unwrap();
        close_to(found.weights, 4.4125e9, FORMULA);
        close_to(found.gradients, 4.4125e9, FORMULA);
        close_to(found.optimiser, 3.309375e9, FORMULA);
        close_to(found.activations, 5.70425344e9, FORMULA);
        close_to(found.buffers, 0.489060456e9, FORMULA);
        close_to(found.total(), 18.327688896e9, FORMULA);
        let batch = Batch { sequences: 8.0, tokens: 4096.0 };
        let sharded = Keeping { zero: 3, optimiser: SGD, recompute: Recompute::Full, ..KEEPING };
        let found = memory(&LLAMA, &LAYOUT, &sharded, &batch).unwrap();
        close_to(found.weights, 0.5515625e9, FORMULA);
        close_to(found.optimiser, 1.103125e9, FORMULA);
        close_to(found.activations, 1.34217728e9, FORMULA);
        close_to(found.buffers, 1.101319949e9, FORMULA);
        close_to(found.total(), 4.649747229e9, FORMULA);
    }

    /// `calc_activation_memory` of the same, with all layers on one device.
    #[test]
    fn activations_of_the_source() {
        let batch = Batch { sequences: 2.0, tokens: 4096.0 };
        let one = Layout { tensor: 1, pipeline: 1, expert: 1, copies: 1 };
        let of = |recompute| memory(&LLAMA, &one, &Keeping { recompute, ..KEEPING }, &batch).unwrap().activations;
        assert_eq!(of(Recompute::None), 1_041_529_569_280.0);
        assert_eq!(of(Recompute::Selective), 182_536_110_080.0);
        assert_eq!(of(Recompute::Full), 10_737_418_240.0);
        let no_heads = Shape { heads: None, ..LLAMA };
        let error = memory(&no_heads, &one, &Keeping { recompute: Recompute::None, ..KEEPING }, &batch).unwrap_err();
        assert_eq!(error.to_string(), "there are no heads of attention");
    }

    /// By hand: 2 x 4096 x 8192 x 2 B = 134217728 B to 8 devices at 450 GB/s and 0.5 us, in 14 steps:
    /// 14 (16777216 / 450e9 + 0.5e-6) = 528.957831 us, four times in each of 80 layers.
    #[test]
    fn four_all_reduces_a_layer() {
        let batch = Batch { sequences: 2.0, tokens: 4096.0 };
        let link = Link { bandwidth: 450e9, latency: 0.5e-6 };
        let stages = |pipeline| Layout { pipeline, ..LAYOUT };
        let one = 14.0 * (16_777_216.0 / 450e9 + 0.5e-6);
        close_to(one, 528.957831e-6, 1e-8);
        let of = |layout: &Layout, m, each| exchange(&LLAMA, layout, &batch, m, each, &link).unwrap();
        close_to(of(&stages(1), 1, ALL_REDUCES), 320.0 * one, FORMULA);
        // A stage of four has a quarter of the layers, and each micro-batch its own.
        close_to(of(&stages(4), 3, ALL_REDUCES), 3.0 * 80.0 * one, FORMULA);
        assert_eq!(of(&Layout { tensor: 1, ..LAYOUT }, 1, ALL_REDUCES), 0.0);
        // The older count has half of the bytes and a quarter of the steps.
        let older = doubled_exchange(&LLAMA, 8, &batch, 1, &link).unwrap();
        close_to(older, 80.0 * 14.0 * (2.0 * 16_777_216.0 / 450e9 + 0.5e-6), FORMULA);
        close_to(of(&stages(1), 1, 2.0) - older, 80.0 * 14.0 * 0.5e-6, 1e-6);
    }

    /// Device by device: what all hold together is the model once per copy, or once if it is shared out.
    #[test]
    fn nothing_is_lost_between_devices() {
        let batch = Batch { sequences: 1.0, tokens: 128.0 };
        let devices = (LAYOUT.tensor * LAYOUT.pipeline * LAYOUT.expert * LAYOUT.copies) as f64;
        for (zero, copies) in [(0, [8.0, 8.0, 8.0]), (1, [8.0, 8.0, 1.0]), (2, [8.0, 1.0, 1.0]), (3, [1.0; 3])] {
            let one = memory(&LLAMA, &LAYOUT, &Keeping { zero, ..KEEPING }, &batch).unwrap();
            close_to(one.weights * devices, 70.6e9 * 2.0 * copies[0], FORMULA);
            close_to(one.gradients * devices, 70.6e9 * 2.0 * copies[1], FORMULA);
            close_to(one.optimiser * devices, 70.6e9 * 12.0 * copies[2], FORMULA);
        }
        let mut layers = 0;
        for stage in 0..3 {
            layers += (0..10).filter(|layer| layer / Layout { pipeline: 3, ..LAYOUT }.layers(10) == stage).count();
        }
        assert_eq!(layers, 10);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_computed_again_is_not_kept(s in 1.0f64..1e4, b in 1.0f64..16.0, tensor in 1u64..16, zero in 0u64..3) {
            let batch = Batch { sequences: b, tokens: s };
            let layout = Layout { tensor, ..LAYOUT };
            let of = |keeping: Keeping| memory(&LLAMA, &layout, &keeping, &batch).unwrap();
            let with = |recompute| of(Keeping { recompute, zero, ..KEEPING }).activations;
            prop_assert!(with(Recompute::Full) < with(Recompute::Selective));
            prop_assert!(with(Recompute::Selective) < with(Recompute::None));
            let total = |zero| of(Keeping { zero, ..KEEPING }).total();
            prop_assert!(total(zero + 1) <= total(zero));
        }
    }
}
