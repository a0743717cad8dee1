//! What can be estimated: the whole program, its functions, its declared regions, each with what was measured of it.
//!
//! Takes a profile that [`validate`](crate::profile::validate) accepts. Refuses names that match nothing, and names
//! near ones.

use std::collections::HashMap;

use anyhow::bail;
use dmdprof_runtime::counts::cell::CellCounts;

use super::on_core::OnCore;
use super::stacks::Stack;
use crate::profile::Profile;
use crate::profile::model::{MeasuredCycles, Region, SiteId};
use crate::report::depths::Depths;
use crate::report::lines::{self, LineSums, Moved};
use crate::{
    report::{Analysis, Grouping, Row, Sums},
    shared::names,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Program,
    Function,
    /// All executions of a declared region.
    Region,
}

impl Kind {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Program => "program",
            Kind::Function => "function",
            Kind::Region => "region",
        }
    }
}

/// Something with work and traffic.
#[derive(Clone, Debug)]
pub struct Workload {
    pub kind: Kind,
    pub name: String,
    /// `FILE:LINE`, if known.
    pub place: Option<String>,
    pub sums: Sums,
    /// How often it ran; `None` if all of it was inlined, so that nobody counted.
    pub calls: Option<u128>,
    /// Size of the lines of which fetches and write-backs were measured.
    line: Option<u32>,
    /// Where its accesses are; only of functions.
    sites: Vec<SiteId>,
    /// Bytes that were not resident when it came to read them, by the depth that they would have had; none unless
    /// inputs are taken as cold.
    inputs: Depths,
    /// Bytes of these that nobody had touched: on the stacks of the profile, and on those of threads alone.
    first: [u64; 2],
    /// Times on cores that followed.
    cores: Vec<OnCore>,
}

/// Name of the whole program in tables and files of times.
pub const PROGRAM: &str = "(program)";

/// What a workload's reads found on one kind of stack.
#[derive(Clone, Copy, Debug)]
pub struct StackReads<'s> {
    depths: &'s Depths,
    lines: &'s LineSums,
    workload: &'s Workload,
    /// Bytes of `inputs` that nobody had touched.
    first: u64,
}

impl<'s> StackReads<'s> {
    /// Bytes, or lines, by depth.
    #[must_use]
    pub fn depths(&self) -> &'s Depths {
        self.depths
    }

    /// Bytes that go over the link to a memory of `capacity` bytes: lines that it fetches and writes back, if these
    /// were measured; else the bytes read that it does not hold any more.
    #[must_use]
    pub fn traffic(&self, capacity: u64) -> u64 {
        let moved = match self.workload.line {
            Some(size) => Moved::from_sums(self.lines, size, capacity).all(),
            None => self.fetched(capacity),
        };
        moved.saturating_add(self.cold_inputs(capacity))
    }

    /// Bytes that go over the link to a memory of `capacity` bytes that hands stores on at once: without lines, in
    /// which stores were measured, it is no different.
    #[must_use]
    pub fn traffic_through(&self, capacity: u64) -> u64 {
        let Some(size) = self.workload.line else { return self.traffic(capacity) };
        let loaded = Moved::from_sums(self.lines, size, capacity).loaded;
        loaded.saturating_add(self.workload.sums.written).saturating_add(self.cold_inputs(capacity))
    }

    /// Inputs that are taken as cold and would have been found in a memory of `capacity` bytes.
    fn cold_inputs(&self, capacity: u64) -> u64 {
        // What is not held is in the traffic already.
        self.workload.inputs.total() - self.workload.inputs.traffic(capacity) + self.first
    }

    /// Lines that a memory of `capacity` bytes moves, if that was measured.
    #[must_use]
    pub fn moved(&self, capacity: u64) -> Option<Moved> {
        self.workload.line.map(|size| Moved::from_sums(self.lines, size, capacity))
    }

    /// Bytes read that a memory of `capacity` bytes with LRU replacement fetches.
    #[must_use]
    pub fn fetched(&self, capacity: u64) -> u64 {
        self.depths.traffic(capacity)
    }

    /// Bytes read from deeper than `capacity` bytes.
    #[must_use]
    pub fn deeper(&self, capacity: u64) -> u64 {
        self.depths.beyond(capacity)
    }
}

impl Workload {
    /// What its reads found on the stacks of the profile, or on those of threads alone beside them.
    #[must_use]
    pub fn reads_on(&self, stack: Stack) -> StackReads<'_> {
        let (alone, [first, first_alone]) = (self.sums.alone(), self.first);
        match stack {
            Stack::Main => StackReads { depths: &self.sums.depths, lines: self.sums.lines(), workload: self, first },
            Stack::Alone => {
                let lines = lines::first(alone.lines.as_deref());
                StackReads { depths: &alone.depths, lines, workload: self, first: first_alone }
            }
        }
    }

    /// [`StackReads::traffic`] on the stacks of the profile.
    #[must_use]
    pub fn traffic(&self, capacity: u64) -> u64 {
        self.reads_on(Stack::Main).traffic(capacity)
    }

    /// [`StackReads::moved`] on the stacks of the profile.
    #[must_use]
    pub fn moved(&self, capacity: u64) -> Option<Moved> {
        self.reads_on(Stack::Main).moved(capacity)
    }

    /// Whether fetches and write-backs of lines were measured.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.line.is_some()
    }

    /// Operations that count as work.
    #[must_use]
    pub fn work(&self, work: Work) -> u128 {
        match work {
            Work::Flops => self.sums.flops(),
            Work::Ops => self.sums.all_ops(),
        }
    }

    /// Bytes read.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.sums.read
    }

    /// Its time on the core of a machine, if that followed.
    #[must_use]
    pub fn on_core(&self, machine: &str) -> Option<&OnCore> {
        self.cores.iter().find(|core| core.machine == machine)
    }

    fn of_row(row: &Row, inclusive: bool, line: Option<u32>, cycles: Option<&MeasuredCycles>) -> Self {
        let own = &row.own;
        Workload {
            kind: Kind::Function,
            name: row.name().into(),
            place: row.file.as_ref().map(|file| names::place(file, row.line)),
            sums: row.inclusive.as_ref().filter(|_| inclusive).unwrap_or(own).clone(),
            calls: row.calls.linked.filter(|calls| *calls > 0),
            line,
            sites: row.sites.clone(),
            inputs: Depths::default(),
            first: [0; 2],
            cores: OnCore::function(cycles, &own.cycles),
        }
    }

    fn of_region(region: &Region) -> Self {
        let counts = CellCounts {
            executions: region.reads,
            cost: region.cost,
            span: region.span,
            depths: Depths::new(&region.depths),
            ..CellCounts::default()
        };
        let ops = region.ops.map(u128::from);
        let sums = Sums { read: region.bytes_read, counts, ops, ..Sums::default() };
        let (name, calls) = (region.name.clone(), Some(region.times.into()));
        Workload {
            kind: Kind::Region,
            name,
            place: None,
            sums,
            calls,
            line: None,
            sites: Vec::new(),
            inputs: Depths::default(),
            first: [0; 2],
            cores: Vec::new(),
        }
    }
}

/// Which operations are the work W.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Work {
    /// Floating-point operations; a fused multiply-add is two
    Flops,
    /// All operations: floating-point, integer, comparisons
    Ops,
}

impl Work {
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Work::Flops => "flop",
            Work::Ops => "op",
        }
    }
}

/// Everything in a profile that can be estimated.
#[derive(Clone, Debug)]
pub struct Workloads {
    pub program: Workload,
    /// Largest cost first.
    pub functions: Vec<Workload>,
    /// In the order of the profile.
    pub regions: Vec<Workload>,
}

impl Workloads {
    /// `inclusive`: functions with all that they call.
    #[must_use]
    pub fn from_profile(profile: &Profile, grouping: Grouping, inclusive: bool) -> Self {
        let analysis =
            if inclusive { Analysis::with_inclusive(profile, grouping) } else { Analysis::new(profile, grouping) };
        let line = profile.line_size();
        // What callees take is not known by caller.
        let cycles = profile.cycles.as_ref().filter(|_| !inclusive);
        let mut functions: Vec<Workload> =
            analysis.rows.iter().map(|row| Workload::of_row(row, inclusive, line, cycles)).collect();
        functions
            .sort_by(|a, b| b.sums.cost.cmp(&a.sums.cost).then_with(|| (&a.name, &a.place).cmp(&(&b.name, &b.place))));
        let program = Workload {
            kind: Kind::Program,
            name: PROGRAM.into(),
            place: None,
            sums: analysis.total.clone(),
            calls: Some(1),
            line,
            sites: Vec::new(),
            inputs: Depths::default(),
            first: [0; 2],
            cores: OnCore::program(cycles, &analysis.total.cycles),
        };
        Workloads { program, functions, regions: profile.regions.iter().map(Workload::of_region).collect() }
    }

    /// Inputs are not resident: what each reads for the first time, and what another function touched last before it,
    /// comes over every link. The latter is known from flows only.
    #[must_use]
    pub fn cold(mut self, profile: &Profile) -> Self {
        for workload in std::iter::once(&mut self.program).chain(&mut self.functions) {
            // With lines, first touches are in the traffic of every level.
            let cold = [workload.sums.cold, workload.sums.alone().cold];
            workload.first = if workload.line.is_some() { [0; 2] } else { cold };
        }
        let functions = self.functions.iter().enumerate();
        let function_of: HashMap<SiteId, usize> =
            functions.flat_map(|(number, function)| function.sites.iter().map(move |site| (*site, number))).collect();
        for flow in profile.flows.iter().flatten() {
            let (Some(toucher), Some(reader)) = (flow.toucher, function_of.get(&flow.reader)) else { continue };
            if function_of.get(&toucher) != Some(reader) {
                self.functions[*reader].inputs.add(&flow.histogram);
            }
        }
        self
    }

    /// Program, regions, functions.
    pub fn all(&self) -> impl Iterator<Item = &Workload> + Clone {
        std::iter::once(&self.program).chain(&self.regions).chain(&self.functions)
    }

    /// Keeps regions and functions whose name is one of `patterns` or matches it (`*` and `?`).
    ///
    /// # Errors
    /// A pattern that is none, or that matches nothing; near names are given.
    pub fn keep(&mut self, patterns: &[String]) -> anyhow::Result<()> {
        if patterns.is_empty() {
            return Ok(());
        }
        let mut found = Vec::new();
        for pattern in patterns {
            found.extend(self.matching(pattern)?);
        }
        let mut number = 0;
        let mut is_wanted = |_: &Workload| {
            number += 1;
            found.contains(&(number - 1))
        };
        self.regions.retain(&mut is_wanted);
        self.functions.retain(&mut is_wanted);
        Ok(())
    }

    /// Numbers among regions and functions, in this order.
    fn matching(&self, pattern: &str) -> anyhow::Result<Vec<usize>> {
        let glob = globset::Glob::new(pattern)?.compile_matcher();
        let names = || self.regions.iter().chain(&self.functions).map(|s| s.name.as_str());
        let is_match = |name: &str| name == pattern || short(name) == pattern || glob.is_match(name);
        let found: Vec<usize> = names().enumerate().filter(|(_, name)| is_match(name)).map(|(i, _)| i).collect();
        if found.is_empty() {
            bail!("no function or region is called {pattern}{}", did_you_mean(pattern, names()));
        }
        Ok(found)
    }
}

/// A name without its parameters: `f(int) const` is `f`. A name that is all in parentheses stays.
#[must_use]
pub fn short(name: &str) -> &str {
    let bare = name.strip_suffix(" const").unwrap_or(name);
    if !bare.ends_with(')') {
        return name;
    }
    let mut open = 0;
    let start = bare.bytes().rposition(|c| {
        open += i32::from(c == b')') - i32::from(c == b'(');
        open == 0
    });
    start.filter(|start| *start > 0).map_or(name, |start| &bare[..start])
}

/// `; did you mean a or b?`, or, if nothing is near, some of the names there are.
#[must_use]
pub fn did_you_mean<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> String {
    let mut near: Vec<(f64, &str)> = names.map(|name| (strsim::jaro_winkler(wanted, short(name)), name)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.dedup_by_key(|(_, name)| *name);
    let alike: Vec<&str> = near.iter().take_while(|(likeness, _)| *likeness > 0.7).take(3).map(|(_, n)| *n).collect();
    if !alike.is_empty() {
        return format!("; did you mean {}?", alike.join(" or "));
    }
    let some: Vec<&str> = near.iter().take(5).map(|(_, n)| *n).collect();
    if some.is_empty() { String::new() } else { format!("; there are {}", some.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sample;

    #[test]
    fn names_match_exactly_or_as_patterns_and_near_ones_are_offered() {
        let profile = sample::small();
        let all = Workloads::from_profile(&profile, Grouping::Functions, false);
        let kept = |pattern: &str| {
            let mut workloads = all.clone();
            workloads.keep(&[pattern.into()]).map(|()| workloads.functions.len()).map_err(|e| e.to_string())
        };
        assert_eq!(kept("main"), Ok(1));
        assert_eq!(kept("linalg::*"), Ok(all.functions.iter().filter(|f| f.name.starts_with("linalg::")).count()));
        let error = kept("util::quicksrt").unwrap_err();
        assert!(
            error.starts_with("no function or region is called util::quicksrt; did you mean util::quicksort"),
            "{error}"
        );
        assert!(kept("zzz").unwrap_err().contains("; there are "));
    }

    #[test]
    fn parameters_are_cut_off_and_nothing_else() {
        let cases = [
            ("f(int) const", "f"),
            ("(program)", "(program)"),
            ("(anonymous namespace)::g(void (*)(int))", "(anonymous namespace)::g"),
            ("A::operator()(int)", "A::operator()"),
            ("m::f::{{closure}}", "m::f::{{closure}}"),
            ("odd)", "odd)"),
        ];
        for (name, bare) in cases {
            assert_eq!(short(name), bare);
        }
    }

    #[test]
    fn cold_inputs_are_those_that_others_touched_last() {
        let profile = sample::flows();
        let all = Workloads::from_profile(&profile, Grouping::Functions, false);
        let cold = all.clone().cold(&profile);
        let traffic = |workloads: &Workloads, name: &str| {
            let workload = workloads.all().find(|s| s.name == name).expect("a workload");
            workload.traffic(1 << 30)
        };
        for workload in all.all() {
            let of_others: u64 = profile
                .flows
                .iter()
                .flatten()
                .filter(|flow| {
                    let is_own = |site: SiteId| workload.sites.contains(&site);
                    is_own(flow.reader) && flow.toucher.is_some_and(|toucher| !is_own(toucher))
                })
                .map(|flow| flow.bytes)
                .sum();
            let name = workload.name.as_str();
            assert_eq!(traffic(&all, name), 0, "{name}: all fits");
            assert_eq!(traffic(&cold, name), workload.sums.cold + of_others, "{name}");
        }
        assert!(traffic(&cold, "scale") > 0, "its input is what fill wrote");
    }
}
