//! Profiles in the formats of other viewers.
//!
//! Takes a [`Profile`] and a list of metrics, gives the text or bytes of one file. [`stacks`] turns cells into call stacks
//! with a value per metric; each format is a module that writes those. Refuses metrics that code does not have (footprint,
//! calls) and several metrics where a format holds one. What each format keeps and loses: `docs/export.md`.

mod callgrind;
mod cpuprofile;
mod csv;
mod firefox;
mod folded;
mod pprof;
mod sarif;
mod speedscope;
pub mod stacks;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::ValueEnum;

use crate::gate::metric::Metric;
use crate::profile::Profile;
use crate::report::Inlined;
use stacks::Stacks;

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
    /// VS Code (numbers at the lines, no extension needed) and Chrome's developer tools: call stacks with lines, one metric
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
    Metric::Cost,
    Metric::Read,
    Metric::Written,
    Metric::Cold,
    Metric::Accesses,
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

/// Whether stacks have this number.
#[must_use]
pub fn is_of_code(metric: Metric) -> bool {
    !matches!(metric, Metric::Copied | Metric::Calls | Metric::Footprint | Metric::PeakLive) && !metric.is_of_lines()
}

/// Writes the profile. It must be one that `profile::validate` accepts, as every profile from a file is.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let stacks = Stacks::of(profile, &options.metrics, options.inlined);
    match options.target {
        Target::Callgrind => callgrind::write(&stacks, out),
        Target::Speedscope => speedscope::write(&stacks, out),
        Target::Pprof => pprof::write(&stacks, out),
        Target::Folded => folded::write(&stacks, out),
        Target::Firefox => firefox::write(&stacks, out),
        Target::Cpuprofile => cpuprofile::write(&stacks, out),
        Target::Sarif => sarif::write(&stacks, options, out),
        Target::Csv => csv::write(&stacks, out),
    }
}

/// The largest number that every reader of these formats holds: signed 64 bits.
const LARGEST: u128 = i64::MAX as u128;

/// A metric whose total does not fit into 64 bits is written in units of a power of 1,000, and its name says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    divisor: u128,
    power: u32,
}

impl Scale {
    fn of(total: u128) -> Scale {
        Scale::within(total, LARGEST)
    }

    fn within(total: u128, largest: u128) -> Scale {
        let mut scale = Scale { divisor: 1, power: 0 };
        while total / scale.divisor > largest {
            scale = Scale { divisor: scale.divisor * 1000, power: scale.power + 3 };
        }
        scale
    }

    /// Rounded to the nearest unit.
    fn apply(self, value: u128) -> u64 {
        let rounded = value / self.divisor + u128::from(value % self.divisor * 2 >= self.divisor && self.divisor > 1);
        u64::try_from(rounded).unwrap_or(u64::MAX)
    }

    fn name(self, name: &str) -> String {
        if self.power == 0 { name.into() } else { format!("{name}_in_1e{}", self.power) }
    }
}

/// Metrics as columns of 64-bit numbers, with the name of each.
struct Columns {
    scales: Vec<Scale>,
    names: Vec<String>,
}

impl Columns {
    fn of(stacks: &Stacks) -> Columns {
        let scales: Vec<Scale> = stacks.totals.iter().map(|total| Scale::of(*total)).collect();
        let names = stacks.metrics.iter().zip(&scales).map(|(metric, scale)| scale.name(&metric.to_string())).collect();
        Columns { scales, names }
    }

    fn values(&self, values: &[u128]) -> Vec<u64> {
        self.scales.iter().zip(values).map(|(scale, value)| scale.apply(*value)).collect()
    }
}

/// `dmdprof 0.1.0: ./kernel 500`.
fn title(profile: &Profile) -> String {
    format!("dmdprof {}: {}", profile.meta.tool_version, profile.meta.command.join(" "))
}

/// A path as a URI reference: what is neither unreserved nor `/` is escaped by its bytes.
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}
