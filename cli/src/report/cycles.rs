//! What a report says of cycles in sentences: the total on each core, and what bounds a row.

use std::ops::Range;

use dmdprof_runtime::cycles::{CAUSES, Cause};

use crate::{
    profile::model::{CycleCore, CycleCounts, MeasuredCycles},
    shared::human,
};

/// Below this part of a row's cycles, no cause alone bounds it.
const BOUNDS: f64 = 0.4;

/// The cause of most cycles, and its part of them; nothing without cycles.
#[must_use]
pub fn bound(counts: &CycleCounts) -> Option<(Cause, f64)> {
    let all = counts.total();
    let [most, ..] = by_cycles(counts);
    (all > 0).then(|| (most, counts.cycles[most as usize] as f64 / all as f64))
}

/// All causes, that of most cycles first.
fn by_cycles(counts: &CycleCounts) -> [Cause; CAUSES] {
    let mut causes = Cause::ALL;
    causes.sort_by_key(|cause| std::cmp::Reverse(counts.cycles[*cause as usize]));
    causes
}

/// The cause of most cycles with its share, as a column has it.
#[must_use]
pub fn bound_in_short(counts: &CycleCounts) -> String {
    bound(counts).map_or_else(String::new, |(cause, part)| format!("{} {:.0}%", cause.word(), part * 100.0))
}

/// What bounds a row, in a sentence.
#[must_use]
pub fn bounds(name: &str, counts: &CycleCounts) -> Option<String> {
    let (cause, part) = bound(counts)?;
    let share = human::share(part);
    if part >= BOUNDS {
        return Some(format!("{name} {}: {share} of its cycles", cause.clause()));
    }
    let parts = by_cycles(counts).into_iter().take(3).map(|cause| {
        let cycles = counts.cycles[cause as usize];
        format!("{} {}", cause.word(), human::percent(cycles.into(), counts.total().into()))
    });
    Some(format!("nothing alone bounds {name}: {}", parts.collect::<Vec<_>>().join(", ")))
}

/// Below this part of its cycles a cause is not told.
const TOLD: f64 = 0.05;
/// Below this part of its cycles waiting for what moves, a row would not be faster if less was moved.
const MOVED: f64 = 0.1;

/// Causes of at least a twentieth of the cycles, the largest first, three at most, in clauses with the share of each.
#[must_use]
pub fn causes(counts: &CycleCounts) -> String {
    largest(counts, 0..3, |cause, share| format!("{share} {}", cause.clause()))
}

/// The causes that come after that of most cycles, as a column has them.
#[must_use]
pub fn others_in_short(counts: &CycleCounts) -> String {
    largest(counts, 1..3, |cause, share| format!("{} {share}", cause.word()))
}

/// Causes of at least a twentieth of the cycles, the largest first, three at most, as a column has them.
#[must_use]
pub fn causes_in_short(counts: &CycleCounts) -> String {
    largest(counts, 0..3, |cause, share| format!("{} {share}", cause.word()))
}

fn largest(counts: &CycleCounts, which: Range<usize>, word: impl Fn(Cause, String) -> String) -> String {
    let all = counts.total().max(1);
    let part = |cause: Cause| counts.cycles[cause as usize] as f64 / all as f64;
    let told = by_cycles(counts).into_iter().filter(|cause| part(*cause) >= TOLD);
    let words = told.take(which.end).skip(which.start).map(|cause| word(cause, human::share(part(cause))));
    words.collect::<Vec<_>>().join(", ")
}

/// Cycles that pass for what is moved.
fn waits_for_lines(counts: &CycleCounts) -> u64 {
    let moved = [Cause::L2, Cause::L3, Cause::Memory, Cause::Bandwidth, Cause::Pages, Cause::Fault];
    moved.iter().map(|cause| counts.cycles[*cause as usize]).sum()
}

/// The cause that bounds a row whose cycles hardly pass for what is moved (lines, translations, first touches). Nothing
/// where moving less would make it faster, and of what took no cycles.
#[must_use]
pub fn gains_nothing(counts: &CycleCounts) -> Option<Cause> {
    let (all, waited) = (counts.total(), waits_for_lines(counts));
    let (most, _) = bound(counts)?;
    ((waited as f64) < MOVED * all as f64).then_some(most)
}

/// What bounds such a row, with what helps against it.
#[must_use]
pub fn bound_by(cause: Cause) -> &'static str {
    match cause {
        Cause::Branch => "branches",
        Cause::Dependence => {
            "chains of dependent operations (those of steps of another loop, or of several sums, do not wait for one \
             another)"
        }
        Cause::L1 => "the latency of the first level",
        Cause::Forwarding => "loads of what was just stored",
        _ => "what the core can do at a time",
    }
}

/// All cycles of the run, on the core that was asked for.
#[must_use]
pub fn total(cycles: &MeasuredCycles, all: &CycleCounts) -> Option<String> {
    let core = cycles.cores.first()?;
    let mut text = format!("cycles {}", marked(core, all.total()));
    if core.error > 0 {
        text.push_str(&format!(" +-{}", human::percent(core.error.into(), core.cycles.into())));
    }
    text.push_str(&format!(" on {}{}", core.name, duration_on(core)));
    if all.total() > 0 {
        let each = all.instructions as f64 / all.total() as f64;
        text.push_str(&format!(", {} instructions per cycle", human::ratio(each)));
    }
    if cycles.is_twin {
        text.push_str(", of the program without hooks");
    }
    Some(text)
}

/// Cycles of a core, marked where figures that its file does not have were taken from others.
fn marked(core: &CycleCore, cycles: u64) -> String {
    format!("{}{}", if core.is_estimated { "~" } else { "" }, human::count(cycles.into()))
}

/// How long they take.
fn duration_on(core: &CycleCore) -> String {
    match core.frequency {
        0 => String::new(),
        mhz => format!(" ({} at {} GHz)", human::seconds(core.cycles as f64 / (mhz as f64 * 1e6)), mhz as f64 / 1000.0),
    }
}

/// On other cores: their cycles.
#[must_use]
pub fn others(cycles: &MeasuredCycles) -> Option<String> {
    let others = cycles.cores.get(1..).filter(|others| !others.is_empty())?;
    let one = |core: &CycleCore| format!("{} on {}{}", marked(core, core.cycles), core.name, duration_on(core));
    Some(others.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// Instructions that are not known, if there are some.
#[must_use]
pub fn unknown(cycles: &MeasuredCycles) -> Option<String> {
    let times: u64 = cycles.unknown.iter().map(|(_, times)| times).sum();
    let (bytes, _) = cycles.unknown.iter().max_by_key(|(_, times)| times)?;
    (times > 0).then(|| {
        format!(
            "{} instructions are not known and count as simple ones, most often {bytes}",
            human::count(times.into())
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cycles: &[(Cause, u64)]) -> CycleCounts {
        let mut counts = CycleCounts { instructions: 300, ..CycleCounts::default() };
        cycles.iter().for_each(|(cause, n)| counts.cycles[*cause as usize] = *n);
        counts
    }

    #[test]
    fn what_bounds_a_row_is_said_if_it_is_one_thing() {
        let branches = counts(&[(Cause::Branch, 70), (Cause::Base, 30)]);
        assert_eq!(bound_in_short(&branches), "branch 70%");
        assert_eq!(bounds("f", &branches).unwrap(), "f waits for mispredicted branches: 70.0% of its cycles");
        let mixed = counts(&[(Cause::Base, 30), (Cause::L2, 30), (Cause::Memory, 20), (Cause::Pages, 20)]);
        assert_eq!(bounds("f", &mixed).unwrap(), "nothing alone bounds f: base 30.0%, l2 30.0%, memory 20.0%");
        assert_eq!((bounds("f", &counts(&[])), bound_in_short(&counts(&[]))), (None, String::new()));
    }

    #[test]
    fn causes_are_told_with_their_shares_and_moving_less_only_helps_what_moves() {
        let far = counts(&[(Cause::L2, 68), (Cause::Dependence, 20), (Cause::Base, 8), (Cause::L1, 4)]);
        let said = "68.0% waits for lines from the second level, 20.0% waits for chains of dependent operations, \
                    8.0% does as many operations at a time as the core can";
        assert_eq!((causes(&far).as_str(), gains_nothing(&far)), (said, None));
        let of = |cause, moved| gains_nothing(&counts(&[(cause, 100 - moved), (Cause::Memory, moved)]));
        assert_eq!((of(Cause::Branch, 9), of(Cause::Branch, 10)), (Some(Cause::Branch), None));
        assert_eq!(of(Cause::Dependence, 0), Some(Cause::Dependence));
        assert_eq!((gains_nothing(&counts(&[])), causes(&counts(&[]))), (None, String::new()));
    }

    #[test]
    fn totals_say_the_core_and_how_sure_they_are() {
        let core = |name: &str, cycles| CycleCore {
            name: name.into(),
            frequency: 2000,
            cycles,
            error: cycles / 80,
            ..CycleCore::default()
        };
        let cycles = MeasuredCycles { cores: vec![core("a", 100), core("b", 4_000_000)], ..MeasuredCycles::default() };
        let said = total(&cycles, &counts(&[(Cause::Base, 100)])).unwrap();
        assert_eq!(said, "cycles 100 +-1.0% on a (50.0 ns at 2 GHz), 3.00 instructions per cycle");
        assert_eq!(others(&cycles).unwrap(), "4.000M on b (2.00 ms at 2 GHz)");
    }
}
