//! Balance: whether a machine's memory keeps up with its arithmetic on a given program, and what stands in the way.
//!
//! Takes a machine's cores, peak, latency and bandwidth and a program's work, span and traffic; gives both times, the
//! four factors of the balance condition, the largest obstacle, and the numbers of cores at which span and memory begin
//! to bind. Refuses rates that are not positive, counts that are negative, and a span above the work. Without work
//! there is no answer.
//!
//! Source: Czechowski, Battaglino, McClanahan, Chandramowlishwaran, Vuduc, "Balance principles for
//! algorithm-architecture co-design", HotPar 2011; equation numbers are the paper's. The paper counts memory in words;
//! here it is bytes, except in [`matmul_intensity`] and [`sorting_intensity`], which are theorems about words. (The
//! paper itself compares a machine balance in op/byte with a right-hand side in words; compare [`Balance::machine`]
//! times the word size with those two.)
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | p, C0 | cores, rate of one of them | 1, op/s |
//! | alpha, beta | latency and bandwidth of slow memory | s, B/s |
//! | W, D | work, span (the paper's depth) | op |
//! | Q | traffic between fast and slow memory (the paper's Q L) | B |
//!
//! * (1) `T_comp = (D + W/p) / C0`
//! * (2) `T_mem = alpha D + Q / beta`
//! * (3) balanced if and only if `(p C0 / beta) (1 + alpha beta D / Q) <= (W / Q) (1 + p D / W)`, which is
//!   `T_mem <= T_comp`
//! * (4) Kung's condition: `p C0 / beta <= W / Q`
//! * (5) matrix multiplication: `p C0 / beta <= sqrt(Z / p)`, per word
//! * (6) sorting, FFT: `p C0 / beta <= log2(Z / p)`, per word
//!
//! The largest obstacle is the term whose removal shortens the larger of both times most. That is always the larger
//! term of the larger time, so this is how it is found; `T_comp` counts as the larger of equal times, and the first of
//! equal terms in the order of [`Obstacle`] is named.
//!
//! Edge cases: without traffic the intensity and, unless alpha is 0, the Little factor are infinite, and both sides of
//! (3) with them; `balanced` is therefore decided by the times. Span 0 or work 0 is "no work".

use crate::error::{InputError, at_least, at_most, not_negative, positive};

/// What balance needs to know of a machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// p.
    pub cores: f64,
    /// p C0, operations per second of all cores.
    pub peak: f64,
    /// alpha, seconds.
    pub latency: f64,
    /// beta, bytes per second.
    pub bandwidth: f64,
}

impl Machine {
    /// Little's law: bytes that must be in flight to use the bandwidth in spite of the latency, `alpha beta`. Divide by
    /// the bytes of a transfer for the number of transfers.
    #[must_use]
    pub fn bytes_in_flight(&self) -> f64 {
        self.latency * self.bandwidth
    }
}

/// What balance needs to know of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// W, operations.
    pub work: f64,
    /// D, operations on a longest chain.
    pub span: f64,
    /// Q, bytes between slow memory and a fast memory of the machine's size.
    pub traffic: f64,
}

/// The term of a time that stands most in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// `W / (p C0)`: the machine computes as fast as it can. Machine balance is below the intensity, the other factors
    /// small.
    Peak,
    /// `D / C0`: the Amdahl factor; too little parallelism for so many cores.
    Span,
    /// `Q / beta`: the intensity is below the machine balance; too much traffic for this bandwidth.
    Traffic,
    /// `alpha D`: the Little factor; too few bytes per step of the longest chain to hide the latency.
    Latency,
}

/// A program on a machine. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Balance {
    /// T_comp, (1).
    pub compute: f64,
    /// T_mem, (2).
    pub memory: f64,
    /// Machine balance `p C0 / beta`, op/B.
    pub machine: f64,
    /// `W / Q`, op/B; infinite without traffic.
    pub intensity: f64,
    /// Little factor `alpha beta D / Q`; infinite if there is latency but no traffic.
    pub little: f64,
    /// Amdahl factor `p D / W`.
    pub amdahl: f64,
    /// Left-hand side of (3), op/B.
    pub left: f64,
    /// Right-hand side of (3), op/B.
    pub right: f64,
    /// (3), decided by `T_mem <= T_comp`.
    pub balanced: bool,
    /// (4), without latency and span.
    pub kung: bool,
    /// What is in the way of balance, if anything is.
    pub obstacle: Obstacle,
    /// `W / D`: with more cores than this, the span takes longer than each core's share of the work.
    pub cores_until_span: f64,
    /// Cores of the same rate at which `T_comp` has fallen to `T_mem`, traffic being the same: `W / (C0 T_mem - D)`.
    /// Below 1 if one core is enough to wait for memory; `None` if memory binds with no number of cores, because the
    /// span alone takes as long.
    pub cores_until_memory: Option<f64>,
}

/// Balance of a program on a machine; `None` if there is no work.
///
/// # Errors
///
/// If cores, peak or bandwidth are not positive, latency or a count is negative, or the span is above the work.
pub fn balance(machine: &Machine, demand: &Demand) -> Result<Option<Balance>, InputError> {
    check(machine)?;
    let work = not_negative("work", demand.work)?;
    let span = at_most("span (in view of the work)", work, not_negative("span", demand.span)?)?;
    let traffic = not_negative("traffic", demand.traffic)?;
    if span == 0.0 {
        return Ok(None);
    }
    let core_rate = machine.peak / machine.cores;
    let terms = Terms {
        peak: work / machine.peak,
        span: span / core_rate,
        traffic: traffic / machine.bandwidth,
        latency: machine.latency * span,
    };
    let (compute, memory) = (terms.peak + terms.span, terms.traffic + terms.latency);
    let (balance, intensity) = (machine.peak / machine.bandwidth, work / traffic);
    let little = if machine.latency == 0.0 { 0.0 } else { machine.bytes_in_flight() * span / traffic };
    let amdahl = machine.cores * span / work;
    Ok(Some(Balance {
        compute,
        memory,
        machine: balance,
        intensity,
        little,
        amdahl,
        left: balance * (1.0 + little),
        right: intensity * (1.0 + amdahl),
        balanced: memory <= compute,
        kung: balance <= intensity,
        obstacle: terms.largest_obstacle(),
        cores_until_span: work / span,
        cores_until_memory: cores_until_memory(work, span, core_rate * memory),
    }))
}

/// What can be said of a program whose longest chain is not known. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WithoutSpan {
    /// `W / (p C0)`, a lower bound of T_comp.
    pub compute: f64,
    /// `Q / beta`, a lower bound of T_mem.
    pub memory: f64,
    /// Machine balance, op/B.
    pub machine: f64,
    /// `W / Q`, op/B; infinite without traffic.
    pub intensity: f64,
    /// Kung's condition, (4).
    pub balanced: bool,
    /// [`Obstacle::Peak`] or [`Obstacle::Traffic`].
    pub obstacle: Obstacle,
    /// Cores of the same rate whose compute takes as long as the traffic; infinite without traffic.
    pub cores_until_memory: f64,
}

/// Kung's condition (4): latency and the longest chain left out.
///
/// # Errors
///
/// If cores, peak or bandwidth are not positive, the work is not positive, or the traffic is negative.
pub fn without_span(machine: &Machine, work: f64, traffic: f64) -> Result<WithoutSpan, InputError> {
    check(machine)?;
    let (work, traffic) = (positive("work", work)?, not_negative("traffic", traffic)?);
    let (compute, memory) = (work / machine.peak, traffic / machine.bandwidth);
    let balanced = memory <= compute;
    Ok(WithoutSpan {
        compute,
        memory,
        machine: machine.peak / machine.bandwidth,
        intensity: work / traffic,
        balanced,
        obstacle: if balanced { Obstacle::Peak } else { Obstacle::Traffic },
        cores_until_memory: machine.cores * compute / memory,
    })
}

fn check(machine: &Machine) -> Result<(), InputError> {
    positive("cores", machine.cores)?;
    positive("peak", machine.peak)?;
    positive("bandwidth", machine.bandwidth)?;
    not_negative("latency", machine.latency)?;
    Ok(())
}

/// `ops_during_memory` is what one core could compute while memory works, C0 T_mem.
fn cores_until_memory(work: f64, span: f64, ops_during_memory: f64) -> Option<f64> {
    (ops_during_memory > span).then(|| work / (ops_during_memory - span))
}

/// The terms of (1) and (2), seconds.
struct Terms {
    peak: f64,
    span: f64,
    traffic: f64,
    latency: f64,
}

impl Terms {
    fn largest_obstacle(&self) -> Obstacle {
        if self.traffic + self.latency <= self.peak + self.span {
            if self.span <= self.peak { Obstacle::Peak } else { Obstacle::Span }
        } else if self.latency <= self.traffic {
            Obstacle::Traffic
        } else {
            Obstacle::Latency
        }
    }
}

/// Idling against working, by the paper's remark on power.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Idling {
    /// `T_mem / T_comp`.
    pub times: f64,
    /// `P_max / P_idle`; infinite if idling costs nothing.
    pub powers: f64,
    /// Whether waiting for memory costs more energy than computing: `T_mem / T_comp > P_max / P_idle`.
    pub dominates: bool,
}

impl Balance {
    /// Compares waiting with computing, given the machine's power at full load and when idle, watts.
    ///
    /// # Errors
    ///
    /// If the full power is not positive, or the idle one is negative or above it.
    pub fn idling(&self, full: f64, idle: f64) -> Result<Idling, InputError> {
        positive("full power", full)?;
        at_most("idle power", full, not_negative("idle power", idle)?)?;
        let (times, powers) = (self.memory / self.compute, full / idle);
        Ok(Idling { times, powers, dominates: times > powers })
    }
}

/// Right-hand side of (5): the intensity of the best matrix multiplication on `cores` cores that share a fast memory of
/// `words` words, `sqrt(Z / p)` operations per word.
///
/// # Errors
///
/// If there are no cores, or less than one word for each.
pub fn matmul_intensity(words: f64, cores: f64) -> Result<f64, InputError> {
    Ok(share(words, cores)?.sqrt())
}

/// Right-hand side of (6): the intensity of the best sorting or FFT, `log2(Z / p)` operations per word, for
/// `W = n log2 n` and constant 1.
///
/// # Errors
///
/// If there are no cores, or less than one word for each.
pub fn sorting_intensity(words: f64, cores: f64) -> Result<f64, InputError> {
    Ok(share(words, cores)?.log2())
}

fn share(words: f64, cores: f64) -> Result<f64, InputError> {
    at_least("words of fast memory per core", 1.0, positive("fast memory", words)? / positive("cores", cores)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{FORMULA, close_to, prints};
    use proptest::prelude::*;

    /// Bytes.
    const WORD: f64 = 4.0;
    const FERMI: Machine = Machine { cores: 448.0, peak: 1.03e12, latency: 347.8e-9, bandwidth: 144e9 };
    const FERMI_WORDS: f64 = 675_000.0;

    fn matmul(n: f64, span: f64) -> Demand {
        let work = 2.0 * n * n * n;
        Demand { work, span, traffic: WORD * work / (FERMI_WORDS / FERMI.cores).sqrt() }
    }

    fn words(work: f64, span: f64, words: f64) -> Demand {
        Demand { work, span, traffic: WORD * words }
    }

    fn on_fermi(demand: Demand) -> Balance {
        balance(&FERMI, &demand).unwrap().unwrap()
    }

    #[test]
    fn without_the_span_kungs_condition_is_left() {
        let triad = without_span(&FERMI, 2e6, 12e6).unwrap();
        close_to(triad.machine, 1.03e12 / 144e9, FORMULA);
        assert_eq!((triad.balanced, triad.obstacle), (false, Obstacle::Traffic));
        close_to(triad.cores_until_memory, 448.0 * (2e6 / 1.03e12) / (12e6 / 144e9), FORMULA);
        let no_traffic = without_span(&FERMI, 1.0, 0.0).unwrap();
        assert_eq!((no_traffic.balanced, no_traffic.cores_until_memory), (true, f64::INFINITY));
        assert_eq!(without_span(&FERMI, 0.0, 1.0).unwrap_err().to_string(), "work must be positive, is 0");
    }

    #[test]
    fn published_programs_on_a_published_machine() {
        // T_comp, T_mem, W/QL, Little, Amdahl, left, right; op/word.
        let golden = [
            (
                matmul(1024.0, 11.0),
                [0.00208494037, 0.00154061566, 38.816188, 0.002489475, 2.2947788e-06, 28.682338, 38.816277],
                true,
                Obstacle::Peak,
            ),
            (
                matmul(4096.0, 13.0),
                [0.133435883, 0.0983590722, 38.816188, 4.597042e-05, 4.2375177e-08, 28.612426, 38.816189],
                true,
                Obstacle::Peak,
            ),
            (
                words(2e6, 2.0, 3e6),
                [1.94261748e-06, 8.40289333e-05, 0.66666667, 0.0083472, 0.000448, 28.849934, 0.66696533],
                false,
                Obstacle::Traffic,
            ),
            (
                words(1e6, 1e6, 1e5),
                [0.00043592233, 0.347802778, 10.0, 125208.0, 448.0, 3582368.6, 4490.0],
                false,
                Obstacle::Latency,
            ),
            (
                words(999_999.0, 20.0, 1e6),
                [9.79571845e-07, 3.47337778e-05, 0.999999, 0.250416, 0.008960009, 35.775791, 1.008959],
                false,
                Obstacle::Traffic,
            ),
        ];
        for (demand, [compute, memory, intensity, little, amdahl, left, right], balanced, obstacle) in golden {
            let found = on_fermi(demand);
            // The last digit printed is the eighth or ninth, the seventh in two columns.
            close_to(found.compute, compute, 5e-9);
            close_to(found.memory, memory, 5e-9);
            close_to(found.machine * WORD, 28.611111, 5e-9);
            close_to(found.intensity * WORD, intensity, 2e-8);
            close_to(found.little, little, 2e-7);
            close_to(found.amdahl, amdahl, 6e-8);
            close_to(found.left * WORD, left, 2e-8);
            close_to(found.right * WORD, right, 5e-7);
            assert_eq!((found.balanced, found.obstacle), (balanced, obstacle));
            assert_eq!(found.kung, balanced);
        }
    }

    #[test]
    fn published_figures_of_the_machine() {
        close_to(FERMI.bytes_in_flight(), 50083.2, FORMULA);
        close_to(FERMI.bytes_in_flight() / 128.0, 391.275, FORMULA);
        close_to(FERMI_WORDS / FERMI.cores, 1506.696429, 1e-9);
        prints(matmul_intensity(FERMI_WORDS, FERMI.cores).unwrap(), 38.816188, 6);
        prints(matmul_intensity(2.67e6 / WORD, FERMI.cores).unwrap(), 38.6, 1);
        prints(matmul_intensity(14.0 * 192.0 * 1024.0 / WORD, FERMI.cores).unwrap(), 39.19, 2);
        close_to(sorting_intensity(1024.0 * 448.0, FERMI.cores).unwrap(), 10.0, FORMULA);
    }

    #[test]
    fn later_machines_against_the_matmul_condition() {
        // Peak, bandwidth, processors, KiB per processor, cores; op/B, op/word, sqrt(Z/p).
        let machines = [
            (15.7e12, 900e9, 80.0, 384.0, 5120.0, [17.44, 69.78, 39.19]),
            (19.5e12, 2039e9, 108.0, 448.0, 6912.0, [9.56, 38.25, 42.33]),
            (67e12, 3.35e12, 132.0, 484.0, 16896.0, [20.00, 80.00, 31.11]),
        ];
        for (peak, bandwidth, processors, kib, cores, [per_byte, per_word, limit]) in machines {
            let machine = Machine { cores, peak, latency: 0.0, bandwidth };
            let found = balance(&machine, &words(1e9, 1.0, 1e6)).unwrap().unwrap();
            prints(found.machine, per_byte, 2);
            prints(found.machine * WORD, per_word, 2);
            prints(matmul_intensity(processors * kib * 1024.0 / WORD, cores).unwrap(), limit, 2);
        }
    }

    #[test]
    fn a_long_chain_on_fast_memory_is_held_up_by_its_span() {
        let quick = Machine { latency: 0.0, ..FERMI };
        let chain = balance(&quick, &words(1e6, 1e6, 1e5)).unwrap().unwrap();
        assert_eq!((chain.balanced, chain.obstacle), (true, Obstacle::Span));
        assert_eq!((chain.cores_until_span, chain.cores_until_memory), (1.0, None));
    }

    #[test]
    fn cores_at_which_memory_and_span_begin_to_bind() {
        let found = on_fermi(matmul(1024.0, 11.0));
        close_to(found.cores_until_span, 2.0 * 1024f64.powi(3) / 11.0, FORMULA);
        let cores = found.cores_until_memory.unwrap();
        let grown = Machine { cores, peak: FERMI.peak / FERMI.cores * cores, ..FERMI };
        let there = balance(&grown, &matmul(1024.0, 11.0)).unwrap().unwrap();
        close_to(there.compute, there.memory, FORMULA);
        assert!(cores > FERMI.cores);
    }

    #[test]
    fn without_traffic_only_latency_is_in_the_way() {
        let hidden = on_fermi(Demand { work: 1e12, span: 10.0, traffic: 0.0 });
        assert_eq!((hidden.intensity, hidden.little), (f64::INFINITY, f64::INFINITY));
        assert!(hidden.balanced);
        let chain = on_fermi(Demand { work: 1e6, span: 1e6, traffic: 0.0 });
        assert_eq!((chain.balanced, chain.obstacle), (false, Obstacle::Latency));
        let quick = Machine { latency: 0.0, ..FERMI };
        let free = balance(&quick, &Demand { work: 10.0, span: 1.0, traffic: 0.0 }).unwrap().unwrap();
        assert_eq!((free.little, free.memory, free.balanced), (0.0, 0.0, true));
        assert_eq!(free.left, free.machine);
    }

    #[test]
    fn no_work_is_no_answer_and_not_an_error() {
        assert_eq!(balance(&FERMI, &words(0.0, 0.0, 100.0)).unwrap(), None);
        assert_eq!(balance(&FERMI, &words(5.0, 0.0, 100.0)).unwrap(), None);
    }

    #[test]
    fn idling_dominates_once_memory_takes_long_enough() {
        let triad = on_fermi(words(2e6, 2.0, 3e6));
        assert!(triad.idling(240.0, 60.0).unwrap().dominates);
        let matmul = on_fermi(matmul(1024.0, 11.0)).idling(240.0, 60.0).unwrap();
        assert_eq!((matmul.powers, matmul.dominates), (4.0, false));
        close_to(matmul.times, 0.00154061566 / 0.00208494037, 5e-9);
        assert!(!triad.idling(240.0, 0.0).unwrap().dominates);
    }

    #[test]
    fn impossible_figures_are_named() {
        let refused = |machine, demand| balance(&machine, &demand).unwrap_err().to_string();
        let some = words(10.0, 1.0, 1.0);
        assert_eq!(refused(Machine { cores: 0.0, ..FERMI }, some), "cores must be positive, is 0");
        assert_eq!(refused(Machine { latency: -1.0, ..FERMI }, some), "latency must not be negative, is -1");
        assert_eq!(refused(FERMI, words(10.0, 11.0, 1.0)), "span (in view of the work) must be at most 10, is 11");
        let error = matmul_intensity(100.0, 200.0).unwrap_err();
        assert_eq!(error.to_string(), "words of fast memory per core must be at least 1, is 0.5");
        let error = on_fermi(some).idling(100.0, 200.0).unwrap_err();
        assert_eq!(error.to_string(), "idle power must be at most 100, is 200");
    }

    /// T_comp and T_mem without one obstacle.
    fn larger_time_without(machine: &Machine, demand: &Demand, obstacle: Option<Obstacle>) -> f64 {
        let unless = |term: Obstacle, seconds: f64| if obstacle == Some(term) { 0.0 } else { seconds };
        let compute = unless(Obstacle::Peak, demand.work / machine.peak)
            + unless(Obstacle::Span, demand.span * machine.cores / machine.peak);
        let memory = unless(Obstacle::Traffic, demand.traffic / machine.bandwidth)
            + unless(Obstacle::Latency, machine.latency * demand.span);
        compute.max(memory)
    }

    fn machines() -> impl Strategy<Value = Machine> {
        (1.0..1e4f64, 1e9..1e14f64, 0.0..1e-6f64, 1e9..1e13f64).prop_map(|(cores, peak, latency, bandwidth)| Machine {
            cores,
            peak,
            latency,
            bandwidth,
        })
    }

    fn demands() -> impl Strategy<Value = Demand> {
        (0.0..40f64, 0.0..1f64, 0.0..40f64).prop_map(|(work, span, traffic)| {
            let work = work.exp2();
            Demand { work, span: work.powf(span), traffic: traffic.exp2() }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_condition_is_memory_not_slower_than_compute(machine in machines(), demand in demands()) {
            let found = balance(&machine, &demand).unwrap().unwrap();
            // Both say the same up to rounding.
            prop_assume!((found.left / found.right - 1.0).abs() > 1e-12);
            prop_assert_eq!(found.left <= found.right, found.memory <= found.compute);
        }

        #[test]
        fn no_other_removal_shortens_the_larger_time_more(machine in machines(), demand in demands()) {
            let found = balance(&machine, &demand).unwrap().unwrap();
            let best = larger_time_without(&machine, &demand, Some(found.obstacle));
            let all = larger_time_without(&machine, &demand, None);
            for other in [Obstacle::Peak, Obstacle::Span, Obstacle::Traffic, Obstacle::Latency] {
                prop_assert!(best <= larger_time_without(&machine, &demand, Some(other)) + 1e-12 * all);
            }
        }
    }
}
