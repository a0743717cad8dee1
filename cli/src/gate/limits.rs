//! How much a number may change: for the program, for every function, and for functions that match a pattern.
//!
//! Pure. The last pattern that matches and names the metric counts; without one, the limit of all functions. Limits
//! hold in both directions. Percentages are exact: no rounding decides.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::ceilings::Ceilings;
use super::compare::difference;
use super::key::Key;
use super::metric::{CAPACITIES, Metric, decimal};
use super::pattern::Pattern;

/// The largest change that is still fine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Any change is.
    Off,
    /// Millionths of a percent of the number before.
    Relative(u64),
    Absolute(u128),
    /// The larger of a relative and an absolute change.
    Either(u64, u128),
    /// No change is limited but the number itself, which may not be beyond this one.
    Ceiling(u128),
}

const MILLIONTHS: u64 = 1_000_000;

impl Limit {
    pub const EXACT: Limit = Limit::Relative(0);

    /// Whether a change is fine.
    #[must_use]
    pub fn allows(self, before: u128, after: u128) -> bool {
        let change = difference(before, after).unsigned_abs();
        match self {
            Limit::Off | Limit::Ceiling(_) => true,
            Limit::Absolute(most) => change <= most,
            Limit::Either(part, most) => change <= most || Limit::Relative(part).allows(before, after),
            Limit::Relative(part) => {
                let whole = u128::from(100 * MILLIONTHS);
                change.saturating_mul(whole) <= before.saturating_mul(part.into())
            }
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Off => f.write_str("off"),
            Limit::Absolute(most) => write!(f, "{most}"),
            Limit::Ceiling(bound) => write!(f, "bound {bound}"),
            Limit::Either(part, most) => write!(f, "{} or {most}", Limit::Relative(*part)),
            Limit::Relative(part) => {
                let (whole, rest) = (part / MILLIONTHS, part % MILLIONTHS);
                let fraction = format!("{rest:06}");
                match fraction.trim_end_matches('0') {
                    "" => write!(f, "{whole}%"),
                    digits => write!(f, "{whole}.{digits}%"),
                }
            }
        }
    }
}

impl Limit {
    /// The limit of a metric that a text says. Numbers of bytes may have a unit.
    ///
    /// # Errors
    /// What to write instead.
    pub fn from_text(metric: Metric, text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some((relative, absolute)) = text.split_once(" or ")
            && let (Ok(Limit::Relative(part)), Ok(Limit::Absolute(most))) =
                (Limit::from_text(metric, relative), Limit::from_text(metric, absolute))
        {
            return Ok(Limit::Either(part, most));
        }
        let relative = |percent| Some(Limit::Relative(decimal(percent, 6)?.try_into().ok()?));
        let limit = match text.strip_suffix('%') {
            Some(percent) => relative(percent.trim_end()),
            None if text == "off" => Some(Limit::Off),
            None => metric.number(text).map(Limit::Absolute),
        };
        limit.ok_or_else(|| {
            let number = metric.kind().unit.example();
            format!(
                "{text:?} is no limit of {metric}; use a percentage such as \"0.5%\", a number such as {number}, both as in \
                 \"1% or {number}\", or \"off\""
            )
        })
    }
}

/// Limits by metric.
pub type ByMetric = BTreeMap<Metric, Limit>;

/// A pattern over functions with its limits.
#[derive(Clone, Debug)]
pub struct Rule {
    pub pattern: Pattern,
    pub limits: ByMetric,
}

/// All limits of a comparison.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Of the program.
    pub total: ByMetric,
    /// Of every function.
    pub each: ByMetric,
    /// In the order of the file.
    pub rules: Vec<Rule>,
    /// Of lines and cycles, for the program and every function, where both runs measured them and nothing else is said.
    pub defaults: ByMetric,
    /// Functions whose cost has no limit, whatever the others say.
    pub without_cost: BTreeSet<Key>,
    /// Of numbers, whatever they were before.
    pub ceilings: Ceilings,
}

/// Which line a byte lies in depends on where the stack and the heap's blocks begin. A block more before all others
/// moved up to 1.8 % of the lines of a function of zlib, so 5 %, or 4 KiB, are no change.
pub const USUAL_LIMIT: Limit = Limit::Either(5 * MILLIONTHS, 4096);
/// With another function before all others, cycles of five examples moved by up to 0.1 %, and those of a function that
/// matters by 0.24 %; so 1 % are no change. What starts a program takes some thousands.
pub const USUAL_CYCLES: Limit = Limit::Either(MILLIONTHS, 10_000);

impl Default for Limits {
    /// Not a unit of cost, neither in all nor in any function; of lines and cycles nothing worth mentioning.
    fn default() -> Self {
        let exact = ByMetric::from([(Metric::COST, Limit::EXACT)]);
        let mut defaults: ByMetric = CAPACITIES.map(|capacity| (Metric::LineTraffic(capacity), USUAL_LIMIT)).into();
        defaults.insert(Metric::CYCLES, USUAL_CYCLES);
        Limits { total: exact.clone(), each: exact, defaults, ..Limits::none() }
    }
}

impl Limits {
    /// Limits that hold for one function, those that are off left out.
    #[must_use]
    pub fn for_key(&self, key: &Key) -> ByMetric {
        let each = self.defaults.iter().chain(&self.each);
        let mut limits: ByMetric = each.filter(|(m, _)| m.of_functions()).map(|(m, l)| (*m, *l)).collect();
        for rule in self.rules.iter().filter(|rule| rule.pattern.matches(key)) {
            limits.extend(rule.limits.iter().map(|(metric, limit)| (*metric, *limit)));
        }
        limits.retain(|metric, limit| {
            *limit != Limit::Off && !(*metric == Metric::COST && self.without_cost.contains(key))
        });
        limits
    }

    /// These limits, with the usual ones of lines and cycles no tighter for a function than a hundredth of the
    /// program's number. Another layout of the heap moves lines from one small function to another, which is no change
    /// of the code.
    #[must_use]
    pub fn for_functions(&self, total: impl Fn(Metric) -> Option<u128>) -> Self {
        let mut limits = self.clone();
        for (metric, limit) in &mut limits.defaults {
            if let (Limit::Either(_, most), Some(all)) = (limit, total(*metric)) {
                *most = (*most).max(all / 100);
            }
        }
        limits
    }

    /// Limits that hold for the program, those that are off left out.
    #[must_use]
    pub fn of_program(&self) -> ByMetric {
        let mut limits = self.defaults.clone();
        limits.extend(&self.total);
        limits.retain(|_, limit| *limit != Limit::Off);
        limits
    }

    /// Metrics of a kind that somebody has limited.
    #[must_use]
    pub fn limited(&self, is_wanted: impl Fn(Metric) -> bool) -> Vec<Metric> {
        let rules = self.rules.iter().map(|rule| &rule.limits);
        let all = [&self.total, &self.each].into_iter().chain(rules).flatten();
        let set = all.filter(|(metric, limit)| is_wanted(**metric) && **limit != Limit::Off);
        let mut metrics: Vec<Metric> = set.map(|(metric, _)| *metric).collect();
        metrics.sort_unstable();
        metrics.dedup();
        metrics
    }

    /// Adds later limits, which win over these.
    pub fn extend(&mut self, later: Limits) {
        self.total.extend(later.total);
        self.each.extend(later.each);
        self.rules.extend(later.rules);
        self.defaults.extend(later.defaults);
        self.without_cost.extend(later.without_cost);
        self.ceilings.extend(later.ceilings);
    }

    /// Without any.
    #[must_use]
    pub fn none() -> Self {
        Limits {
            total: ByMetric::new(),
            each: ByMetric::new(),
            rules: Vec::new(),
            defaults: ByMetric::new(),
            without_cost: BTreeSet::new(),
            ceilings: Ceilings::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_they_are_written() {
        for text in ["0%", "0.5%", "12.000001%", "100%", "1000", "off", "1% or 4096"] {
            assert_eq!(Limit::from_text(Metric::COST, text).unwrap().to_string(), text);
        }
        let wrong = ["", "%", "-1%", "1.2.3%", "0.0000001%", "soft", "1.5", "-1", "1% or", "1% or 2%", "4096 or 1%"];
        for text in wrong.into_iter().chain(["4KiB", "1% or 4KiB"]) {
            assert!(Limit::from_text(Metric::COST, text).unwrap_err().contains("use a percentage"), "{text}");
        }
        let of_bytes = |text| Limit::from_text(Metric::READ, text);
        assert_eq!((of_bytes("4KiB"), of_bytes("4096 B")), (Ok(Limit::Absolute(4096)), Ok(Limit::Absolute(4096))));
        assert_eq!(of_bytes("1% or 4 KiB"), Ok(Limit::Either(MILLIONTHS, 4096)));
        assert!(of_bytes("1.5").is_err() && of_bytes("4Kib").unwrap_err().contains("such as 4KiB"));
    }

    #[test]
    fn the_edge_is_allowed_and_one_more_is_not() {
        let one = Limit::from_text(Metric::COST, "1%").unwrap();
        assert!(one.allows(1000, 1010) && one.allows(1000, 990) && !one.allows(1000, 1011) && !one.allows(1000, 989));
        assert!(!Limit::EXACT.allows(0, 1) && Limit::EXACT.allows(7, 7) && !Limit::EXACT.allows(u128::MAX >> 8, 1));
        let either = Limit::Either(MILLIONTHS, 4096);
        assert!(either.allows(0, 4096) && !either.allows(0, 4097) && either.allows(1 << 30, (1 << 30) + (1 << 23)));
        assert!(!one.allows(0, 1) && Limit::Absolute(1).allows(0, 1) && Limit::Off.allows(0, u128::MAX));
    }

    #[test]
    fn usual_limits_of_functions_leave_room_for_a_hundredth_of_the_program() {
        let metric = Metric::LineTraffic(32 << 10);
        let of = |total: u128| Limits::default().for_functions(|_| Some(total)).for_key(&Key::default())[&metric];
        assert_eq!((of(1000), of(5_000_000)), (USUAL_LIMIT, Limit::Either(5 * MILLIONTHS, 50_000)));
        assert_eq!(Limits::default().of_program()[&metric], USUAL_LIMIT);
    }

    #[test]
    fn the_last_match_wins_by_metric() {
        let rule = |pattern: &str, limits: &[(Metric, &str)]| Rule {
            pattern: Pattern::new(pattern).unwrap(),
            limits: limits.iter().map(|(m, l)| (*m, Limit::from_text(*m, l).unwrap())).collect(),
        };
        let limits = Limits {
            rules: vec![
                rule("ns::*", &[(Metric::COST, "5%"), (Metric::READ, "1%")]),
                rule("src/slow/*", &[(Metric::COST, "off")]),
                rule("ns::parse", &[(Metric::COST, "100")]),
            ],
            ..Limits::default()
        };
        let of = |file: &str, name: &str| {
            let mut limits = limits.for_key(&Key { file: file.into(), name: name.into() });
            limits.retain(|metric, _| [Metric::COST, Metric::READ].contains(metric));
            limits
        };
        assert_eq!(of("a.c", "main"), ByMetric::from([(Metric::COST, Limit::EXACT)]));
        assert_eq!(of("a.c", "ns::f(int)")[&Metric::COST].to_string(), "5%");
        let parse = of("src/slow/x.c", "ns::parse(char const*)");
        assert_eq!((parse[&Metric::COST].to_string(), parse[&Metric::READ].to_string()), ("100".into(), "1%".into()));
        assert!(of("src/slow/x.c", "f").is_empty());
    }
}
