//! `dmdprof check` for programs: its own JSON, JUnit, and the formats of two services that draw benchmarks over time.

use std::collections::BTreeMap;
use std::io::{self, Write};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;

use super::check::Results;
use super::words;
use crate::gate::check::{Checked, Ending};
use crate::gate::compare::{Fate, difference};
use crate::gate::limits::Limit;
use crate::gate::metric::Metric;
use crate::gate::summary::Summary;
use crate::gate::verdict::{Finding, Status, Verdict};
use crate::gate::why::Cause;
use crate::report::numbers::Unit;
use crate::shared::printable;

/// Version of the JSON.
pub const VERSION: u32 = 1;

/// Functions with at least this part of the cost are worth a curve of their own: 1 %.
const CURVE: u128 = 100;

#[derive(Serialize)]
struct Json<'a> {
    version: u32,
    exit_code: i32,
    cases: Vec<JsonCase<'a>>,
}

#[derive(Serialize)]
struct JsonCase<'a> {
    name: &'a str,
    baseline: Option<String>,
    result: String,
    certified: bool,
    error: Option<String>,
    cost: Option<u128>,
    defects: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<&'a String>,
    findings: Vec<JsonFinding<'a>>,
    appearances: Vec<JsonAppearance<'a>>,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    status: Status,
    function: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    metric: String,
    limit: String,
    before: u128,
    after: u128,
    change: i128,
    why: &'a [Cause],
}

#[derive(Serialize)]
struct JsonAppearance<'a> {
    function: &'a str,
    file: &'a str,
    fate: &'static str,
    old_name: Option<&'a str>,
    old_file: Option<&'a str>,
}

fn error(checked: &Checked) -> Option<String> {
    match &checked.ending {
        Ending::Error(error) => Some(format!("{error:#}")),
        Ending::Unlike(unlike) => Some(unlike.to_string()),
        _ => None,
    }
}

fn line(summary: Option<&Summary>, finding: &Finding) -> Option<u32> {
    let place = summary?.functions.get(finding.function.as_ref()?)?.place?;
    Some(place.hottest).filter(|line| *line > 0)
}

impl<'a> JsonCase<'a> {
    fn from_checked(checked: &'a Checked, results: &Results<'_>) -> Self {
        let verdict = match &checked.ending {
            Ending::Compared(compared) => Some(&compared.verdict),
            _ => None,
        };
        let summary = checked.summary();
        JsonCase {
            name: &checked.name,
            baseline: checked.baseline.as_ref().map(|p| p.display().to_string()),
            result: results.word(checked).to_lowercase(),
            certified: checked.certified,
            error: error(checked),
            cost: summary.map(|s| s.total.of(Metric::COST)),
            defects: verdict.map_or(&[], |v| &v.defects),
            notes: checked.unseen.iter().chain(verdict.iter().flat_map(|v| &v.notes)).collect(),
            findings: verdict.map_or_else(Vec::new, |v| findings(v, summary)),
            appearances: verdict.map_or_else(Vec::new, appearances),
        }
    }
}

fn findings<'a>(verdict: &'a Verdict, summary: Option<&Summary>) -> Vec<JsonFinding<'a>> {
    let changed = verdict.findings.iter().filter(|f| f.status != Status::Same);
    let of = |f: &'a Finding| JsonFinding {
        status: f.status,
        function: f.function.as_ref().map(|k| k.name.as_str()),
        file: f.function.as_ref().map(|k| k.file.as_str()),
        line: line(summary, f),
        metric: f.metric.to_string(),
        limit: match f.limit {
            Limit::Ceiling(bound) if f.metric.more_is_better() => format!(">= {bound}"),
            Limit::Ceiling(bound) => format!("<= {bound}"),
            limit => limit.to_string(),
        },
        before: f.before,
        after: f.after,
        change: difference(f.before, f.after),
        why: f.function.as_ref().map_or(&[], |k| verdict.causes_of(k)),
    };
    changed.map(of).collect()
}

fn appearances(verdict: &Verdict) -> Vec<JsonAppearance<'_>> {
    let of = |fate: &Fate| match fate {
        Fate::Kept => "kept",
        Fate::New => "new",
        Fate::Removed => "removed",
        Fate::Renamed { .. } => "renamed",
    };
    let all = verdict.appearances.iter().map(|a| {
        let from = match &a.fate {
            Fate::Renamed { from } => Some(from),
            _ => None,
        };
        JsonAppearance {
            function: &a.key.name,
            file: &a.key.file,
            fate: of(&a.fate),
            old_name: from.map(|k| k.name.as_str()),
            old_file: from.map(|k| k.file.as_str()),
        }
    });
    all.collect()
}

impl Results<'_> {
    pub fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let cases = self.checked.iter().map(|checked| JsonCase::from_checked(checked, self)).collect();
        serde_json::to_writer_pretty(&mut *out, &Json { version: VERSION, exit_code: self.exit_code(), cases })?;
        writeln!(out)
    }

    /// A suite per case, a test per limit.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn junit(&self, out: &mut impl Write) -> io::Result<()> {
        let mut report = Report::new("dmdprof");
        for checked in self.checked {
            let mut suite = TestSuite::new(printable::name(&checked.name).as_ref());
            match &checked.ending {
                Ending::Compared(compared) if !compared.accepted || compared.verdict.is_above() => {
                    suite.add_test_cases(compared.verdict.findings.iter().map(|f| self.test(f, &compared.verdict)));
                    suite.add_test_cases(compared.verdict.defects.iter().map(|d| failed("limits", d, d)));
                }
                _ => match error(checked) {
                    Some(error) => {
                        let first = error.lines().next().unwrap_or_default();
                        suite.add_test_case(failed("run", first, &error));
                    }
                    None => {
                        suite.add_test_case(TestCase::new("run", TestCaseStatus::success()));
                    }
                },
            }
            report.add_test_suite(suite);
        }
        report.serialize(out).map_err(io::Error::other)
    }

    fn test(&self, finding: &Finding, verdict: &Verdict) -> TestCase {
        let function = finding.function.as_ref().map_or("(program)", |k| k.name.as_str());
        let ceiling = if matches!(finding.limit, Limit::Ceiling(_)) { " (ceiling)" } else { "" };
        let name = format!("{function}: {}{ceiling}", finding.metric);
        let fails = finding.status <= Status::Worse || (self.strict && finding.status == Status::Better);
        let mut test = if fails {
            let causes = finding.function.as_ref().map_or(&[][..], |k| verdict.causes_of(k));
            let causes: Vec<&str> = causes.iter().map(|c| c.text.as_str()).collect();
            failed(&name, &sentence(finding), &causes.join("\n"))
        } else {
            TestCase::new(printable::name(&name).as_ref(), TestCaseStatus::success())
        };
        if let Some(key) = finding.function.as_ref().filter(|k| !k.file.is_empty()) {
            test.set_classname(printable::name(&key.file).as_ref());
        }
        test
    }

    /// `customSmallerIsBetter` of github-action-benchmark: costs, and other numbers that have limits. Those of which
    /// more is better have no place in it.
    pub fn smaller_is_better(&self, out: &mut impl Write) -> io::Result<()> {
        let costs = self.curves().map(|(name, value)| Entry { name, unit: "ByteDMD", value });
        let limited = self.limited().filter(|(_, metric, _)| !metric.more_is_better());
        let others = limited.map(|(case, metric, value)| {
            let unit = match metric.kind().unit {
                Unit::Count => "count",
                Unit::Bytes => "bytes",
                Unit::Share => "1/10000",
                Unit::Ratio => "1/1000000",
            };
            Entry { name: format!("{case}: {metric}"), unit, value }
        });
        let entries: Vec<Entry> = costs.chain(others).collect();
        serde_json::to_writer_pretty(&mut *out, &entries)?;
        writeln!(out)
    }

    /// Bencher Metric Format: a measure per number that has a limit.
    pub fn bencher(&self, out: &mut impl Write) -> io::Result<()> {
        let mut benchmarks: BTreeMap<String, BTreeMap<String, Measure>> = BTreeMap::new();
        for (name, value) in self.curves() {
            benchmarks.entry(name).or_default().insert("bytedmd".into(), Measure { value });
        }
        for (case, metric, value) in self.limited() {
            benchmarks.entry(case.into()).or_default().insert(slug(&metric.to_string()), Measure { value });
        }
        serde_json::to_writer_pretty(&mut *out, &benchmarks)?;
        writeln!(out)
    }

    /// Numbers of programs with limits or ceilings, besides the cost.
    fn limited(&self) -> impl Iterator<Item = (&str, Metric, u128)> {
        let compared = self.checked.iter().filter_map(|checked| match &checked.ending {
            Ending::Compared(compared) => Some((checked, compared)),
            _ => None,
        });
        compared.flat_map(|(checked, compared)| {
            let of_program =
                compared.verdict.findings.iter().filter(|f| f.function.is_none() && f.metric != Metric::COST);
            let numbers: BTreeMap<Metric, u128> = of_program.map(|f| (f.metric, f.after)).collect();
            numbers.into_iter().map(|(metric, value)| (checked.name.as_str(), metric, value))
        })
    }

    /// Cases, and their functions that cost something, by name.
    fn curves(&self) -> impl Iterator<Item = (String, u128)> + '_ {
        self.checked.iter().filter_map(|c| Some((c, c.summary()?))).flat_map(|(checked, summary)| {
            let total = summary.total.of(Metric::COST);
            let mut functions: BTreeMap<String, u128> = BTreeMap::new();
            for (key, function) in &summary.functions {
                *functions.entry(format!("{}/{}", checked.name, key.name)).or_default() +=
                    function.numbers.of(Metric::COST);
            }
            functions.retain(|_, cost| *cost > 0 && *cost * CURVE >= total);
            std::iter::once((checked.name.clone(), total)).chain(functions)
        })
    }
}

/// `traffic(32KiB)` as Bencher names measures: `traffic-32kib`.
fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(plain).collect::<String>().trim_matches('-').to_owned()
}

#[derive(Serialize)]
struct Measure {
    value: u128,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    value: u128,
}

fn failed(name: &str, message: &str, description: &str) -> TestCase {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(printable::name(message).as_ref()).set_description(printable::lines(description).as_ref());
    TestCase::new(printable::name(name).as_ref(), status)
}

/// `ByteDMD 1.918G -> 7.099G (+270.1%), limit 0%`.
#[must_use]
pub fn sentence(finding: &Finding) -> String {
    let Finding { metric, before, after, limit, .. } = finding;
    let (was, is) = words::amounts(*metric, *before, *after);
    let percent = words::percent(*before, *after);
    let moved = if before == after { is } else { format!("{was} -> {is} ({percent})") };
    format!("{} {moved}, limit {}", metric.title(), words::limit(*metric, *limit))
}

/// GitHub's workflow commands: a message at file and line for each failure, a warning where a baseline is out of date.
pub fn annotations(results: &Results<'_>, prefix: &str, out: &mut impl Write) -> io::Result<()> {
    for checked in results.checked {
        let Ending::Compared(compared) = &checked.ending else {
            if let Some(error) = error(checked) {
                writeln!(out, "::error title={}::{}", property(&format!("dmdprof: {}", checked.name)), data(&error))?;
            }
            continue;
        };
        if compared.accepted && !compared.verdict.is_above() {
            continue;
        }
        for defect in &compared.verdict.defects {
            writeln!(out, "::error title={}::{}", property(&format!("dmdprof: {}", checked.name)), data(defect))?;
        }
        for finding in super::check::noticed(compared) {
            let level = match finding.status {
                Status::Better if !results.strict => "warning",
                Status::Warned => "warning",
                _ => "error",
            };
            let name = finding.function.as_ref().map_or("the program", |k| k.name.as_str());
            let mut at = String::new();
            if let Some(key) = finding.function.as_ref().filter(|k| !k.file.is_empty() && !k.file.starts_with('/')) {
                at = format!("file={}", property(&format!("{prefix}{}", key.file)));
                if let Some(line) = line(Some(&compared.comparison.whole[1]), finding) {
                    at.push_str(&format!(",line={line}"));
                }
                at.push(',');
            }
            let causes = finding.function.as_ref().map_or(&[][..], |k| compared.verdict.causes_of(k));
            let lines: Vec<String> =
                std::iter::once(sentence(finding)).chain(causes.iter().map(|c| c.text.clone())).collect();
            let title = property(&format!("dmdprof: {}: {name}", checked.name));
            writeln!(out, "::{level} {at}title={title}::{}", data(&lines.join("\n")))?;
        }
    }
    Ok(())
}

fn data(text: &str) -> String {
    printable::lines(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(&printable::name(text)).replace(':', "%3A").replace(',', "%2C")
}
