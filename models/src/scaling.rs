//! Scaling: how long a program takes on many devices, and how many of them are worth having.
//!
//! Takes the time on one device, what of it cannot be shared out, and the time of the communication at a number of
//! devices; gives time, speedup and efficiency. Refuses no devices, negative times, and shares that are none.
//!
//! Sources: mlsysim (Machine Learning Systems book), `math.qmd` (efficiency); Amdahl 1967 (strong scaling); Gustafson
//! 1988 (weak).
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | T1 | time on one device | s |
//! | s | share of T1 that does not get shorter with more devices | 1 |
//! | C | communication at N devices | s |
//! | o | share of the computing time behind which communication can hide | 1 |
//!
//! * computing: strong `T1 (s + (1-s)/N)`; weak `T1`, with N times as much done
//! * exposed communication `max(0, C - o * computing)`
//! * time = computing + exposed; speedup: strong `T1 / time`, weak `N T1 / time`; efficiency = speedup / N
//! * the source's efficiency: `T / (T + T_dp + T_tp + T_bubble + T_a2a)`, effective devices = efficiency x N
//!
//! Edge cases: one device takes T1 and no communication is asked for; without communication and s weak scaling is
//! perfect, and so is strong scaling.

use crate::error::{InputError, at_most, count, not_empty, not_negative, positive};

/// What grows with the devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Regime {
    /// Nothing: the same problem on more devices.
    Strong,
    /// The problem: as much per device as before.
    Weak,
}

/// A program on one device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Program {
    /// T1, seconds.
    pub time: f64,
    /// s, 0 to 1.
    pub serial: f64,
    /// o, 0 to 1.
    pub overlap: f64,
}

/// A program on many devices. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaled {
    /// On each device.
    pub computing: f64,
    /// Communication that nothing hides.
    pub exposed: f64,
    /// All in all.
    pub time: f64,
    /// Times faster than one device.
    pub speedup: f64,
    /// Speedup per device, 0 to 1.
    pub efficiency: f64,
}

/// `program` on `devices` devices, whose communication takes `communication` seconds (0 on one device).
///
/// # Errors
///
/// If there are no devices, the time is not positive, the communication is negative, or a share is not between 0 and 1.
pub fn scale(program: &Program, regime: Regime, devices: u64, communication: f64) -> Result<Scaled, InputError> {
    let n = count("devices", devices)?;
    let single = positive("time on one device", program.time)?;
    let serial = at_most("serial share", 1.0, not_negative("serial share", program.serial)?)?;
    let overlap = at_most("overlap", 1.0, not_negative("overlap", program.overlap)?)?;
    let communication = not_negative("communication time", communication)?;
    let computing = match regime {
        Regime::Strong => single * (serial + (1.0 - serial) / n),
        Regime::Weak => single,
    };
    let exposed = (communication - overlap * computing).max(0.0);
    let time = computing + exposed;
    let speedup = match regime {
        Regime::Strong => single / time,
        Regime::Weak => n * single / time,
    };
    Ok(Scaled { computing, exposed, time, speedup, efficiency: speedup / n })
}

/// The source's efficiency of a step of `time` seconds that loses `losses` seconds to communication and waiting.
///
/// # Errors
///
/// If the time is not positive or a loss is negative.
pub fn efficiency(time: f64, losses: &[f64]) -> Result<f64, InputError> {
    let time = positive("time on one device", time)?;
    let mut lost = 0.0;
    for &loss in losses {
        lost += not_negative("time lost", loss)?;
    }
    Ok(time / (time + lost))
}

/// What a curve over the number of devices says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// The knee: most devices up to which no number had an efficiency below one half.
    pub knee: u64,
    /// Most devices up to which no number had an efficiency below the least that was asked for.
    pub worth: u64,
    /// Devices with the shortest time (strong) or the largest speedup (weak), the fewest of equals.
    pub fastest: u64,
    /// Whether the last of these is the end of what was looked at.
    pub at_the_end: bool,
}

/// Looks at `curve`: numbers of devices, ascending, each with what they reach; `least` is the efficiency asked for.
///
/// # Errors
///
/// If the curve is empty or the efficiency asked for is not above 0 and at most 1.
pub fn worth(curve: &[(u64, Scaled)], least: f64) -> Result<Worth, InputError> {
    not_empty("numbers of devices", curve)?;
    let least = at_most("least efficiency", 1.0, positive("least efficiency", least)?)?;
    let up_to = |least: f64| {
        let good = curve.iter().take_while(|(_, scaled)| scaled.efficiency >= least).last();
        good.map_or(curve[0].0, |(devices, _)| *devices)
    };
    let better = |best: usize, i: usize| curve[i].1.speedup > curve[best].1.speedup;
    let fastest = (1..curve.len()).fold(0, |best, i| if better(best, i) { i } else { best });
    Ok(Worth {
        knee: up_to(0.5),
        worth: up_to(least),
        fastest: curve[fastest].0,
        at_the_end: fastest + 1 == curve.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::{Link, ring_all_reduce};
    use crate::published::{FORMULA, close_to};
    use proptest::prelude::*;

    const PROGRAM: Program = Program { time: 10.0, serial: 0.0, overlap: 0.0 };

    #[test]
    fn published_efficiency() {
        let found = efficiency(1.0, &[0.1, 0.1, 0.05]).unwrap();
        close_to(found, 0.8, FORMULA);
        close_to(found * 256.0, 204.8, FORMULA);
    }

    #[test]
    fn one_device_is_the_program_itself_and_no_message_is_perfect() {
        for regime in [Regime::Strong, Regime::Weak] {
            let one = scale(&Program { serial: 0.3, ..PROGRAM }, regime, 1, 0.0).unwrap();
            assert_eq!((one.time, one.speedup, one.efficiency), (10.0, 1.0, 1.0));
            let many = scale(&PROGRAM, regime, 1000, 0.0).unwrap();
            assert_eq!((many.exposed, many.efficiency), (0.0, 1.0));
        }
    }

    #[test]
    fn amdahl_limits_strong_scaling() {
        let program = Program { serial: 0.1, ..PROGRAM };
        let found = scale(&program, Regime::Strong, 1_000_000_000, 0.0).unwrap();
        close_to(found.speedup, 10.0, 1e-6);
    }

    #[test]
    fn communication_hides_behind_computing() {
        let hidden = |overlap, communication| {
            scale(&Program { overlap, ..PROGRAM }, Regime::Weak, 8, communication).unwrap().exposed
        };
        assert_eq!((hidden(0.0, 4.0), hidden(0.5, 4.0), hidden(0.5, 6.0), hidden(1.0, 9.0)), (4.0, 0.0, 1.0, 0.0));
    }

    #[test]
    fn the_knee_and_what_is_worth_it() {
        // Latency 10 ms: computing 10/N, communication 2 (N-1) 0.01. Equal at N (N-1) = 500.
        let link = Link { bandwidth: 1e9, latency: 0.01 };
        let at = |n| {
            let communication = ring_all_reduce(0.0, n, &link).unwrap();
            (n, scale(&PROGRAM, Regime::Strong, n, communication).unwrap())
        };
        let curve: Vec<_> = (1..=1000).map(at).collect();
        let found = worth(&curve, 0.8).unwrap();
        assert_eq!((found.knee, found.fastest, found.at_the_end), (22, 22, false));
        assert_eq!(found.worth, (1..=1000).take_while(|n| at(*n).1.efficiency >= 0.8).last().unwrap());
        let perfect: Vec<_> = [1, 10, 100].map(|n| (n, scale(&PROGRAM, Regime::Strong, n, 0.0).unwrap())).into();
        let found = worth(&perfect, 0.5).unwrap();
        assert_eq!((found.knee, found.worth, found.fastest, found.at_the_end), (100, 100, 100, true));
        assert_eq!(worth(&[], 0.5).unwrap_err().to_string(), "there are no numbers of devices");
    }

    #[test]
    fn impossible_figures_are_named() {
        let refused = |program| scale(&program, Regime::Weak, 2, 0.0).unwrap_err().to_string();
        assert_eq!(refused(Program { time: 0.0, ..PROGRAM }), "time on one device must be positive, is 0");
        assert_eq!(refused(Program { serial: 1.5, ..PROGRAM }), "serial share must be at most 1, is 1.5");
        assert_eq!(refused(Program { overlap: -1.0, ..PROGRAM }), "overlap must not be negative, is -1");
        let error = scale(&PROGRAM, Regime::Weak, 2, -1.0).unwrap_err();
        assert_eq!(error.to_string(), "communication time must not be negative, is -1");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn efficiency_is_a_share_and_falls_with_devices_and_communication(
            serial in 0.0f64..1.0, overlap in 0.0f64..1.0, devices in 1u64..100_000, communication in 0.0f64..100.0,
        ) {
            let program = Program { time: 10.0, serial, overlap };
            for regime in [Regime::Strong, Regime::Weak] {
                let at = |n, c| scale(&program, regime, n, c).unwrap().efficiency;
                let base = at(devices, communication);
                prop_assert!(base > 0.0 && base <= 1.0 + 1e-12);
                prop_assert!(at(devices, communication + 1.0) <= base);
                prop_assert!(at(2 * devices, communication) <= base * (1.0 + 1e-12));
            }
        }
    }
}
