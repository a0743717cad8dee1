//! Hierarchical roofline: the slowest of the arithmetic and of the links between levels of memory sets the time.
//!
//! Takes a machine's peak and links, a program's work and its traffic on every link, gives the time of each, the one
//! that binds, and how far the traffic on a binding link must fall until another one binds. Refuses rates that are not
//! positive, an efficiency above 1, capacities that do not grow, and counts that are negative.
//!
//! Sources: Williams, Waterman, Patterson, "Roofline", 2009, with one roof per level of memory; traffic as in
//! Czechowski et al., "Balance principles for algorithm-architecture co-design", 2011.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | W | work | op |
//! | R, eta | peak rate, attainable share of it | op/s, 1 |
//! | Z_i | capacity of level i | B |
//! | BW_i | bandwidth of the link that fills level i from outside it | B/s |
//! | Q(Z_i) | traffic: bytes read that a memory of Z_i bytes fetches | B |
//! | t0 | floor, added to every estimate | s |
//!
//! `T = max(W / (eta R), Q(Z_0) / BW_0, ..., Q(Z_m-1) / BW_m-1) + t0`, intensity `I_i = W / Q(Z_i)` op/B.
//!
//! Edge cases: equal times bind in the order compute, link 0, link 1, ...; without traffic the intensity is infinite,
//! without traffic and work it is not defined. A machine without links has the arithmetic only. Q(Z) of the profiler is
//! that of a fully associative memory with LRU replacement in which what dies frees its place. A cache with sets and
//! lines moves more; one that replaced better could move less.

use crate::error::{InputError, efficiency, not_negative, positive, same_count};

/// A level of fast memory and the link that fills it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Z, bytes of the level that the link fills.
    pub capacity: u64,
    /// BW, bytes per second of the link.
    pub bandwidth: f64,
}

/// What limits the speed of a machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roof<'a> {
    /// R, operations per second.
    pub peak: f64,
    /// eta, attainable share of the peak, above 0 and at most 1.
    pub efficiency: f64,
    /// Innermost level first.
    pub links: &'a [Link],
}

/// What takes the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The arithmetic.
    Compute,
    /// The link of this number, 0 being the innermost.
    Link(usize),
}

/// How far the traffic on the binding link must fall for the bound to change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// Bytes; with less traffic than this on the binding link, `next` binds.
    pub traffic: f64,
    /// What binds then.
    pub next: Bound,
}

/// Times of one piece of work on one machine, in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// `W / (eta R)`.
    pub compute: f64,
    /// `Q(Z_i) / BW_i` of each link.
    pub links: Vec<f64>,
    /// The longest of these plus the floor.
    pub total: f64,
    /// What takes the longest.
    pub bound: Bound,
    /// `W / Q(Z_i)` of each link, op/B: infinite without traffic, `None` without traffic and work.
    pub intensities: Vec<Option<f64>>,
    /// `None` if the arithmetic binds, or if nothing else takes any time.
    pub target: Option<Target>,
}

impl Roof<'_> {
    /// Traffic on every link, read from a traffic curve: `curve(Z)` gives Q(Z) in bytes.
    #[must_use]
    pub fn traffic(&self, curve: impl Fn(u64) -> f64) -> Vec<f64> {
        self.links.iter().map(|link| curve(link.capacity)).collect()
    }
}

/// Time of `work` operations with `traffic` bytes on each link, and `floor` seconds on top.
///
/// ```
/// use dmdprof_models::roofline::{Bound, Link, Roof, estimate};
///
/// // Half of 1 Gop/s is attained; one link of 10 GB/s fills 32 KiB.
/// let links = [Link { capacity: 32 << 10, bandwidth: 1e10 }];
/// let roof = Roof { peak: 1e9, efficiency: 0.5, links: &links };
/// let estimate = estimate(&roof, 1e9, &[4e10], 0.0)?; // op, B, s
/// assert_eq!((estimate.compute, estimate.links[0], estimate.total), (2.0, 4.0, 4.0)); // s
/// assert_eq!(estimate.bound, Bound::Link(0));
/// assert_eq!(estimate.target.map(|target| target.traffic), Some(2e10)); // B, from where the arithmetic binds
/// # Ok::<(), dmdprof_models::InputError>(())
/// ```
///
/// # Errors
///
/// If a rate of the roof is not positive, its efficiency is above 1, its capacities do not grow, `traffic` has not one
/// entry per link, or a count or the floor is negative.
pub fn estimate(roof: &Roof, work: f64, traffic: &[f64], floor: f64) -> Result<Estimate, InputError> {
    check(roof)?;
    same_count("traffic per link", roof.links.len(), traffic.len())?;
    for (i, &bytes) in traffic.iter().enumerate() {
        not_negative(format_args!("traffic of link {i}"), bytes)?;
    }
    let compute = not_negative("work", work)? / (roof.efficiency * roof.peak);
    let links: Vec<f64> = roof.links.iter().zip(traffic).map(|(link, bytes)| bytes / link.bandwidth).collect();
    let (bound, longest) = slowest(compute, &links);
    Ok(Estimate {
        compute,
        total: longest + not_negative("floor", floor)?,
        bound,
        intensities: traffic.iter().map(|&bytes| intensity(work, bytes)).collect(),
        target: target(roof, compute, &links, bound),
        links,
    })
}

/// `work / bytes`, op/B: infinite without bytes, `None` without both.
pub(crate) fn intensity(work: f64, bytes: f64) -> Option<f64> {
    (work > 0.0 || bytes > 0.0).then(|| work / bytes)
}

fn check(roof: &Roof) -> Result<(), InputError> {
    positive("peak", roof.peak)?;
    efficiency(roof.efficiency)?;
    let mut inner = 0;
    for (i, link) in roof.links.iter().enumerate() {
        positive(format_args!("bandwidth of link {i}"), link.bandwidth)?;
        if link.capacity <= inner {
            let limit = (inner + 1) as f64;
            let quantity = format!("capacity of link {i}");
            return Err(InputError::TooSmall { quantity, limit, value: link.capacity as f64 });
        }
        inner = link.capacity;
    }
    Ok(())
}

/// The first of the longest times.
fn slowest(compute: f64, links: &[f64]) -> (Bound, f64) {
    let mut slowest = (Bound::Compute, compute);
    for (i, &time) in links.iter().enumerate() {
        if time > slowest.1 {
            slowest = (Bound::Link(i), time);
        }
    }
    slowest
}

fn target(roof: &Roof, compute: f64, links: &[f64], bound: Bound) -> Option<Target> {
    let Bound::Link(binding) = bound else { return None };
    let mut others = links.to_vec();
    others[binding] = 0.0;
    let (next, time) = slowest(compute, &others);
    (time > 0.0).then(|| Target { traffic: time * roof.links[binding].bandwidth, next })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to};
    use proptest::prelude::*;

    const TOY: Roof = Roof {
        peak: 2e9,
        efficiency: 1.0,
        links: &[
            Link { capacity: 64, bandwidth: 16e9 },
            Link { capacity: 512, bandwidth: 8e9 },
            Link { capacity: 2048, bandwidth: 2e9 },
        ],
    };

    #[test]
    fn kernels_on_a_toy_machine() {
        let cases: [(&str, f64, [f64; 3], f64, Bound); 9] = [
            ("matmul ijk", 7936.0, [65488.0, 34560.0, 33016.0], 1.6508e-05, Bound::Link(2)),
            ("matmul tiled", 7936.0, [69152.0, 17976.0, 9288.0], 4.644e-06, Bound::Link(2)),
            ("strassen", 8656.0, [95432.0, 46520.0, 15552.0], 7.776e-06, Bound::Link(2)),
            ("attention, naive", 3520.0, [18624.0, 4832.0, 2456.0], 1.76e-06, Bound::Compute),
            ("attention, flash", 3216.0, [17608.0, 7976.0, 0.0], 1.608e-06, Bound::Compute),
            ("matvec", 496.0, [4048.0, 1904.0, 264.0], 2.53e-07, Bound::Link(0)),
            ("jacobi", 360.0, [1024.0, 0.0, 0.0], 1.8e-07, Bound::Compute),
            ("fft", 800.0, [2560.0, 296.0, 0.0], 4e-07, Bound::Compute),
            ("horner", 128.0, [8.0, 8.0, 0.0], 6.4e-08, Bound::Compute),
        ];
        for (kernel, work, traffic, total, bound) in cases {
            let found = estimate(&TOY, work, &traffic, 0.0).unwrap();
            close_to(found.total, total, FORMULA);
            assert_eq!(found.bound, bound, "{kernel}");
        }
    }

    #[test]
    fn tiling_makes_a_matmul_3_6_times_faster_at_equal_work() {
        let plain = estimate(&TOY, 7936.0, &[65488.0, 34560.0, 33016.0], 0.0).unwrap();
        let tiled = estimate(&TOY, 7936.0, &[69152.0, 17976.0, 9288.0], 0.0).unwrap();
        assert!((plain.total / tiled.total - 3.6).abs() < 0.05);
    }

    #[test]
    fn target_names_the_traffic_and_what_binds_then() {
        let naive = estimate(&TOY, 7936.0, &[65488.0, 34560.0, 33016.0], 0.0).unwrap();
        // Link 1 takes 4.32 us, the arithmetic 3.968 us: link 1 is the next to bind, at 4.32 us x 2 GB/s.
        assert_eq!(naive.target, Some(Target { traffic: 8640.0, next: Bound::Link(1) }));
        let tiled = estimate(&TOY, 7936.0, &[69152.0 / 2.0, 17976.0, 9288.0], 0.0).unwrap();
        let target = tiled.target.unwrap();
        assert_eq!(target.next, Bound::Compute);
        close_to(target.traffic, 7936.0, FORMULA);
    }

    #[test]
    fn no_target_where_the_bound_cannot_change() {
        assert_eq!(estimate(&TOY, 1e6, &[1.0, 1.0, 1.0], 0.0).unwrap().target, None);
        let copy = estimate(&TOY, 0.0, &[0.0, 0.0, 64.0], 0.0).unwrap();
        assert_eq!((copy.bound, copy.target), (Bound::Link(2), None));
    }

    #[test]
    fn equal_times_bind_in_order() {
        let all_equal = estimate(&TOY, 2.0, &[16.0, 8.0, 2.0], 0.0).unwrap();
        assert_eq!(all_equal.bound, Bound::Compute);
        let links_equal = estimate(&TOY, 1.0, &[16.0, 8.0, 2.0], 0.0).unwrap();
        assert_eq!(links_equal.bound, Bound::Link(0));
        assert_eq!(links_equal.target.unwrap().next, Bound::Link(1));
    }

    #[test]
    fn intensity_is_infinite_without_traffic_and_undefined_without_both() {
        let some = estimate(&TOY, 8.0, &[4.0, 0.0, 0.0], 0.0).unwrap();
        assert_eq!(some.intensities, [Some(2.0), Some(f64::INFINITY), Some(f64::INFINITY)]);
        let none = estimate(&TOY, 0.0, &[4.0, 0.0, 0.0], 1e-6).unwrap();
        assert_eq!(none.intensities, [Some(0.0), None, None]);
        let nothing = estimate(&TOY, 0.0, &[0.0; 3], 1e-6).unwrap();
        assert_eq!((nothing.bound, nothing.total), (Bound::Compute, 1e-6));
    }

    #[test]
    fn efficiency_and_floor_count() {
        let half = Roof { efficiency: 0.5, ..TOY };
        close_to(estimate(&half, 2e9, &[0.0; 3], 0.25).unwrap().total, 2.25, FORMULA);
    }

    #[test]
    fn traffic_is_read_from_the_curve_at_the_capacities() {
        assert_eq!(TOY.traffic(|z| 4096.0 - z as f64), [4032.0, 3584.0, 2048.0]);
    }

    #[test]
    fn impossible_figures_are_named() {
        let refused = |roof: Roof, work, traffic: &[f64]| estimate(&roof, work, traffic, 0.0).unwrap_err().to_string();
        let links = [Link { capacity: 64, bandwidth: 1.0 }, Link { capacity: 128, bandwidth: 0.0 }];
        let no_bandwidth = Roof { links: &links, ..TOY };
        assert_eq!(refused(no_bandwidth, 1.0, &[1.0, 1.0]), "bandwidth of link 1 must be positive, is 0");
        let links = [Link { capacity: 64, bandwidth: 1.0 }, Link { capacity: 64, bandwidth: 1.0 }];
        let not_growing = Roof { links: &links, ..TOY };
        assert_eq!(refused(not_growing, 1.0, &[1.0, 1.0]), "capacity of link 1 must be at least 65, is 64");
        assert_eq!(refused(TOY, 1.0, &[1.0]), "traffic per link: 3 needed, 1 given");
        assert_eq!(refused(TOY, 1.0, &[1.0, -2.0, 0.0]), "traffic of link 1 must not be negative, is -2");
        assert_eq!(refused(TOY, f64::NAN, &[0.0; 3]), "work must not be negative, is NaN");
        assert_eq!(refused(Roof { peak: 0.0, ..TOY }, 1.0, &[0.0; 3]), "peak must be positive, is 0");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn falling_below_the_target_changes_the_bound_and_staying_above_does_not(
            work in 1.0..1e6f64,
            traffic in prop::array::uniform3(0.0..1e6f64),
        ) {
            let before = estimate(&TOY, work, &traffic, 0.0).unwrap();
            if let (Bound::Link(i), Some(target)) = (before.bound, before.target) {
                prop_assert!(target.traffic <= traffic[i] * (1.0 + 1e-12));
                let mut changed = traffic;
                changed[i] = target.traffic * 0.999_999;
                prop_assert_eq!(estimate(&TOY, work, &changed, 0.0).unwrap().bound, target.next);
                changed[i] = target.traffic * 1.000_001;
                prop_assert_eq!(estimate(&TOY, work, &changed, 0.0).unwrap().bound, before.bound);
            }
        }
    }
}
