//! Machine files: TOML text becomes a [`Machine`].
//!
//! Takes the text of a file and its path (for messages and the expected name); gives the machine and what looks odd
//! about it, or everything that is wrong, each as `FILE:LINE: FIELD: what is wrong and what to write`. Refuses unknown
//! fields, numbers without unit, source or confidence, numbers out of range, and levels that do not grow outwards.
//! Schema: `docs/machines.md`.

mod level;
mod number;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use dmdprof_cycles::Figures;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use self::number::{Allowed, bare_number, first_example, in_range};
use super::model::{Confidence, Figure, Growth, Machine, Memory, OpType, Origin, WritePolicy};
pub use super::names::{NAME_RULE, is_name, nearest};
pub use super::problem::{Problem, Problems};
use crate::shared::quantity::{self, Kind};
use crate::shared::toml_text::{Document, in_order};

/// Bumped when a reader of before would misunderstand a file.
pub const SCHEMA: u32 = 1;

/// A machine, and what looks odd but may be meant.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub machine: Machine,
    pub warnings: Vec<Problem>,
}

/// Reads a machine file.
///
/// # Errors
/// When it cannot be read, or as [`from_text`].
pub fn read(path: &Path) -> Result<Parsed, Problems> {
    match std::fs::read_to_string(path) {
        Ok(text) => from_text(path, &text, Origin::File(path.into())),
        Err(error) => {
            let message = format!("cannot be read: {error}");
            Err(Problems(vec![Problem { path: path.into(), line: None, field: String::new(), message }]))
        }
    }
}

/// Reads the text of a machine file; `path` is for messages.
///
/// # Errors
/// Everything that is wrong, see the module's description.
pub fn from_text(path: &Path, text: &str, origin: Origin) -> Result<Parsed, Problems> {
    let document = Document { path, text, advice: "" };
    let table = document.parse().map_err(|e| {
        Problems(vec![Problem { path: e.path, line: e.line, field: String::new(), message: e.message }])
    })?;
    let reader =
        Reader { document, problems: RefCell::default(), warnings: RefCell::default(), unproven: RefCell::default() };
    let machine = reader.machine(&table, origin);
    reader.tell_unproven();
    let in_lines = |problems: RefCell<Vec<Problem>>| {
        let mut problems = problems.into_inner();
        problems.sort_by_key(|p| p.line);
        problems
    };
    let (problems, warnings) = (in_lines(reader.problems), in_lines(reader.warnings));
    match machine {
        Some(machine) if problems.is_empty() => Ok(Parsed { machine, warnings }),
        _ => Err(Problems(problems)),
    }
}

type Value<'a> = Spanned<DeValue<'a>>;

/// Reads one file and notes problems instead of stopping at the first.
struct Reader<'d> {
    document: Document<'d>,
    problems: RefCell<Vec<Problem>>,
    warnings: RefCell<Vec<Problem>>,
    /// Numbers without confidence or source.
    unproven: RefCell<Vec<Problem>>,
}

impl Reader<'_> {
    /// A line forgotten at the top would be told for every number: once is enough.
    fn tell_unproven(&self) {
        let mut unproven = self.unproven.take();
        unproven.sort_by_key(|p| p.line);
        let more = unproven.len().saturating_sub(1);
        if let Some(mut first) = unproven.into_iter().next() {
            if more > 0 {
                write!(first.message, " ({more} more like this)").expect("writing to memory");
            }
            self.problems.borrow_mut().push(first);
        }
    }

    fn problem(&self, span: Range<usize>, field: &str, message: impl Into<String>) {
        self.problems.borrow_mut().push(self.problem_at(span, field, message.into()));
    }

    fn warning(&self, span: Range<usize>, field: &str, message: impl Into<String>) {
        self.warnings.borrow_mut().push(self.problem_at(span, field, message.into()));
    }

    fn problem_at(&self, span: Range<usize>, field: &str, message: String) -> Problem {
        let place = self.document.error(span, message);
        Problem { path: place.path, line: place.line, field: field.into(), message: place.message }
    }

    fn string(&self, value: &Value<'_>, field: &str) -> Option<String> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.problem(value.span(), field, "write a text in quotes");
        }
        text.map(str::to_owned)
    }

    fn machine(&self, table: &DeTable<'_>, origin: Origin) -> Option<Machine> {
        let top = Section::new(self, Some(table), String::new(), 0..0, &Provenance::default());
        self.schema(&top);
        let name = top.required_text("name").and_then(|(span, name)| self.name(span, name));
        let title = top.required_text("title").map(|(_, title)| title);
        let peaks = top.section("peak");
        if !peaks.exists() {
            self.problem(0..0, "peak", "is missing; write at least one rate, as in\n  [peak]\n  fp64 = \"173 Gop/s\"");
        }
        let peak = peaks.by_type(Kind::OpsPerSecond, Allowed::Positive);
        let default_type = self.default_type(&top, &peaks);
        let memory = top.section("memory");
        let dispatch = top.section("dispatch");
        let placement = top.section("placement");
        let energy = top.section("energy");
        let addition = top.section("addition_energy");
        let power = top.section("power");
        let growth = top.section("growth");
        let core = top.section("core");
        let bytes = |key| memory.figure(key, Kind::Bytes, Allowed::Positive);
        let read_memory = Memory {
            capacity: bytes("capacity"),
            bandwidth: memory.figure("bandwidth", Kind::BytesPerSecond, Allowed::Positive),
            latency: memory.figure("latency", Kind::Seconds, Allowed::Positive),
            transfer: bytes("transfer"),
            energy: memory.figure("energy", Kind::JoulesPerByte, Allowed::Positive),
        };
        let levels = self.levels(&top, &memory, &read_memory);
        let read_growth = growth.exists().then(|| self.growth(&growth)).flatten();
        let machine = Machine {
            name: name.unwrap_or_default(),
            title: title.unwrap_or_default(),
            origin,
            notes: top.texts("notes"),
            peak,
            default_type: default_type.unwrap_or(OpType::Generic),
            efficiency: top.figure("efficiency", Kind::Number, Allowed::Share),
            levels,
            memory: read_memory,
            fast_memory: top.figure("fast_memory", Kind::Bytes, Allowed::Positive),
            cores: top.count("cores"),
            floor: dispatch.figure("floor", Kind::Seconds, Allowed::NotNegative),
            setup: dispatch.figure("setup", Kind::Seconds, Allowed::NotNegative),
            launch: placement.figure("launch", Kind::Seconds, Allowed::NotNegative),
            transfer_in: placement.figure("transfer_in", Kind::Seconds, Allowed::NotNegative),
            op_energy: energy.by_type(Kind::JoulesPerOp, Allowed::Positive),
            addition_energy: addition.by_type(Kind::JoulesPerOp, Allowed::Positive),
            power_max: power.figure("max", Kind::Watts, Allowed::Positive),
            power_idle: power.figure("idle", Kind::Watts, Allowed::Positive),
            price: top.figure("price", Kind::Dollars, Allowed::Positive),
            growth: read_growth,
            core: core.whole_numbers(),
        };
        for section in [core, peaks, memory, dispatch, placement, energy, addition, power, growth, top] {
            section.finish();
        }
        Some(machine)
    }

    fn schema(&self, top: &Section<'_, '_, '_>) {
        let Some(value) = top.value("schema") else {
            return self.problem(0..0, "schema", format!("is missing; write schema = {SCHEMA}"));
        };
        let found = value.get_ref().as_integer().and_then(|n| n.as_str().parse::<u32>().ok());
        match found {
            Some(SCHEMA) => {}
            Some(newer) if newer > SCHEMA => {
                let message = format!("is {newer}; this dmdprof reads {SCHEMA}: use a newer dmdprof");
                self.problem(value.span(), "schema", message);
            }
            _ => self.problem(value.span(), "schema", format!("write schema = {SCHEMA}")),
        }
    }

    /// Names are typed on command lines and are names of files.
    fn name(&self, span: Range<usize>, name: String) -> Option<String> {
        let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        if name.is_empty() || !name.chars().all(is_good) || name.ends_with(".toml") {
            self.problem(span, "name", "write letters, digits, - _ . + only, not ending in .toml, as in \"h100-sxm\"");
            return None;
        }
        let stem = self.document.path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        if let Some(stem) = stem.filter(|stem| *stem != name) {
            self.warning(
                span,
                "name",
                format!("is {name:?}, but the file is named {stem:?}; machines are found by file name"),
            );
        }
        Some(name)
    }

    fn default_type(&self, top: &Section<'_, '_, '_>, peaks: &Section<'_, '_, '_>) -> Option<OpType> {
        // Types that are there, if with a mistake in their number.
        let stated: Vec<OpType> = OpType::ALL.into_iter().filter(|t| peaks.value(t.word()).is_some()).collect();
        let words = stated.iter().map(|t| t.word()).collect::<Vec<_>>().join(", ");
        match (top.value("default_type"), stated.as_slice()) {
            (_, []) => None,
            (None, [only]) => Some(*only),
            (None, [first, ..]) => {
                let message = format!(
                    "is missing, and [peak] has {words}; say which one the program's operations are unless told otherwise, as in default_type = \"{first}\""
                );
                self.problem(peaks.span.clone(), "default_type", message);
                None
            }
            (Some(value), _) => {
                let word = self.string(value, "default_type")?;
                let found = stated.iter().copied().find(|t| t.word() == word);
                if found.is_none() {
                    self.problem(
                        value.span(),
                        "default_type",
                        format!("{word:?} is not in [peak]; write one of {words}"),
                    );
                }
                found
            }
        }
    }

    fn growth(&self, section: &Section<'_, '_, '_>) -> Option<Growth> {
        let time = |key| section.figure(key, Kind::Years, Allowed::Positive);
        let growth = Growth {
            year: f64::NAN,
            peak: time("peak"),
            bandwidth: time("bandwidth"),
            latency: time("latency"),
            transfer: time("transfer"),
            fast_memory: time("fast_memory"),
            cores: time("cores"),
        };
        let year = section.value("year").and_then(|value| bare_number(value.get_ref()));
        let year = year.filter(|year| (1900.0..3000.0).contains(year));
        if year.is_none() {
            let span = section.value("year").map_or(section.span.clone(), Spanned::span);
            self.problem(
                span,
                "growth.year",
                "write the year in which the numbers of the file hold, as in year = 2010",
            );
        }
        year.map(|year| Growth { year, ..growth })
    }
}

/// What numbers are from that do not say so themselves.
#[derive(Clone, Debug, Default)]
struct Provenance {
    confidence: Option<Confidence>,
    source: Option<String>,
}

/// A table of the file, or one that is not there. Knows which fields were asked for; [`Section::finish`] refuses the
/// others.
struct Section<'r, 'd, 't> {
    reader: &'r Reader<'d>,
    table: Option<&'t DeTable<'t>>,
    /// Before the names of its fields; empty for the file itself.
    path: String,
    span: Range<usize>,
    provenance: Provenance,
    known: RefCell<BTreeSet<&'static str>>,
}

impl<'r, 'd, 't> Section<'r, 'd, 't> {
    fn new(
        reader: &'r Reader<'d>,
        table: Option<&'t DeTable<'t>>,
        path: String,
        span: Range<usize>,
        outer: &Provenance,
    ) -> Self {
        let provenance = outer.clone();
        let mut section = Section { reader, table, path, span, provenance, known: RefCell::default() };
        section.provenance = section.provenance_within(outer);
        section
    }

    fn provenance_within(&self, outer: &Provenance) -> Provenance {
        Provenance {
            confidence: self.confidence().or(outer.confidence),
            source: self.text("source").map(|(_, source)| source).or_else(|| outer.source.clone()),
        }
    }

    fn exists(&self) -> bool {
        self.table.is_some()
    }

    fn field(&self, key: &str) -> String {
        if self.path.is_empty() { key.into() } else { format!("{}.{key}", self.path) }
    }

    fn value(&self, key: &'static str) -> Option<&'t Value<'t>> {
        self.known.borrow_mut().insert(key);
        self.table?.iter().find(|(k, _)| k.get_ref() == key).map(|(_, value)| value)
    }

    fn section(&self, key: &'static str) -> Section<'r, 'd, 't> {
        let value = self.value(key);
        let table = value.and_then(|value| {
            let table = value.get_ref().as_table();
            if table.is_none() {
                self.reader.problem(value.span(), &self.field(key), format!("write a table: [{key}]"));
            }
            table
        });
        let span = value.map_or(0..0, Spanned::span);
        Section::new(self.reader, table, self.field(key), span, &self.provenance)
    }

    fn text(&self, key: &'static str) -> Option<(Range<usize>, String)> {
        let value = self.value(key)?;
        Some((value.span(), self.reader.string(value, &self.field(key))?))
    }

    fn required_text(&self, key: &'static str) -> Option<(Range<usize>, String)> {
        if self.value(key).is_none() {
            self.reader.problem(self.span.clone(), &self.field(key), format!("is missing; write {key} = \"...\""));
        }
        self.text(key)
    }

    fn texts(&self, key: &'static str) -> Vec<String> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let Some(list) = value.get_ref().as_array() else {
            self.reader.problem(value.span(), &self.field(key), "write a list of texts: [\"...\", \"...\"]");
            return Vec::new();
        };
        list.iter().filter_map(|text| self.reader.string(text, &self.field(key))).collect()
    }

    fn flag(&self, key: &'static str) -> bool {
        let Some(value) = self.value(key) else { return false };
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.reader.problem(value.span(), &self.field(key), "write true or false");
        }
        flag.unwrap_or(false)
    }

    fn write_policy(&self) -> Option<WritePolicy> {
        let (span, word) = self.text("write")?;
        let found = WritePolicy::ALL.into_iter().find(|policy| policy.word() == word);
        if found.is_none() {
            let words = WritePolicy::ALL.map(WritePolicy::word).join(", ");
            self.reader.problem(span, &self.field("write"), format!("{word:?} is none of {words}"));
        }
        found
    }

    fn confidence(&self) -> Option<Confidence> {
        let (span, word) = self.text("confidence")?;
        let found = Confidence::ALL.into_iter().find(|c| c.word() == word);
        if found.is_none() {
            let words = Confidence::ALL.map(Confidence::word).join(", ");
            self.reader.problem(span, &self.field("confidence"), format!("{word:?} is none of {words}"));
        }
        // The file is refused already: without a confidence every number would be told as well.
        found.or(Some(Confidence::Estimated))
    }

    fn figure(&self, key: &'static str, kind: Kind, range: Allowed) -> Option<Figure> {
        self.read_figure(self.value(key)?, self.field(key), kind, range)
    }

    fn required_figure(&self, key: &'static str, kind: Kind) -> Option<Figure> {
        if self.value(key).is_none() {
            let message = format!("is missing; write {key} = {}", first_example(kind));
            self.reader.problem(self.span.clone(), &self.field(key), message);
        }
        self.figure(key, kind, Allowed::Positive)
    }

    fn count(&self, key: &'static str) -> Option<Figure> {
        self.whole(key, Allowed::Positive)
    }

    fn whole(&self, key: &'static str, range: Allowed) -> Option<Figure> {
        let figure = self.figure(key, Kind::Number, range)?;
        if figure.value.fract() != 0.0 {
            let span = self.value(key).map_or(self.span.clone(), Spanned::span);
            self.reader.problem(span, &self.field(key), "write a whole number");
        }
        Some(figure)
    }

    /// Numbers of a core.
    fn whole_numbers(&self) -> BTreeMap<&'static str, Figure> {
        let whole = |name| self.whole(name, Allowed::NotNegative);
        Figures::ALL.iter().filter_map(|number| Some((number.name, whole(number.name)?))).collect()
    }

    /// Every field is a type of operands.
    fn by_type(&self, kind: Kind, range: Allowed) -> BTreeMap<OpType, Figure> {
        let figures = OpType::ALL.into_iter().filter_map(|t| Some((t, self.figure(t.word(), kind, range)?)));
        let figures: BTreeMap<OpType, Figure> = figures.collect();
        if self.table.is_some_and(|table| !OpType::ALL.iter().any(|t| table.contains_key(t.word()))) {
            let words = OpType::ALL.map(OpType::word).join(", ");
            let message =
                format!("states no number; write one for a type, as in fp64 = {} (types: {words})", kind.example());
            self.reader.problem(self.span.clone(), &self.path, message);
        }
        figures
    }

    /// `"84 GB/s"`, or `{ value = "84 GB/s", confidence = "...", source = "..." }`.
    fn read_figure(&self, value: &'t Value<'t>, field: String, kind: Kind, range: Allowed) -> Option<Figure> {
        let Some(table) = value.get_ref().as_table() else {
            let number = self.number(value, &field, kind, range);
            return self.with_provenance(value.span(), &field, number?, &self.provenance);
        };
        let inner = Section::new(self.reader, Some(table), field.clone(), value.span(), &self.provenance);
        let number = match inner.value("value") {
            Some(number) => self.number(number, &field, kind, range),
            None => {
                let message = format!("has no value; write {{ value = {}, ... }}", first_example(kind));
                self.reader.problem(value.span(), &field, message);
                None
            }
        };
        let provenance = inner.provenance.clone();
        inner.finish();
        self.with_provenance(value.span(), &field, number?, &provenance)
    }

    fn with_provenance(&self, span: Range<usize>, field: &str, value: f64, provenance: &Provenance) -> Option<Figure> {
        let refuse = |what: &str, example: &str| {
            let message = format!(
                "states no {what}; write {what} = {example} at the top of the file or of its table, or {{ value = ..., {what} = {example} }}"
            );
            self.reader.unproven.borrow_mut().push(self.reader.problem_at(span.clone(), field, message));
            None
        };
        match (provenance.confidence, &provenance.source) {
            (Some(confidence), Some(source)) => Some(Figure { value, confidence, source: source.clone() }),
            (None, _) => refuse("confidence", "\"datasheet\""),
            (_, None) => refuse("source", "\"data sheet, 2024\""),
        }
    }

    fn number(&self, value: &Value<'_>, field: &str, kind: Kind, range: Allowed) -> Option<f64> {
        let number = match value.get_ref() {
            DeValue::String(text) if kind != Kind::Number => quantity::parse(text, kind).map_err(|e| e.to_string()),
            other => match (bare_number(other), kind) {
                (Some(number), Kind::Number) => Ok(number),
                (Some(_), _) => Err(format!("write the unit, as in {}", kind.example())),
                (None, _) => Err(format!(
                    "write a {}, as in {}",
                    if kind == Kind::Number { "number" } else { "text" },
                    kind.example()
                )),
            },
        };
        let number = number.and_then(|number| in_range(number, range).map(|()| number));
        number.map_err(|message| self.reader.problem(value.span(), field, message)).ok()
    }

    /// Refuses fields that nobody asked for.
    fn finish(self) {
        let known = self.known.into_inner();
        for (key, _) in self.table.map(in_order).unwrap_or_default() {
            let word = key.get_ref().as_ref();
            if known.contains(word) {
                continue;
            }
            let field = if self.path.is_empty() { word.into() } else { format!("{}.{word}", self.path) };
            let nearest = nearest(word, known.iter().copied());
            let known: Vec<&str> = known.iter().copied().collect();
            let message = match nearest {
                Some(nearest) => format!("is no field of a machine file; did you mean {nearest}?"),
                None => format!("is no field of a machine file; here are known: {}", known.join(", ")),
            };
            self.reader.problem(key.span(), &field, message);
        }
    }
}

#[cfg(test)]
mod tests;
