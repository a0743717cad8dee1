//! What can be compared and limited: one name per number.

use std::fmt;
use std::str::FromStr;

use dmdprof_runtime::observe::hazards::NAMES;

use super::summary::{Numbers, OptionalMetrics};
use crate::shared::quantity::parse_size;

/// A number of the program or of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// ByteDMD.
    Cost,
    Read,
    Written,
    /// Bytes read before anything had written them.
    Cold,
    /// Bytes read by copies and library calls such as memcpy.
    Copied,
    Accesses,
    Calls,
    Flops,
    IntOps,
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
    /// Of the bytes of lines that loads fetch, what is read, in hundredths of a percent. More is better.
    Utilisation(u64),
    /// What the code takes on the core that followed it.
    Cycles,
    /// Accesses that are hazards of a kind, by its place among [`NAMES`].
    Hazard(usize),
    /// Distinct bytes touched; of the program only.
    Footprint,
    /// Most bytes live at once; of the program only.
    PeakLive,
}

const PLAIN: [(Metric, &str); 12] = [
    (Metric::Cost, "cost"),
    (Metric::Read, "read"),
    (Metric::Written, "written"),
    (Metric::Cold, "cold"),
    (Metric::Copied, "copied"),
    (Metric::Accesses, "accesses"),
    (Metric::Calls, "calls"),
    (Metric::Flops, "flops"),
    (Metric::IntOps, "int_ops"),
    (Metric::Cycles, "cycles"),
    (Metric::Footprint, "footprint"),
    (Metric::PeakLive, "peak_live"),
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

impl Metric {
    /// Every number of a program that is worth a curve: all plain ones, and the others at a few capacities.
    #[must_use]
    pub fn of_programs() -> Vec<Metric> {
        let plain = PLAIN.iter().map(|(metric, _)| *metric).filter(|metric| metric.of_program());
        let of_capacities = OF_CAPACITY.iter().flat_map(|(_, metric)| CAPACITIES.map(metric));
        plain.chain(of_capacities).chain((0..NAMES.len()).map(Metric::Hazard)).collect()
    }

    /// `None` where there is no such number: calls of inlined code, footprints of functions, lines and cycles that were
    /// not measured, traffic that is not known, and the utilisation of less than fits.
    #[must_use]
    pub fn value_in(self, numbers: &Numbers) -> Option<u128> {
        match self {
            Metric::Cost => Some(numbers.cost),
            Metric::Read => Some(numbers.read),
            Metric::Written => Some(numbers.written),
            Metric::Cold => Some(numbers.cold),
            Metric::Copied => Some(numbers.copied),
            Metric::Accesses => Some(numbers.accesses),
            Metric::Calls => numbers.calls,
            Metric::Flops => Some(numbers.flops),
            Metric::IntOps => Some(numbers.int_ops),
            Metric::Traffic(capacity) => numbers.traffic(capacity),
            Metric::Deeper(capacity) => Some(numbers.deeper(capacity)),
            Metric::Fills(capacity) => Some(numbers.lines.as_ref()?.fetched(capacity)),
            Metric::WriteBacks(capacity) => Some(numbers.lines.as_ref()?.written_back(capacity)),
            Metric::LineTraffic(capacity) => Some(numbers.lines.as_ref()?.traffic(capacity)),
            Metric::Utilisation(capacity) => numbers.utilisation(capacity),
            Metric::Cycles => Some(numbers.cycles?.by_cause.iter().sum()),
            Metric::Hazard(kind) => numbers.hazards.get(NAMES[kind]).copied(),
            Metric::Footprint | Metric::PeakLive => None,
        }
    }

    /// What it needs that not every run measures.
    #[must_use]
    pub fn needs(self) -> &'static [OptionalMetrics] {
        match self {
            Metric::Fills(_) | Metric::WriteBacks(_) | Metric::LineTraffic(_) => &[OptionalMetrics::Lines],
            Metric::Utilisation(_) => &[OptionalMetrics::Lines, OptionalMetrics::Traffic],
            Metric::Traffic(_) => &[OptionalMetrics::Traffic],
            Metric::Cycles => &[OptionalMetrics::Cycles],
            Metric::Hazard(kind) => OptionalMetrics::of_hazard(kind),
            _ => &[],
        }
    }

    /// Of the memory that it is about.
    fn capacity(self) -> Option<u64> {
        match self {
            Metric::Traffic(capacity)
            | Metric::Deeper(capacity)
            | Metric::Fills(capacity)
            | Metric::WriteBacks(capacity)
            | Metric::LineTraffic(capacity)
            | Metric::Utilisation(capacity) => Some(capacity),
            _ => None,
        }
    }

    /// Whether a larger number is a better one.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        matches!(self, Metric::Utilisation(_))
    }

    /// Whether it is none in one of two runs says nothing about the other.
    #[must_use]
    pub fn needs_both(self) -> bool {
        matches!(self, Metric::Utilisation(_))
    }

    /// Whether it is a part of a whole, in hundredths of a percent.
    #[must_use]
    pub fn is_share(self) -> bool {
        matches!(self, Metric::Utilisation(_))
    }

    /// A whole number that a text says; of bytes, with a unit if need be.
    #[must_use]
    pub fn number(self, text: &str) -> Option<u128> {
        let whole = text.replace('_', "").parse().ok();
        whole.or_else(|| self.is_bytes().then(|| parse_size(text).ok().map(u128::from)).flatten())
    }

    /// Whether it is a number of bytes.
    #[must_use]
    pub fn is_bytes(self) -> bool {
        !matches!(
            self,
            Metric::Cost
                | Metric::Accesses
                | Metric::Calls
                | Metric::Flops
                | Metric::IntOps
                | Metric::Cycles
                | Metric::Hazard(_)
                | Metric::Utilisation(_)
        )
    }

    /// Whether the program has it; calls are those of functions.
    #[must_use]
    pub fn of_program(self) -> bool {
        self != Metric::Calls
    }

    /// Whether functions have it.
    #[must_use]
    pub fn of_functions(self) -> bool {
        !matches!(self, Metric::Footprint | Metric::PeakLive)
    }

    /// For tables and messages.
    #[must_use]
    pub fn title(self) -> String {
        match self {
            Metric::Cost => "ByteDMD".into(),
            Metric::Read => "bytes read".into(),
            Metric::Written => "bytes written".into(),
            Metric::Cold => "first touch".into(),
            Metric::Copied => "bytes copied".into(),
            Metric::IntOps => "int ops".into(),
            Metric::PeakLive => "peak live".into(),
            Metric::Hazard(kind) => NAMES[kind].replace('_', " "),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_capacity = self.capacity().and_then(|capacity| {
            let (name, _) = OF_CAPACITY.iter().find(|(_, metric)| metric(capacity) == *self)?;
            Some((name, capacity))
        });
        if let Some((name, capacity)) = with_capacity {
            return write!(f, "{name}({})", capacity_text(capacity));
        }
        if let Metric::Hazard(kind) = self {
            return f.write_str(NAMES[*kind]);
        }
        let name = PLAIN.iter().find(|(metric, _)| metric == self).map_or("", |(_, name)| name);
        f.write_str(name)
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
        if let Some((metric, _)) = PLAIN.iter().find(|(_, name)| *name == text) {
            return Ok(*metric);
        }
        if let Some(kind) = NAMES.iter().position(|name| *name == text) {
            return Ok(Metric::Hazard(kind));
        }
        if text == "utilisation" {
            return Ok(Metric::Utilisation(USUAL_CAPACITY));
        }
        let parts = text.strip_suffix(')').and_then(|rest| rest.split_once('('));
        let known = parts.and_then(|(name, inner)| Some((OF_CAPACITY.iter().find(|(n, _)| *n == name)?.1, inner)));
        let Some((metric, inner)) = known else {
            let (names, hazard) = (PLAIN.map(|(_, name)| name).join(", "), NAMES[0]);
            return Err(format!(
                "there is no metric {text:?}; there are {names}, hazards such as {hazard}, traffic at a capacity such as Q(32KiB), bytes read from \
                 deeper than one such as deeper(32KiB), and of lines \
                 fills(32KiB), writebacks(32KiB), traffic(32KiB) and utilisation(32KiB)"
            ));
        };
        capacity(inner).map(metric)
    }
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
        for (metric, _) in PLAIN {
            assert_eq!(metric.to_string().parse(), Ok(metric));
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
        for (kind, name) in NAMES.iter().enumerate() {
            assert_eq!(name.parse(), Ok(Metric::Hazard(kind)));
            assert_eq!(Metric::Hazard(kind).to_string(), *name);
        }
        assert_eq!("utilisation".parse(), Ok(Metric::Utilisation(32 << 10)));
        for text in ["Q( 2 KiB )", "Q(2K)", "Q(2048B)"] {
            assert_eq!(text.parse(), Ok(Metric::Traffic(2048)), "{text}");
        }
        assert!("Q(48KiB)".parse::<Metric>().unwrap_err().contains("power of two"));
        assert!("costs".parse::<Metric>().unwrap_err().contains("there are cost, read"));
    }
}
