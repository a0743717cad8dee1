//! Flows and call sequences as JSON: what other programs need of them, with names and source lines in the place of
//! numbers.

use dmdprof_runtime::histogram::bounds;
use serde::Serialize;

use crate::profile::model::{AccessKind, ContextId, Counts, Flow, FunctionId, Profile, Sequence, SiteId};
use crate::shared::names::demangle;

#[derive(Serialize)]
pub struct JsonFlow<'a> {
    writer: Option<JsonSite<'a>>,
    toucher: Option<JsonSite<'a>>,
    reader: JsonSite<'a>,
    /// Linked functions from the thread's start to the site.
    #[serde(skip_serializing_if = "Option::is_none")]
    toucher_context: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reader_context: Option<Vec<String>>,
    bytes: u64,
    cost: u128,
    /// [smallest depth, largest depth, bytes read].
    #[serde(skip_serializing_if = "Option::is_none")]
    histogram: Option<Vec<[u64; 3]>>,
    /// [smallest capacity, largest capacity, bytes read], if capacities are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_capacity: Option<Vec<[u64; 3]>>,
}

#[derive(Serialize)]
struct JsonSite<'a> {
    /// Tells sites of one line apart.
    site: u32,
    /// Linked function.
    function: String,
    file: Option<&'a str>,
    line: Option<u32>,
    kind: &'static str,
    /// Null if it varies.
    size: Option<u32>,
}

#[derive(Serialize)]
pub struct JsonSequence {
    function: String,
    calls: Vec<JsonCalls>,
    omitted: u64,
}

#[derive(Serialize)]
struct JsonCalls {
    function: String,
    times: u64,
}

#[must_use]
pub fn json<'a>(profile: &'a Profile, flow: &Flow, hist: bool) -> JsonFlow<'a> {
    let buckets = |counts: &Counts| {
        let of = |(bucket, bytes): &(u16, u64)| (bounds(*bucket), *bytes);
        counts.iter().map(of).map(|((low, high), bytes)| [low, high, bytes]).collect()
    };
    JsonFlow {
        writer: flow.writer.map(|id| site(profile, id)),
        toucher: flow.toucher.map(|id| site(profile, id)),
        reader: site(profile, flow.reader),
        toucher_context: flow.toucher_context.map(|context| functions(profile, context)),
        reader_context: flow.reader_context.map(|context| functions(profile, context)),
        bytes: flow.bytes,
        cost: flow.cost,
        histogram: hist.then(|| buckets(&flow.histogram.depths)),
        by_capacity: (hist && profile.has_capacities).then(|| buckets(flow.histogram.by_capacity())),
    }
}

#[must_use]
pub fn json_sequence(profile: &Profile, sequence: &Sequence) -> JsonSequence {
    let call = |(callee, times): &(FunctionId, u64)| JsonCalls { function: name(profile, *callee), times: *times };
    JsonSequence {
        function: name(profile, sequence.function),
        calls: sequence.calls.iter().map(call).collect(),
        omitted: sequence.omitted,
    }
}

fn site(profile: &Profile, id: SiteId) -> JsonSite<'_> {
    let site = &profile.sites[id.index()];
    let position = site.position.map(|id| &profile.positions[id.index()]);
    let file = position.and_then(|p| p.file).map(|id| profile.strings[id.index()].as_str());
    JsonSite {
        site: id.0,
        function: name(profile, site.function),
        file,
        line: position.map(|p| p.line).filter(|line| *line > 0),
        kind: kind(site.kind),
        size: (site.size > 0).then_some(site.size),
    }
}

/// The functions of a calling context, the outermost first.
#[must_use]
pub fn functions(profile: &Profile, context: ContextId) -> Vec<String> {
    let parent = |at: &ContextId| profile.contexts[at.index()].parent;
    let contexts = std::iter::successors(Some(context), parent);
    let mut functions: Vec<String> =
        contexts.filter_map(|at| profile.contexts[at.index()].function).map(|id| name(profile, id)).collect();
    functions.reverse();
    functions
}

fn name(profile: &Profile, id: FunctionId) -> String {
    demangle(profile.symbol(id))
}

fn kind(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Update => "update",
        AccessKind::Copy => "copy",
        AccessKind::Fill => "fill",
        AccessKind::Call => "call",
        AccessKind::Instruction => "instruction",
        AccessKind::Escape => "escape",
    }
}
