//! The certificate: are two profiles of one program the same, and if not, where do they part and why?
//!
//! Pure: profiles in, words out. Two runs at fixed addresses show time, random numbers and threads; a run at random
//! addresses shows control flow that depends on addresses.

use std::collections::{BTreeMap, BTreeSet};

use super::key::PathMap;
use crate::profile::Profile;
use crate::profile::file::to_bytes;
use crate::profile::model::{PositionId, SiteId, StringId};
use crate::shared::names::{self, is_library_file};

/// Three runs of one program.
pub struct Runs<'p> {
    /// At fixed addresses.
    pub first: &'p Profile,
    pub second: &'p Profile,
    /// At random addresses.
    pub elsewhere: &'p Profile,
}

/// What differs first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// Which function and line, and what differs there.
    pub place: String,
    pub cause: String,
    pub advice: String,
}

impl std::fmt::Display for Unlike {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "two runs differ, first in {}\n  cause: {}\n  {}", self.place, self.cause, self.advice)
    }
}

/// `None`: all are the same to the bit.
#[must_use]
pub fn difference(runs: &Runs<'_>, paths: &PathMap) -> Option<Unlike> {
    if to_bytes(runs.first) != to_bytes(runs.second) {
        let (cause, advice) = cause_of_chance(runs.first, runs.second);
        return Some(Unlike { place: place(runs.first, runs.second, paths), cause, advice });
    }
    let [first, elsewhere] = [runs.first, runs.elsewhere].map(without_places);
    (to_bytes(&first) != to_bytes(&elsewhere)).then(|| {
        let (cause, advice) = cause_elsewhere(&first, &elsewhere);
        Unlike { place: place(&first, &elsewhere, paths), cause, advice }
    })
}

/// What made the run at random addresses differ. Several threads share work by chance, which may have been alike in the
/// two runs before.
fn cause_elsewhere(first: &Profile, elsewhere: &Profile) -> (String, String) {
    let threads = first.coverage.threads.max(elsewhere.coverage.threads);
    if threads > 1 {
        let cause = format!(
            "threads, probably: there are {threads}, and how they share their work depends on the moment; that the two runs at fixed \
             addresses agree may be chance"
        );
        let advice = "use one thread for measurements, or give each thread its part of the work beforehand; if one thread differs too, \
                      look for pointers that are hashed, sorted or printed";
        return (cause, advice.into());
    }
    let cause = "control flow or data that depend on addresses: the runs agree when addresses are fixed and differ when they are random";
    let advice = "look there for pointers that are hashed, sorted or printed; numbers then change with the C library, the kernel and \
                  the environment, although not from run to run here";
    (cause.into(), advice.into())
}

/// Which lines variables lie in depends on where the stack begins, which is no matter of the program; and so do cycles
/// and hazards.
fn without_places(profile: &Profile) -> Profile {
    let mut profile = Profile { line_sizes: Vec::new(), cycles: None, hazards: Vec::new(), ..profile.clone() };
    profile.all_counts_mut().for_each(|counts| (counts.lines, counts.hazards) = (None, None));
    profile
}

/// Calls into code without hooks that can make two runs differ.
const TIME: [&str; 8] =
    ["time", "clock", "clock_gettime", "gettimeofday", "clock_getres", "times", "getrusage", "localtime"];
const CHANCE: [&str; 8] =
    ["getrandom", "getentropy", "arc4random", "random_device", "/dev/urandom", "rand_s", "getpid", "mkstemp"];

/// What made runs differ whose addresses were the same, as far as the profiles tell.
fn cause_of_chance(a: &Profile, b: &Profile) -> (String, String) {
    let called = |words: &[&str]| {
        let is = |name: &str| words.iter().any(|w| name == *w || (w.len() > 8 && name.contains(w)));
        let all = a.coverage.unseen_calls.iter().chain(&b.coverage.unseen_calls);
        all.map(|(symbol, _)| names::demangle(symbol)).find(|name| is(name))
    };
    let threads = a.coverage.threads.max(b.coverage.threads);
    let hashes = a.strings.iter().any(|s| s.contains("RandomState") || s.contains("SipHasher13"));
    let asked = a.meta.random.requests > 0 && !a.meta.random.fixed;
    let seed = asked.then(|| if hashes { "std::hash::RandomState" } else { "getrandom" }.to_owned());
    if let Some(name) = called(&CHANCE).or(seed) {
        let cause = format!("random numbers, probably the seed of a hash: the program uses {name}");
        let advice = "fix the seed for measurements: --deterministic of dmdprof run (DMDPROF_DETERMINISTIC=1 for a gate), an option of the \
                      program, or another hasher";
        return (cause, advice.into());
    }
    if threads > 1 {
        let cause = format!("threads: there are {threads}, and how they share their work depends on the moment");
        let advice = "use one thread for measurements, or give each thread its part of the work beforehand";
        return (cause, advice.into());
    }
    match called(&TIME) {
        Some(name) => (
            format!("time: the program calls {name}"),
            "replace loops that run for a time by loops of a count, and keep clocks out of what is measured".into(),
        ),
        None => (
            "something from outside: a file that the first run left behind, the time, random numbers".into(),
            "look at what the function reads; run the case in a fresh directory".into(),
        ),
    }
}

/// What was done at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Work {
    executions: u64,
    /// Read and written.
    bytes: u64,
    cost: u128,
}

/// The first place, from the outermost calls inwards, at which two profiles part.
fn place(a: &Profile, b: &Profile, paths: &PathMap) -> String {
    let (in_a, in_b) = (by_place(a, paths), by_place(b, paths));
    let keys: BTreeSet<&Spot> = in_a.keys().chain(in_b.keys()).collect();
    let work = |map: &BTreeMap<Spot, Work>, spot: &Spot| map.get(spot).copied().unwrap_or_default();
    let pairs = || keys.iter().map(|spot| (*spot, work(&in_a, spot), work(&in_b, spot)));
    // Other control flow comes before other data, and that before its consequences: other depths elsewhere.
    if let Some((spot, was, is)) = pairs().find(|(_, was, is)| was.executions != is.executions) {
        return format!("{}: {} executions, then {}", spot.text(), was.executions, is.executions);
    }
    if let Some((spot, was, is)) = pairs().find(|(_, was, is)| was.bytes != is.bytes) {
        return format!("{}: as many executions, but of {} bytes, then {}", spot.text(), was.bytes, is.bytes);
    }
    match pairs().find(|(_, was, is)| was.cost != is.cost) {
        Some((spot, was, is)) => {
            format!("{}: the same bytes, but from other depths: cost {}, then {}", spot.text(), was.cost, is.cost)
        }
        None => "what is beside the accesses: calls, operations, coverage or the program's end".into(),
    }
}

/// Where something was accessed; the outermost calls first, because what differs there explains what differs below.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    depth: u32,
    function: String,
    file: String,
    line: u32,
    column: u32,
    kind: u8,
    size: u32,
}

impl Spot {
    fn text(&self) -> String {
        match (self.file.as_str(), self.line) {
            ("", _) => self.function.clone(),
            (file, line) => format!("{} ({})", self.function, names::place(file, line)),
        }
    }
}

fn by_place(profile: &Profile, paths: &PathMap) -> BTreeMap<Spot, Work> {
    // Parents come before children.
    let mut depths: Vec<u32> = Vec::with_capacity(profile.contexts.len());
    for context in &profile.contexts {
        depths.push(context.parent.map_or(0, |parent| depths[parent.index()] + 1));
    }
    let mut all: BTreeMap<Spot, Work> = BTreeMap::new();
    for cell in &profile.cells {
        let work = all.entry(spot(profile, paths, depths[cell.context.index()], cell.site)).or_default();
        work.executions += cell.executions;
        work.bytes += cell.read + cell.written;
        work.cost += cell.cost;
    }
    all
}

/// Code of libraries counts for the line of the user's that it was inlined into.
fn spot(profile: &Profile, paths: &PathMap, depth: u32, site: SiteId) -> Spot {
    let site = &profile.sites[site.index()];
    let text = |id: Option<StringId>| id.map(|id| profile.strings[id.index()].as_str());
    let position = |p: PositionId| &profile.positions[p.index()];
    let chain = || std::iter::successors(site.position, |p| position(*p).inlined_at).map(position);
    let at = chain().find(|p| !text(p.file).is_some_and(is_library_file)).or_else(|| chain().last());
    let function = &profile.functions[at.map_or(site.function, |p| p.function).index()];
    let file = text(at.and_then(|p| p.file).or(function.file));
    Spot {
        depth,
        function: names::demangle(&profile.strings[function.symbol.index()]),
        file: file.map_or_else(String::new, |f| paths.apply(f)),
        line: at.map_or(0, |p| p.line),
        column: at.map_or(0, |p| p.column),
        kind: site.kind as u8,
        size: site.size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample;

    fn found(second: impl FnOnce(&mut Profile), elsewhere: impl FnOnce(&mut Profile)) -> Option<Unlike> {
        let first = sample::small();
        let (mut b, mut c) = (first.clone(), first.clone());
        second(&mut b);
        elsewhere(&mut c);
        difference(&Runs { first: &first, second: &b, elsewhere: &c }, &PathMap::default())
    }

    fn more_work(profile: &mut Profile) {
        // In `main` and below it.
        profile.cells[0].executions += 1;
        profile.cells[4].executions += 7;
    }

    #[test]
    fn equal_runs_are_certified() {
        assert_eq!(found(|_| (), |_| ()), None);
    }

    #[test]
    fn addresses_are_the_cause_if_only_the_other_addresses_differ() {
        let unlike = found(|_| (), more_work).expect("a difference");
        assert!(unlike.place.starts_with("main (src/solve.cpp:85): 80000 executions, then 80001"), "{}", unlike.place);
        assert!(unlike.cause.contains("addresses"), "{}", unlike.cause);
    }

    #[test]
    fn several_threads_are_the_cause_before_addresses() {
        let threads = |p: &mut Profile| {
            more_work(p);
            p.coverage.threads = 4;
        };
        let unlike = found(|_| (), threads).expect("a difference");
        assert!(unlike.cause.starts_with("threads, probably: there are 4"), "{}", unlike.cause);
        assert!(unlike.advice.starts_with("use one thread"), "{}", unlike.advice);
    }

    #[test]
    fn causes_of_chance_by_what_is_called() {
        let cause = |change: fn(&mut Profile)| {
            let second = move |p: &mut Profile| {
                more_work(p);
                change(p);
            };
            found(second, |_| ()).expect("a difference").cause
        };
        assert!(cause(|_| ()).contains("time: the program calls clock_gettime"));
        assert!(cause(|p| p.coverage.threads = 3).contains("threads: there are 3"));
        assert!(cause(|p| p.coverage.unseen_calls.push(("getrandom".into(), 1))).contains("getrandom"));
    }

    #[test]
    fn other_bytes_come_before_other_depths() {
        let cost = |p: &mut Profile| p.cells[2].cost += 1;
        let unlike = found(cost, |_| ()).expect("a difference");
        assert!(unlike.place.contains("from other depths"), "{}", unlike.place);
        let bytes = |p: &mut Profile| {
            cost(p);
            p.cells[5].written += 1;
        };
        assert!(found(bytes, |_| ()).expect("a difference").place.contains("but of"));
        let other = found(|p| p.coverage.unknown_frees += 1, |_| ()).expect("a difference");
        assert!(other.place.contains("beside the accesses"), "{}", other.place);
    }
}
