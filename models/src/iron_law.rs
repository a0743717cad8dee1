//! Iron law: arithmetic or transfer, whichever is longer, plus a fixed tax.
//!
//! Takes a machine's rates and a program's work and bytes, gives the times, the bound, the intensity and both ridge
//! points; or a time, and gives the rates that meet it. Refuses rates that are not positive, an efficiency above 1,
//! counts that are negative, and times that the tax alone exceeds.
//!
//! Source: mlsysim (Machine Learning Systems book), `math.qmd`.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | W, bytes | work, bytes moved | op, B |
//! | P, eta | peak rate, attainable share of it | op/s, 1 |
//! | BW, tax | bandwidth, fixed time per run | B/s, s |
//!
//! `T = max(W / (P eta), bytes / BW) + tax`.
//!
//! The source states the ridge as `P / BW`, but its formula changes sides at `eta P / BW`. The bound follows the
//! formula; both points are given, because a program between them is called memory-bound by the one and compute-bound
//! by the other.
//!
//! The other way round ([`needed`]; Wall 22 of the source): what runs in T has a peak of at least `W / (eta (T - tax))`
//! and a bandwidth of at least `bytes / (T - tax)`. The source has no tax there.
//!
//! Edge cases: equal times are compute-bound; without bytes the intensity is infinite, without bytes and work not
//! defined.

use crate::error::{InputError, efficiency, not_negative, positive};
use crate::roofline::intensity;

/// Attainable share of the peak if nothing better is known, as in the source; it suggests 0.35 for inference.
pub const EFFICIENCY: f64 = 0.5;

/// Rates of a machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// P, operations per second.
    pub peak: f64,
    /// eta, above 0 and at most 1.
    pub efficiency: f64,
    /// BW, bytes per second.
    pub bandwidth: f64,
    /// Seconds per run.
    pub tax: f64,
}

/// What takes the longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The arithmetic.
    Compute,
    /// The transfer.
    Memory,
}

/// Times in seconds, intensities in op/B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// `W / (P eta)`.
    pub compute: f64,
    /// `bytes / BW`.
    pub memory: f64,
    /// T.
    pub total: f64,
    /// What takes the longer.
    pub bound: Bound,
    /// `W / bytes`.
    pub intensity: Option<f64>,
    /// `P / BW`, as stated.
    pub ridge: f64,
    /// `eta P / BW`, where the bound changes.
    pub effective_ridge: f64,
}

/// Time of `work` operations and `bytes` bytes.
///
/// # Errors
///
/// If a rate is not positive, the efficiency is above 1, or the tax or a count is negative.
pub fn estimate(machine: &Machine, work: f64, bytes: f64) -> Result<Estimate, InputError> {
    let attainable = positive("peak", machine.peak)? * efficiency(machine.efficiency)?;
    let bandwidth = positive("bandwidth", machine.bandwidth)?;
    let compute = not_negative("work", work)? / attainable;
    let memory = not_negative("bytes", bytes)? / bandwidth;
    Ok(Estimate {
        compute,
        memory,
        total: compute.max(memory) + not_negative("tax", machine.tax)?,
        bound: if memory > compute { Bound::Memory } else { Bound::Compute },
        intensity: intensity(work, bytes),
        ridge: machine.peak / bandwidth,
        effective_ridge: attainable / bandwidth,
    })
}

/// The least peak (op/s) and bandwidth (B/s) with which `work` operations and `bytes` bytes take `time` seconds.
///
/// # Errors
///
/// If the time is not longer than the tax, the efficiency no share of 1, or a figure negative.
pub fn needed(attainable: f64, tax: f64, work: f64, bytes: f64, time: f64) -> Result<(f64, f64), InputError> {
    let left = positive("time", time)? - not_negative("tax", tax)?;
    if left <= 0.0 {
        let reason = format!("the fixed time of a run alone is {tax} s");
        return Err(InputError::OutOfReach { quantity: "time".into(), value: time, reason });
    }
    Ok((not_negative("work", work)? / (efficiency(attainable)? * left), not_negative("bytes", bytes)? / left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::close_to;
    use proptest::prelude::*;

    const A100: Machine = Machine { peak: 312e12, efficiency: EFFICIENCY, bandwidth: 2039e9, tax: 15e-6 };
    const H100: Machine = Machine { peak: 989e12, efficiency: EFFICIENCY, bandwidth: 3.35e12, tax: 10e-6 };
    const CPU: Machine = Machine { peak: 1e12, efficiency: EFFICIENCY, bandwidth: 50e9, tax: 100e-6 };

    #[test]
    fn published_machines() {
        let gemm = 4096f64.powi(3);
        use Bound::{Compute, Memory};
        // Compute, memory, total, intensity, both ridges.
        let golden = [
            (
                estimate(&A100, 4.1e9, 51.2e6),
                [2.62820513e-05, 2.51103482e-05, 4.12820513e-05, 80.078125, 153.01618, 76.508092],
                Compute,
            ),
            (
                estimate(&A100, 64.0 * 4.1e9, 51.2e6),
                [0.00168205128, 2.51103482e-05, 0.00169705128, 5125.0, 153.01618, 76.508092],
                Compute,
            ),
            (
                estimate(&H100, 2.0 * gemm, 2.0 * 3.0 * 4096.0 * 4096.0),
                [0.000277935194, 3.00487451e-05, 0.000287935194, 1365.3333, 295.22388, 147.61194],
                Compute,
            ),
            (estimate(&CPU, 2e8, 12e8), [0.0004, 0.024, 0.0241, 0.16666667, 20.0, 10.0], Memory),
            (
                estimate(&H100, 1e3, 1e3),
                [2.02224469e-12, 2.98507463e-10, 1.00002985e-05, 1.0, 295.22388, 147.61194],
                Memory,
            ),
        ];
        for (found, [compute, memory, total, intensity, ridge, effective], bound) in golden {
            let found = found.unwrap();
            // Nine digits are printed of times, eight of the others.
            close_to(found.compute, compute, 5e-9);
            close_to(found.memory, memory, 5e-9);
            close_to(found.total, total, 5e-9);
            close_to(found.intensity.unwrap(), intensity, 5e-8);
            close_to(found.ridge, ridge, 5e-8);
            close_to(found.effective_ridge, effective, 5e-8);
            assert_eq!(found.bound, bound);
        }
    }

    #[test]
    fn between_the_ridges_the_formula_decides() {
        let found = estimate(&A100, 4.1e9, 51.2e6).unwrap();
        let intensity = found.intensity.unwrap();
        assert!(found.effective_ridge < intensity && intensity < found.ridge);
        assert_eq!(found.bound, Bound::Compute);
    }

    #[test]
    fn equal_times_are_compute_bound_and_nothing_costs_the_tax() {
        let one = Machine { peak: 1.0, efficiency: 1.0, bandwidth: 1.0, tax: 0.0 };
        assert_eq!(estimate(&one, 2.0, 2.0).unwrap().bound, Bound::Compute);
        let nothing = estimate(&CPU, 0.0, 0.0).unwrap();
        assert_eq!((nothing.total, nothing.intensity), (100e-6, None));
        assert_eq!(estimate(&CPU, 1.0, 0.0).unwrap().intensity, Some(f64::INFINITY));
    }

    #[test]
    fn impossible_figures_are_named() {
        let refused = |machine| estimate(&machine, 1.0, 1.0).unwrap_err().to_string();
        assert_eq!(refused(Machine { bandwidth: 0.0, ..CPU }), "bandwidth must be positive, is 0");
        assert_eq!(refused(Machine { efficiency: 0.0, ..CPU }), "efficiency must be positive, is 0");
        assert_eq!(refused(Machine { tax: -1.0, ..CPU }), "tax must not be negative, is -1");
    }

    /// `SynthesisSolver` of mlsysim 0.3.0: Llama 3.1 8B, one token in 50 ms.
    #[test]
    fn the_machine_of_the_source() {
        let (peak, bandwidth) = needed(EFFICIENCY, 0.0, 16.06e9, 16.06e9, 50e-3).unwrap();
        close_to(peak, 0.6424e12, 1e-12);
        close_to(bandwidth, 321.2e9, 1e-12);
        let error = needed(1.0, 2e-3, 1.0, 1.0, 1e-3).unwrap_err().to_string();
        assert_eq!(error, "time of 0.001 cannot be reached: the fixed time of a run alone is 0.002 s");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_needed_is_enough_and_no_less_is(
            work in 1e3f64..1e15, bytes in 1e3f64..1e12, time in 1e-5f64..1e3, eta in 0.1f64..1.0, less in 0.5f64..0.99,
        ) {
            let tax = time / 10.0;
            let (peak, bandwidth) = needed(eta, tax, work, bytes, time).unwrap();
            let machine = Machine { peak, efficiency: eta, bandwidth, tax };
            let of = |machine: &Machine| estimate(machine, work, bytes).unwrap().total;
            prop_assert!((of(&machine) / time - 1.0).abs() < 1e-9);
            let slower = Machine { peak: peak * less, ..machine };
            let narrower = Machine { bandwidth: bandwidth * less, ..machine };
            prop_assert!(of(&slower) > time && of(&narrower) > time);
        }
    }
}
