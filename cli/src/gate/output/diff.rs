//! `dmdprof diff`: a comparison as a table, Markdown, JSON or CSV.

use std::io::{self, Write};

use serde::Serialize;

use super::layout::{Column, Look, columns};
use super::words;
use crate::gate::compare::{Change, Comparison, Fate, difference};
use crate::gate::metric::Metric;
use crate::gate::provenance::Difference;
use crate::gate::summary::{Function, Numbers};
use crate::gate::why::{self, Cause};
use crate::shared::human;
use crate::shared::printable;

/// Version of the JSON.
pub const VERSION: u32 = 1;

/// What is compared and how much of it is shown.
pub struct Diff<'a> {
    /// Names of the two, as given.
    pub names: [String; 2],
    pub comparison: &'a Comparison,
    /// What differs besides the numbers.
    pub differences: &'a [Difference],
    /// The number that orders the functions.
    pub sort: Metric,
    /// At most so many functions.
    pub top: Option<usize>,
    pub width: Option<usize>,
    pub color: bool,
}

/// Numbers of the program in tables.
const TOTALS: [Metric; 14] = [
    Metric::COST,
    Metric::CYCLES,
    Metric::READ,
    Metric::WRITTEN,
    Metric::COPIED,
    Metric::ACCESSES,
    Metric::FLOPS,
    Metric::INT_OPS,
    Metric::Fills(32 << 10),
    Metric::WriteBacks(32 << 10),
    Metric::LineTraffic(1 << 20),
    Metric::Utilisation(32 << 10),
    Metric::FOOTPRINT,
    Metric::PEAK_LIVE,
];
/// Numbers of functions in tables, beside the one that orders them.
const BESIDE: [Metric; 6] =
    [Metric::COST, Metric::CYCLES, Metric::LineTraffic(32 << 10), Metric::READ, Metric::FLOPS, Metric::CALLS];
/// Functions whose causes a table tells.
const EXPLAINED: usize = 10;

impl<'a> Diff<'a> {
    fn shown(&self) -> Vec<&'a Change> {
        self.comparison.changed().take(self.top.unwrap_or(usize::MAX)).collect()
    }

    fn hidden(&self) -> usize {
        self.comparison.changed().count().saturating_sub(self.top.unwrap_or(usize::MAX))
    }

    /// The number of the program that both have.
    fn alike(&self) -> String {
        let first = TOTALS.into_iter().find(|metric| self.comparison.after.of(*metric) > 0);
        let metric = first.unwrap_or(Metric::COST);
        format!("{} {}", metric.title(), human::grouped(self.comparison.after.of(metric)))
    }

    fn totals(&self) -> Vec<[String; 5]> {
        let sorted = Some(self.sort).filter(|sort| !TOTALS.contains(sort));
        let rows = TOTALS.into_iter().chain(sorted).filter_map(|metric| {
            let (before, after) = self.comparison.total(metric).filter(|both| *both != (0, 0))?;
            let (was, is) = words::amounts(metric, before, after);
            let title = metric.title();
            Some([title, was, is, words::change(metric, before, after), words::percent(before, after)])
        });
        rows.collect()
    }

    /// What functions are ordered by, then other numbers of which some function that is shown has any.
    fn metrics(&self, shown: &[&Change]) -> Vec<Metric> {
        let is_any = |metric: Metric| shown.iter().any(|change| !matches!(change.values(metric), None | Some((0, 0))));
        let others = BESIDE.into_iter().filter(|metric| *metric != self.sort && is_any(*metric));
        std::iter::once(self.sort).chain(others).collect()
    }

    /// The first number's change, also in percent, and both values; the changes of the others.
    fn row(change: &Change, metrics: &[Metric]) -> Vec<String> {
        let changed = |metric: &Metric| {
            change.values(*metric).map_or_else(String::new, |(before, after)| words::change(*metric, before, after))
        };
        let first = metrics[0];
        let (before, after) = change.values(first).unwrap_or_default();
        let (was, is) = words::amounts(first, before, after);
        let whole = [changed(&first), words::percent(before, after), was, is];
        whole.into_iter().chain(metrics[1..].iter().map(changed)).collect()
    }

    fn row_titles(metrics: &[Metric]) -> Vec<String> {
        let title = |metric: &Metric| match *metric {
            Metric::READ => "read".to_owned(),
            other => other.title(),
        };
        let whole = [title(&metrics[0]), String::new(), "before".to_owned(), "after".to_owned()];
        whole.into_iter().chain(metrics[1..].iter().map(title)).collect()
    }

    pub fn table(&self, out: &mut impl Write) -> io::Result<()> {
        let line = format!("{} -> {}", self.names[0], self.names[1]);
        writeln!(out, "{}", printable::name(&line))?;
        for d in self.differences {
            let line = format!("note: another {}: {} -> {}", d.name(), or_none(&d.before), or_none(&d.after));
            writeln!(out, "{}", printable::name(&line))?;
        }
        if self.comparison.is_empty() {
            return writeln!(out, "no difference: {}", self.alike());
        }
        writeln!(out)?;
        let header = [
            Column::Text(""),
            Column::Number("before"),
            Column::Number("after"),
            Column::Number("change"),
            Column::Number(""),
        ];
        columns(
            &header,
            self.totals().into_iter().map(Vec::from).collect(),
            Look { color: self.color, ..Look::default() },
            out,
        )?;
        let shown = self.shown();
        if shown.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        let metrics = self.metrics(&shown);
        let titles = Self::row_titles(&metrics);
        let mut header: Vec<Column> = titles.iter().map(|title| Column::Number(title)).collect();
        header.extend([Column::Text("function"), Column::Text("where")]);
        let rows = shown.iter().map(|change| {
            let mut row = Self::row(change, &metrics);
            row.extend([label(change), words::place(change)]);
            row
        });
        let look = Look {
            width: self.width,
            go: &["flops", "calls", "before", "read"],
            instead: "--full-names, --format csv",
            color: self.color,
        };
        columns(&header, rows.collect(), look, out)?;
        if self.hidden() > 0 {
            writeln!(out, "  ({} more; see --top)", self.hidden())?;
        }
        self.reasons(&shown, out)
    }

    fn reasons(&self, shown: &[&Change], out: &mut impl Write) -> io::Result<()> {
        let explained =
            shown.iter().map(|change| (change, why::causes(change))).filter(|(_, causes)| !causes.is_empty());
        for (i, (change, causes)) in explained.take(EXPLAINED).enumerate() {
            if i == 0 {
                writeln!(out, "\nWhy")?;
            }
            writeln!(out, "  {}", printable::name(&change.key.name))?;
            for cause in causes {
                writeln!(out, "    {}", printable::name(&cause.text))?;
            }
        }
        Ok(())
    }

    pub fn markdown(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "### dmdprof: {} → {}\n", escape(&self.names[0]), escape(&self.names[1]))?;
        for d in self.differences {
            writeln!(out, "> another {}: {} → {}\n", d.name(), escape(or_none(&d.before)), escape(or_none(&d.after)))?;
        }
        if self.comparison.is_empty() {
            return writeln!(out, "No difference: {}.", self.alike());
        }
        writeln!(out, "| | before | after | change | |\n|---|--:|--:|--:|--:|")?;
        for row in self.totals() {
            writeln!(out, "| {} |", row.join(" | "))?;
        }
        let shown = self.shown();
        let metrics = self.metrics(&shown);
        let titles = Self::row_titles(&metrics);
        writeln!(
            out,
            "\n| {} | function | where | why |\n|{}---|---|---|",
            titles.join(" | "),
            "--:|".repeat(titles.len())
        )?;
        for change in shown {
            let why = why::causes(change).into_iter().next().map_or_else(String::new, |c| c.text);
            let (name, place) = (escape(&label(change)), escape(&words::place(change)));
            writeln!(out, "| {} | {name} | {place} | {} |", Self::row(change, &metrics).join(" | "), escape(&why))?;
        }
        if self.hidden() > 0 {
            writeln!(out, "\n{} more.", self.hidden())?;
        }
        Ok(())
    }

    pub fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let differences = self.differences.iter();
        let others = beside(&OF_FUNCTIONS, &self.comparison.before);
        let diff = Json {
            version: VERSION,
            before: &self.names[0],
            after: &self.names[1],
            differences: differences.map(|d| Other { what: d.name(), before: &d.before, after: &d.after }).collect(),
            total: numbers(&TOTALS, &beside(&TOTALS, &self.comparison.before), |metric| self.comparison.total(metric)),
            functions: self.shown().into_iter().map(|change| JsonChange::from_change(change, &others)).collect(),
            hidden: self.hidden(),
        };
        serde_json::to_writer_pretty(&mut *out, &diff)?;
        writeln!(out)
    }

    pub fn csv(&self, out: &mut impl Write) -> io::Result<()> {
        self.records(out).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => error,
            other => io::Error::other(format!("{other:?}")),
        })
    }

    fn records(&self, out: &mut impl Write) -> csv::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        let metrics = OF_FUNCTIONS.iter().flat_map(|m| [format!("{m}_before"), format!("{m}_after")]);
        let header = ["fate", "name", "file", "line", "old_name", "old_file"].map(str::to_owned);
        csv.write_record(header.into_iter().chain(metrics).chain(["why".to_owned()]))?;
        for change in self.shown() {
            let (old_name, old_file) = match &change.fate {
                Fate::Renamed { from } => (from.name.clone(), from.file.clone()),
                _ => Default::default(),
            };
            let line = line(change).map_or_else(String::new, |line| line.to_string());
            let text = |text: &str| printable::csv_cell(text).into_owned();
            let (name, file) = (text(&change.key.name), text(&change.key.file));
            let head = [fate(&change.fate).into(), name, file, line, text(&old_name), text(&old_file)];
            let number = |f: &Option<Function>, m: Metric| {
                f.as_ref().and_then(|f| m.value_in(&f.numbers)).map_or_else(String::new, |n| n.to_string())
            };
            let numbers = OF_FUNCTIONS.iter().flat_map(|m| [number(&change.before, *m), number(&change.after, *m)]);
            let why = why::causes(change).into_iter().map(|c| c.text).collect::<Vec<_>>().join("; ");
            csv.write_record(head.into_iter().chain(numbers).chain([text(&why)]))?;
        }
        Ok(csv.flush()?)
    }
}

/// Numbers of functions in JSON and CSV.
const OF_FUNCTIONS: [Metric; 10] = [
    Metric::COST,
    Metric::READ,
    Metric::WRITTEN,
    Metric::COLD,
    Metric::COPIED,
    Metric::ACCESSES,
    Metric::CALLS,
    Metric::FLOPS,
    Metric::INT_OPS,
    Metric::CYCLES,
];

/// What both runs have beside some numbers.
fn beside(shown: &[Metric], total: &Numbers) -> Vec<Metric> {
    total.metrics().filter(|metric| !shown.contains(metric)).collect()
}

/// Some numbers, and others as far as they changed.
fn numbers(shown: &[Metric], others: &[Metric], of: impl Fn(Metric) -> Option<(u128, u128)>) -> Vec<Number> {
    let number = |metric: &Metric| Some(Number::new(*metric, of(*metric)?));
    let changed = others.iter().filter_map(number).filter(|number| number.change != 0);
    shown.iter().filter_map(number).chain(changed).collect()
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// The name, and what became of it.
fn label(change: &Change) -> String {
    match words::fate(&change.key, &change.fate) {
        fate if fate.is_empty() => change.key.name.clone(),
        fate => format!("{} ({fate})", change.key.name),
    }
}

/// Text in a Markdown table.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text = printable::lines(text);
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '\\' | '[' | ']' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn fate(fate: &Fate) -> &'static str {
    match fate {
        Fate::Kept => "kept",
        Fate::New => "new",
        Fate::Removed => "removed",
        Fate::Renamed { .. } => "renamed",
    }
}

fn line(change: &Change) -> Option<u32> {
    let place = change.after.as_ref().or(change.before.as_ref())?.place?;
    Some(place.line).filter(|line| *line > 0)
}

#[derive(Serialize)]
struct Json<'a> {
    version: u32,
    before: &'a str,
    after: &'a str,
    differences: Vec<Other<'a>>,
    total: Vec<Number>,
    functions: Vec<JsonChange<'a>>,
    hidden: usize,
}

/// What differs besides the numbers.
#[derive(Serialize)]
struct Other<'a> {
    what: &'static str,
    before: &'a str,
    after: &'a str,
}

#[derive(Serialize)]
struct Number {
    metric: String,
    before: u128,
    after: u128,
    change: i128,
}

impl Number {
    fn new(metric: Metric, (before, after): (u128, u128)) -> Self {
        Number { metric: metric.to_string(), before, after, change: difference(before, after) }
    }
}

#[derive(Serialize)]
struct JsonChange<'a> {
    fate: &'static str,
    name: &'a str,
    file: &'a str,
    line: Option<u32>,
    old_name: Option<&'a str>,
    old_file: Option<&'a str>,
    metrics: Vec<Number>,
    /// (largest depth, bytes read before, after)
    depths: Vec<(u64, u128, u128)>,
    why: Vec<Cause>,
}

impl<'a> JsonChange<'a> {
    fn from_change(change: &'a Change, others: &[Metric]) -> Self {
        let from = match &change.fate {
            Fate::Renamed { from } => Some(from),
            _ => None,
        };
        JsonChange {
            fate: fate(&change.fate),
            name: &change.key.name,
            file: &change.key.file,
            line: line(change),
            old_name: from.map(|k| k.name.as_str()),
            old_file: from.map(|k| k.file.as_str()),
            metrics: numbers(&OF_FUNCTIONS, others, |metric| change.values(metric)),
            depths: depths(change),
            why: why::causes(change),
        }
    }
}

fn depths(change: &Change) -> Vec<(u64, u128, u128)> {
    let none = Numbers::default();
    let [before, after] = [&change.before, &change.after].map(|f| f.as_ref().map_or(&none, |f| &f.numbers));
    let all: std::collections::BTreeSet<u64> = before.depths.keys().chain(after.depths.keys()).copied().collect();
    let at = |numbers: &Numbers, depth| numbers.depths.get(&depth).copied().unwrap_or(0);
    all.into_iter().map(|depth| (depth, at(before, depth), at(after, depth))).collect()
}
