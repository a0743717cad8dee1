//! The numbers of a core that can be measured: its frequency, what a mispredicted branch costs, the latencies of its
//! levels and how fast they give lines, how much of the last level there is for one program, and what the system takes
//! for a page's first use.
//!
//! Takes the times of chains of loads through more and more lines; gives numbers in cycles, each with how it came
//! about. What a chain takes beyond the reach of a level is between the latencies of two levels, by how many of its
//! loads the nearer one has: a last level that others use too is as large as that says, and not as the system does.

use std::collections::BTreeMap;

use super::bench::Results;
use super::kernels::LINE;
use super::samples::{SPREAD_LIMIT, Samples};
use crate::machine::model::Figure;

/// A chain of loads: its bytes, and seconds per load.
type Chain<'a> = (u64, &'a Samples);

/// Cycles of a load of a chain in which its address is made of what the one before gave.
const INDEX: f64 = 1.0;

/// Cycles that a branch of the loop waits for the number that it goes by, once the instructions behind the branch
/// before it are there.
const NUMBER: f64 = 4.0;

/// Bytes beyond which chains wait for the translation of addresses too.
const REACH: u64 = 8 << 20;

/// Part of the latency of the farthest chain from which a chain goes to memory, and not to a part of the last level.
const OF_MEMORY: f64 = 0.7;

/// By the names of `[core]`, for caches of these sizes as the system says them; whether one thread ran.
pub fn numbers(results: &Results, caches: &[u64], is_alone: bool) -> BTreeMap<&'static str, Figure> {
    let cycle = results.cycle();
    let chains: Vec<Chain> = results.chains().collect();
    let is_doubtful = cycle.spread() > SPREAD_LIMIT;
    let of = |samples: &Samples, value: f64, how: &str| samples.figure(value.round().max(1.0), is_doubtful, how);
    let cycles = |seconds: f64| seconds / cycle.median();
    let latency = |seconds: f64| cycles(seconds) - INDEX;
    let through = |bytes: u64| format!("chain of loads through {} KiB", bytes >> 10);
    let mut all = BTreeMap::from([("frequency", of(cycle, 1e-6 / cycle.median(), "chain of additions"))]);
    let fault = results.first_touch();
    all.insert("page_fault", of(fault, cycles(fault.median()), "first touches of pages in order"));
    let [known, drawn] = results.branches();
    let refill = 2.0 * cycles(drawn.median() - known.median()) - NUMBER;
    all.insert("refill", of(drawn, refill, "branches that go by half of all bits, without those that are known"));
    // Whose lines come at which rate: the system's sizes say what is read of which level.
    let gaps = (1..=caches.len()).zip(["l2_gap", "l3_gap", "memory_gap"]);
    for (level, name) in gaps.filter(|_| is_alone && caches.len() == 3) {
        if level == caches.len() || !results.is_not_faster(level) {
            let samples = results.read(level);
            all.insert(name, of(samples, cycles(LINE as f64 / samples.median()), "loads in order, per line"));
        }
    }
    let [first, second, .., last] = *caches else { return all };
    let within = |bytes: u64| chains.iter().rfind(|(size, _)| *size <= bytes);
    // The second level by few pages, so that nothing waits for their translation.
    for (name, bytes) in [("l1", first / 2), ("l2", (first * 4).min(second / 2))] {
        if let Some((bytes, samples)) = within(bytes) {
            all.insert(name, of(samples, latency(samples.median()), &through(*bytes)));
        }
    }
    let Some((_, near)) = within(second / 2) else { return all };
    let pages = results.pages();
    let walk = cycles(pages.median() - near.median());
    all.insert("walk", of(pages, walk, "chain of loads, a page each, without the load"));
    let Some(far) = memory(&chains, last) else { return all };
    all.insert("memory", of(far.1, latency(far.1.median()), &through(far.0)));
    // A level that is not faster than the memory is none: what the second one does not hold comes from memory.
    let what = "chains of loads beyond the second level take as long as those to memory";
    let none = (far.1.median(), second as f64 / 1024.0, far.1, what);
    let (seconds, kib, samples, what) = last_level(&chains, second, near.median(), far).unwrap_or(none);
    all.insert("l3", of(samples, latency(seconds), what));
    all.insert("l3_kib", of(samples, kib, what));
    all
}

/// The chain that is sure to go to memory, and if possible does not wait for address translation.
fn memory<'a>(chains: &[Chain<'a>], last: u64) -> Option<Chain<'a>> {
    let farthest = chains.last()?.1.median();
    let early = chains.iter().find(|(bytes, samples)| *bytes >= REACH && samples.median() > OF_MEMORY * farthest);
    let by_size = chains.iter().find(|(bytes, _)| *bytes >= 4 * last);
    early.filter(|(bytes, _)| *bytes < 4 * last).or(by_size).or(chains.last()).copied()
}

/// Latency in seconds and KiB of the last level, by the first chains that do not fit the second, and how that was
/// found.
fn last_level<'a>(
    chains: &[Chain<'a>],
    second: u64,
    near: f64,
    (_, far): Chain<'a>,
) -> Option<(f64, f64, &'a Samples, &'static str)> {
    let far = far.median();
    let beyond: Vec<&Chain> = chains.iter().filter(|(bytes, _)| *bytes >= 2 * second).collect();
    let (_, first) = beyond.first()?;
    // A chain comes to each line once in a round: what was used longest ago has left by then.
    let latency = first.median().max(near * 1.5);
    // A level that is not faster than the next is not one.
    (latency < 0.8 * far).then_some(())?;
    let held = |(bytes, samples): &&Chain| *bytes as f64 * ((far - samples.median()) / (far - latency)).clamp(0.0, 1.0);
    let kib = beyond.iter().map(held).fold(0.0, f64::max) / 1024.0;
    let what = "chains of loads that the last level has a part of";
    Some((latency, kib.max(second as f64 / 1024.0), first, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(cycles: &[(u64, f64)]) -> Vec<(u64, Samples)> {
        cycles.iter().map(|(kib, cycles)| (kib << 10, Samples::from_values(vec![*cycles]).expect("one"))).collect()
    }

    fn chains(measured: &[(u64, Samples)]) -> Vec<Chain<'_>> {
        measured.iter().map(|(bytes, samples)| (*bytes, samples)).collect()
    }

    #[test]
    fn a_shared_last_level_is_as_large_as_it_is_measured() {
        let measured = samples(&[(512, 14.0), (2048, 40.0), (4096, 300.0), (8192, 420.0), (131_072, 500.0)]);
        let chains = chains(&measured);
        let far = memory(&chains, 32 << 20).expect("there is one");
        assert_eq!(far.0, 8 << 20);
        let (latency, kib, ..) = last_level(&chains, 1 << 20, 14.0, far).expect("there is one");
        assert!((latency - 40.0).abs() < 0.1 && (1300.0..2100.0).contains(&kib), "{latency} {kib}");
    }

    #[test]
    fn a_chain_that_the_last_level_has_a_part_of_does_not_tell_the_memorys_latency() {
        let measured =
            samples(&[(512, 14.0), (4096, 57.0), (8192, 303.0), (16_384, 460.0), (32_768, 510.0), (131_072, 542.0)]);
        assert_eq!(memory(&chains(&measured), 32 << 20).expect("there is one").0, 16 << 20);
    }

    #[test]
    fn one_that_is_its_own_has_its_size_and_one_that_is_no_faster_is_none() {
        let measured = samples(&[(512, 14.0), (2048, 33.0), (8192, 50.0), (32_768, 55.0), (131_072, 350.0)]);
        let own = chains(&measured);
        let far = memory(&own, 32 << 20).expect("there is one");
        assert_eq!(far.0, 128 << 20);
        let (_, kib, ..) = last_level(&own, 1 << 20, 14.0, far).expect("there is one");
        assert!((30_000.0..33_000.0).contains(&kib), "{kib}");
        let measured = samples(&[(512, 14.0), (2048, 280.0), (8192, 300.0), (131_072, 310.0)]);
        let flat = chains(&measured);
        assert!(last_level(&flat, 1 << 20, 14.0, memory(&flat, 32 << 20).expect("there is one")).is_none());
    }
}
