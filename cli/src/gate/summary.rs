//! What a comparison sees of a run: a few dozen numbers per function, the same from a profile and from a baseline.
//!
//! Takes a [`Profile`] that is valid, gives a [`Summary`]: pure. Exclusive numbers of all functions add up to the
//! total.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use dmdprof_runtime::{cycles::CAUSES, observe::hazards::NAMES};

use super::key::{Key, PathMap, stable_name};
use super::provenance::Provenance;
use crate::profile::Profile;
use crate::profile::model::{AccessKind, CycleCounts, FunctionId, PositionId, SiteId};
use crate::report::analysis::{Analysis, Grouping, Row, Sums};
use crate::report::depths::Depths;
use crate::report::hazards::HazardCount;
use crate::report::lines::{AtCapacity, LineSums};
use crate::shared::names;

/// Numbers that add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    pub cost: u128,
    pub read: u128,
    pub written: u128,
    pub cold: u128,
    /// Bytes read by copies and by library calls that are priced by their meaning.
    pub copied: u128,
    pub accesses: u128,
    pub flops: u128,
    pub int_ops: u128,
    /// `None` if nothing was linked under the name: all of it was inlined.
    pub calls: Option<u128>,
    /// Bytes read at depths above half of a power of two, up to it; no zeros.
    pub depths: BTreeMap<u64, u128>,
    /// Bytes read at capacities above half of a power of two, up to it; `None` if capacities are not known.
    pub capacities: Option<BTreeMap<u64, u128>>,
    /// `None` if lines were not measured.
    pub lines: Option<Lines>,
    /// `None` if no core followed.
    pub cycles: Option<CycleNumbers>,
    /// Accesses that are hazards, by kind; all kinds that were counted.
    pub hazards: BTreeMap<String, u128>,
}

/// What a core took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CycleNumbers {
    pub by_cause: [u128; CAUSES],
    /// Standard error that windows leave in their sum.
    pub error: u128,
}

/// What not every run measures, and not every baseline has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionalMetrics {
    /// Lines fetched and written back.
    Lines,
    /// Which bytes a memory still holds.
    Traffic,
    /// Cycles on a core.
    Cycles,
    /// Hazards of a kind, by its place among [`NAMES`].
    Hazard(usize),
}

impl OptionalMetrics {
    pub const ALL: [OptionalMetrics; 3 + NAMES.len()] = {
        let mut all = [OptionalMetrics::Lines; _];
        (all[1], all[2]) = (OptionalMetrics::Traffic, OptionalMetrics::Cycles);
        let mut kind = 0;
        while kind < NAMES.len() {
            all[3 + kind] = OptionalMetrics::Hazard(kind);
            kind += 1;
        }
        all
    };

    /// Hazards of a kind.
    #[must_use]
    pub fn of_hazard(kind: usize) -> &'static [OptionalMetrics] {
        const ALL: &[OptionalMetrics] = &OptionalMetrics::ALL;
        &ALL[3 + kind..4 + kind]
    }

    fn is_in(self, numbers: &Numbers) -> bool {
        match self {
            OptionalMetrics::Lines => numbers.lines.is_some(),
            OptionalMetrics::Traffic => numbers.capacities.is_some(),
            OptionalMetrics::Cycles => numbers.cycles.is_some(),
            OptionalMetrics::Hazard(kind) => numbers.hazards.contains_key(NAMES[kind]),
        }
    }

    fn leave_out(self, numbers: &mut Numbers) {
        match self {
            OptionalMetrics::Lines => numbers.lines = None,
            OptionalMetrics::Traffic => numbers.capacities = None,
            OptionalMetrics::Cycles => numbers.cycles = None,
            OptionalMetrics::Hazard(kind) => _ = numbers.hazards.remove(NAMES[kind]),
        }
    }
}

/// Bytes of lines that memories move, by the smallest power of two of bytes that spares the move, [`ALWAYS`] if none
/// does; no zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Fetched by loads, and by stores.
    pub loads: BTreeMap<u64, u128>,
    pub stores: BTreeMap<u64, u128>,
    pub write_backs: BTreeMap<u64, u128>,
}

/// What memories of every size move: first touches, and lines that are dirty at the end.
pub const ALWAYS: u64 = u64::MAX;

impl Lines {
    fn from_sums(sums: &LineSums, size: u32) -> Self {
        let [loads, stores, write_backs] = AtCapacity(sums).octaves(size).map(|moved| moved.into_iter().collect());
        Lines { loads, stores, write_backs }
    }

    #[must_use]
    pub fn fetched(&self, capacity: u64) -> u128 {
        beyond(&self.loads, capacity) + beyond(&self.stores, capacity)
    }

    #[must_use]
    pub fn written_back(&self, capacity: u64) -> u128 {
        beyond(&self.write_backs, capacity)
    }

    #[must_use]
    pub fn traffic(&self, capacity: u64) -> u128 {
        self.fetched(capacity) + self.written_back(capacity)
    }

    /// By their names in baselines.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &BTreeMap<u64, u128>); 3] {
        [("loads", &self.loads), ("stores", &self.stores), ("writebacks", &self.write_backs)]
    }

    fn merge(&mut self, other: &Lines) {
        for (own, more) in [
            (&mut self.loads, &other.loads),
            (&mut self.stores, &other.stores),
            (&mut self.write_backs, &other.write_backs),
        ] {
            add(own, more);
        }
    }
}

fn beyond(moved: &BTreeMap<u64, u128>, capacity: u64) -> u128 {
    moved.range(capacity + 1..).map(|(_, bytes)| bytes).sum()
}

impl Numbers {
    /// Bytes read deeper than a power of two.
    #[must_use]
    pub fn deeper(&self, capacity: u64) -> u128 {
        beyond(&self.depths, capacity)
    }

    /// Traffic at a power of two, if it is known.
    #[must_use]
    pub fn traffic(&self, capacity: u64) -> Option<u128> {
        Some(beyond(self.capacities.as_ref()?, capacity))
    }

    /// Of the lines that loads bring into a memory of `capacity` bytes, what is read of them, in hundredths of a
    /// percent: `None` if lines were not measured or traffic is not known, or if no more than fits is fetched.
    #[must_use]
    pub fn utilisation(&self, capacity: u64) -> Option<u128> {
        let loaded = beyond(&self.lines.as_ref()?.loads, capacity);
        let used = self.traffic(capacity)?.min(loaded);
        (loaded > capacity.into()).then(|| used * 10_000 / loaded)
    }

    pub fn merge(&mut self, other: &Numbers) {
        self.cost += other.cost;
        self.read += other.read;
        self.written += other.written;
        self.cold += other.cold;
        self.copied += other.copied;
        self.accesses += other.accesses;
        self.flops += other.flops;
        self.int_ops += other.int_ops;
        if let Some(calls) = other.calls {
            *self.calls.get_or_insert(0) += calls;
        }
        add(&mut self.depths, &other.depths);
        if let Some(capacities) = &other.capacities {
            add(self.capacities.get_or_insert_default(), capacities);
        }
        if let Some(lines) = &other.lines {
            self.lines.get_or_insert_default().merge(lines);
        }
        if let Some(cycles) = &other.cycles {
            let own = self.cycles.get_or_insert_default();
            own.by_cause.iter_mut().zip(&cycles.by_cause).for_each(|(own, more)| *own += more);
            own.error += cycles.error;
        }
        for (name, accesses) in &other.hazards {
            *self.hazards.entry(name.clone()).or_default() += accesses;
        }
    }

    /// [`merge`](Self::merge) of numbers that nobody has checked; false, and nonsense, if a sum would be too large.
    #[must_use]
    pub fn checked_merge(&mut self, other: &Numbers) -> bool {
        // Costs are the largest numbers; the limit leaves room for any sum of two.
        let fits = |n: u128| n < u128::MAX / 4;
        if !other.all().all(fits) {
            return false;
        }
        self.merge(other);
        self.all().all(fits)
    }

    fn all(&self) -> impl Iterator<Item = u128> + '_ {
        let numbers =
            [self.cost, self.read, self.written, self.cold, self.copied, self.accesses, self.flops, self.int_ops];
        let lines = self.lines.iter().flat_map(|lines| lines.parts()).flat_map(|(_, moved)| moved.values());
        let bytes = self.depths.values().chain(self.capacities.iter().flat_map(BTreeMap::values));
        let cycles = self.cycles.iter().flat_map(|cycles| cycles.by_cause.iter().chain([&cycles.error]));
        numbers
            .into_iter()
            .chain(self.calls)
            .chain(bytes.chain(lines).chain(cycles).chain(self.hazards.values()).copied())
    }

    fn from_sums(sums: &Sums, profile: &Profile) -> Self {
        let line_size = profile.line_size();
        let hazards = HazardCount::all(profile, sums).into_iter();
        Numbers {
            cost: sums.cost,
            read: sums.read.into(),
            written: sums.written.into(),
            cold: sums.cold.into(),
            copied: 0,
            accesses: sums.accesses(),
            flops: sums.flops(),
            int_ops: sums.int_ops(),
            calls: None,
            depths: octaves(&sums.depths),
            capacities: profile.has_capacities.then(|| octaves(&sums.depths.by_capacity())),
            lines: line_size.map(|size| Lines::from_sums(sums.lines(), size)),
            cycles: profile.cycles.as_ref().map(|_| CycleNumbers::from_counts(&sums.cycles)),
            hazards: hazards.map(|of| (of.name.to_owned(), of.accesses.into())).collect(),
        }
    }
}

impl CycleNumbers {
    fn from_counts(counts: &CycleCounts) -> Self {
        Self { by_cause: counts.cycles.map(u128::from), error: counts.error().into() }
    }
}

fn add(all: &mut BTreeMap<u64, u128>, more: &BTreeMap<u64, u128>) {
    more.iter().for_each(|(size, bytes)| *all.entry(*size).or_default() += bytes);
}

fn octaves(depths: &Depths) -> BTreeMap<u64, u128> {
    depths.octaves().into_iter().filter(|o| o.reads > 0).map(|o| (o.capacity, u128::from(o.reads))).collect()
}

/// Where to point an editor. Of the run at hand only: lines move too easily to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionLines {
    /// Of the definition; 0 if not known.
    pub line: u32,
    /// The function's line that costs most.
    pub hottest: u32,
}

/// One function, inlined or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    pub numbers: Numbers,
    /// Hash of the kinds and sizes of its accesses, whatever their order and lines; 0 without accesses.
    pub body: u64,
    /// Calls of each linked function, by name.
    pub callees: BTreeMap<String, u128>,
    pub place: Option<FunctionLines>,
}

/// A run, or a baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub provenance: Provenance,
    pub total: Numbers,
    /// Distinct bytes touched.
    pub footprint: u128,
    /// Most bytes live at once.
    pub peak_live: u128,
    pub functions: BTreeMap<Key, Function>,
}

/// What functions are called together of which a core saw the code and nobody else anything: libraries, if the rest
/// has hooks. Each machine has others.
pub const OTHER_CODE: &str = "(other code)";

impl Key {
    /// What a function of a profile is known by.
    #[must_use]
    pub fn for_function(profile: &Profile, function: FunctionId, paths: &PathMap) -> Self {
        let symbol = profile.symbol(function);
        let file = profile.functions[function.index()].file.map(|id| profile.strings[id.index()].as_str());
        Key {
            file: file.map_or_else(String::new, |f| paths.apply(f)),
            name: stable_name(&names::demangle(symbol), symbol),
        }
    }
}

impl Key {
    /// What the function of a row of a report is known by.
    #[must_use]
    pub fn of_row(row: &Row, paths: &PathMap) -> Self {
        Key {
            file: row.file.as_deref().map_or_else(String::new, |file| paths.apply(file)),
            name: stable_name(row.name(), row.symbols.first().map_or("", String::as_str)),
        }
    }
}

impl Summary {
    /// Whether it has a part.
    #[must_use]
    pub fn has(&self, part: OptionalMetrics) -> bool {
        part.is_in(&self.total)
    }

    /// For comparisons with what does not have it.
    #[must_use]
    pub fn without(&self, part: OptionalMetrics) -> Self {
        let mut summary = self.clone();
        part.leave_out(&mut summary.total);
        summary.functions.values_mut().for_each(|function| part.leave_out(&mut function.numbers));
        if part == OptionalMetrics::Cycles {
            summary.functions.remove(&other_code());
        }
        summary
    }

    #[must_use]
    pub fn from_profile(profile: &Profile, paths: &PathMap) -> Self {
        let analysis = Analysis::new(profile, Grouping::Functions);
        let mut builder = Builder { profile, paths, keys: HashMap::new(), functions: BTreeMap::new() };
        let keys: Vec<Key> = analysis.rows.iter().map(|row| key_of(row, paths)).collect();
        let mut row_of_site: Vec<Option<usize>> = vec![None; profile.sites.len()];
        for (i, row) in analysis.rows.iter().enumerate() {
            row.sites.iter().for_each(|s| row_of_site[s.index()] = Some(i));
        }
        let hottest = builder.hottest_lines(&analysis.rows, &row_of_site);
        let mut shapes: BTreeMap<&Key, Vec<(u8, u32)>> = BTreeMap::new();
        for ((row, key), hottest) in analysis.rows.iter().zip(&keys).zip(hottest) {
            builder.add_row(row, key, hottest);
            let shape = row.sites.iter().map(|s| &profile.sites[s.index()]).map(|s| (s.kind as u8, s.size));
            shapes.entry(key).or_default().extend(shape);
        }
        builder.add_copies(&keys, &row_of_site);
        builder.add_callees();
        for (key, shape) in shapes {
            builder.functions.entry(key.clone()).or_default().body = hash_of(shape);
        }
        let mut total = Numbers::from_sums(&analysis.total, profile);
        total.copied = builder.functions.values().map(|f| f.numbers.copied).sum();
        Summary {
            provenance: Provenance::from_profile(profile, paths),
            total,
            footprint: profile.totals.footprint.into(),
            peak_live: profile.totals.peak_live.into(),
            functions: builder.functions,
        }
    }
}

fn other_code() -> Key {
    Key { file: String::new(), name: OTHER_CODE.into() }
}

fn key_of(row: &Row, paths: &PathMap) -> Key {
    let has_calls = row.calls.linked.is_some_and(|calls| calls > 0);
    let rest = Sums { cycles: CycleCounts::default(), ..row.own.clone() };
    if has_calls || !rest.is_zero() { Key::of_row(row, paths) } else { other_code() }
}

struct Builder<'p> {
    profile: &'p Profile,
    paths: &'p PathMap,
    keys: HashMap<FunctionId, Key>,
    functions: BTreeMap<Key, Function>,
}

impl<'p> Builder<'p> {
    fn key_of(&mut self, function: FunctionId) -> Key {
        if let Some(key) = self.keys.get(&function) {
            return key.clone();
        }
        let key = Key::for_function(self.profile, function, self.paths);
        self.keys.insert(function, key.clone());
        key
    }

    fn add_row(&mut self, row: &Row, key: &Key, hottest: Option<u32>) {
        let mut numbers = Numbers::from_sums(&row.own, self.profile);
        let function = self.functions.entry(key.clone()).or_default();
        numbers.calls = row.calls.linked;
        // Of several rows with one key, the place is that of the dearest.
        if function.place.is_none() || numbers.cost > function.numbers.cost {
            function.place = Some(FunctionLines { line: row.line, hottest: hottest.unwrap_or(row.line) });
        }
        function.numbers.merge(&numbers);
    }

    /// For each row the line of the function's own text that costs most; the first of equal ones.
    fn hottest_lines(&self, rows: &[Row], row_of_site: &[Option<usize>]) -> Vec<Option<u32>> {
        let mut costs: Vec<BTreeMap<u32, u128>> = vec![BTreeMap::new(); rows.len()];
        for cell in &self.profile.cells {
            let Some(row) = row_of_site[cell.site.index()] else { continue };
            if let Some(line) = self.line_in(&rows[row], self.profile.sites[cell.site.index()].position) {
                *costs[row].entry(line).or_default() += cell.cost;
            }
        }
        let dearest = |lines: BTreeMap<u32, u128>| {
            lines.into_iter().max_by_key(|(line, cost)| (*cost, Reverse(*line))).map(|(line, _)| line)
        };
        costs.into_iter().map(dearest).collect()
    }

    fn line_in(&self, row: &Row, position: Option<PositionId>) -> Option<u32> {
        let positions = &self.profile.positions;
        let chain = std::iter::successors(position, |p| positions[p.index()].inlined_at);
        chain.map(|p| &positions[p.index()]).find(|p| self.is_of_row(row, p.function)).map(|p| p.line)
    }

    fn is_of_row(&self, row: &Row, function: FunctionId) -> bool {
        let symbol = self.profile.symbol(function);
        row.symbols.binary_search_by(|other| other.as_str().cmp(symbol)).is_ok()
    }

    fn add_copies(&mut self, keys: &[Key], row_of_site: &[Option<usize>]) {
        let is_copy = |s: SiteId| matches!(self.profile.sites[s.index()].kind, AccessKind::Copy | AccessKind::Call);
        for cell in self.profile.cells.iter().filter(|c| is_copy(c.site)) {
            if let Some(function) = row_of_site[cell.site.index()].and_then(|row| self.functions.get_mut(&keys[row])) {
                function.numbers.copied += u128::from(cell.read);
            }
        }
    }

    fn add_callees(&mut self) {
        let profile = self.profile;
        for context in &profile.contexts {
            let caller = context.parent.and_then(|p| profile.contexts[p.index()].function);
            let (Some(caller), Some(callee)) = (caller, context.function) else { continue };
            if context.calls == 0 {
                continue;
            }
            let callee = self.key_of(callee).name;
            let caller = self.key_of(caller);
            *self.functions.entry(caller).or_default().callees.entry(callee).or_default() += u128::from(context.calls);
        }
    }
}

/// FNV-1a over the sorted list: the same in every build and every version of the compiler that builds dmdprof.
fn hash_of(mut shape: Vec<(u8, u32)>) -> u64 {
    shape.sort_unstable();
    let bytes = shape.iter().flat_map(|(kind, size)| [*kind].into_iter().chain(size.to_le_bytes()));
    match shape.len() {
        0 => 0,
        _ => bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gate::metric::Metric;
    use crate::profile::sample;

    proptest! {
        #[test]
        fn functions_add_up_to_the_total(profile in sample::any_profile()) {
            let summary = Summary::from_profile(&profile, &PathMap::default());
            let mut sum = Numbers::default();
            for function in summary.functions.values() {
                sum.merge(&function.numbers);
            }
            sum.calls = None;
            sum.capacities = Some(sum.capacities.unwrap_or_default());
            sum.lines = profile.line_size().map(|_| sum.lines.unwrap_or_default());
            sum.cycles = profile.cycles.as_ref().map(|_| sum.cycles.unwrap_or_default());
            prop_assert_eq!(&sum, &summary.total);
            prop_assert_eq!(summary.total.cost, profile.totals.cost);
            prop_assert_eq!(summary.total.deeper(0), u128::from(profile.totals.read));
        }
    }

    #[test]
    fn what_a_function_is() {
        let summary = Summary::from_profile(&sample::small(), &PathMap::default());
        let of = |name: &str| summary.functions.iter().find(|(k, _)| k.name.starts_with(name)).unwrap().1;
        assert_eq!(of("main").callees["util::quicksort<double>(double*, double*)"], 1);
        assert_eq!(of("linalg::multiply").numbers.calls, Some(3));
        assert_eq!(of("linalg::Matrix::at").numbers.calls, None);
        assert_eq!(of("blob_init").numbers.copied, 4096);
        assert_eq!(of("linalg::multiply").place, Some(FunctionLines { line: 12, hottest: 18 }));
        assert_ne!(of("main").body, of("blob_init").body);
    }

    #[test]
    fn code_that_only_a_core_saw_is_one_function() {
        let mut profile = crate::report::tests::with_cycles();
        let with = Summary::from_profile(&profile, &PathMap::default());
        let (mut sum, mut other) = (0, None);
        for (key, function) in &with.functions {
            sum += Metric::Cycles.value_in(&function.numbers).expect("cycles");
            other = other.or((key.name == OTHER_CODE).then_some(&function.numbers));
        }
        assert_eq!(Some(sum), with.get(Metric::Cycles));
        profile.cells.clear();
        profile.contexts.iter_mut().for_each(|context| context.calls = 0);
        profile.block_counts.clear();
        let bare = Summary::from_profile(&profile, &PathMap::default());
        let names: Vec<&str> = bare.functions.keys().map(|key| key.name.as_str()).collect();
        assert_eq!((names, other), (vec![OTHER_CODE], None));
        assert!(bare.without(OptionalMetrics::Cycles).functions.is_empty());
    }
}
