//! What several formats need: columns of metrics, scales of numbers, titles and addresses.

use super::stacks::Stacks;
use crate::profile::Profile;

/// The largest number that every reader of these formats holds: signed 64 bits.
pub(super) const LARGEST: u128 = i64::MAX as u128;

/// A metric whose total does not fit into 64 bits is written in units of a power of 1,000, and its name says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    pub(super) divisor: u128,
    pub(super) power: u32,
}

impl Scale {
    pub(super) fn for_total(total: u128) -> Scale {
        Scale::within(total, LARGEST)
    }

    pub(super) fn within(total: u128, largest: u128) -> Scale {
        let mut scale = Scale { divisor: 1, power: 0 };
        while total / scale.divisor > largest {
            scale = Scale { divisor: scale.divisor * 1000, power: scale.power + 3 };
        }
        scale
    }

    /// Rounded to the nearest unit.
    pub(super) fn apply(self, value: u128) -> u64 {
        let rounded = value / self.divisor + u128::from(value % self.divisor * 2 >= self.divisor && self.divisor > 1);
        u64::try_from(rounded).unwrap_or(u64::MAX)
    }

    pub(super) fn name(self, name: &str) -> String {
        if self.power == 0 { name.into() } else { format!("{name}_in_1e{}", self.power) }
    }
}

/// Metrics as columns of 64-bit numbers, with the name of each.
pub(super) struct Columns {
    pub(super) scales: Vec<Scale>,
    pub(super) names: Vec<String>,
}

impl Columns {
    pub(super) fn for_stacks(stacks: &Stacks) -> Columns {
        let scales: Vec<Scale> = stacks.totals.iter().map(|total| Scale::for_total(*total)).collect();
        let names = stacks.metrics.iter().zip(&scales).map(|(metric, scale)| scale.name(&metric.to_string())).collect();
        Columns { scales, names }
    }

    pub(super) fn values(&self, values: &[u128]) -> Vec<u64> {
        self.scales.iter().zip(values).map(|(scale, value)| scale.apply(*value)).collect()
    }
}

/// `dmdprof 0.1.0: ./kernel 500`.
pub(super) fn title(profile: &Profile) -> String {
    format!("dmdprof {}: {}", profile.meta.tool_version, profile.meta.command.join(" "))
}

/// A path as a URI reference: what is neither unreserved nor `/` is escaped by its bytes.
pub(super) fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}
