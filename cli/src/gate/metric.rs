//! What can be compared and limited: one name per number.
//!
//! The names are those of the [report](numbers), with what only comparisons have beside them. A number that the report
//! has can be named here; what it is in, and which way is better, the report says.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::report::{
    csv,
    lines::SHOWN,
    numbers::{self, Kind, Unit},
};
use crate::shared::quantity::parse_size;

/// A number of the program or of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// By its path in the report, or one of [`BESIDE`].
    Number(&'static str),
    /// Q(capacity): bytes read that a memory of this capacity fetches.
    Traffic(u64),
    /// Bytes read at a greater depth.
    Deeper(u64),
    /// Bytes of lines that a memory of this capacity fetches.
    Fills(u64),
    /// Bytes of lines that it writes back.
    WriteBacks(u64),
    /// Both.
    LineTraffic(u64),
    /// Of the bytes of lines that loads fetch, what is read.
    Utilisation(u64),
}

/// Of the program, and not of functions.
const OF_PROGRAM: Kind = Kind { adds: false, ..Unit::Bytes.kind() };
/// What sums of a report do not have.
const BESIDE: [(Metric, Kind); 4] = [
    (Metric::COPIED, Unit::Bytes.kind()),
    (Metric::CALLS, Kind { adds: false, ..Unit::Count.kind() }),
    (Metric::FOOTPRINT, OF_PROGRAM),
    (Metric::PEAK_LIVE, OF_PROGRAM),
];
/// How to measure what not every run has, by the beginnings of paths.
const ADVICE: [(&str, &str); 5] = [
    ("cycles_", "measure it with --cycles (a case: `cycles = true`)"),
    ("hazards_", "measure it with --hazards (a case: `hazards = true`)"),
    ("caches_", "measure it with --cache"),
    ("optimum_", "measure it with --optimum"),
    ("dead_", "measure it with --liveness exact"),
];

/// Where lines are looked at if nothing else is said: a first level of caches.
const USUAL_CAPACITY: u64 = 32 << 10;

/// Metrics with a capacity.
type OfCapacity = (&'static str, fn(u64) -> Metric);
const OF_CAPACITY: [OfCapacity; 6] = [
    ("Q", Metric::Traffic),
    ("deeper", Metric::Deeper),
    ("fills", Metric::Fills),
    ("writebacks", Metric::WriteBacks),
    ("traffic", Metric::LineTraffic),
    ("utilisation", Metric::Utilisation),
];
/// Memories like a first and a second level of caches, for what looks at a few of all capacities.
pub const CAPACITIES: [u64; 2] = [USUAL_CAPACITY, 1 << 20];
const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

/// Numbers by path.
static KNOWN: LazyLock<BTreeMap<String, Kind>> = LazyLock::new(|| {
    numbers::declared(&SHOWN).into_iter().chain(BESIDE.map(|(metric, kind)| (metric.path().into(), kind))).collect()
});

/// Numbers of the optimum at capacities that somebody chose, as they are met.
static CHOSEN: Mutex<BTreeMap<&'static str, Kind>> = Mutex::new(BTreeMap::new());

/// What a number of this path is, if there is one.
#[must_use]
pub fn kind_of(path: &str) -> Option<Kind> {
    known(path).map(|(_, kind)| kind)
}

/// A number by its path, which lives as long as the program.
fn known(path: &str) -> Option<(&'static str, Kind)> {
    if let Some((path, kind)) = KNOWN.get_key_value(path) {
        return Some((path, *kind));
    }
    let capacity = size(path.strip_prefix("optimum_")?.split_once('_')?.0)?;
    let mut chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((path, kind)) = chosen.get_key_value(path) {
        return Some((path, *kind));
    }
    let (path, kind) = numbers::declared(&[capacity]).remove_entry(path)?;
    let path = path.leak();
    chosen.insert(path, kind);
    Some((path, kind))
}

/// A capacity in a path: `32kib`.
fn size(word: &str) -> Option<u64> {
    parse_size(word.strip_suffix('b')?.trim_end_matches('i')).ok()
}

/// The name of a number: that of its column in CSV, and shorter for what is limited often.
fn name_of(path: &str) -> &str {
    if path == Metric::CYCLES.path() {
        return "cycles";
    }
    let kind = path.strip_prefix("hazards_").and_then(|rest| rest.strip_suffix("_accesses"));
    kind.unwrap_or_else(|| csv::column_of(path))
}

impl Metric {
    /// ByteDMD.
    pub const COST: Metric = Metric::Number("cost");
    pub const READ: Metric = Metric::Number("read");
    pub const WRITTEN: Metric = Metric::Number("written");
    /// Bytes read before anything had written them.
    pub const COLD: Metric = Metric::Number("cold");
    pub const ACCESSES: Metric = Metric::Number("accesses");
    pub const FLOPS: Metric = Metric::Number("flops");
    pub const INT_OPS: Metric = Metric::Number("ops_int");
    /// What the code takes on the core that followed it, and the standard error of that.
    pub const CYCLES: Metric = Metric::Number("cycles_all");
    pub const CYCLES_ERROR: Metric = Metric::Number("cycles_error");
    /// Bytes read by copies and library calls such as memcpy.
    pub const COPIED: Metric = Metric::Number("copied");
    pub const CALLS: Metric = Metric::Number("calls");
    /// Distinct bytes touched; of the program only.
    pub const FOOTPRINT: Metric = Metric::Number("footprint");
    /// Most bytes live at once; of the program only.
    pub const PEAK_LIVE: Metric = Metric::Number("peak_live");

    /// What has a capacity, at those of [`CAPACITIES`].
    pub fn at_capacities() -> impl Iterator<Item = Metric> {
        OF_CAPACITY.into_iter().flat_map(|(_, metric)| CAPACITIES.map(metric))
    }

    /// Where the report has it; nothing of what has a capacity.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Metric::Number(path) => path,
            _ => "",
        }
    }

    /// A number of the report, if there is one of this path.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Metric> {
        Metric::of_lines(path).or_else(|| known(path).map(|(path, _)| Metric::Number(path)))
    }

    /// A number of the report that is known at every capacity, and so has another name.
    #[must_use]
    pub fn of_lines(path: &str) -> Option<Metric> {
        let (word, name) = path.strip_prefix("moved_")?.split_once('_')?;
        let capacity = size(word).filter(|size| size.is_power_of_two())?;
        match name {
            "fetched" => Some(Metric::Fills(capacity)),
            "written_back" => Some(Metric::WriteBacks(capacity)),
            _ => None,
        }
    }

    /// What a number by path is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        name_of(self.path())
    }

    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Metric::Number(path) => kind_of(path).unwrap_or(Unit::Count.kind()),
            Metric::Utilisation(_) => Kind { more_is_better: true, ..Unit::Share.kind() },
            _ => Unit::Bytes.kind(),
        }
    }

    /// How to measure it.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Metric::Number(path) => {
                ADVICE.iter().find(|(group, _)| path.starts_with(group)).map_or("measure it", |(_, advice)| advice)
            }
            Metric::Traffic(_) => {
                "take deeper(32KiB) and the like, as neither the values model nor files of an older dmdprof know traffic"
            }
            _ => "run it without --no-lines, in the memory model",
        }
    }

    #[must_use]
    pub fn more_is_better(self) -> bool {
        self.kind().more_is_better
    }

    #[must_use]
    pub fn is_bytes(self) -> bool {
        self.kind().unit == Unit::Bytes
    }

    /// A number that a text says; of bytes, with a unit if need be; of ratios, with a fraction.
    #[must_use]
    pub fn number(self, text: &str) -> Option<u128> {
        match self.kind().unit {
            Unit::Ratio => decimal(text, 6),
            Unit::Bytes => text.replace('_', "").parse().ok().or_else(|| parse_size(text).ok().map(u128::from)),
            Unit::Count | Unit::Share => text.replace('_', "").parse().ok(),
        }
    }

    /// Whether the program has it; calls are those of functions.
    #[must_use]
    pub fn of_program(self) -> bool {
        self != Metric::CALLS
    }

    /// Whether functions have it.
    #[must_use]
    pub fn of_functions(self) -> bool {
        !matches!(self, Metric::FOOTPRINT | Metric::PEAK_LIVE)
    }

    /// For tables and messages.
    #[must_use]
    pub fn title(self) -> String {
        match self {
            Metric::COST => "ByteDMD".into(),
            Metric::READ => "bytes read".into(),
            Metric::WRITTEN => "bytes written".into(),
            Metric::COLD => "first touch".into(),
            Metric::COPIED => "bytes copied".into(),
            other => other.to_string().replace('_', " "),
        }
    }
}

/// A number with a fraction of at most so many digits, in units of the last of them.
#[must_use]
pub fn decimal(text: &str, digits: u32) -> Option<u128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let zeros = digits.checked_sub(fraction.len() as u32)?;
    format!("{whole}{fraction}").parse::<u128>().ok()?.checked_mul(10u128.checked_pow(zeros)?)
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, capacity) = match self {
            Metric::Number(_) => return f.write_str(self.name()),
            Metric::Traffic(capacity) => ("Q", capacity),
            Metric::Deeper(capacity) => ("deeper", capacity),
            Metric::Fills(capacity) => ("fills", capacity),
            Metric::WriteBacks(capacity) => ("writebacks", capacity),
            Metric::LineTraffic(capacity) => ("traffic", capacity),
            Metric::Utilisation(capacity) => ("utilisation", capacity),
        };
        write!(f, "{name}({})", capacity_text(*capacity))
    }
}

/// `64`, `32KiB`, `1MiB`.
#[must_use]
pub fn capacity_text(capacity: u64) -> String {
    let unit = UNITS.iter().find(|(size, _)| capacity >= *size && capacity.is_multiple_of(*size));
    unit.map_or_else(|| capacity.to_string(), |(size, name)| format!("{}{name}", capacity / size))
}

impl FromStr for Metric {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "utilisation" {
            return Ok(Metric::Utilisation(USUAL_CAPACITY));
        }
        let parts = text.strip_suffix(')').and_then(|rest| rest.split_once('('));
        if let Some((name, inner)) = parts
            && let Some((_, metric)) = OF_CAPACITY.iter().find(|(known, _)| *known == name)
        {
            return capacity(inner).map(metric);
        }
        let path = KNOWN.keys().map(String::as_str).find(|path| name_of(path) == text).unwrap_or(text);
        Metric::of_path(path).ok_or_else(|| unknown(text))
    }
}

/// Which names there are.
fn unknown(text: &str) -> String {
    let names = KNOWN.keys().map(|path| name_of(path)).chain(OF_CAPACITY.map(|(name, _)| name));
    let mut near: Vec<(f64, &str)> = names.map(|name| (strsim::jaro_winkler(text, name), name)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let near = near.iter().take(3).map(|(_, name)| *name).collect::<Vec<_>>().join(", ");
    format!(
        "there is no metric {text:?}; the nearest are {near}. Numbers of the report have the names of their columns in \
         `dmdprof report --format csv`, and docs/gate.md has the other names, such as traffic(32KiB) and peak_live"
    )
}

/// Capacities between powers of two are not kept in baselines.
fn capacity(text: &str) -> Result<u64, String> {
    match parse_size(text) {
        Ok(n) if n.is_power_of_two() => Ok(n),
        _ => Err(format!("{text:?} is no capacity; use a power of two such as 64, 32KiB or 1MiB")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for path in KNOWN.keys() {
            let metric = path.parse::<Metric>().expect("a path");
            assert_eq!(metric.to_string().parse(), Ok(metric), "{path}");
        }
        for (text, metric) in [("Q(32KiB)", 32 << 10), ("Q(1MiB)", 1 << 20), ("Q(64)", 64)] {
            assert_eq!(text.parse(), Ok(Metric::Traffic(metric)));
            assert_eq!(Metric::Traffic(metric).to_string(), text);
        }
        for (name, metric) in OF_CAPACITY {
            let metric = metric(1 << 20);
            assert_eq!(metric.to_string(), format!("{name}(1MiB)"));
            assert_eq!(metric.to_string().parse(), Ok(metric));
        }
        assert_eq!("utilisation".parse(), Ok(Metric::Utilisation(32 << 10)));
        for text in ["Q( 2 KiB )", "Q(2K)", "Q(2048B)"] {
            assert_eq!(text.parse(), Ok(Metric::Traffic(2048)), "{text}");
        }
        assert!("Q(48KiB)".parse::<Metric>().unwrap_err().contains("power of two"));
    }

    #[test]
    fn names_are_those_of_the_report() {
        for (text, metric) in [
            ("int_ops", Metric::INT_OPS),
            ("ops_int", Metric::INT_OPS),
            ("cycles", Metric::CYCLES),
            ("hints_cost", Metric::Number("dead_hints_cost")),
            ("split_lines", Metric::Number("hazards_split_lines_accesses")),
            ("caches_l1_conflicts", Metric::Number("caches_l1_conflicts")),
            ("optimum_48kib_least", Metric::Number("optimum_48kib_least")),
            ("moved_64kib_fetched", Metric::Fills(64 << 10)),
        ] {
            assert_eq!(text.parse(), Ok(metric), "{text}");
        }
        for text in ["clock_samples", "share", "moved_48kib_fetched", "optimum_least", "caches_l5_fetched", ""] {
            assert!(text.parse::<Metric>().is_err(), "{text}");
        }
        let refused = "caches_l1_misses".parse::<Metric>().unwrap_err();
        assert!(refused.contains("nearest are caches_l1_") && refused.contains("--format csv"), "{refused}");
        assert!("costs".parse::<Metric>().unwrap_err().contains("nearest are cost"));
    }

    #[test]
    fn the_report_says_what_a_number_is_in_and_which_way_is_better() {
        let of = |text: &str| text.parse::<Metric>().expect(text);
        assert!(of("caches_l2_loaded").is_bytes() && !of("accesses").is_bytes());
        assert!(of("flops_per_read").more_is_better() && !of("mean_cost").more_is_better());
        assert_eq!((of("mean_cost").number("1.5"), of("dead_share").number("1.5")), (Some(1_500_000), None));
    }
}
