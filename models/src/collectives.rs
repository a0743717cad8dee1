//! Collectives: time to exchange bytes among devices that are joined by equal links.
//!
//! Takes a message, a number of devices and their link, gives the time of one operation. Refuses links without
//! bandwidth, no devices, and a message or latency that is negative.
//!
//! Source: mlsysim (Machine Learning Systems book), `math.qmd` and the package's formulas; the ring and its two halves
//! as in Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | M | message: bytes that each device holds before an all-reduce, or after an all-gather | B |
//! | N | devices | 1 |
//! | BW, L | bandwidth of a link in one direction, latency of a step | B/s, s |
//!
//! | operation | time |
//! |---|---|
//! | [`ring_all_reduce`] | `2 (N-1) (M / (N BW) + L)` |
//! | [`all_gather`], [`reduce_scatter`] | `(N-1) (M / (N BW) + L)`, half of that |
//! | [`tree_all_reduce`] | `2 ceil(log2 N) (M / BW + L)` |
//! | [`all_to_all`] | `(N-1)/N M / BW + (N-1) L` |
//! | [`point_to_point`] | `M / BW + L` |
//! | [`hierarchical_all_reduce`] | reduce-scatter and all-gather inside a node, between them a ring across nodes on M / (devices of a node) |
//! | [`hierarchical_full_all_reduce`] | as the source had it first: the ring inside a node twice, and the whole M across nodes |
//!
//! The source's tree has `log2 N` without rounding; a tree has whole rounds, so it is rounded up here, which is the
//! same for powers of two. The source corrected its hierarchical form later.
//!
//! Edge cases: one device exchanges nothing and takes no time. Overhead of software is in L or nowhere.

use crate::error::{InputError, count, not_negative, positive};

/// A link between two devices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// BW, bytes per second in one direction.
    pub bandwidth: f64,
    /// L, seconds per step.
    pub latency: f64,
}

impl Link {
    fn check(&self) -> Result<(), InputError> {
        positive("bandwidth of the link", self.bandwidth)?;
        not_negative("latency of the link", self.latency)?;
        Ok(())
    }
}

fn checked(message: f64, devices: u64, link: &Link) -> Result<f64, InputError> {
    link.check()?;
    not_negative("message", message)?;
    count("devices", devices)
}

/// Sum of everybody's M bytes, at everybody.
///
/// # Errors
///
/// If there are no devices, the bandwidth is not positive, or the message or the latency is negative; as for all of
/// these.
pub fn ring_all_reduce(message: f64, devices: u64, link: &Link) -> Result<f64, InputError> {
    Ok(2.0 * all_gather(message, devices, link)?)
}

/// Everybody's `M / N` bytes, at everybody.
///
/// # Errors
///
/// As for [`ring_all_reduce`].
pub fn all_gather(message: f64, devices: u64, link: &Link) -> Result<f64, InputError> {
    let n = checked(message, devices, link)?;
    Ok((n - 1.0) * (message / (n * link.bandwidth) + link.latency))
}

/// Sum of everybody's M bytes, a part of `M / N` at each.
///
/// # Errors
///
/// As for [`ring_all_reduce`].
pub fn reduce_scatter(message: f64, devices: u64, link: &Link) -> Result<f64, InputError> {
    all_gather(message, devices, link)
}

/// The sum up a binary tree and down again.
///
/// # Errors
///
/// As for [`ring_all_reduce`].
pub fn tree_all_reduce(message: f64, devices: u64, link: &Link) -> Result<f64, InputError> {
    checked(message, devices, link)?;
    Ok(2.0 * f64::from(rounds(devices)) * (message / link.bandwidth + link.latency))
}

/// `ceil(log2 devices)`: rounds of a tree.
#[must_use]
pub fn rounds(devices: u64) -> u32 {
    devices.checked_sub(1).map_or(0, |most| u64::BITS - most.leading_zeros())
}

/// A part of `M / N` from each to each other.
///
/// # Errors
///
/// As for [`ring_all_reduce`].
pub fn all_to_all(message: f64, devices: u64, link: &Link) -> Result<f64, InputError> {
    let n = checked(message, devices, link)?;
    Ok((n - 1.0) / n * message / link.bandwidth + (n - 1.0) * link.latency)
}

/// M bytes from one device to another.
///
/// # Errors
///
/// If the bandwidth is not positive, or the message or the latency is negative.
pub fn point_to_point(message: f64, link: &Link) -> Result<f64, InputError> {
    checked(message, 1, link)?;
    Ok(message / link.bandwidth + link.latency)
}

/// Nodes of equal devices, with one link inside and another across.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hierarchy {
    /// How many nodes.
    pub nodes: u64,
    /// In each node.
    pub devices: u64,
    /// Between devices of a node.
    pub inside: Link,
    /// Between nodes.
    pub across: Link,
}

/// Reduce-scatter inside each node, all-reduce of each device's part across the nodes, all-gather inside.
///
/// # Errors
///
/// As for [`ring_all_reduce`], for each link.
pub fn hierarchical_all_reduce(message: f64, hierarchy: &Hierarchy) -> Result<f64, InputError> {
    let inside = ring_all_reduce(message, hierarchy.devices, &hierarchy.inside)?;
    let part = message / count("devices", hierarchy.devices)?;
    Ok(inside + ring_all_reduce(part, hierarchy.nodes, &hierarchy.across)?)
}

/// The source's first form: an all-reduce inside each node before and after one of the whole message across the nodes.
///
/// # Errors
///
/// As for [`ring_all_reduce`], for each link.
pub fn hierarchical_full_all_reduce(message: f64, hierarchy: &Hierarchy) -> Result<f64, InputError> {
    let inside = ring_all_reduce(message, hierarchy.devices, &hierarchy.inside)?;
    Ok(2.0 * inside + ring_all_reduce(message, hierarchy.nodes, &hierarchy.across)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to};
    use proptest::prelude::*;

    const fn link(bandwidth: f64, latency: f64) -> Link {
        Link { bandwidth, latency }
    }

    #[test]
    fn published_collectives() {
        let fast = link(50e9, 500e-9);
        close_to(ring_all_reduce(1e9, 8, &fast).unwrap(), 0.035007, FORMULA);
        close_to(ring_all_reduce(140e9, 256, &link(50e9, 5e-6)).unwrap(), 5.580675, FORMULA);
        close_to(ring_all_reduce(140e9, 256, &link(12.5e9, 10e-6)).unwrap(), 22.3176, FORMULA);
        close_to(ring_all_reduce(1e6, 1024, &link(50e9, 5e-6)).unwrap(), 0.01026996094, FORMULA);
        close_to(tree_all_reduce(1e9, 8, &fast).unwrap(), 0.120003, FORMULA);
        close_to(all_to_all(1e9, 8, &fast).unwrap(), 0.0175035, FORMULA);
        let cluster = Hierarchy { nodes: 4, devices: 8, inside: link(300e9, 500e-9), across: link(25e9, 5e-6) };
        close_to(hierarchical_full_all_reduce(8e9, &cluster).unwrap(), 0.5733773333, FORMULA);
        // Ours: 14 steps of 1e9 B / 300e9 B/s + 0.5 us, then 6 of 0.25e9 / 25e9 + 5 us.
        close_to(hierarchical_all_reduce(8e9, &cluster).unwrap(), 0.0466736666667 + 0.06003, FORMULA);
    }

    /// Every device sends one chunk to its neighbour per step and adds what it gets; all hold the whole sum in the end.
    fn ring_by_steps(parts: usize, chunk: f64, link: &Link) -> f64 {
        let mut held = vec![vec![1u64; parts]; parts];
        let mut time = 0.0;
        for step in 0..2 * (parts - 1) {
            let before = held.clone();
            let gathers = step >= parts - 1;
            for (device, mine) in before.iter().enumerate() {
                let part = (device + 2 * parts - step) % parts;
                let next = (device + 1) % parts;
                held[next][part] = if gathers { mine[part] } else { before[next][part] + mine[part] };
            }
            time += chunk / link.bandwidth + link.latency;
        }
        assert!(held.iter().flatten().all(|&sum| sum == parts as u64), "{held:?}");
        time
    }

    #[test]
    fn a_ring_step_by_step() {
        let link = link(1e9, 1e-6);
        for devices in [2, 3, 5, 8, 13] {
            let message = 1e6 * devices as f64;
            let simulated = ring_by_steps(devices, 1e6, &link);
            close_to(ring_all_reduce(message, devices as u64, &link).unwrap(), simulated, FORMULA);
        }
    }

    /// Pairs at distance 1, 2, 4, ... add up to device 0, and the way back.
    fn tree_by_rounds(devices: usize, message: f64, link: &Link) -> f64 {
        let mut held = vec![1u64; devices];
        let (mut rounds, mut distance) = (0, 1);
        while distance < devices {
            for to in (0..devices).step_by(2 * distance) {
                if to + distance < devices {
                    held[to] += held[to + distance];
                }
            }
            (rounds, distance) = (rounds + 1, 2 * distance);
        }
        assert_eq!(held[0], devices as u64);
        2.0 * f64::from(rounds) * (message / link.bandwidth + link.latency)
    }

    #[test]
    fn a_tree_round_by_round() {
        let link = link(1e9, 1e-6);
        for devices in [1, 2, 3, 4, 7, 8, 9, 1000] {
            let simulated = tree_by_rounds(devices, 1e6, &link);
            close_to(tree_all_reduce(1e6, devices as u64, &link).unwrap(), simulated, FORMULA);
        }
    }

    /// In step s each device sends to the one s places further on; all links are busy with one part each.
    #[test]
    fn an_all_to_all_step_by_step() {
        let (link, devices, message) = (link(1e9, 1e-6), 6usize, 6e6);
        let mut received = vec![vec![false; devices]; devices];
        let mut time = 0.0;
        for step in 1..devices {
            for (device, from) in received.iter_mut().enumerate() {
                from[(device + step) % devices] = true;
            }
            time += message / devices as f64 / link.bandwidth + link.latency;
        }
        assert!((0..devices).all(|d| received[d].iter().filter(|r| **r).count() == devices - 1));
        close_to(all_to_all(message, devices as u64, &link).unwrap(), time, FORMULA);
    }

    #[test]
    fn one_device_exchanges_nothing() {
        let link = link(1e9, 1e-6);
        for operation in [ring_all_reduce, all_gather, reduce_scatter, tree_all_reduce, all_to_all] {
            assert_eq!(operation(1e9, 1, &link).unwrap(), 0.0);
        }
        assert_eq!(point_to_point(1e9, &link).unwrap(), 1.000001);
    }

    #[test]
    fn impossible_figures_are_named() {
        let refused = |message, devices, link| ring_all_reduce(message, devices, &link).unwrap_err().to_string();
        assert_eq!(refused(1.0, 0, link(1.0, 0.0)), "devices must be at least 1, is 0");
        assert_eq!(refused(-1.0, 2, link(1.0, 0.0)), "message must not be negative, is -1");
        assert_eq!(refused(1.0, 2, link(0.0, 0.0)), "bandwidth of the link must be positive, is 0");
        assert_eq!(refused(1.0, 2, link(1.0, -1.0)), "latency of the link must not be negative, is -1");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn more_bytes_devices_and_latency_take_longer(
            message in 0.0f64..1e12, devices in 1u64..100_000, latency in 0.0f64..1e-3, more in 1u64..1000,
        ) {
            for operation in [ring_all_reduce, all_gather, tree_all_reduce, all_to_all] {
                let time = |m, n, l| operation(m, n, &link(1e9, l)).unwrap();
                let base = time(message, devices, latency);
                prop_assert!(time(message * 1.5, devices, latency) >= base);
                prop_assert!(time(message, devices + more, latency) >= base);
                prop_assert!(time(message, devices, latency * 2.0) >= base);
            }
        }
    }
}
