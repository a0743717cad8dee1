//! Pipelines: devices that each hold some stages of a program and pass micro-batches along.
//!
//! Takes the number of devices, micro-batches and chunks, or times of stages, gives the share of time that devices
//! wait, the time lost, the least number of micro-batches for a wanted share, and how to cut a sequence of calls into
//! stages. Refuses counts of 0, negative times, and more stages than there are calls.
//!
//! Sources: mlsysim (Machine Learning Systems book), `math.qmd`; interleaving: Narayanan et al., "Efficient large-scale
//! language model training on GPU clusters", 2021; zero bubble: Qi, Wan, Huang, Lin, "Zero bubble pipeline
//! parallelism", 2023 (ZB-H1).
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | P, M, V | devices, micro-batches, chunks of the program on each device | 1 |
//! | T | busy time of a device | s |
//! | k | part of the plain bubble that the schedule leaves | 1 |
//!
//! * lost time `T k (P-1) / (V M)`; `k` = 1 for plain and interleaved schedules, for zero bubble
//!   `(T_F + T_B - T_W) / (T_F + T_B + T_W)`, forward, backward for inputs and for weights, which is 1/3 if they are
//!   equal
//! * bubble, the share of the whole time: `f = k (P-1) / (V M + k (P-1))`
//! * `f <= x` needs `V M >= k (P-1) (1-x) / x`
//! * stages of different times t_i: `sum t_i + (M-1) max t_i` for M micro-batches, each through all stages
//!
//! The source's package multiplies the busy time by f, which is the share of the whole, not of the busy time;
//! [`compatible_loss`] is that figure.
//!
//! Edge cases: one device has no bubble. The interleaved form holds for M that are multiples of P; with others it is a
//! lower bound.

use crate::error::{InputError, at_most, count, finite, not_empty, not_negative, positive};

/// Order in which a device works on its micro-batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Schedule {
    /// One chunk per device.
    Plain,
    /// V chunks per device.
    Interleaved(u64),
    /// Work on weights fills the gaps; seconds of a micro-batch forward, backward for inputs, backward for weights, or
    /// any multiple of them.
    ZeroBubble {
        /// Forward.
        forward: f64,
        /// Backward, for the inputs.
        inputs: f64,
        /// Backward, for the weights.
        weights: f64,
    },
}

impl Schedule {
    /// Chunks V.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        match self {
            Schedule::Interleaved(chunks) => *chunks,
            Schedule::Plain | Schedule::ZeroBubble { .. } => 1,
        }
    }

    /// k.
    ///
    /// # Errors
    ///
    /// If a time is not positive, or the work on weights takes longer than the rest.
    pub fn left(&self) -> Result<f64, InputError> {
        match *self {
            Schedule::Plain | Schedule::Interleaved(_) => Ok(1.0),
            Schedule::ZeroBubble { forward, inputs, weights } => {
                let others = positive("forward time", forward)? + positive("backward time for inputs", inputs)?;
                at_most("backward time for weights", others, positive("backward time for weights", weights)?)?;
                Ok((others - weights) / (others + weights))
            }
        }
    }

    /// Lost time per busy time, `k (P-1) / (V M)`.
    fn lost(&self, devices: u64, batches: u64) -> Result<f64, InputError> {
        let (p, m) = (count("devices", devices)?, count("micro-batches", batches)?);
        Ok(self.left()? * (p - 1.0) / (count("chunks", self.chunks())? * m))
    }
}

/// Share of the whole time in which a device waits, f.
///
/// # Errors
///
/// If a count is 0 or a time of the schedule is refused; as for all of these.
pub fn bubble(schedule: &Schedule, devices: u64, batches: u64) -> Result<f64, InputError> {
    let lost = schedule.lost(devices, batches)?;
    Ok(lost / (1.0 + lost))
}

/// Seconds lost by a device that is busy for `busy` seconds.
///
/// # Errors
///
/// As for [`bubble`], or if the time is negative.
pub fn loss(schedule: &Schedule, devices: u64, batches: u64, busy: f64) -> Result<f64, InputError> {
    Ok(schedule.lost(devices, batches)? * not_negative("busy time", busy)?)
}

/// The source package's figure for [`loss`], `T f`.
///
/// # Errors
///
/// As for [`loss`].
pub fn compatible_loss(schedule: &Schedule, devices: u64, batches: u64, busy: f64) -> Result<f64, InputError> {
    Ok(bubble(schedule, devices, batches)? * not_negative("busy time", busy)?)
}

/// Fewest micro-batches with a bubble of at most `share`.
///
/// # Errors
///
/// As for [`bubble`], or if the share is not above 0 and below 1.
pub fn least_batches(schedule: &Schedule, devices: u64, share: f64) -> Result<u64, InputError> {
    let share = at_most("bubble", 1.0 - f64::EPSILON, positive("bubble", share)?)?;
    let whole = schedule.lost(devices, 1)?;
    let least = finite("micro-batches", (whole * (1.0 - share) / share).ceil())?.max(1.0) as u64;
    // The division may round up past a whole number that is enough already.
    let fits = |batches: u64| bubble(schedule, devices, batches).is_ok_and(|f| f <= share * (1.0 + 1e-12));
    Ok(if least > 1 && fits(least - 1) { least - 1 } else { least })
}

/// Seconds for `batches` micro-batches through stages of these times per micro-batch.
///
/// # Errors
///
/// If there are no stages or micro-batches, or a time is negative.
pub fn unequal(stages: &[f64], batches: u64) -> Result<f64, InputError> {
    not_empty("stages", stages)?;
    for (i, &time) in stages.iter().enumerate() {
        not_negative(format_args!("time of stage {i}"), time)?;
    }
    let slowest = stages.iter().copied().fold(0.0, f64::max);
    Ok(stages.iter().sum::<f64>() + (count("micro-batches", batches)? - 1.0) * slowest)
}

/// Cuts a sequence of times into `stages` stretches so that the longest is as short as possible; gives where each
/// begins. Of equally good cuts that with the latest beginnings.
///
/// # Errors
///
/// If there are more stages than times, none of either, or a time is negative.
pub fn cut(times: &[f64], stages: usize) -> Result<Vec<usize>, InputError> {
    not_empty("calls to cut into stages", times)?;
    count("stages", stages as u64)?;
    at_most("stages", times.len() as f64, stages as f64)?;
    let mut sums = vec![0.0];
    for (i, &time) in times.iter().enumerate() {
        sums.push(sums[i] + not_negative(format_args!("time of call {i}"), time)?);
    }
    let n = times.len();
    // best[k][i]: the least possible longest stretch of the first i times in k stages, and where the last stage begins.
    let mut best = vec![vec![(f64::INFINITY, 0usize); n + 1]; stages + 1];
    best[0][0] = (0.0, 0);
    for k in 1..=stages {
        for i in k..=n {
            for begin in k - 1..i {
                let longest = best[k - 1][begin].0.max(sums[i] - sums[begin]);
                if longest <= best[k][i].0 {
                    best[k][i] = (longest, begin);
                }
            }
        }
    }
    let mut begins = vec![0; stages];
    let mut end = n;
    for k in (1..=stages).rev() {
        begins[k - 1] = best[k][end].1;
        end = begins[k - 1];
    }
    Ok(begins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to};
    use proptest::prelude::*;

    const EQUAL: Schedule = Schedule::ZeroBubble { forward: 1.0, inputs: 1.0, weights: 1.0 };

    #[test]
    fn published_bubbles() {
        let golden = [
            (4, 8, 1, 0.2727272727, 0.375),
            (4, 8, 4, 0.0857142857, 0.09375),
            (4, 16, 1, 0.1578947368, 0.1875),
            (4, 57, 1, 0.05, 0.0526315789),
            (4, 56, 1, 0.0508474576, 0.0535714286),
            (4, 29, 2, 0.0491803279, 0.0517241379),
            (8, 133, 1, 0.05, 0.0526315789),
            (1, 7, 3, 0.0, 0.0),
        ];
        for (devices, batches, chunks, share, lost) in golden {
            let schedule = Schedule::Interleaved(chunks);
            close_to(bubble(&schedule, devices, batches).unwrap(), share, 1e-8);
            close_to(loss(&schedule, devices, batches, 1.0).unwrap(), lost, 1e-8);
        }
        assert_eq!(least_batches(&Schedule::Plain, 4, 0.05).unwrap(), 57);
        assert_eq!(least_batches(&Schedule::Interleaved(2), 4, 0.05).unwrap(), 29);
        assert_eq!(least_batches(&Schedule::Plain, 8, 0.05).unwrap(), 133);
        assert_eq!(least_batches(&Schedule::Plain, 1, 0.05).unwrap(), 1);
        // 3463.9 ms busy: the package's 546.93 ms, and what the devices lose.
        close_to(compatible_loss(&Schedule::Plain, 4, 16, 3463.9).unwrap(), 546.93, 1e-5);
        close_to(loss(&Schedule::Plain, 4, 16, 3463.9).unwrap(), 649.48125, FORMULA);
    }

    /// Slot by slot: device p takes the next of its units of work as soon as what it needs is done. Forward only; chunk
    /// v of a device needs chunk v of the device before, the first device's chunk v the last one's chunk v-1.
    fn slots(devices: usize, batches: usize, chunks: usize) -> usize {
        // Groups of P micro-batches go through all chunks of a device before the next group.
        let mut order = Vec::new();
        for group in (0..batches).step_by(devices) {
            for chunk in 0..chunks {
                order.extend((group..batches.min(group + devices)).map(|batch| (chunk, batch)));
            }
        }
        let mut done = vec![vec![vec![false; batches]; chunks]; devices];
        let mut next = vec![0; devices];
        let mut slot = 0;
        while next.iter().any(|n| *n < order.len()) {
            let ready = |device: usize, (chunk, batch): (usize, usize)| match (device, chunk) {
                (0, 0) => true,
                (0, _) => done[devices - 1][chunk - 1][batch],
                _ => done[device - 1][chunk][batch],
            };
            let starts: Vec<usize> =
                (0..devices).filter(|&d| next[d] < order.len() && ready(d, order[next[d]])).collect();
            for device in starts {
                let (chunk, batch) = order[next[device]];
                done[device][chunk][batch] = true;
                next[device] += 1;
            }
            slot += 1;
        }
        slot
    }

    #[test]
    fn plain_and_interleaved_slot_by_slot() {
        for (devices, batches, chunks) in
            [(4, 8, 1), (4, 57, 1), (3, 7, 1), (4, 8, 4), (4, 8, 2), (8, 16, 3), (1, 5, 2)]
        {
            let total = slots(devices, batches, chunks);
            let busy = batches * chunks;
            let schedule = Schedule::Interleaved(chunks as u64);
            let found = bubble(&schedule, devices as u64, batches as u64).unwrap();
            close_to(found, (total - busy) as f64 / total as f64, FORMULA);
        }
    }

    /// A unit of work of a device on a micro-batch.
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    enum Unit {
        Forward(usize),
        Inputs(usize),
        Weights(usize),
    }

    /// The order of ZB-H1 on device `p`: one forward, one backward in turn, work on weights p micro-batches behind.
    fn zero_bubble_order(p: usize, devices: usize, batches: usize) -> Vec<Unit> {
        let (mut f, mut b, mut w) = (batches.min(devices - p), 0, 0);
        let mut order: Vec<Unit> = (0..f).map(Unit::Forward).collect();
        while w < batches {
            if b < batches {
                order.push(Unit::Inputs(b));
                b += 1;
            }
            if w < b && (b - w > p || b == batches) {
                order.push(Unit::Weights(w));
                w += 1;
            }
            if f < batches {
                order.push(Unit::Forward(f));
                f += 1;
            }
        }
        order
    }

    /// Each unit takes a slot and starts when what it needs is done. Gives the most slots that a device waits between
    /// its first and its last unit: a step begins on each device where the one before ended.
    fn zero_bubble_waits(devices: usize, batches: usize) -> usize {
        let orders: Vec<_> = (0..devices).map(|p| zero_bubble_order(p, devices, batches)).collect();
        let mut done = std::collections::HashSet::new();
        let mut next = vec![0; devices];
        let mut active = vec![(usize::MAX, 0); devices];
        let mut slot = 0;
        while next.iter().any(|n| *n < 3 * batches) {
            let ready = |p: usize| {
                let unit = orders[p].get(next[p])?;
                let is_ready = match *unit {
                    Unit::Forward(m) => p == 0 || done.contains(&(p - 1, Unit::Forward(m))),
                    Unit::Inputs(m) if p + 1 == devices => done.contains(&(p, Unit::Forward(m))),
                    Unit::Inputs(m) => done.contains(&(p + 1, Unit::Inputs(m))),
                    Unit::Weights(m) => done.contains(&(p, Unit::Inputs(m))),
                };
                is_ready.then_some((p, *unit))
            };
            let started: Vec<_> = (0..devices).filter_map(ready).collect();
            assert!(!started.is_empty(), "everybody waits");
            for (p, unit) in started {
                done.insert((p, unit));
                next[p] += 1;
                active[p] = (active[p].0.min(slot), slot + 1);
            }
            slot += 1;
        }
        active.iter().map(|(begin, end)| end - begin - 3 * batches).max().unwrap()
    }

    #[test]
    fn zero_bubble_slot_by_slot() {
        for (devices, batches) in [(2, 8), (4, 16), (4, 32), (8, 64)] {
            let waits = zero_bubble_waits(devices, batches) as f64;
            close_to(loss(&EQUAL, devices as u64, batches as u64, 3.0 * batches as f64).unwrap(), waits, FORMULA);
        }
        close_to(EQUAL.left().unwrap(), 1.0 / 3.0, FORMULA);
    }

    #[test]
    fn unequal_stages_slot_by_slot() {
        let (stages, batches) = ([3.0, 7.0, 2.0, 5.0], 9);
        let mut ends = [0.0f64; 4];
        for _ in 0..batches {
            let mut ready = 0.0f64;
            for (end, time) in ends.iter_mut().zip(stages) {
                *end = end.max(ready) + time;
                ready = *end;
            }
        }
        assert_eq!(unequal(&stages, batches).unwrap(), ends[3]);
        // Equal stages are the plain bubble.
        let equal = unequal(&[1.0; 4], 8).unwrap();
        close_to(1.0 - 8.0 / equal, bubble(&Schedule::Plain, 4, 8).unwrap(), FORMULA);
    }

    #[test]
    fn sequences_are_cut_where_the_longest_part_is_shortest() {
        assert_eq!(cut(&[1.0, 2.0, 3.0, 4.0, 5.0], 2).unwrap(), [0, 3]);
        assert_eq!(cut(&[5.0, 1.0, 1.0, 5.0], 3).unwrap(), [0, 1, 3]);
        assert_eq!(cut(&[1.0], 1).unwrap(), [0]);
        assert_eq!(cut(&[1.0], 2).unwrap_err().to_string(), "stages must be at most 1, is 2");
        assert_eq!(cut(&[], 1).unwrap_err().to_string(), "there are no calls to cut into stages");
    }

    #[test]
    fn impossible_figures_are_named() {
        let refused = |schedule, p, m| bubble(&schedule, p, m).unwrap_err().to_string();
        assert_eq!(refused(Schedule::Plain, 0, 1), "devices must be at least 1, is 0");
        assert_eq!(refused(Schedule::Plain, 1, 0), "micro-batches must be at least 1, is 0");
        assert_eq!(refused(Schedule::Interleaved(0), 1, 1), "chunks must be at least 1, is 0");
        let slow = Schedule::ZeroBubble { forward: 1.0, inputs: 1.0, weights: 3.0 };
        assert_eq!(refused(slow, 2, 2), "backward time for weights must be at most 2, is 3");
        assert_eq!(least_batches(&Schedule::Plain, 4, 0.0).unwrap_err().to_string(), "bubble must be positive, is 0");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn bubbles_shrink_with_batches_and_grow_with_devices(
            devices in 1u64..1000, batches in 1u64..10_000, chunks in 1u64..10, share in 0.001f64..0.9,
        ) {
            let schedule = Schedule::Interleaved(chunks);
            let f = |p, m| bubble(&schedule, p, m).unwrap();
            prop_assert!(f(devices, batches + 1) <= f(devices, batches));
            prop_assert!(f(devices + 1, batches) >= f(devices, batches));
            let least = least_batches(&schedule, devices, share).unwrap();
            prop_assert!(f(devices, least) <= share * (1.0 + 1e-9));
            prop_assert!(least == 1 || f(devices, least - 1) > share);
        }

        #[test]
        fn cuts_are_as_good_as_any(times in proptest::collection::vec(0.0f64..10.0, 1..9), stages in 1usize..4) {
            prop_assume!(stages <= times.len());
            let longest = |begins: &[usize]| {
                let ends = begins.iter().skip(1).copied().chain([times.len()]);
                begins.iter().zip(ends).map(|(b, e)| times[*b..e].iter().sum::<f64>()).fold(0.0, f64::max)
            };
            let found = longest(&cut(&times, stages).unwrap());
            let mut best = f64::INFINITY;
            for mask in 0u32..1 << (times.len() - 1) {
                if mask.count_ones() as usize == stages - 1 {
                    let more = (1..times.len()).filter(|i| mask >> (i - 1) & 1 == 1);
                    best = best.min(longest(&std::iter::once(0).chain(more).collect::<Vec<_>>()));
                }
            }
            prop_assert!((found - best).abs() < 1e-9);
        }
    }
}
