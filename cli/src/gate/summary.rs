//! What a comparison sees of a run: a few dozen numbers per function, the same from a profile and from a baseline.
//!
//! Takes a [`Profile`] that is valid, gives a [`Summary`]: pure. Exclusive numbers of all functions add up to the
//! total.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::key::{Key, PathMap, stable_name};
use super::metric::{Metric, kind_of};
use super::provenance::Provenance;
use crate::profile::Profile;
use crate::profile::model::{AccessKind, CycleCounts, FunctionId, PositionId, SiteId};
use crate::report::analysis::{Analysis, Grouping, Row, Sums};
use crate::report::depths::Depths;
use crate::report::lines::{AtCapacity, LineSums};
use crate::report::numbers::{self, SumsContext};
use crate::shared::names;

/// What is compared of a program or a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// By path in the report; what was not measured is not in it.
    pub by_path: BTreeMap<String, u128>,
    /// Bytes read at depths above half of a power of two, up to it; no zeros.
    pub depths: BTreeMap<u64, u128>,
    /// Bytes read at capacities above half of a power of two, up to it; `None` if capacities are not known.
    pub capacities: Option<BTreeMap<u64, u128>>,
    /// `None` if lines were not measured.
    pub lines: Option<Lines>,
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

impl Metric {
    /// `None` where there is no such number: calls of inlined code, footprints of functions, what was not measured, and
    /// the utilisation of less than fits.
    #[must_use]
    pub fn value_in(self, numbers: &Numbers) -> Option<u128> {
        match self {
            Metric::Number(path) => numbers.by_path.get(path).copied(),
            Metric::Traffic(capacity) => numbers.traffic(capacity),
            Metric::Deeper(capacity) => Some(numbers.deeper(capacity)),
            Metric::Fills(capacity) => Some(numbers.lines.as_ref()?.fetched(capacity)),
            Metric::WriteBacks(capacity) => Some(numbers.lines.as_ref()?.written_back(capacity)),
            Metric::LineTraffic(capacity) => Some(numbers.lines.as_ref()?.traffic(capacity)),
            Metric::Utilisation(capacity) => numbers.utilisation(capacity),
        }
    }

    /// Whether it was measured, by the numbers of the program.
    #[must_use]
    pub fn is_measured(self, total: &Numbers) -> bool {
        match self {
            Metric::CALLS => true,
            Metric::Utilisation(_) => total.lines.is_some() && total.capacities.is_some(),
            other => other.value_in(total).is_some(),
        }
    }
}

impl<const N: usize> From<[(Metric, u128); N]> for Numbers {
    fn from(numbers: [(Metric, u128); N]) -> Self {
        Numbers { by_path: numbers.map(|(metric, n)| (metric.path().into(), n)).into(), ..Numbers::default() }
    }
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

    /// A number by its path; 0 if there is none.
    #[must_use]
    pub fn of(&self, metric: Metric) -> u128 {
        metric.value_in(self).unwrap_or_default()
    }

    /// Where a number by its path is kept.
    pub fn entry(&mut self, metric: Metric) -> &mut u128 {
        self.by_path.entry(metric.path().into()).or_default()
    }

    /// What there is, besides what has a capacity.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> + '_ {
        self.by_path.keys().filter_map(|path| Metric::of_path(path))
    }

    /// Leaves out what only one of two programs has, where these are the numbers of the one, the other, or a function.
    pub fn keep_common(&mut self, [one, other]: [&Numbers; 2]) {
        let is_in = |numbers: &Numbers, path: &String| numbers.by_path.contains_key(path);
        self.by_path.retain(|path, _| is_in(one, path) == is_in(other, path));
        self.capacities.take_if(|_| one.capacities.is_none() || other.capacities.is_none());
        self.lines.take_if(|_| one.lines.is_none() || other.lines.is_none());
    }

    /// Adds the numbers of a function that add up.
    pub fn merge(&mut self, other: &Numbers) {
        for (path, n) in other.by_path.iter().filter(|(path, _)| kind_of(path).is_some_and(|kind| kind.adds)) {
            *self.by_path.entry(path.clone()).or_default() += n;
        }
        add(&mut self.depths, &other.depths);
        if let Some(capacities) = &other.capacities {
            add(self.capacities.get_or_insert_default(), capacities);
        }
        if let Some(lines) = &other.lines {
            self.lines.get_or_insert_default().merge(lines);
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
        let lines = self.lines.iter().flat_map(|lines| lines.parts()).flat_map(|(_, moved)| moved.values());
        let bytes = self.depths.values().chain(self.capacities.iter().flat_map(BTreeMap::values));
        self.by_path.values().chain(bytes).chain(lines).copied()
    }

    /// What is compared of sums; copies have sites of their own.
    #[must_use]
    pub fn from_sums(sums: &Sums, of: SumsContext<'_>) -> Self {
        let numbers = numbers::Numbers::from_sums(sums, of).flat().into_iter();
        // Lines are known at every capacity. What only another version counts has no name.
        let beside_lines = numbers.filter(|(path, _)| Metric::of_lines(path).is_none() && kind_of(path).is_some());
        let depths = &sums.depths;
        let mut numbers = Numbers {
            by_path: beside_lines.filter_map(|(path, number)| Some((path, number.exact?))).collect(),
            depths: octaves(depths),
            capacities: of.profile.has_capacities.then(|| octaves(&depths.by_capacity())),
            lines: of.profile.line_size().map(|size| Lines::from_sums(sums.lines(), size)),
        };
        *numbers.entry(Metric::COPIED) = 0;
        numbers
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
    /// A number of the program.
    #[must_use]
    pub fn get(&self, metric: Metric) -> Option<u128> {
        metric.value_in(&self.total)
    }

    /// What it has of what both of two programs have.
    #[must_use]
    pub fn in_common(&self, totals: [&Numbers; 2]) -> Self {
        let mut summary = self.clone();
        let functions = summary.functions.values_mut().map(|function| &mut function.numbers);
        functions.chain([&mut summary.total]).for_each(|numbers| numbers.keep_common(totals));
        if !Metric::CYCLES.is_measured(&summary.total) {
            summary.functions.remove(&other_code());
        }
        summary
    }

    #[must_use]
    pub fn from_profile(profile: &Profile, paths: &PathMap) -> Self {
        let analysis = Analysis::new(profile, Grouping::Functions);
        let of = SumsContext { profile, total: &analysis.total };
        let mut builder = Builder { profile, paths, keys: HashMap::new(), functions: BTreeMap::new() };
        let keys: Vec<Key> = analysis.rows.iter().map(|row| key_of(row, paths)).collect();
        let mut row_of_site: Vec<Option<usize>> = vec![None; profile.sites.len()];
        for (i, row) in analysis.rows.iter().enumerate() {
            row.sites.iter().for_each(|s| row_of_site[s.index()] = Some(i));
        }
        let hottest = builder.hottest_lines(&analysis.rows, &row_of_site);
        let mut shapes: BTreeMap<&Key, Vec<(u8, u32)>> = BTreeMap::new();
        let mut sums: BTreeMap<&Key, Sums> = BTreeMap::new();
        for ((row, key), hottest) in analysis.rows.iter().zip(&keys).zip(hottest) {
            builder.add_row(row, key, hottest, sums.entry(key).or_default());
            let shape = row.sites.iter().map(|s| &profile.sites[s.index()]).map(|s| (s.kind as u8, s.size));
            shapes.entry(key).or_default().extend(shape);
        }
        for (key, sums) in sums {
            let numbers = &mut builder.functions.entry(key.clone()).or_default().numbers;
            let calls = std::mem::replace(numbers, Numbers::from_sums(&sums, of)).by_path;
            numbers.by_path.extend(calls);
        }
        builder.add_copies(&keys, &row_of_site);
        builder.add_callees();
        for (key, shape) in shapes {
            builder.functions.entry(key.clone()).or_default().body = hash_of(shape);
        }
        let mut total = Numbers::from_sums(&analysis.total, of);
        *total.entry(Metric::COPIED) = builder.functions.values().map(|f| f.numbers.of(Metric::COPIED)).sum();
        *total.entry(Metric::FOOTPRINT) = profile.totals.footprint.into();
        *total.entry(Metric::PEAK_LIVE) = profile.totals.peak_live.into();
        Summary { provenance: Provenance::from_profile(profile, paths), total, functions: builder.functions }
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

    /// Adds a row to the sums of its function.
    fn add_row(&mut self, row: &Row, key: &Key, hottest: Option<u32>, sums: &mut Sums) {
        let function = self.functions.entry(key.clone()).or_default();
        row.calls.linked.into_iter().for_each(|calls| *function.numbers.entry(Metric::CALLS) += calls);
        // Of several rows with one key, the place is that of the dearest.
        if function.place.is_none() || row.own.cost > sums.cost {
            function.place = Some(FunctionLines { line: row.line, hottest: hottest.unwrap_or(row.line) });
        }
        sums.merge(&row.own);
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
                *function.numbers.entry(Metric::COPIED) += u128::from(cell.read);
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
    use crate::profile::sample;

    proptest! {
        #[test]
        fn functions_add_up_to_the_total(profile in sample::any_profile()) {
            let summary = Summary::from_profile(&profile, &PathMap::default());
            let mut sum = Numbers::default();
            for function in summary.functions.values() {
                sum.merge(&function.numbers);
            }
            sum.capacities = Some(sum.capacities.unwrap_or_default());
            sum.lines = profile.line_size().map(|_| sum.lines.unwrap_or_default());
            let mut total = summary.total.clone();
            // Those of no functions are zero.
            total.by_path.retain(|path, n| kind_of(path).is_some_and(|kind| kind.adds) && (*n > 0 || sum.by_path.contains_key(path)));
            prop_assert_eq!(&sum, &total);
            prop_assert_eq!(summary.total.of(Metric::COST), profile.totals.cost);
            prop_assert_eq!(summary.total.deeper(0), u128::from(profile.totals.read));
        }
    }

    #[test]
    fn what_a_function_is() {
        let summary = Summary::from_profile(&sample::small(), &PathMap::default());
        let of = |name: &str| summary.functions.iter().find(|(k, _)| k.name.starts_with(name)).unwrap().1;
        assert_eq!(of("main").callees["util::quicksort<double>(double*, double*)"], 1);
        assert_eq!(Metric::CALLS.value_in(&of("linalg::multiply").numbers), Some(3));
        assert_eq!(Metric::CALLS.value_in(&of("linalg::Matrix::at").numbers), None);
        assert_eq!(of("blob_init").numbers.of(Metric::COPIED), 4096);
        assert_eq!(of("linalg::multiply").place, Some(FunctionLines { line: 12, hottest: 18 }));
        assert_ne!(of("main").body, of("blob_init").body);
    }

    #[test]
    fn code_that_only_a_core_saw_is_one_function() {
        let mut profile = crate::report::tests::with_cycles();
        let with = Summary::from_profile(&profile, &PathMap::default());
        let (mut sum, mut other) = (0, None);
        for (key, function) in &with.functions {
            sum += Metric::CYCLES.value_in(&function.numbers).expect("cycles");
            other = other.or((key.name == OTHER_CODE).then_some(&function.numbers));
        }
        assert_eq!(Some(sum), with.get(Metric::CYCLES));
        profile.cells.clear();
        profile.contexts.iter_mut().for_each(|context| context.calls = 0);
        profile.block_counts.clear();
        let bare = Summary::from_profile(&profile, &PathMap::default());
        let names: Vec<&str> = bare.functions.keys().map(|key| key.name.as_str()).collect();
        assert_eq!((names, other), (vec![OTHER_CODE], None));
        assert!(bare.in_common([&bare.total, &Numbers::default()]).functions.is_empty());
    }
}
