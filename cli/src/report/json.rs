//! The report as JSON, version [`VERSION`], described by `docs/report-schema.json`. Integers are exact, however large.

use std::io::{self, Write};

use serde::Serialize;

use super::analysis::{Analysis, Grouping, Inlined, Row};
use super::args::ReportOptions;
use super::built;
use super::clock::{self, JsonClock};
use super::depths::{Depths, QuantileReader, Quantiles};
use super::flows::{self, JsonFlow, JsonSequence};
use super::numbers::{Numbers, SumsContext};
use super::program::{self, Capacity};
use super::regions::{self, JsonRegion};
use super::select::Selection;
use super::threads;
use crate::profile::Profile;
use crate::profile::model::{
    CycleCore, Liveness, MeasuredCycles, ModuleCoverage, Outcome, Sharing, SharingDetails, Totals, Unit,
};

/// Bumped when a field changes its meaning or goes; new fields may come without.
pub const VERSION: u32 = 2;

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    tool: Tool<'a>,
    model: Model<'a>,
    liveness: &'static str,
    thread_mode: String,
    unit: JsonUnit,
    command: &'a [String],
    roi: Option<&'a str>,
    outcome: JsonOutcome,
    /// False if the program was killed or something was not recorded: the numbers are those up to then.
    complete: bool,
    incomplete: Option<String>,
    /// What the program's build decides, with the flag that changes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    built: Vec<String>,
    attribution: &'static str,
    totals: Total,
    identity: Identity,
    depth: ProgramDepth,
    /// Of the values model: declared regions, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    regions: Vec<JsonRegion<'a>>,
    /// If they were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    flows: Option<Vec<JsonFlow<'a>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sequences: Vec<JsonSequence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<Vec<JsonRow<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<JsonRow<'a>>>,
    folded: Option<JsonFolded>,
    threads: Vec<JsonThread<'a>>,
    /// If cores followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    cycles: Option<JsonCycles<'a>>,
    /// If there is a clock beside the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<JsonClock>,
    /// If threads share stacks, or with `--sharing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    sharing: Option<&'a Sharing>,
    /// With `--sharing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    sharing_details: Option<&'a SharingDetails>,
    coverage: JsonCoverage<'a>,
}

/// The cores; what places took on the first is among their numbers.
#[derive(Serialize)]
struct JsonCycles<'a> {
    cores: Vec<JsonCore<'a>>,
    of_program_without_hooks: bool,
    unknown_instructions: Vec<Counted<'a>>,
}

#[derive(Serialize)]
struct JsonCore<'a> {
    name: &'a str,
    frequency_mhz: u64,
    /// The machine's file does not state all numbers of its core.
    estimated: bool,
    cycles: u64,
    /// Standard error by sampling, as a part of the cycles; null: all was looked at.
    error: Option<f64>,
    windows: u64,
}

impl<'a> JsonCycles<'a> {
    fn from_measured(measured: &'a MeasuredCycles) -> Self {
        let core = |core: &'a CycleCore| JsonCore {
            name: &core.name,
            frequency_mhz: core.frequency,
            estimated: core.is_estimated,
            cycles: core.cycles,
            error: (core.error > 0).then(|| core.error as f64 / core.cycles.max(1) as f64),
            windows: core.windows,
        };
        Self {
            cores: measured.cores.iter().map(core).collect(),
            of_program_without_hooks: measured.is_twin,
            unknown_instructions: counted(&measured.unknown),
        }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'static str,
    version: &'static str,
    /// The dmdprof that made the profile.
    profile_version: &'a str,
}

#[derive(Serialize)]
struct Model<'a> {
    name: &'a str,
    version: u32,
    /// Of the values model; null: each value has the size of its type.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_element: Option<Option<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fma: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum JsonUnit {
    Byte,
    /// Bytes have no depths.
    LinesOnly,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum JsonOutcome {
    Exited { code: i32 },
    Signaled { signal: i32 },
    Unknown,
}

#[derive(Serialize)]
struct Total {
    #[serde(flatten)]
    numbers: Numbers,
    peak_live: u64,
    footprint: u64,
}

#[derive(Serialize)]
struct Identity {
    least: u128,
    most: u128,
    holds: bool,
}

#[derive(Serialize)]
struct Depth {
    p50: u64,
    p90: u64,
    p99: u64,
    max: u64,
    /// [smallest depth, largest depth, reads].
    #[serde(skip_serializing_if = "Option::is_none")]
    histogram: Option<Vec<[u64; 3]>>,
    /// [smallest capacity, largest capacity, reads], if capacities are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_capacity: Option<Vec<[u64; 3]>>,
}

impl Depth {
    fn new(profile: &Profile, depths: &Depths, quantiles: Quantiles, hist: bool) -> Self {
        let Quantiles { p50, p90, p99, max } = quantiles;
        let buckets = |depths: &Depths| depths.buckets().map(|(low, high, reads)| [low, high, reads]).collect();
        let histogram = hist.then(|| buckets(depths));
        let by_capacity = (hist && profile.has_capacities).then(|| buckets(&depths.by_capacity()));
        Depth { p50, p90, p99, max, histogram, by_capacity }
    }
}

#[derive(Serialize)]
struct ProgramDepth {
    #[serde(flatten)]
    all: Depth,
    capacities: Vec<Capacity>,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<&'a [String]>,
    symbols: &'a [String],
    file: Option<&'a str>,
    line: Option<u32>,
    calls: Option<u128>,
    inlined: bool,
    /// What would help most of its accesses that fetch lines again, if counts support something.
    #[serde(rename = "try", skip_serializing_if = "Option::is_none")]
    cure: Option<&'static str>,
    exclusive: Numbers,
    depth: Depth,
    #[serde(skip_serializing_if = "Option::is_none")]
    inclusive: Option<Numbers>,
}

#[derive(Serialize)]
struct JsonFolded {
    rows: usize,
    threshold: f64,
    exclusive: Numbers,
    depth: Depth,
}

#[derive(Serialize)]
struct JsonThread<'a> {
    /// Began with it; `None` if that is not known.
    function: Option<String>,
    #[serde(flatten)]
    totals: &'a Totals,
}

#[derive(Serialize)]
struct JsonCoverage<'a> {
    modules: &'a [ModuleCoverage],
    functions_instrumented: u64,
    functions_skipped: u64,
    accesses_instrumented: u64,
    skipped: Vec<Counted<'a>>,
    unseen_calls: Vec<Counted<'a>>,
    without_hooks: &'a [String],
    random_requests: u64,
    random_fixed: bool,
    unknown_frees: u64,
    lost_events: u64,
    processes: u64,
    threads: u64,
}

#[derive(Serialize)]
struct Counted<'a> {
    name: &'a str,
    count: u64,
}

fn counted(list: &[(String, u64)]) -> Vec<Counted<'_>> {
    list.iter().map(|(name, count)| Counted { name, count: *count }).collect()
}

pub fn write(
    analysis: &Analysis,
    selection: &Selection,
    options: &ReportOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let profile = analysis.profile;
    let (meta, coverage) = (&profile.meta, &profile.coverage);
    let total = &analysis.total;
    let of = SumsContext { profile, total };
    let lines = matches!(analysis.grouping, Grouping::Lines(_));
    let rows: Vec<JsonRow> = selection.shown.iter().map(|row| json_row(row, of, options, lines)).collect();
    let (functions, lines) = if lines { (None, Some(rows)) } else { (Some(rows), None) };
    let (least, most) = total.depths.cost_bounds();
    let incomplete = profile.incomplete();
    let report = Report {
        version: VERSION,
        tool: Tool { name: "dmdprof", version: env!("CARGO_PKG_VERSION"), profile_version: &meta.tool_version },
        model: Model {
            name: &meta.model,
            version: meta.model_version,
            bytes_per_element: meta.values.as_ref().map(|v| v.bytes_per_element),
            fma: meta.values.as_ref().map(|v| if v.fma_is_one { "one" } else { "expand" }),
        },
        liveness: liveness(meta.liveness),
        thread_mode: meta.thread_mode.to_string(),
        unit: match meta.unit {
            Unit::Byte => JsonUnit::Byte,
            Unit::Lines => JsonUnit::LinesOnly,
        },
        command: &meta.command,
        roi: meta.roi.as_deref(),
        outcome: match meta.outcome {
            Outcome::Exited(code) => JsonOutcome::Exited { code },
            Outcome::Signaled(signal) => JsonOutcome::Signaled { signal },
            Outcome::Unknown => JsonOutcome::Unknown,
        },
        complete: incomplete.is_none(),
        incomplete,
        built: built::notes(profile),
        attribution: match analysis.grouping {
            Grouping::Functions | Grouping::Lines(Inlined::Own) => "own",
            Grouping::AllFunctions | Grouping::Lines(Inlined::All) => "source",
            Grouping::Symbols | Grouping::Lines(Inlined::Linked) => "linked",
        },
        totals: Total {
            numbers: Numbers::from_sums(total, of),
            peak_live: profile.totals.peak_live,
            footprint: profile.totals.footprint,
        },
        identity: Identity { least, most, holds: least <= total.cost && total.cost <= most },
        depth: ProgramDepth {
            all: Depth::new(profile, &total.depths, analysis.quantiles, true),
            capacities: program::capacities(analysis),
        },
        regions: profile.regions.iter().map(regions::json).collect(),
        flows: profile.flows.as_ref().map(|all| all.iter().map(|f| flows::json(profile, f, options.hist)).collect()),
        sequences: profile.sequences.iter().map(|s| flows::json_sequence(profile, s)).collect(),
        functions,
        lines,
        folded: selection.folded.as_ref().map(|folded| JsonFolded {
            rows: folded.rows,
            threshold: options.threshold,
            exclusive: Numbers::from_sums(&folded.own, of),
            depth: Depth::new(
                profile,
                &folded.own.depths,
                QuantileReader::new(profile.totals.peak_live).read(&folded.own.depths),
                options.hist,
            ),
        }),
        threads: threads::named_totals(profile).map(|(function, totals)| JsonThread { function, totals }).collect(),
        cycles: profile.cycles.as_ref().map(JsonCycles::from_measured),
        clock: profile.clock.as_ref().map(|clock| clock::json(profile, clock)),
        sharing: profile.sharing.as_ref(),
        sharing_details: profile.sharing_details.as_ref(),
        coverage: JsonCoverage {
            modules: &coverage.modules,
            functions_instrumented: coverage.functions_instrumented,
            functions_skipped: coverage.functions_skipped,
            accesses_instrumented: coverage.accesses_instrumented,
            skipped: counted(&coverage.skipped),
            unseen_calls: counted(&coverage.unseen_calls),
            without_hooks: &coverage.without_hooks,
            random_requests: meta.random.requests,
            random_fixed: meta.random.fixed,
            unknown_frees: coverage.unknown_frees,
            lost_events: coverage.lost_events,
            processes: coverage.processes,
            threads: coverage.threads,
        },
    };
    serde_json::to_writer_pretty(&mut *out, &report)?;
    out.write_all(b"\n")
}

#[must_use]
pub fn liveness(liveness: Liveness) -> &'static str {
    match liveness {
        Liveness::None => "none",
        Liveness::Hints => "hints",
        Liveness::Exact => "exact",
    }
}

fn json_row<'a>(row: &'a Row, of: SumsContext, options: &ReportOptions, lines: bool) -> JsonRow<'a> {
    JsonRow {
        name: row.name(),
        names: lines.then_some(&row.names),
        symbols: &row.symbols,
        file: row.file.as_deref(),
        line: (row.line > 0).then_some(row.line),
        calls: row.calls.linked,
        inlined: row.calls.inlined,
        cure: options.tries.for_row(row),
        exclusive: Numbers::from_sums(&row.own, of),
        depth: Depth::new(of.profile, &row.own.depths, row.quantiles, options.hist),
        inclusive: row.inclusive.as_ref().map(|sums| Numbers::from_sums(sums, of)),
    }
}
