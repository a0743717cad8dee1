//! Projection: machines that grow, and the time at which a program outgrows them.
//!
//! Takes figures that double in fixed times, gives their values in later years and the time at which one curve
//! overtakes another, such as machine balance the intensity of a program. Refuses starting values and doubling times
//! that are not positive.
//!
//! Source: Czechowski et al., "Balance principles for algorithm-architecture co-design", 2011, section on trends (table
//! 1).
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | v0, T | value at the start, time in which it doubles or halves | any, years |
//! | W, Q(Z) | work and traffic of a program | op, B |
//!
//! `v(t) = v0 2^(t/T)` for what doubles, `v0 2^(-t/T)` for what halves, t in years from the start.
//!
//! The source solves `p C0 / beta = sqrt(Z / p)` with the left side in op/byte and the right one in words, and finds
//! 2020; with words on both sides it is 2011.8. [`shelf_life`] has bytes on both sides and takes the traffic from a
//! measured curve.

use crate::error::{InputError, not_negative, positive};

/// Parts into which the horizon is cut to find the first crossing.
const STEPS: u32 = 1024;

/// A figure that changes by a constant factor per year.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    start: f64,
    /// Per year; negative if the figure falls.
    doublings: f64,
}

impl Growth {
    /// `start` now, twice as much every `years`.
    ///
    /// # Errors
    ///
    /// If one of them is not positive.
    pub fn doubling(start: f64, years: f64) -> Result<Growth, InputError> {
        let doublings = positive("doubling time", years)?.recip();
        Ok(Growth { start: positive("starting value", start)?, doublings })
    }

    /// `start` now, half as much every `years`.
    ///
    /// # Errors
    ///
    /// If one of them is not positive.
    pub fn halving(start: f64, years: f64) -> Result<Growth, InputError> {
        let doublings = -positive("halving time", years)?.recip();
        Ok(Growth { start: positive("starting value", start)?, doublings })
    }

    /// `start` for ever.
    ///
    /// # Errors
    ///
    /// If it is not positive.
    pub fn constant(start: f64) -> Result<Growth, InputError> {
        Ok(Growth { start: positive("starting value", start)?, doublings: 0.0 })
    }

    /// The growth from `start` now to `end` after `years`.
    ///
    /// # Errors
    ///
    /// If one of them is not positive.
    pub fn between(start: f64, end: f64, years: f64) -> Result<Growth, InputError> {
        let factor = positive("final value", end)? / positive("starting value", start)?;
        Ok(Growth { start, doublings: factor.log2() / positive("time between the values", years)? })
    }

    /// Value after `years`.
    #[must_use]
    pub fn value_after(&self, years: f64) -> f64 {
        self.start * (years * self.doublings).exp2()
    }

    /// Years in which the figure doubles; negative if it halves in so many, infinite if it is constant.
    #[must_use]
    pub fn doubling_time(&self) -> f64 {
        self.doublings.recip()
    }
}

/// A machine's figures over the years.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// p C0, operations per second.
    pub peak: Growth,
    /// beta, bytes per second.
    pub bandwidth: Growth,
    /// alpha, seconds.
    pub latency: Growth,
    /// L, bytes per transfer.
    pub line: Growth,
    /// Z, bytes.
    pub fast_memory: Growth,
    /// p.
    pub cores: Growth,
}

/// A machine's figures at one time; units as in [`Trend`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Projected {
    /// From the start.
    pub years: f64,
    /// Peak rate.
    pub peak: f64,
    /// Bandwidth of the memory.
    pub bandwidth: f64,
    /// Latency of the memory.
    pub latency: f64,
    /// Bytes of a transfer.
    pub line: f64,
    /// Bytes of the fast memory.
    pub fast_memory: f64,
    /// How many cores.
    pub cores: f64,
}

impl Projected {
    /// Machine balance, op/B.
    #[must_use]
    pub fn balance(&self) -> f64 {
        self.peak / self.bandwidth
    }
}

impl Trend {
    /// The machine after `years`.
    #[must_use]
    pub fn machine_after(&self, years: f64) -> Projected {
        Projected {
            years,
            peak: self.peak.value_after(years),
            bandwidth: self.bandwidth.value_after(years),
            latency: self.latency.value_after(years),
            line: self.line.value_after(years),
            fast_memory: self.fast_memory.value_after(years),
            cores: self.cores.value_after(years),
        }
    }

    /// The machine now and after each full year up to `years`.
    #[must_use]
    pub fn table(&self, years: u32) -> Vec<Projected> {
        (0..=years).map(|year| self.machine_after(f64::from(year))).collect()
    }
}

/// First time in years, from 0 to `horizon`, at which `excess` (left side minus right side) is above 0; `None` if there
/// is none.
///
/// The horizon is searched in 1024 equal steps, and the first step at whose end `excess` is above 0 is bisected. A stay
/// above 0 that is shorter than a step can be missed; jumps of `excess` are found as well as smooth crossings. NaN
/// counts as not above 0.
///
/// # Errors
///
/// If the horizon is negative or not finite.
pub fn crossing(horizon: f64, excess: impl Fn(f64) -> f64) -> Result<Option<f64>, InputError> {
    let horizon = not_negative("horizon", horizon)?;
    let time = |step: u32| horizon * (f64::from(step) / f64::from(STEPS));
    let Some(step) = (0..=STEPS).find(|&step| excess(time(step)) > 0.0) else { return Ok(None) };
    Ok(Some(if step == 0 { 0.0 } else { bisect(time(step - 1), time(step), excess) }))
}

/// The least double above 0 of an interval that is not above 0 at `below` and is at `above`.
fn bisect(mut below: f64, mut above: f64, excess: impl Fn(f64) -> f64) -> f64 {
    loop {
        let middle = below.midpoint(above);
        if middle <= below || middle >= above {
            return above;
        }
        if excess(middle) > 0.0 {
            above = middle;
        } else {
            below = middle;
        }
    }
}

/// Years from now until a program becomes memory-bound on a machine that follows `trend`: the first time at which
/// machine balance `peak / bandwidth` exceeds the program's intensity `work / Q(Z)`, Z being the fast memory of that
/// time. 0 if it is memory-bound already, `None` if it stays compute-bound up to `horizon`. `traffic(Z)` gives Q(Z) in
/// bytes of the program as it is; without traffic it is never memory-bound.
///
/// # Errors
///
/// If the work is not positive, or the horizon is negative or not finite.
pub fn shelf_life(
    work: f64,
    traffic: impl Fn(u64) -> f64,
    trend: &Trend,
    horizon: f64,
) -> Result<Option<f64>, InputError> {
    let work = positive("work", work)?;
    crossing(horizon, |years| {
        let machine = trend.machine_after(years);
        machine.balance() - work / traffic(machine.fast_memory as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to, prints};
    use proptest::prelude::*;

    /// Bytes.
    const WORD: f64 = 4.0;

    /// Table 1 of the source, from 2010 on.
    fn fermi() -> Trend {
        Trend {
            peak: Growth::doubling(1.03e12, 1.7).unwrap(),
            bandwidth: Growth::doubling(144e9, 2.8).unwrap(),
            latency: Growth::halving(347.8e-9, 10.5).unwrap(),
            line: Growth::doubling(128.0, 10.2).unwrap(),
            fast_memory: Growth::doubling(2.7e6, 2.0).unwrap(),
            cores: Growth::doubling(448.0, 1.87).unwrap(),
        }
    }

    /// Right side of the source's condition for matrix multiplication, op/word.
    fn matmul(machine: &Projected) -> f64 {
        (machine.fast_memory / WORD / machine.cores).sqrt()
    }

    #[test]
    fn ten_years_of_a_published_trend() {
        let machine = fermi().machine_after(10.0);
        close_to(machine.peak, 6.0758e13, 1e-5);
        close_to(machine.bandwidth, 1.7119e12, 3e-5);
        close_to(machine.latency, 1.7974e-07, 3e-5);
        prints(machine.line, 252.54, 2);
        close_to(machine.fast_memory, 8.64e7, FORMULA);
        prints(machine.cores, 18242.0, 0);
        prints(machine.balance(), 35.49, 2);
        prints(matmul(&machine), 34.41, 2);
    }

    #[test]
    fn rounded_figures_of_the_source_agree_up_to_rounding() {
        let machine = fermi().machine_after(10.0);
        let printed = [
            (machine.peak, 59e12),
            (machine.bandwidth, 1.7e12),
            (machine.latency, 179.7e-9),
            (machine.line, 256.0),
            (machine.fast_memory, 83e6),
            (machine.cores, 18e3),
            (machine.balance(), 34.9),
            (matmul(&machine), 33.5),
            (fermi().machine_after(0.0).balance(), 7.2),
            (matmul(&fermi().machine_after(0.0)), 38.6),
        ];
        for (computed, printed) in printed {
            close_to(computed, printed, 0.042);
        }
        prints(Growth::between(1.03, 59.0, 10.0).unwrap().doubling_time(), 1.712, 3);
        prints(Growth::between(2.7, 83.0, 10.0).unwrap().doubling_time(), 2.023, 3);
    }

    #[test]
    fn published_years_of_crossing() {
        let (trend, sqrt2) = (fermi(), std::f64::consts::SQRT_2);
        // Bytes per left unit, factor on the right, sides in 2010, years.
        let golden = [
            (1.0, 1.0, 7.1528, 38.8162, 9.8203),
            (WORD, 1.0, 28.6111, 38.8162, 1.7712),
            (WORD, sqrt2, 28.6111, 54.8944, 3.7835),
            (1.0, sqrt2, 7.1528, 54.8944, 11.8326),
        ];
        for (unit, factor, left, right, years) in golden {
            let sides = |years: f64| {
                let machine = trend.machine_after(years);
                (machine.balance() * unit, matmul(&machine) * factor)
            };
            prints(sides(0.0).0, left, 4);
            prints(sides(0.0).1, right, 4);
            let excess = |years: f64| sides(years).0 - sides(years).1;
            prints(crossing(50.0, excess).unwrap().unwrap(), years, 4);
        }
    }

    #[test]
    fn table_of_years() {
        let golden = [
            (7.15, 28.61, 38.82),
            (8.40, 33.58, 38.35),
            (9.85, 39.42, 37.89),
            (11.57, 46.26, 37.44),
            (13.57, 54.30, 36.99),
            (15.93, 63.73, 36.55),
            (18.70, 74.80, 36.11),
            (21.95, 87.80, 35.68),
            (25.76, 103.05, 35.25),
            (30.24, 120.96, 34.83),
            (35.49, 141.97, 34.41),
            (41.66, 166.63, 34.00),
            (48.89, 195.58, 33.59),
            (57.39, 229.56, 33.19),
            (67.36, 269.44, 32.79),
        ];
        let table = fermi().table(14);
        assert_eq!(table.len(), golden.len());
        for (year, (machine, (per_byte, per_word, limit))) in table.iter().zip(golden).enumerate() {
            assert_eq!(machine.years, year as f64);
            prints(machine.balance(), per_byte, 2);
            prints(machine.balance() * WORD, per_word, 2);
            prints(matmul(machine), limit, 2);
        }
    }

    #[test]
    fn shelf_life_of_a_program_with_a_measured_curve() {
        // Intensity 10 op/B below 20 MB of fast memory, 40 op/B above.
        let steps = |capacity: u64| if capacity < 20_000_000 { 4e9 } else { 1e9 };
        let trend = fermi();
        let years = shelf_life(4e10, steps, &trend, 30.0).unwrap().unwrap();
        close_to(trend.machine_after(years).balance(), 10.0, FORMULA);
        let small = |_| 1e9;
        let years = shelf_life(4e10, small, &trend, 30.0).unwrap().unwrap();
        close_to(trend.machine_after(years).balance(), 40.0, FORMULA);
        assert_eq!(shelf_life(4e10, small, &trend, 5.0).unwrap(), None);
        assert_eq!(shelf_life(4e9, small, &trend, 5.0).unwrap(), Some(0.0));
        assert_eq!(shelf_life(4e9, |_| 0.0, &trend, 100.0).unwrap(), None);
    }

    #[test]
    fn a_jump_is_found_where_it_is() {
        let excess = |years: f64| if years < 3.25 { -1.0 } else { 1.0 };
        assert_eq!(crossing(10.0, excess).unwrap(), Some(3.25));
        assert_eq!(crossing(3.0, excess).unwrap(), None);
        assert_eq!(crossing(10.0, |_| 0.0).unwrap(), None);
    }

    #[test]
    fn constant_and_falling_figures() {
        assert_eq!(Growth::constant(5.0).unwrap().value_after(100.0), 5.0);
        assert_eq!(Growth::constant(5.0).unwrap().doubling_time(), f64::INFINITY);
        assert_eq!(Growth::halving(8.0, 2.0).unwrap().value_after(4.0), 2.0);
        assert_eq!(Growth::halving(8.0, 2.0).unwrap().doubling_time(), -2.0);
    }

    #[test]
    fn impossible_figures_are_named() {
        let message = |result: Result<Growth, InputError>| result.unwrap_err().to_string();
        assert_eq!(message(Growth::doubling(1.0, 0.0)), "doubling time must be positive, is 0");
        assert_eq!(message(Growth::halving(0.0, 1.0)), "starting value must be positive, is 0");
        assert_eq!(message(Growth::between(1.0, -1.0, 1.0)), "final value must be positive, is -1");
        assert_eq!(crossing(-1.0, |_| 0.0).unwrap_err().to_string(), "horizon must not be negative, is -1");
        let error = shelf_life(0.0, |_| 1.0, &fermi(), 1.0).unwrap_err();
        assert_eq!(error.to_string(), "work must be positive, is 0");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn growths_cross_where_their_logarithms_do(a in 1.0..10.0f64, ta in 1.0..5.0f64, tb in 6.0..20.0f64, ratio in 1.1..100.0f64) {
            let [fast, slow] = [Growth::doubling(a, ta).unwrap(), Growth::doubling(a * ratio, tb).unwrap()];
            let solved = ratio.log2() / (ta.recip() - tb.recip());
            let found = crossing(400.0, |years| fast.value_after(years) - slow.value_after(years)).unwrap().unwrap();
            prop_assert!((found - solved).abs() <= 1e-9 * (1.0 + solved));
        }
    }
}
