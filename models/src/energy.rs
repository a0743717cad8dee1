//! Energy: what arithmetic and movement between levels cost, as shares rather than as truths.
//!
//! Takes prices per operation and per byte and the counts of a program, gives joules by part. The absolute joules
//! depend on prices that differ by factors between sources; what holds is the share of movement, the share from beyond
//! a level, and the ratio of two runs. Refuses negative prices and counts, and traffic that grows with the capacity.
//!
//! Sources: prices per level as in MIT 6.5930 (Emer, Sze); two levels with constant power: Choi, Bedard, Fowler, Vuduc,
//! "A roofline model of energy", IPDPS 2013; prices at 45 nm: Horowitz, "Computing's energy problem", ISSCC 2014, as
//! collected by mlsysim.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | W, Q(Z) | work, bytes read that a memory of Z bytes fetches | op, B |
//! | e_op, e_i, e_mem | price of an operation, of a byte served from level i, from memory | J/op, J/B |
//! | tau_op, tau_mem | time of an operation, of a byte | s/op, s/B |
//! | pi_0 | constant power | W |
//!
//! By level: `E = W e_op + (Q(0) - Q(Z_0)) e_0 + sum_i (Q(Z_i-1) - Q(Z_i)) e_i + Q(Z_m-1) e_mem`.
//! Two levels: `T = max(W tau_op, Q tau_mem)`, `E = W e_op + Q e_mem + pi_0 T`.
//!
//! Edge cases: without levels all bytes are memory's; shares of nothing are not defined.

use crate::error::{InputError, at_most, not_negative, positive, same_count};

/// Prices in joules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices<'a> {
    /// e_op, per operation.
    pub operation: f64,
    /// e_i, per byte served from level i, innermost first.
    pub levels: &'a [f64],
    /// e_mem, per byte served from beyond the last level.
    pub memory: f64,
}

/// Joules by part.
#[derive(Debug, Clone, PartialEq)]
pub struct Energy {
    /// The arithmetic.
    pub operations: f64,
    /// Bytes served from each level.
    pub levels: Vec<f64>,
    /// Bytes served from beyond the last level.
    pub memory: f64,
}

impl Energy {
    /// All parts together.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.operations + self.movement()
    }

    /// Everything but the operations.
    #[must_use]
    pub fn movement(&self) -> f64 {
        self.levels.iter().sum::<f64>() + self.memory
    }

    /// Share of movement in the total, 0 to 1; `None` of nothing.
    #[must_use]
    pub fn movement_share(&self) -> Option<f64> {
        share(self.movement(), self.total())
    }

    /// Share of the movement that comes from beyond level `level`, 0 to 1; `None` without movement.
    #[must_use]
    pub fn share_beyond(&self, level: usize) -> Option<f64> {
        let beyond = self.levels.iter().skip(level + 1).sum::<f64>() + self.memory;
        share(beyond, self.movement())
    }
}

fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Energy of `work` operations that read `bytes` bytes (Q(0)), of which `traffic` lists how many each level does not
/// hold any more (Q(Z_i)).
///
/// # Errors
///
/// If a price or a count is negative, `traffic` has not one entry per level, or an entry is above the one before.
pub fn by_level(prices: &Prices, work: f64, bytes: f64, traffic: &[f64]) -> Result<Energy, InputError> {
    check(prices)?;
    same_count("traffic per level", prices.levels.len(), traffic.len())?;
    let mut remaining = not_negative("bytes read", bytes)?;
    let mut levels = Vec::with_capacity(traffic.len());
    for (i, (&beyond, price)) in traffic.iter().zip(prices.levels).enumerate() {
        let quantity = format_args!("traffic beyond level {i}");
        at_most(quantity, remaining, not_negative(quantity, beyond)?)?;
        levels.push((remaining - beyond) * price);
        remaining = beyond;
    }
    let operations = not_negative("work", work)? * prices.operation;
    Ok(Energy { operations, levels, memory: remaining * prices.memory })
}

fn check(prices: &Prices) -> Result<(), InputError> {
    not_negative("energy per operation", prices.operation)?;
    not_negative("energy per byte of memory", prices.memory)?;
    for (i, &price) in prices.levels.iter().enumerate() {
        not_negative(format_args!("energy per byte of level {i}"), price)?;
    }
    Ok(())
}

/// A machine with one fast memory, priced in time and in energy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoLevels {
    /// `1 / tau_op`, operations per second.
    pub peak: f64,
    /// `1 / tau_mem`, bytes per second.
    pub bandwidth: f64,
    /// e_op, joules per operation.
    pub operation: f64,
    /// e_mem, joules per byte.
    pub byte: f64,
    /// pi_0, watts.
    pub constant_power: f64,
}

/// Time in seconds and joules by part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeAndEnergy {
    /// T.
    pub time: f64,
    /// `W e_op`.
    pub operations: f64,
    /// `Q e_mem`.
    pub movement: f64,
    /// `pi_0 T`.
    pub constant: f64,
}

impl TimeAndEnergy {
    /// E.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.operations + self.movement + self.constant
    }
}

/// Intensities at which a machine changes its nature, op/B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BalancePoints {
    /// `B_t = tau_mem / tau_op`: above it arithmetic takes the longer.
    pub time: f64,
    /// `B_e = e_mem / e_op`: above it arithmetic takes the more energy; infinite if it takes none.
    pub energy: f64,
    /// `B_e` with the constant power counted to the operations, `e_mem / (e_op + pi_0 tau_op)`.
    pub effective: f64,
    /// Whether the fastest way is also the most economical, so that it pays to finish and halt: `effective <= time`.
    /// This is so exactly if the intensity of half the best energy efficiency (the source's effective balance) does not
    /// exceed `time`.
    pub race_to_halt: bool,
}

impl TwoLevels {
    /// Time and energy of `work` operations and `traffic` bytes.
    ///
    /// # Errors
    ///
    /// If a rate is not positive, or a price, the constant power or a count is negative.
    pub fn estimate(&self, work: f64, traffic: f64) -> Result<TimeAndEnergy, InputError> {
        self.check()?;
        let (work, traffic) = (not_negative("work", work)?, not_negative("traffic", traffic)?);
        let time = (work / self.peak).max(traffic / self.bandwidth);
        let (operations, movement) = (work * self.operation, traffic * self.byte);
        Ok(TimeAndEnergy { time, operations, movement, constant: self.constant_power * time })
    }

    /// Balance points in time and in energy.
    ///
    /// # Errors
    ///
    /// If a rate or the price of a byte is not positive, or another price or the constant power is negative.
    pub fn balance_points(&self) -> Result<BalancePoints, InputError> {
        self.check()?;
        let byte = positive("energy per byte", self.byte)?;
        let time = self.peak / self.bandwidth;
        let effective = byte / (self.operation + self.constant_power / self.peak);
        Ok(BalancePoints { time, energy: byte / self.operation, effective, race_to_halt: effective <= time })
    }

    fn check(&self) -> Result<(), InputError> {
        positive("peak", self.peak)?;
        positive("bandwidth", self.bandwidth)?;
        not_negative("energy per operation", self.operation)?;
        not_negative("energy per byte", self.byte)?;
        not_negative("constant power", self.constant_power)?;
        Ok(())
    }
}

/// Prices at 45 nm, joules. Good for shares and ratios; sources differ by factors (a register access is given as 0.01
/// pJ and as 0.1 pJ in one and the same collection).
pub mod at_45nm {
    /// Multiply-add of 32-bit floats.
    pub const FP32_MULTIPLY_ADD: f64 = 3.7e-12;
    /// A floating-point operation of unknown kind.
    pub const GENERIC_OPERATION: f64 = 4.6e-12;
    /// Multiply-add of 16-bit floats.
    pub const FP16_MULTIPLY_ADD: f64 = 1.1e-12;
    /// Multiply-add of 8-bit integers.
    pub const INT8_MULTIPLY_ADD: f64 = 0.2e-12;
    /// Addition of 32-bit floats.
    pub const FP32_ADD: f64 = 0.9e-12;
    /// Addition of 16-bit floats.
    pub const FP16_ADD: f64 = 0.4e-12;
    /// Addition of 32-bit integers.
    pub const INT32_ADD: f64 = 0.1e-12;
    /// Addition of 8-bit integers.
    pub const INT8_ADD: f64 = 0.03e-12;
    /// A byte from a register.
    pub const REGISTER_BYTE: f64 = 0.1e-12;
    /// A byte from the first level of cache.
    pub const L1_BYTE: f64 = 1e-12;
    /// A byte from the second level of cache.
    pub const L2_BYTE: f64 = 5e-12;
    /// A byte from DRAM: 640 pJ per access of 4 bytes.
    pub const DRAM_BYTE: f64 = 160e-12;
    /// A byte from flash storage.
    pub const NVME_BYTE: f64 = 1000e-12;
    /// A byte over a network.
    pub const NETWORK_BYTE: f64 = 10_000e-12;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to, prints};

    const TOY: Prices = Prices {
        operation: 1e-12,
        levels: &[at_45nm::REGISTER_BYTE, at_45nm::L1_BYTE, at_45nm::L2_BYTE],
        memory: at_45nm::DRAM_BYTE,
    };

    #[test]
    fn kernels_on_a_toy_machine() {
        let cases = [
            (7936.0, 126976.0, [65488.0, 34560.0, 33016.0], 5335292.8),
            (7936.0, 126976.0, [69152.0, 17976.0, 9288.0], 1594414.4),
            (8656.0, 138496.0, [95432.0, 46520.0, 15552.0], 2705034.4),
            (3520.0, 54272.0, [18624.0, 4832.0, 2456.0], 425716.8),
            (3216.0, 49408.0, [17608.0, 7976.0, 0.0], 55908.0),
            (496.0, 7936.0, [4048.0, 1904.0, 264.0], 53468.8),
            (360.0, 4800.0, [1024.0, 0.0, 0.0], 1761.6),
            (800.0, 10240.0, [2560.0, 296.0, 0.0], 5312.0),
            (128.0, 2048.0, [8.0, 8.0, 0.0], 372.0),
        ];
        for (work, bytes, traffic, picojoules) in cases {
            close_to(by_level(&TOY, work, bytes, &traffic).unwrap().total(), picojoules * 1e-12, FORMULA);
        }
    }

    #[test]
    fn shares_say_what_is_movement_and_from_where() {
        let energy = by_level(&TOY, 128.0, 2048.0, &[8.0, 8.0, 0.0]).unwrap();
        close_to(energy.movement_share().unwrap(), (204.0 + 40.0) / 372.0, FORMULA);
        close_to(energy.share_beyond(0).unwrap(), 40.0 / 244.0, FORMULA);
        close_to(energy.share_beyond(1).unwrap(), 40.0 / 244.0, FORMULA);
        assert_eq!(energy.share_beyond(2), Some(0.0));
        let nothing = by_level(&TOY, 0.0, 0.0, &[0.0; 3]).unwrap();
        assert_eq!((nothing.movement_share(), nothing.share_beyond(0)), (None, None));
    }

    #[test]
    fn without_levels_every_byte_is_from_memory() {
        let flat = Prices { levels: &[], ..TOY };
        close_to(by_level(&flat, 0.0, 10.0, &[]).unwrap().memory, 1600e-12, FORMULA);
    }

    const FERMI: TwoLevels =
        TwoLevels { peak: 515e9, bandwidth: 144e9, operation: 25e-12, byte: 360e-12, constant_power: 0.0 };
    const POWERED: TwoLevels = TwoLevels { constant_power: 122.0, ..FERMI };

    #[test]
    fn published_two_level_machine() {
        let golden = [
            (1e12, 6.944444444, 385.0, 1232.222222),
            (1e11, 1.941747573, 61.0, 297.893204),
            (1e10, 1.941747573, 28.6, 265.493204),
        ];
        for (traffic, seconds, joules, with_constant_power) in golden {
            let plain = FERMI.estimate(1e12, traffic).unwrap();
            prints(plain.time, seconds, 9);
            close_to(plain.total(), joules, FORMULA);
            prints(POWERED.estimate(1e12, traffic).unwrap().total(), with_constant_power, 6);
        }
    }

    #[test]
    fn constant_power_makes_racing_pay() {
        let plain = FERMI.balance_points().unwrap();
        prints(plain.time, 3.576388889, 9);
        close_to(plain.energy, 14.4, FORMULA);
        assert_eq!((plain.effective, plain.race_to_halt), (plain.energy, false));
        let powered = POWERED.balance_points().unwrap();
        assert_eq!((powered.energy, powered.race_to_halt), (plain.energy, true));
        close_to(powered.effective, 360e-12 / (25e-12 + 122.0 / 515e9), FORMULA);
    }

    #[test]
    fn dram_access_of_four_bytes() {
        close_to(4.0 * at_45nm::DRAM_BYTE, 640e-12, FORMULA);
    }

    #[test]
    fn impossible_figures_are_named() {
        let refused = |traffic: &[f64]| by_level(&TOY, 1.0, 10.0, traffic).unwrap_err().to_string();
        assert_eq!(refused(&[4.0, 5.0, 0.0]), "traffic beyond level 1 must be at most 4, is 5");
        assert_eq!(refused(&[4.0]), "traffic per level: 3 needed, 1 given");
        let error = TwoLevels { bandwidth: 0.0, ..FERMI }.estimate(1.0, 1.0).unwrap_err();
        assert_eq!(error.to_string(), "bandwidth must be positive, is 0");
        let error = TwoLevels { byte: 0.0, ..FERMI }.balance_points().unwrap_err();
        assert_eq!(error.to_string(), "energy per byte must be positive, is 0");
    }
}
