//! How changes are worded, the same in all formats for people.

use crate::document::Value;
use crate::gate::compare::{Change, Fate, difference};
use crate::gate::key::Key;
use crate::gate::limits::Limit;
use crate::gate::metric::Metric;
use crate::report::numbers::Unit;
use crate::shared::human;

/// A number of a metric.
#[must_use]
pub fn amount(metric: Metric, n: u128) -> String {
    let unit = metric.kind().unit;
    let part = n as f64 / unit.scale() as f64;
    match unit {
        Unit::Count => human::count(n),
        Unit::Bytes => human::bytes(n),
        Unit::Share => human::share(part),
        Unit::Ratio => human::ratio(part),
    }
}

/// The same in a cell, exact for programs.
#[must_use]
pub fn value(metric: Metric, n: u128) -> Value {
    match metric.kind().unit {
        Unit::Count => Value::Count(n),
        Unit::Bytes => Value::Bytes(n),
        Unit::Share | Unit::Ratio => Value::Shown(n as f64, amount(metric, n)),
    }
}

/// Two numbers; in full if they would look the same and are not.
#[must_use]
pub fn amounts(metric: Metric, before: u128, after: u128) -> (String, String) {
    let (was, is) = (amount(metric, before), amount(metric, after));
    if was == is && before != after {
        let unit = if metric.is_bytes() { " B" } else { "" };
        let full = |n| format!("{}{unit}", human::grouped(n));
        return (full(before), full(after));
    }
    (was, is)
}

/// With a sign; nothing for no change.
#[must_use]
pub fn change(metric: Metric, before: u128, after: u128) -> String {
    match difference(before, after) {
        0 => String::new(),
        by if by > 0 => format!("+{}", amount(metric, by.unsigned_abs())),
        by => format!("-{}", amount(metric, by.unsigned_abs())),
    }
}

/// `+5.3%`, `-0.0012%`; `new` from nothing; nothing for no change.
#[must_use]
pub fn percent(before: u128, after: u128) -> String {
    if before == after {
        return String::new();
    }
    if before == 0 {
        return "new".into();
    }
    let percent = difference(before, after) as f64 / before as f64 * 100.0;
    let digits = match percent.abs() {
        p if p >= 10.0 => 1,
        p if p >= 0.1 => 2,
        p => (2 - p.log10().floor() as i32).clamp(2, 12) as usize,
    };
    format!("{percent:+.digits$}%")
}

/// `0%`, `5% or 4.00 KiB`.
#[must_use]
pub fn limit(metric: Metric, limit: Limit) -> String {
    match limit {
        Limit::Absolute(most) => amount(metric, most),
        Limit::Either(part, most) => format!("{} or {}", Limit::Relative(part), amount(metric, most)),
        Limit::Ceiling(bound) => {
            format!("{} {}", if metric.more_is_better() { ">=" } else { "<=" }, amount(metric, bound))
        }
        Limit::Off | Limit::Relative(_) => limit.to_string(),
    }
}

/// `src/a.c:12`, as far as it is known.
#[must_use]
pub fn place(change: &Change) -> String {
    let line = change.after.as_ref().or(change.before.as_ref()).and_then(|f| f.place).map_or(0, |p| p.line);
    match (change.key.file.as_str(), line) {
        ("", _) => "?".into(),
        (file, 0) => file.into(),
        (file, line) => format!("{file}:{line}"),
    }
}

/// What became of it, if anything but its numbers changed.
#[must_use]
pub fn fate(key: &Key, fate: &Fate) -> String {
    match fate {
        Fate::Kept => String::new(),
        Fate::New => "new".into(),
        Fate::Removed => "removed".into(),
        Fate::Renamed { from } if from.name == key.name => format!("moved from {}", from.file),
        Fate::Renamed { from } if from.file == key.file => format!("was {}", from.name),
        Fate::Renamed { from } => format!("was {} in {}", from.name, from.file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_changes_keep_their_digits() {
        assert_eq!(percent(100, 105), "+5.00%");
        assert_eq!(percent(1_000_000_000, 1_000_000_001), "+0.000000100%");
        assert_eq!(percent(1000, 3110), "+211.0%");
        assert_eq!((percent(5, 5), percent(0, 5), percent(5, 0)), (String::new(), "new".into(), "-100.0%".into()));
        assert_eq!(change(Metric::READ, 2048, 1024), "-1.00 KiB");
        assert_eq!(change(Metric::COST, 10, 12), "+2");
        assert_eq!(limit(Metric::LineTraffic(1024), Limit::Either(5_000_000, 404_273)), "5% or 395 KiB");
        assert_eq!(
            (limit(Metric::COST, Limit::Absolute(12)), limit(Metric::COST, Limit::EXACT)),
            ("12".into(), "0%".into())
        );
        let close = amounts(Metric::COST, 1_000_000, 1_000_001);
        assert_eq!(close, ("1,000,000".into(), "1,000,001".into()));
    }
}
