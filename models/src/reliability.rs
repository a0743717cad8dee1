//! Reliability: how often many devices fail, how often to save the state, and what is left of the time.
//!
//! Takes mean times between failures, the time to save and to restart, gives the time between failures of a cluster,
//! the best interval between checkpoints (Young, Daly), the probability of a failure, first-order waste, and goodput.
//! Refuses times that are not positive and no devices. A mean time between failures may be infinite: then there are no
//! checkpoints.
//!
//! Sources: mlsysim (Machine Learning Systems book), `math.qmd`; Young, "A first order approximation to the optimum
//! checkpoint interval", 1974; Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps",
//! 2006.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | M | mean time between failures of the whole | s |
//! | delta, R | time to save a checkpoint, time to restart from one | s |
//! | tau | computing time between checkpoints | s |
//!
//! * `M = MTBF / N`; of different parts `1 / sum (n_i / MTBF_i)`
//! * Young `tau = sqrt(2 delta M)`; Daly, for `delta < 2 M`, else M:
//!   `sqrt(2 delta M) (1 + sqrt(delta / (2 M)) / 3 + delta / (2 M) / 9) - delta`
//! * failure within T: `1 - exp(-T / M)`; first-order waste `delta / tau + tau / (2 M)`
//! * goodput `tau / (M e^(R/M) (e^((tau + delta) / M) - 1))`: useful share of the time, failures during saving and
//!   restarting included
//!
//! A comment in the source's package adds delta in Daly's form; Daly subtracts it.

use crate::error::{InputError, count, not_empty, not_negative, positive};

/// A time that may be infinite.
fn lasting(quantity: &str, value: f64) -> Result<f64, InputError> {
    if value == f64::INFINITY { Ok(value) } else { positive(quantity, value) }
}

/// Mean time between failures of `devices` equal devices, any of which brings all down.
///
/// # Errors
///
/// If the time is not positive or there are no devices.
pub fn cluster(mtbf: f64, devices: u64) -> Result<f64, InputError> {
    Ok(lasting("mean time between failures", mtbf)? / count("devices", devices)?)
}

/// Mean time between failures of something that has `n` parts each of a mean time.
///
/// # Errors
///
/// If there are no parts, or a time is not positive.
pub fn parts(parts: &[(u64, f64)]) -> Result<f64, InputError> {
    not_empty("parts", parts)?;
    let mut rate = 0.0;
    for &(n, mtbf) in parts {
        rate += n as f64 / lasting("mean time between failures", mtbf)?;
    }
    Ok(rate.recip())
}

/// Young's interval.
///
/// # Errors
///
/// If a time is not positive; as for all of these.
pub fn young(save: f64, mtbf: f64) -> Result<f64, InputError> {
    Ok((2.0 * positive("time to save", save)? * lasting("mean time between failures", mtbf)?).sqrt())
}

/// Daly's interval.
///
/// # Errors
///
/// As for [`young`].
pub fn daly(save: f64, mtbf: f64) -> Result<f64, InputError> {
    let first = young(save, mtbf)?;
    if save >= 2.0 * mtbf {
        return Ok(mtbf);
    }
    let part = save / (2.0 * mtbf);
    Ok(first * (1.0 + part.sqrt() / 3.0 + part / 9.0) - save)
}

/// Probability of a failure within `time` seconds.
///
/// # Errors
///
/// If the mean time is not positive or the time negative.
pub fn failure(time: f64, mtbf: f64) -> Result<f64, InputError> {
    Ok(-(-not_negative("time", time)? / lasting("mean time between failures", mtbf)?).exp_m1())
}

/// First-order share of the time that goes to checkpoints and to work that is done again. Above 1 it only says that it
/// is no longer a small correction.
///
/// # Errors
///
/// As for [`young`], or if the interval is not positive.
pub fn waste(interval: f64, save: f64, mtbf: f64) -> Result<f64, InputError> {
    let interval = lasting("interval", interval)?;
    let mtbf = lasting("mean time between failures", mtbf)?;
    let lost = if mtbf.is_infinite() { 0.0 } else { interval / (2.0 * mtbf) };
    Ok(not_negative("time to save", save)? / interval + lost)
}

/// Share of the time that is useful, 0 to 1.
///
/// # Errors
///
/// As for [`waste`], or if the time to restart is negative.
pub fn goodput(interval: f64, save: f64, restart: f64, mtbf: f64) -> Result<f64, InputError> {
    let interval = lasting("interval", interval)?;
    let (save, restart) = (not_negative("time to save", save)?, not_negative("time to restart", restart)?);
    let mtbf = lasting("mean time between failures", mtbf)?;
    if interval.is_infinite() {
        return Ok(if mtbf.is_infinite() { 1.0 } else { 0.0 });
    }
    if mtbf.is_infinite() {
        return Ok(interval / (interval + save));
    }
    let expected = mtbf * (restart / mtbf).exp() * ((interval + save) / mtbf).exp_m1();
    Ok(interval / expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, Random, close_to, prints};
    use proptest::prelude::*;

    const HOUR: f64 = 3600.0;

    #[test]
    fn published_reliability() {
        let m = cluster(10_000.0 * HOUR, 1000).unwrap();
        close_to(m, 10.0 * HOUR, FORMULA);
        let tau = young(60.0, m).unwrap();
        close_to(tau, 2078.460969, FORMULA);
        close_to(waste(tau, 60.0, m).unwrap(), 0.05773502692, FORMULA);
        close_to(waste(1000.0, 60.0, m).unwrap(), 0.0738888889, FORMULA);
        close_to(waste(4000.0, 60.0, m).unwrap(), 0.0705555556, FORMULA);
        close_to(young(60.0, 50_000.0 * HOUR).unwrap(), 146969.384567, FORMULA);
        close_to(failure(24.0 * HOUR, m).unwrap(), 0.9092820467, FORMULA);
        close_to(cluster(50_000.0 * HOUR, 256).unwrap(), 195.3125 * HOUR, FORMULA);
        let node = [(4, 10_000.0 * HOUR), (2, 50_000.0 * HOUR), (2, 20_000.0 * HOUR)];
        close_to(parts(&node).unwrap(), 1851.851852 * HOUR, FORMULA);
        close_to(daly(60.0, m).unwrap(), 2038.653419, FORMULA);
        prints(young(140e9 / 100e9, m).unwrap(), 317.490157, 6);
    }

    #[test]
    fn without_failures_there_are_no_checkpoints() {
        let never = f64::INFINITY;
        assert_eq!(cluster(never, 1000).unwrap(), never);
        assert_eq!((young(60.0, never).unwrap(), daly(60.0, never).unwrap()), (never, never));
        assert_eq!((failure(1e9, never).unwrap(), waste(never, 60.0, never).unwrap()), (0.0, 0.0));
        assert_eq!(goodput(never, 60.0, 60.0, never).unwrap(), 1.0);
        assert_eq!(goodput(540.0, 60.0, 60.0, never).unwrap(), 0.9);
        assert_eq!(goodput(never, 60.0, 60.0, 1e9).unwrap(), 0.0);
    }

    /// Failures at random times with a fixed seed; a segment is done when computing and saving end before one comes.
    fn by_failures(interval: f64, save: f64, restart: f64, mtbf: f64, segments: usize) -> f64 {
        let mut random = Random::new(2006);
        let mut total = 0.0;
        for _ in 0..segments {
            let mut first = true;
            loop {
                let needed = interval + save + if first { 0.0 } else { restart };
                let fails = random.exponential(mtbf);
                if fails >= needed {
                    total += needed;
                    break;
                }
                total += fails;
                first = false;
            }
        }
        interval * segments as f64 / total
    }

    /// 200,000 segments: within 1 % of Daly's formula.
    #[test]
    fn goodput_failure_by_failure() {
        for (interval, save, mtbf) in [(2000.0, 60.0, 36_000.0), (500.0, 100.0, 1000.0), (100.0, 10.0, 100.0)] {
            let simulated = by_failures(interval, save, 0.0, mtbf, 200_000);
            close_to(goodput(interval, save, 0.0, mtbf).unwrap(), simulated, 0.01);
        }
        let simulated = by_failures(2000.0, 60.0, 300.0, 36_000.0, 200_000);
        close_to(goodput(2000.0, 60.0, 300.0, 36_000.0).unwrap(), simulated, 0.01);
    }

    #[test]
    fn dalys_interval_is_better_than_any_nearby() {
        let (save, mtbf) = (60.0, 3600.0);
        let best = daly(save, mtbf).unwrap();
        let good = goodput(best, save, 0.0, mtbf).unwrap();
        for other in [0.8, 0.9, 1.1, 1.25] {
            assert!(goodput(best * other, save, 0.0, mtbf).unwrap() < good);
        }
        assert_eq!(daly(100.0, 50.0).unwrap(), 50.0);
    }

    #[test]
    fn impossible_figures_are_named() {
        assert_eq!(young(0.0, 1.0).unwrap_err().to_string(), "time to save must be positive, is 0");
        assert_eq!(cluster(0.0, 1).unwrap_err().to_string(), "mean time between failures must be positive, is 0");
        assert_eq!(cluster(1.0, 0).unwrap_err().to_string(), "devices must be at least 1, is 0");
        assert_eq!(parts(&[]).unwrap_err().to_string(), "there are no parts");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn goodput_falls_with_devices_and_saving(
            devices in 1u64..100_000, save in 1.0f64..600.0, restart in 0.0f64..600.0, interval in 10.0f64..10_000.0,
        ) {
            let at = |n, save| goodput(interval, save, restart, cluster(1e9, n).unwrap()).unwrap();
            let base = at(devices, save);
            prop_assert!(base > 0.0 && base < 1.0);
            prop_assert!(at(devices + 1000, save) <= base && at(devices, save * 1.1) <= base);
        }
    }
}
