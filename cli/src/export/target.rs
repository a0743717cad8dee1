//! Which formats there are, and what a person may ask of them.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::{gate::metric::Metric, report::Inlined};

/// A format of a viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// KCachegrind, QCachegrind, callgrind_annotate: functions, lines, callers; several metrics
    Callgrind,
    /// speedscope.app: call stacks, one profile per metric
    Speedscope,
    /// go tool pprof, Grafana Pyroscope, Parca: call stacks with lines, several metrics; gzip
    Pprof,
    /// flamegraph.pl, inferno, and most flame graph tools: call stacks, one metric
    Folded,
    /// profiler.firefox.com: call stacks, one track per metric; gzip
    Firefox,
    /// VS Code (numbers at the lines, no extension needed) and Chrome's developer tools: call stacks with lines, one
    /// metric
    Cpuprofile,
    /// Code scanning and editors (SARIF 2.1.0): the lines that cost most
    Sarif,
    /// Spreadsheets: one row per call stack and line, with all metrics
    Csv,
}

impl Target {
    /// How many metrics one file holds.
    #[must_use]
    pub fn holds_several(self) -> bool {
        !matches!(self, Target::Folded | Target::Sarif | Target::Cpuprofile)
    }

    /// The file that is written if nobody names one.
    #[must_use]
    pub fn default_file(self) -> &'static str {
        match self {
            Target::Callgrind => "callgrind.out.dmdprof",
            Target::Speedscope => "dmdprof.speedscope.json",
            Target::Pprof => "dmdprof.pb.gz",
            Target::Folded => "dmdprof.folded",
            Target::Firefox => "dmdprof.firefox.json.gz",
            Target::Cpuprofile => "dmdprof.cpuprofile",
            Target::Sarif => "dmdprof.sarif",
            Target::Csv => "dmdprof.stacks.csv",
        }
    }
}

/// What is exported if nobody says.
pub const DEFAULT_METRICS: [Metric; 7] = [
    Metric::COST,
    Metric::READ,
    Metric::WRITTEN,
    Metric::COLD,
    Metric::ACCESSES,
    Metric::Traffic(32 << 10),
    Metric::Traffic(1 << 20),
];

/// What to write.
#[derive(Clone, Debug)]
pub struct Options {
    pub target: Target,
    /// Not empty; only metrics that [`is_of_code`].
    pub metrics: Vec<Metric>,
    /// Which inlined functions are frames.
    pub inlined: Inlined,
    /// SARIF: at most so many lines.
    pub top: usize,
    /// SARIF: sources below this directory are named relative to it.
    pub root: Option<PathBuf>,
}

/// Whether stacks have this number: it adds up, and code has it wherever it was called from.
#[must_use]
pub fn is_of_code(metric: Metric) -> bool {
    // A core knows places in the code, and not who called it.
    metric.kind().adds && metric != Metric::COPIED && !metric.path().starts_with("cycles_")
}
