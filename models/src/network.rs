//! Roofline of the network: whether a step of training waits for arithmetic or for gradients, and what compressing
//! them is worth.
//!
//! Takes the work and the gradients of a device in a step, its rate and its link; gives the times, the bound, and the
//! work at which it changes. Refuses rates that are not positive, no devices, and compression that makes more of it.
//!
//! Sources: mlsysim (Machine Learning Systems book), `NetworkRooflineModel` (0.1.2) and `CompressionRunModel` (0.3.0);
//! Williams 2009.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | W | work of a device in a step | op |
//! | R | rate that it sustains | op/s |
//! | M | bytes of the gradients | B |
//! | N | devices | 1 |
//! | BW, L | its link, one direction, and the latency of a step of the exchange | B/s, s |
//! | r, q | how many times fewer bytes compression leaves; more steps to the same result, as a part | 1 |
//!
//! * a device sends `Q = 2 (N-1) / N M` bytes (ring all-reduce); intensity `W / Q`, ridge `R / BW`
//! * `T = max(W / R, Q / BW + 2 (N-1) L)`: exchange behind arithmetic, as a roofline has it; one after the other is
//!   the sum
//! * compressed, the exchange takes `Q / (r BW) + 2 (N-1) L`: fewer bytes, as many steps
//! * n steps become `(1 + q) n`. One after the other, compression is worth it if the exchange takes more than
//!   `q (W / R) + (1 + q) C_r` with C_r the compressed exchange
//!
//! The source sets the peak of all N devices against one link, the work of one sample (6 P operations) against
//! `2 P e` bytes, and divides the whole exchange by r, latency included.
//!
//! Edge cases: one device sends nothing, and its intensity is infinite; equal times are bound by arithmetic.

use crate::collectives::{Link, ring_all_reduce};
use crate::error::{InputError, at_least, count, not_negative, positive};

/// What a device does in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// W.
    pub work: f64,
    /// R.
    pub rate: f64,
    /// M.
    pub gradients: f64,
    /// N.
    pub devices: u64,
    /// BW and L.
    pub link: Link,
}

/// What takes the longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Arithmetic.
    Compute,
    /// The exchange.
    Network,
}

/// Times in seconds, intensities in op/B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Q, bytes.
    pub sent: f64,
    /// `W / R`.
    pub computing: f64,
    /// Of the gradients.
    pub exchange: f64,
    /// T.
    pub time: f64,
    /// What takes the longer.
    pub bound: Bound,
    /// `W / Q`.
    pub intensity: f64,
    /// `R / BW`.
    pub ridge: f64,
    /// Work of a device from which arithmetic takes the longer.
    pub enough: f64,
}

/// Bytes that a device sends for an all-reduce of `gradients` bytes.
///
/// # Errors
///
/// If there are no devices or the bytes are negative.
pub fn sent(gradients: f64, devices: u64) -> Result<f64, InputError> {
    let n = count("devices", devices)?;
    Ok(2.0 * (n - 1.0) / n * not_negative("gradients", gradients)?)
}

/// A step whose exchange hides behind arithmetic as far as it can.
///
/// # Errors
///
/// If a rate is not positive, a figure negative, or there are no devices.
pub fn estimate(step: &Step) -> Result<Estimate, InputError> {
    let rate = positive("rate", step.rate)?;
    let sent = sent(step.gradients, step.devices)?;
    let exchange = ring_all_reduce(step.gradients, step.devices, &step.link)?;
    let computing = not_negative("work", step.work)? / rate;
    Ok(Estimate {
        sent,
        computing,
        exchange,
        time: computing.max(exchange),
        bound: if exchange > computing { Bound::Network } else { Bound::Compute },
        intensity: if sent > 0.0 { step.work / sent } else { f64::INFINITY },
        ridge: rate / step.link.bandwidth,
        enough: exchange * rate,
    })
}

/// Gradients that are sent in fewer bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compression {
    /// r, 1 or more.
    pub ratio: f64,
    /// q, 0 or more.
    pub penalty: f64,
}

/// A step and a run with compression, one thing after the other. Seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compressed {
    /// Of the compressed gradients.
    pub exchange: f64,
    /// Run with compression over run without it.
    pub relative: f64,
    /// The exchange without compression from which it is worth it.
    pub worth: f64,
}

/// What compression makes of a step.
///
/// # Errors
///
/// As for [`estimate`]; if the ratio is below 1, the penalty negative, or the step takes no time.
pub fn compress(step: &Step, compression: &Compression) -> Result<Compressed, InputError> {
    let plain = estimate(step)?;
    let ratio = at_least("compression ratio", 1.0, compression.ratio)?;
    let steps = 1.0 + not_negative("penalty in steps", compression.penalty)?;
    let exchange = ring_all_reduce(step.gradients / ratio, step.devices, &step.link)?;
    let before = positive("time of a step", plain.computing + plain.exchange)?;
    Ok(Compressed {
        exchange,
        relative: steps * (plain.computing + exchange) / before,
        worth: compression.penalty * plain.computing + steps * exchange,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to};
    use proptest::prelude::*;

    /// By hand: 1 GB to 8 devices at 50 GB/s and 0.5 us are 35.007 ms (the all-reduce of the source's tests); 1.75 GB
    /// are sent. 6 x 8e9 x 4096 operations at 494.5 Top/s take 397.589484 ms.
    const STEP: Step = Step {
        work: 6.0 * 8e9 * 4096.0,
        rate: 494.5e12,
        gradients: 1e9,
        devices: 8,
        link: Link { bandwidth: 50e9, latency: 500e-9 },
    };

    #[test]
    fn a_step_by_hand() {
        let found = estimate(&STEP).unwrap();
        close_to(found.exchange, 0.035007, FORMULA);
        close_to(found.computing, 0.397589484, 1e-8);
        assert_eq!((found.time, found.bound), (found.computing, Bound::Compute));
        close_to(found.sent, 1.75e9, FORMULA);
        close_to(found.intensity, 112_347.428571, 1e-9);
        close_to(found.ridge, 9890.0, FORMULA);
        close_to(found.enough, 0.035007 * 494.5e12, FORMULA);
        let slow = estimate(&Step { link: Link { bandwidth: 1e9, latency: 0.0 }, ..STEP }).unwrap();
        assert_eq!((slow.bound, slow.time), (Bound::Network, 1.75));
        let alone = estimate(&Step { devices: 1, ..STEP }).unwrap();
        assert_eq!((alone.exchange, alone.intensity), (0.0, f64::INFINITY));
    }

    /// `CompressionRunModel` of mlsysim 0.3.0 with 1 s of computing, 2 s of exchange, ratio 4 and 10 % more steps:
    /// 1.1 x 1.5 / 3 = 0.55 of the run.
    #[test]
    fn compression_of_the_source() {
        let step =
            Step { work: 1.0, rate: 1.0, gradients: 1.0, devices: 2, link: Link { bandwidth: 0.5, latency: 0.0 } };
        let found = compress(&step, &Compression { ratio: 4.0, penalty: 0.1 }).unwrap();
        close_to(found.exchange, 0.5, FORMULA);
        close_to(found.relative, 0.55, FORMULA);
        close_to(found.worth, 0.1 + 1.1 * 0.5, FORMULA);
        let error = compress(&step, &Compression { ratio: 0.5, penalty: 0.0 }).unwrap_err().to_string();
        assert_eq!(error, "compression ratio must be at least 1, is 0.5");
        // Steps of the exchange stay: with latency alone nothing is gained.
        let far = Step { gradients: 0.0, link: Link { bandwidth: 1.0, latency: 1.0 }, ..step };
        close_to(compress(&far, &Compression { ratio: 100.0, penalty: 0.0 }).unwrap().relative, 1.0, FORMULA);
    }

    /// Devices that send one part after the other, each as soon as it has it and its link is free, are done when the
    /// formula says, and each has sent what it says.
    #[test]
    fn exchanges_part_by_part() {
        for devices in [2u64, 3, 8] {
            let part = STEP.gradients / devices as f64;
            let mut free = vec![0.0f64; devices as usize];
            let mut has = vec![0.0f64; devices as usize];
            let mut sent_bytes = 0.0;
            for _ in 0..2 * (devices - 1) {
                let before = has.clone();
                for device in 0..devices as usize {
                    let start = free[device].max(before[device]);
                    free[device] = start + part / STEP.link.bandwidth + STEP.link.latency;
                    has[(device + 1) % devices as usize] = free[device];
                }
                sent_bytes += part;
            }
            let found = estimate(&Step { devices, ..STEP }).unwrap();
            close_to(has.iter().fold(0.0, |a, b| f64::max(a, *b)), found.exchange, FORMULA);
            close_to(sent_bytes, found.sent, FORMULA);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn worth_is_where_the_run_gets_shorter(
            work in 1e9f64..1e15, bytes in 1e3f64..1e11, devices in 2u64..64, ratio in 1.0f64..100.0, penalty in 0.0f64..1.0,
        ) {
            let step = Step { work, gradients: bytes, devices, ..STEP };
            let plain = estimate(&step).unwrap();
            let found = compress(&step, &Compression { ratio, penalty }).unwrap();
            if (found.relative - 1.0).abs() > 1e-9 {
                prop_assert_eq!(found.relative < 1.0, plain.exchange > found.worth);
            }
            let at = estimate(&Step { work: plain.enough, ..step }).unwrap();
            prop_assert!((at.computing - at.exchange).abs() <= 1e-12 * at.exchange.max(1e-12) + 1e-15);
        }
    }
}
