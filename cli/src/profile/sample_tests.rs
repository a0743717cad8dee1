//! Profiles for tests: [`Builder`] keeps the sums right, [`small`] is made by hand, [`any_profile`] at random.

use dmdprof_runtime::histogram::{bounds, bucket_of};
use proptest::prelude::*;
use std::collections::BTreeMap;

use super::model::*;

/// Adds parts to a profile and keeps totals, order and histograms consistent.
pub struct Builder {
    profile: Profile,
    cold: BTreeMap<u16, u64>,
}

/// Cost of reading one byte at `depth`: ceil(sqrt(depth)).
fn price(depth: u64) -> u128 {
    u128::from((depth - 1).isqrt() + 1)
}

fn buckets(reads: &[(u64, u64)]) -> Histogram {
    let mut map = BTreeMap::new();
    for (depth, bytes) in reads.iter().filter(|(_, bytes)| *bytes > 0) {
        *map.entry(bucket_of(*depth)).or_insert(0) += bytes;
    }
    Histogram::from_depths(map.into_iter().collect())
}

impl Builder {
    pub fn new(command: &[&str]) -> Self {
        let meta = Meta {
            tool_version: "0.1.0".into(),
            model: "memory".into(),
            model_version: 1,
            liveness: Liveness::Hints,
            thread_mode: ThreadMode::Private,
            unit: Unit::Byte,
            command: command.iter().map(ToString::to_string).collect(),
            roi: None,
            outcome: Outcome::Exited(0),
            incomplete: None,
            random: Random::default(),
            values: None,
        };
        let profile = Profile {
            meta,
            coverage: Coverage { processes: 1, threads: 1, ..Coverage::default() },
            contexts: vec![Context { parent: None, function: None, calls: 0 }],
            compilers: vec!["clang version 19.1.7 -O2".into()],
            has_capacities: true,
            ..Profile::default()
        };
        Builder { profile, cold: BTreeMap::new() }
    }

    pub const ROOT: ContextId = ContextId(0);

    pub fn string(&mut self, s: &str) -> StringId {
        let strings = &mut self.profile.strings;
        let at = strings.iter().position(|x| x == s).unwrap_or_else(|| {
            strings.push(s.into());
            strings.len() - 1
        });
        StringId(at as u32)
    }

    pub fn function(&mut self, symbol: &str, file: Option<&str>, line: u32) -> FunctionId {
        let symbol = self.string(symbol);
        let file = file.map(|f| self.string(f));
        self.profile.functions.push(Function { symbol, file, line });
        FunctionId(self.profile.functions.len() as u32 - 1)
    }

    /// A line of `function`'s own file.
    pub fn position(&mut self, function: FunctionId, line: u32, inlined_at: Option<PositionId>) -> PositionId {
        let file = self.profile.functions[function.index()].file;
        self.profile.positions.push(Position { function, file, line, column: 5, inlined_at });
        PositionId(self.profile.positions.len() as u32 - 1)
    }

    pub fn site(&mut self, function: FunctionId, position: Option<PositionId>, kind: AccessKind, size: u32) -> SiteId {
        self.profile.sites.push(Site { function, position, kind, size });
        SiteId(self.profile.sites.len() as u32 - 1)
    }

    pub fn block(&mut self, function: FunctionId, ops: &[(Option<PositionId>, [u32; 7])]) -> BlockId {
        self.profile.blocks.push(Block { function, ops: ops.to_vec() });
        BlockId(self.profile.blocks.len() as u32 - 1)
    }

    pub fn context(&mut self, parent: ContextId, function: FunctionId, calls: u64) -> ContextId {
        self.profile.contexts.push(Context { parent: Some(parent), function: Some(function), calls });
        ContextId(self.profile.contexts.len() as u32 - 1)
    }

    /// `reads` and `cold`: (depth, bytes); the cold ones are in `reads` too.
    pub fn cell(
        &mut self,
        context: ContextId,
        site: SiteId,
        reads: &[(u64, u64)],
        cold: &[(u64, u64)],
        written: u64,
    ) -> &mut Self {
        let read: u64 = reads.iter().map(|r| r.1).sum();
        let cold_bytes: u64 = cold.iter().map(|r| r.1).sum();
        for (bucket, bytes) in buckets(cold).depths {
            *self.cold.entry(bucket).or_insert(0) += bytes;
        }
        let cost = reads.iter().map(|(depth, bytes)| price(*depth) * u128::from(*bytes)).sum::<u128>();
        let executions = (read + written) / 8;
        let totals = &mut self.profile.totals;
        totals.accesses += executions;
        totals.read += read;
        totals.written += written;
        totals.cold += cold_bytes;
        totals.cost += cost;
        let depths = buckets(reads);
        let counts = CellCounts { executions, written, cold: cold_bytes, cost, depths, ..CellCounts::default() };
        self.profile.cells.push(Cell { context, site, read, counts });
        self
    }

    pub fn block_count(&mut self, context: ContextId, block: BlockId, executions: u64) -> &mut Self {
        self.profile.block_counts.push(BlockCount { context, block, executions });
        self
    }

    /// Bytes that the site `reader` read at these (depth, bytes), last written and last touched by these sites. What
    /// the cells of a reader read must all be in its flows.
    pub fn flow(
        &mut self,
        writer: Option<SiteId>,
        toucher: Option<SiteId>,
        reader: SiteId,
        reads: &[(u64, u64)],
    ) -> &mut Self {
        let bytes = reads.iter().map(|r| r.1).sum();
        let cost = reads.iter().map(|(depth, bytes)| price(*depth) * u128::from(*bytes)).sum();
        let flow = Flow {
            writer,
            toucher,
            reader,
            object: None,
            bytes,
            cost,
            histogram: buckets(reads),
            toucher_context: None,
            reader_context: None,
            between_all: 0,
            between: Vec::new(),
        };
        self.profile.flows.get_or_insert_default().push(flow);
        self
    }

    /// (callee, times in a row), in order.
    pub fn sequence(&mut self, function: FunctionId, calls: &[(FunctionId, u64)], omitted: u64) -> &mut Self {
        self.profile.sequences.push(Sequence { function, calls: calls.to_vec(), omitted });
        self
    }

    pub fn finish(mut self, change: impl FnOnce(&mut Profile)) -> Profile {
        if let Some(flows) = &mut self.profile.flows {
            flows.sort_by_key(|f| (f.writer, f.toucher, f.reader, f.object));
        }
        self.profile
            .sequences
            .sort_by(|a, b| (a.function, &a.calls, a.omitted).cmp(&(b.function, &b.calls, b.omitted)));
        self.profile.cells.sort_by_key(|c| (c.context, c.site));
        self.profile.block_counts.sort_by_key(|c| (c.context, c.block));
        self.profile.cold_histogram = Histogram::from_depths(self.cold.into_iter().collect());
        change(&mut self.profile);
        self.profile.threads = vec![self.profile.totals.clone()];
        self.profile.thread_starts = vec![self.profile.functions.first().map(|_| FunctionId(0))];
        self.profile
    }
}

/// A C++ program with an inlined accessor, recursion, a Rust helper, a static function and code without lines.
pub fn small() -> Profile {
    let mut b = Builder::new(&["./solve", "--size", "200"]);
    let main = b.function("main", Some("src/solve.cpp"), 80);
    let multiply = b.function("_ZN6linalg8multiplyERKNS_6MatrixES2_RS0_", Some("src/linalg.cpp"), 12);
    let at = b.function("_ZNK6linalg6Matrix2atEmm", Some("include/matrix.hpp"), 20);
    let sort = b.function("_ZN4util9quicksortIdEEvPT_S2_", Some("src/util.cpp"), 5);
    let rust = b.function("_ZN5stats4mean17h0123456789abcdefE", Some("stats/src/lib.rs"), 3);
    let start = b.function("blob_init", None, 0);

    let in_main = b.position(main, 85, None);
    let in_multiply = b.position(multiply, 17, None);
    let at_in_multiply = b.position(at, 21, Some(in_multiply));
    let store_in_multiply = b.position(multiply, 18, None);
    let in_sort = b.position(sort, 9, None);
    let in_rust = b.position(rust, 4, None);
    let at_in_main = b.position(at, 21, Some(in_main));

    let s_main = b.site(main, Some(in_main), AccessKind::Store, 8);
    let s_at = b.site(multiply, Some(at_in_multiply), AccessKind::Load, 8);
    let s_multiply = b.site(multiply, Some(store_in_multiply), AccessKind::Update, 8);
    let s_sort = b.site(sort, Some(in_sort), AccessKind::Load, 8);
    let s_rust = b.site(rust, Some(in_rust), AccessKind::Load, 8);
    let s_start = b.site(start, None, AccessKind::Copy, 0);
    let s_at_main = b.site(main, Some(at_in_main), AccessKind::Load, 8);

    let b_multiply =
        b.block(multiply, &[(Some(in_multiply), [0, 0, 1, 0, 0, 3, 1]), (Some(at_in_multiply), [0, 0, 0, 0, 0, 2, 0])]);
    let b_rust = b.block(rust, &[(Some(in_rust), [1, 0, 0, 0, 0, 1, 1]), (None, [0, 0, 0, 1, 1, 0, 0])]);

    let c_main = b.context(Builder::ROOT, main, 1);
    let c_multiply = b.context(c_main, multiply, 3);
    let c_sort = b.context(c_main, sort, 1);
    let c_sort2 = b.context(c_sort, sort, 2);
    let c_sort3 = b.context(c_sort2, sort, 4);
    let c_rust = b.context(c_main, rust, 1);
    let c_start = b.context(c_main, start, 1);

    b.cell(c_main, s_main, &[], &[], 640_000)
        .cell(c_main, s_at_main, &[(12, 8)], &[], 0)
        .cell(
            c_multiply,
            s_at,
            &[(8, 24_000_000), (3200, 60_000_000), (321_000, 60_000_000), (640_064, 640_000)],
            &[(640_064, 320_000)],
            0,
        )
        .cell(c_multiply, s_multiply, &[(16, 960_000)], &[], 960_000)
        .cell(c_sort, s_sort, &[(320_000, 320_000)], &[], 160_000)
        .cell(c_sort2, s_sort, &[(40_000, 320_000)], &[], 150_000)
        .cell(c_sort3, s_sort, &[(5_000, 320_000)], &[], 140_000)
        .cell(c_rust, s_rust, &[(300_000, 320_000)], &[], 0)
        .cell(c_start, s_start, &[(600_000, 4096)], &[(600_000, 4096)], 4096);
    b.block_count(c_multiply, b_multiply, 24_000_000).block_count(c_rust, b_rust, 40_000);

    let paths = [b.string("src/solve.cpp"), b.string("src/linalg.cpp")];
    b.finish(|p| {
        p.totals.peak_live = 1_300_000;
        p.totals.footprint = 1_284_096;
        p.sources =
            vec![SourceFile { path: paths[0], sha256: Some([0x5a; 32]) }, SourceFile { path: paths[1], sha256: None }];
        p.coverage = Coverage {
            modules: vec![ModuleCoverage { name: "solve".into(), functions: 6, accesses: 1042 }],
            functions_instrumented: 6,
            functions_skipped: 1,
            accesses_instrumented: 1042,
            skipped: vec![("address space".into(), 2), ("inline assembly".into(), 17), ("naked function".into(), 1)],
            unseen_calls: vec![
                ("printf".into(), 1_200_345),
                ("cos".into(), 4000),
                ("_ZNSt6localeC1Ev".into(), 12),
                ("clock_gettime".into(), 2),
                ("getenv".into(), 1),
                ("isatty".into(), 1),
                ("setlocale".into(), 1),
            ],
            without_hooks: vec!["libold.rlib(old.old.1-cgu.0.rcgu.o)".into()],
            unknown_frees: 3,
            lost_events: 0,
            processes: 1,
            threads: 1,
        };
    })
}

/// [`small`] with four threads that share a stack, and their own stacks beside it: half as deep, and what was nearer
/// than 4 KiB a first touch.
pub fn levels() -> Profile {
    let mut p = small();
    (p.meta.thread_mode, p.coverage.threads) = (ThreadMode::Shared { turn: 64 }, 4);
    p.sharing = Some(Sharing::default());
    let mut alone = AloneTotals { totals: p.totals.clone(), ..AloneTotals::default() };
    let (mut first, mut all) = (BTreeMap::new(), (0, 0));
    for cell in p.cells.iter_mut().filter(|cell| cell.read > 0) {
        let (mut histogram, mut cold, mut cost) = (BTreeMap::new(), 0, 0);
        for (bucket, bytes) in &cell.depths.depths {
            let depth = (bounds(*bucket).1 / 2).max(1);
            *histogram.entry(bucket_of(depth)).or_insert(0) += bytes;
            cost += u128::from((depth - 1).isqrt() + 1) * u128::from(*bytes);
            if depth < 4096 {
                cold += bytes;
                *first.entry(bucket_of(depth)).or_insert(0) += bytes;
            }
        }
        all = (all.0 + cold, all.1 + cost);
        let depths = Histogram::from_depths(histogram.into_iter().collect());
        cell.alone = Some(Box::new(Alone { cold, cost, depths, lines: None }));
    }
    (alone.totals.cold, alone.totals.cost) = all;
    (alone.cold_histogram, alone.threads) =
        (Histogram::from_depths(first.into_iter().collect()), vec![alone.totals.clone()]);
    p.stacks = Some(Stacks { threads: 4, alone: Some(alone) });
    p
}

/// What a cell read needs twice the room in a memory: as many bytes died above it as live there.
fn raise(cell: &mut Cell) {
    let capacities = cell.depths.depths.iter().map(|(bucket, bytes)| (bucket_of(2 * bounds(*bucket).1), *bytes));
    let capacities = Some(capacities.collect()).filter(|_| cell.read > 0);
    cell.depths.capacities = capacities;
}

/// [`small`], in which bytes died above all that was read.
pub fn deaths() -> Profile {
    let mut profile = small();
    profile.cells.iter_mut().for_each(raise);
    profile
}

/// [`small`] with exact liveness: a quarter of the cost was dead bytes, and some cells wrote what nobody read.
pub fn exact() -> Profile {
    let mut profile = small();
    profile.meta.liveness = Liveness::Exact;
    for cell in &mut profile.cells {
        let left = Left { unread: cell.written / 4, last_read: cell.read / 10 };
        cell.dead = Some(Box::new(Dead { cost: cell.cost / 3, left }));
    }
    profile
}

/// Two loops over one array, with flows and with the calls of `main`: `fill` writes the array, `scale` reads it and
/// `total` reads it again, each far from the last touch. The last 64 bytes of it are an input.
pub fn flows() -> Profile {
    let mut b = Builder::new(&["./stages", "1000"]);
    let main = b.function("main", Some("stages.c"), 30);
    let names = ["fill", "scale", "total"];
    let [fill, scale, total] = [0, 1, 2].map(|i| b.function(names[i], Some("stages.c"), 5 + 8 * i as u32));
    let [in_fill, in_scale, in_total] = [fill, scale, total].map(|f| b.position(f, 7, None));
    let stores = b.site(fill, Some(in_fill), AccessKind::Store, 8);
    let loads = b.site(scale, Some(in_scale), AccessKind::Load, 8);
    let again = b.site(total, Some(in_total), AccessKind::Load, 8);
    let c_main = b.context(Builder::ROOT, main, 1);
    let [c_fill, c_scale, c_total] = [(fill, 1), (scale, 2), (total, 1)].map(|(f, n)| b.context(c_main, f, n));
    b.cell(c_fill, stores, &[], &[], 7936)
        .cell(c_scale, loads, &[(4000, 7936), (7960, 64)], &[(7960, 64)], 0)
        .cell(c_total, again, &[(8000, 8000)], &[], 0)
        .flow(None, None, loads, &[(7960, 64)])
        .flow(None, Some(loads), again, &[(8000, 64)])
        .flow(Some(stores), Some(stores), loads, &[(4000, 7936)])
        .flow(Some(stores), Some(loads), again, &[(8000, 7936)])
        .sequence(main, &[(fill, 1), (scale, 2), (total, 1)], 0)
        .sequence(main, &[(scale, 1)], 0);
    b.finish(|_| {})
}

/// The profile of `small`, as if each cell had loaded a line for each byte, half of them in order, and written an
/// eighth of them.
pub fn with_lines() -> Profile {
    let mut profile = small();
    for cell in &mut profile.cells {
        let part = |of: u64| cell.depths.depths.iter().map(|(bucket, n)| (*bucket, n.div_ceil(of))).collect();
        let moved = LineCounts {
            loads: Histogram::from_depths(cell.depths.depths.clone()),
            write_backs: Histogram::from_depths(part(8)),
            first_loads: cell.cold,
            first_stores: 1,
            last_write_backs: 2,
            in_order: Histogram::from_depths(part(2)),
            first_in_order: cell.cold / 3,
            first_at_step: cell.cold / 5,
            ..LineCounts::default()
        };
        cell.lines = Some([moved].into());
    }
    profile.line_sizes = vec![64];
    profile
}

/// [`with_lines`], as if two sites had brought in from far what the first of them had brought in before.
pub fn with_pairs() -> Profile {
    let mut profile = with_lines();
    let pair = |before, site, lines, far| LinePair { before, site: SiteId(site), counts: PairCounts { lines, far } };
    profile.pairs = vec![pair(None, 0, 10, 10), pair(Some(SiteId(0)), 0, 4000, 100), pair(Some(SiteId(0)), 1, 300, 0)];
    profile
}

/// An object of which nothing is known but its kind.
pub fn object(kind: ObjectKind) -> DataObject {
    DataObject {
        kind,
        name: None,
        module: None,
        function: None,
        file: None,
        line: 0,
        site: None,
        context: None,
        times: 1,
        bytes: 800,
        peak: 800,
        parts: Vec::new(),
    }
}

/// The profile of `with_lines`, as if bytes had no depths.
pub fn lines_only() -> Profile {
    let mut profile = with_lines();
    for cell in &mut profile.cells {
        (cell.read, cell.cold, cell.cost, cell.depths) = (0, 0, 0, Histogram::default());
    }
    let totals = &mut profile.totals;
    (totals.read, totals.cold, totals.cost, totals.peak_live, totals.footprint) = (0, 0, 0, 0, 0);
    profile.cold_histogram = Histogram::default();
    for thread in &mut profile.threads {
        (thread.read, thread.cold, thread.cost, thread.peak_live, thread.footprint) = (0, 0, 0, 0, 0);
    }
    profile.meta.unit = Unit::Lines;
    profile
}

/// The profile of `with_lines`, as if two levels of caches had fetched and written lines.
pub fn with_caches() -> Profile {
    let mut profile = with_lines();
    let level = |bytes, ways, plru| CacheLevel { bytes, ways, line: 64, plru };
    for cell in &mut profile.cells {
        let moves = CacheCounts { loads: cell.read / 3, stores: cell.written / 5, write_backs: cell.written / 7 };
        cell.caches = Some([moves, CacheCounts { write_backs: 0, ..moves }].into());
    }
    profile.caches = vec![level(32 << 10, 8, true), level(1 << 20, 16, false)];
    profile
}

/// The small profile, as if parts of its accesses had been hazards of two kinds.
pub fn with_hazards() -> Profile {
    let mut profile = small();
    for cell in profile.cells.iter_mut().filter(|cell| cell.executions > 6) {
        cell.counts.hazards = Some([cell.executions / 3, cell.executions / 7].into());
    }
    profile.hazards = ["split_lines", "of_another_version"].map(String::from).into();
    profile
}

/// The small profile, as if two memories that know the future had fetched parts of what it reads.
pub fn with_optimum() -> Profile {
    let mut profile = small();
    for cell in profile.cells.iter_mut().filter(|cell| cell.read > 0) {
        let least = |part: u64| LeastCounts { fetched: (cell.read - cell.cold) / part, first: cell.cold / part };
        cell.least = Some([least(3), least(1000)].into());
    }
    profile.optimum = vec![16, 32 << 10];
    profile
}

/// A profile of the values model: two regions, one without declared inputs.
pub fn values() -> Profile {
    let mut b = Builder::new(&["./dot", "n=2"]);
    b.profile.meta.model = "values".into();
    b.profile.meta.liveness = Liveness::Exact;
    b.profile.meta.values = Some(ValuesMeta { bytes_per_element: Some(1), fma_is_one: false });
    b.profile.has_capacities = false;
    let dot = b.function("dot", Some("dot.c"), 4);
    let at = b.position(dot, 7, None);
    let (mul, add) =
        (b.site(dot, Some(at), AccessKind::Instruction, 8), b.site(dot, Some(at), AccessKind::Instruction, 8));
    let context = b.context(Builder::ROOT, dot, 1);
    b.cell(context, mul, &[(2, 2), (3, 1), (4, 1)], &[], 0).cell(context, add, &[(1, 1), (2, 1)], &[], 0);
    b.profile.cells[0].span = 1;
    b.profile.cells[1].span = 1;
    let region = |name: &str, first_use_inputs, unfinished| Region {
        name: name.into(),
        times: 1,
        reads: 6,
        bytes_read: 6,
        escapes: 0,
        instructions: 3,
        ops: [1, 2, 0, 0, 0, 0, 0],
        cost: 11,
        span: 2,
        span_outputs: 2,
        peak_live: 4,
        input_bytes: 4,
        first_use_inputs,
        unfinished,
        depths: buckets(&[(1, 1), (2, 3), (3, 1), (4, 1)]),
        ..Region::default()
    };
    let lazy = Region { unread_inputs: 1, unread_bytes: 64, early_reads: 3, ..region("lazy", true, 1) };
    b.profile.regions = vec![region("dot", false, 0), lazy];
    b.finish(|_| {})
}

type Cells = Vec<(u8, u8, Vec<(u32, u16)>, u16, bool)>;

/// Small random profiles: nested inlining, recursion, several roots' worth of contexts, merged names.
pub fn any_profile() -> impl Strategy<Value = Profile> {
    const NAMES: [&str; 6] =
        ["main", "_Z1fi", "_ZN3lib3run17h0123456789abcdefE", "_ZN3lib3run17hfedcba9876543210E", "g", ""];
    let functions = prop::collection::vec((0..NAMES.len(), prop::option::of(0u8..3), 0u32..4), 1..6);
    let positions = prop::collection::vec((any::<u8>(), 0u32..5, prop::option::of(any::<u8>())), 0..10);
    let sites = prop::collection::vec((any::<u8>(), prop::option::of(any::<u8>())), 1..8);
    let contexts = prop::collection::vec((any::<u8>(), any::<u8>(), 0u64..1000), 1..10);
    let depth_and_bytes = (1u32.., any::<u16>());
    let cells = prop::collection::vec(
        (any::<u8>(), any::<u8>(), prop::collection::vec(depth_and_bytes, 0..4), any::<u16>(), any::<bool>()),
        0..20,
    );
    let ops =
        prop::collection::vec((any::<u8>(), prop::option::of(any::<u8>()), any::<[u32; 7]>(), any::<u64>()), 0..6);
    let meta = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (functions, positions, sites, contexts, cells, ops, meta).prop_map(
        |(functions, positions, sites, contexts, cells, ops, (raised, killed, exact, flows)): (
            _,
            _,
            _,
            _,
            Cells,
            _,
            _,
        )| {
            let mut b = Builder::new(&["p"]);
            for (name, file, line) in functions {
                b.function(NAMES[name], file.map(|f| ["a.c", "b.c", "c.c"][usize::from(f)]), line);
            }
            let pick = |id: u8, len: usize| u32::from(id) % len.max(1) as u32;
            let n_functions = b.profile.functions.len();
            for (i, (function, line, parent)) in positions.into_iter().enumerate() {
                let parent = parent.filter(|_| i > 0).map(|p| PositionId(pick(p, i)));
                b.position(FunctionId(pick(function, n_functions)), line, parent);
            }
            let n_positions = b.profile.positions.len();
            let position = |p: Option<u8>| p.filter(|_| n_positions > 0).map(|p| PositionId(pick(p, n_positions)));
            for (function, at) in sites {
                b.site(FunctionId(pick(function, n_functions)), position(at), AccessKind::Load, 8);
            }
            for (parent, function, calls) in contexts {
                let parent = ContextId(pick(parent, b.profile.contexts.len()));
                b.context(parent, FunctionId(pick(function, n_functions)), calls);
            }
            let (n_contexts, n_sites) = (b.profile.contexts.len(), b.profile.sites.len());
            let unique: BTreeMap<_, _> = cells
                .into_iter()
                .map(|(c, s, reads, written, cold)| ((pick(c, n_contexts), pick(s, n_sites)), (reads, written, cold)))
                .collect();
            for ((context, site), (reads, written, cold)) in unique {
                let reads: Vec<_> = reads.into_iter().map(|(d, n)| (u64::from(d), u64::from(n))).collect();
                let cold = if cold { &reads[..reads.len() / 2] } else { &[] };
                b.cell(ContextId(context), SiteId(site), &reads, cold, u64::from(written));
            }
            for (i, (context, at, ops, executions)) in ops.into_iter().enumerate() {
                let block = b.block(FunctionId(pick(context, n_functions)), &[(position(at), ops)]);
                debug_assert_eq!(block.index(), i);
                b.block_count(ContextId(pick(context, n_contexts)), block, executions);
            }
            b.finish(|p| {
                if raised {
                    p.cells.iter_mut().step_by(2).for_each(raise);
                }
                if exact {
                    p.meta.liveness = Liveness::Exact;
                    for cell in &mut p.cells {
                        let left = Left { unread: cell.written / 2, last_read: cell.read / 2 };
                        cell.dead = Some(Box::new(Dead { cost: cell.cost, left }));
                    }
                } else if flows {
                    p.flows = Some(inputs(&p.cells));
                    p.sequences = p
                        .functions
                        .first()
                        .map(|_| Sequence { function: FunctionId(0), calls: vec![(FunctionId(0), 3)], omitted: 7 })
                        .into_iter()
                        .collect();
                }
                if killed {
                    p.meta.outcome = Outcome::Signaled(11);
                }
            })
        },
    )
}

/// The flows of a program in which nothing is written: one per site that reads.
fn inputs(cells: &[Cell]) -> Vec<Flow> {
    let mut flows: BTreeMap<SiteId, (u128, BTreeMap<u16, u64>)> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.read > 0) {
        let (cost, histogram) = flows.entry(cell.site).or_default();
        *cost += cell.cost;
        for (bucket, bytes) in &cell.depths.depths {
            *histogram.entry(*bucket).or_default() += bytes;
        }
    }
    let flow = |(reader, (cost, histogram)): (SiteId, (u128, BTreeMap<u16, u64>))| {
        let bytes = histogram.values().sum();
        let histogram = Histogram::from_depths(histogram.into_iter().collect());
        Flow {
            writer: None,
            toucher: None,
            reader,
            object: None,
            bytes,
            cost,
            histogram,
            toucher_context: None,
            reader_context: None,
            between_all: 0,
            between: Vec::new(),
        }
    };
    flows.into_iter().map(flow).collect()
}
