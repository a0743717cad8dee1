//! Machine files: TOML text becomes a [`Machine`].
//!
//! Takes the text of a file and its path (for messages and the expected name); gives the machine and what looks odd about it, or
//! everything that is wrong, each as `FILE:LINE: FIELD: what is wrong and what to write`. Refuses unknown fields, numbers without
//! unit, source or confidence, numbers out of range, and levels that do not grow outwards. Schema: `docs/machines.md`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::model::{Confidence, Figure, Growth, Level, Machine, Memory, OpType, Origin, WritePolicy};
use super::quantity::{self, Kind};
use crate::gate::text::{Document, in_order};

/// Bumped when a reader of before would misunderstand a file.
pub const SCHEMA: u32 = 1;

/// Something about a file, at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub path: PathBuf,
    /// From 1; `None`: the file as a whole.
    pub line: Option<usize>,
    /// As in `memory.bandwidth` or `level[2].capacity`; empty: no field in particular.
    pub field: String,
    /// What is wrong and what to write.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        if !self.field.is_empty() {
            write!(f, " {}:", self.field)?;
        }
        write!(f, " {}", self.message)
    }
}

/// All that is wrong with a file, in the order of its lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if i > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

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

/// Which values a number may have.
#[derive(Clone, Copy)]
enum Allowed {
    Positive,
    NotNegative,
    /// More than 0, at most 1.
    Share,
}

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
        self.problems.borrow_mut().push(self.at(span, field, message.into()));
    }

    fn warning(&self, span: Range<usize>, field: &str, message: impl Into<String>) {
        self.warnings.borrow_mut().push(self.at(span, field, message.into()));
    }

    fn at(&self, span: Range<usize>, field: &str, message: String) -> Problem {
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
        };
        for section in [peaks, memory, dispatch, placement, energy, addition, power, growth, top] {
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

    fn levels(&self, top: &Section<'_, '_, '_>, memory: &Section<'_, '_, '_>, beyond: &Memory) -> Vec<Level> {
        let Some(value) = top.value("level") else { return Vec::new() };
        let Some(list) = value.get_ref().as_array() else {
            self.problem(value.span(), "level", "write each level as a [[level]] table, from the cores outwards");
            return Vec::new();
        };
        let mut levels: Vec<Level> = Vec::new();
        for (i, value) in list.iter().enumerate() {
            let path = format!("level[{}]", i + 1);
            let Some(table) = value.get_ref().as_table() else {
                self.problem(value.span(), &path, "write a table: [[level]]");
                continue;
            };
            let section = Section::new(self, Some(table), path, value.span(), &top.provenance);
            if let Some(level) = self.level(&section) {
                self.order(&section, &levels, &level);
                levels.push(level);
            }
            section.finish();
        }
        self.memory_fills_last(memory, &levels, beyond);
        levels
    }

    fn level(&self, section: &Section<'_, '_, '_>) -> Option<Level> {
        let name = section.required_text("name").map(|(_, name)| name);
        let capacity = section.required_figure("capacity", Kind::Bytes);
        let bandwidth = section.figure("bandwidth", Kind::BytesPerSecond, Allowed::Positive);
        let energy = section.figure("energy", Kind::JoulesPerByte, Allowed::Positive);
        let per_core = section.flag("per_core");
        let line = section.figure("line", Kind::Bytes, Allowed::Positive);
        if line.as_ref().is_some_and(|line| !(line.value as u64).is_power_of_two()) {
            let span = section.value("line").map_or(section.span.clone(), Spanned::span);
            self.problem(span, &section.field("line"), "is no power of two; write it as in \"64 B\"");
        }
        let write = section.write_policy();
        Some(Level { name: name?, capacity: capacity?, bandwidth, energy, per_core, line, write })
    }

    /// How a level goes with those nearer to the cores.
    fn order(&self, section: &Section<'_, '_, '_>, inner: &[Level], level: &Level) {
        let at = |key| section.value(key).map_or(section.span.clone(), Spanned::span);
        if inner.iter().any(|other| other.name == level.name) {
            self.problem(at("name"), &section.field("name"), format!("another level is called {:?}", level.name));
        }
        let Some(last) = inner.last() else { return };
        if level.capacity.value <= last.capacity.value {
            let (this, before) = (level.capacity.value, last.capacity.value);
            let message = format!(
                "{} is not more than the {} of {}; write levels from the cores outwards, capacities increasing",
                quantity::rounded(this, Kind::Bytes),
                quantity::rounded(before, Kind::Bytes),
                last.name
            );
            self.problem(at("capacity"), &section.field("capacity"), message);
        }
        if let (Some(outer), Some(inner)) = (&level.bandwidth, &last.bandwidth)
            && outer.value > inner.value
        {
            let message = format!(
                "{} is filled faster than {}: the bandwidth of a level is that of the link which fills it from outside",
                level.name, last.name
            );
            self.warning(at("bandwidth"), &section.field("bandwidth"), message);
        }
    }

    fn memory_fills_last(&self, section: &Section<'_, '_, '_>, levels: &[Level], memory: &Memory) {
        let Some(last) = levels.last() else { return };
        if let (Some(fill), Some(bandwidth)) = (&last.bandwidth, &memory.bandwidth)
            && fill.value != bandwidth.value
        {
            let message = format!(
                "{} differs from the {} that fill {}, the last level before the memory",
                quantity::rounded(bandwidth.value, Kind::BytesPerSecond),
                quantity::rounded(fill.value, Kind::BytesPerSecond),
                last.name
            );
            let span = section.value("bandwidth").map_or(section.span.clone(), Spanned::span);
            self.warning(span, "memory.bandwidth", message);
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

/// What a machine may be called.
pub const NAME_RULE: &str = "letters, digits, - _ . + only, not ending in .toml, as in \"h100-sxm\"";

/// Whether a machine may be called this, see [`NAME_RULE`].
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    !name.is_empty() && name.chars().all(is_good) && !name.ends_with(".toml")
}

/// A number that is not a text.
fn bare_number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(n) if n.radix() == 10 => n.as_str().parse().ok(),
        DeValue::Float(n) => n.as_str().parse().ok(),
        _ => None,
    }
}

/// What numbers are from that do not say so themselves.
#[derive(Clone, Debug, Default)]
struct Provenance {
    confidence: Option<Confidence>,
    source: Option<String>,
}

/// A table of the file, or one that is not there. Knows which fields were asked for; [`Section::finish`] refuses the others.
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
        let figure = self.figure(key, Kind::Number, Allowed::Positive)?;
        if figure.value.fract() != 0.0 {
            let span = self.value(key).map_or(self.span.clone(), Spanned::span);
            self.reader.problem(span, &self.field(key), "write a whole number");
        }
        Some(figure)
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
            self.reader.unproven.borrow_mut().push(self.reader.at(span.clone(), field, message));
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

fn in_range(number: f64, range: Allowed) -> Result<(), String> {
    let (good, wanted) = match range {
        Allowed::Positive => (number > 0.0, "more than 0"),
        Allowed::NotNegative => (number >= 0.0, "0 or more"),
        Allowed::Share => (number > 0.0 && number <= 1.0, "more than 0 and at most 1"),
    };
    if good && number.is_finite() { Ok(()) } else { Err(format!("must be {wanted}")) }
}

fn first_example(kind: Kind) -> &'static str {
    kind.example().split(" or ").next().unwrap_or_default()
}

/// The word that was probably meant.
#[must_use]
pub fn nearest<'w>(word: &str, known: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let scored = known.map(|k| (strsim::normalized_damerau_levenshtein(word, k), k));
    let best = scored.filter(|(score, _)| *score >= 0.6).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
schema = 1
name = "m"
title = "A machine"
confidence = "datasheet"
source = "vendor"
notes = ["one", "two"]
default_type = "fp32"
efficiency = { value = 0.5, confidence = "convention", source = "usual" }
cores = 8
fast_memory = "2.7 MB"
price = "30000 USD"

[peak]
fp64 = "100 Gop/s"
fp32 = { value = "200 Gop/s", source = "twice fp64" }

[[level]]
name = "L1"
capacity = "32 KiB"
bandwidth = "245 GB/s"
energy = "1 pJ/B"
per_core = true
line = "128 B"
write = "through"

[[level]]
name = "L2"
capacity = "256 KiB"
confidence = "measured"
bandwidth = "50 GB/s"

[memory]
bandwidth = "50 GB/s"
latency = "80 ns"
transfer = "64 B"
energy = "160 pJ/B"

[dispatch]
floor = "0 s"

[energy]
any = "4.6 pJ/op"

[power]
max = "700 W"

[growth]
year = 2010
peak = "1.7 years"
"#;

    fn parse(text: &str) -> Result<Parsed, Problems> {
        from_text(Path::new("m.toml"), text, Origin::Shipped)
    }

    #[test]
    fn all_fields_are_read_in_si_units_with_their_provenance() {
        let Parsed { machine, warnings } = parse(GOOD).unwrap();
        assert_eq!(warnings, []);
        assert_eq!((machine.default_type, machine.peak.len()), (OpType::Fp32, 2));
        let fp32 = &machine.peak[&OpType::Fp32];
        assert_eq!((fp32.value, fp32.confidence, fp32.source.as_str()), (2e11, Confidence::Datasheet, "twice fp64"));
        let l2 = &machine.levels[1];
        assert_eq!((l2.capacity.value, l2.capacity.confidence, l2.per_core), (262_144.0, Confidence::Measured, false));
        assert_eq!(machine.levels[0].energy.as_ref().map(|e| e.value), Some(1e-12));
        let lines = machine.levels.iter().map(|level| (level.line.as_ref().map(|line| line.value), level.write));
        assert_eq!(lines.collect::<Vec<_>>(), [(Some(128.0), Some(WritePolicy::Through)), (None, None)]);
        assert!(machine.efficiency.as_ref().is_some_and(|e| e.value == 0.5 && e.confidence.is_guess()));
        assert_eq!(
            machine.growth.as_ref().map(|g| (g.year, g.peak.as_ref().map(|p| p.value))),
            Some((2010.0, Some(1.7)))
        );
        assert_eq!(machine.floor.as_ref().map(|f| f.value), Some(0.0));
        assert_eq!(machine.op_energy_of(OpType::Fp16, "energy").map(|e| e.value), Ok(4.6e-12));
        assert_eq!(machine.ridge(OpType::Fp32), Some(4.0));
        let missing = machine.need(&machine.setup, "dispatch.setup", "the three-stage model").expect_err("not stated");
        assert_eq!(
            missing.to_string(),
            "the three-stage model needs dispatch.setup, which machine m does not state; add it to a copy: dmdprof machine show m --toml > my.toml"
        );
    }

    #[test]
    fn what_is_written_reads_back_as_the_same_machine() {
        let machine = parse(GOOD).unwrap().machine;
        let again = parse(&super::super::text::to_toml(&machine)).unwrap().machine;
        assert_eq!(again, machine);
        assert_eq!(again.content_hash(), machine.content_hash());
        let moved = Machine { origin: Origin::File("elsewhere/m.toml".into()), ..machine.clone() };
        assert_eq!(moved.content_hash(), machine.content_hash());
        let mut other = machine.clone();
        other.memory.latency = None;
        assert_ne!(other.content_hash(), machine.content_hash());
    }

    #[test]
    fn mistakes_have_line_field_and_advice() {
        let mistakes = [
            ("schema = 1\n", ""),
            ("schema = 1", "schema = 2"),
            ("name = \"m\"", "name = \"a/b\""),
            ("title = \"A machine\"", "title = 3"),
            ("confidence = \"datasheet\"\n", ""),
            ("confidence = \"datasheet\"", "confidence = \"sure\""),
            ("cores = 8", "cores = 0"),
            ("source = \"vendor\"\n", ""),
            ("default_type = \"fp32\"\n", ""),
            ("default_type = \"fp32\"", "default_type = \"int8\""),
            ("efficiency = { value = 0.5", "efficiency = { value = 1.5"),
            ("cores = 8", "cores = 8.5"),
            ("cores = 8", "cores = \"8\""),
            ("fp64 = \"100 Gop/s\"", "fp63 = \"100 Gop/s\""),
            ("fp64 = \"100 Gop/s\"", "fp64 = 1e11"),
            ("[peak]\nfp64 = \"100 Gop/s\"\nfp32 = { value = \"200 Gop/s\", source = \"twice fp64\" }", "[peak]"),
            ("value = \"200 Gop/s\", ", ""),
            ("capacity = \"256 KiB\"", "capacity = \"32 KiB\""),
            ("capacity = \"256 KiB\"", "capacity = \"256 KiB/s\""),
            ("name = \"L2\"", "name = \"L1\""),
            ("name = \"L2\"\n", ""),
            ("per_core = true", "per_core = 1"),
            ("line = \"128 B\"", "line = \"96 B\""),
            ("write = \"through\"", "write = \"around\""),
            ("latency = \"80 ns\"", "latency = \"-80 ns\""),
            ("latency = \"80 ns\"", "latncy = \"80 ns\""),
            ("[power]", "[colour]"),
            ("year = 2010", "year = \"2010\""),
            ("[memory]", "[memory"),
            ("notes = [\"one\", \"two\"]", "notes = \"one\""),
        ];
        let messages = mistakes.map(|(good, bad)| {
            assert!(GOOD.contains(good), "{good}");
            parse(&GOOD.replacen(good, bad, 1)).expect_err(bad).to_string()
        });
        insta::assert_snapshot!(messages.join("\n"));
    }

    #[test]
    fn the_example_of_the_documentation_is_right() {
        let docs = include_str!("../../../docs/machines.md");
        let (_, after) = docs.split_once("## Example\n").expect("an example");
        let lines = after.lines().take_while(|line| line.is_empty() || line.starts_with("    "));
        let text: Vec<&str> = lines.map(str::trim_start).collect();
        let parsed = from_text(Path::new("my-server.toml"), &text.join("\n"), Origin::Shipped).unwrap();
        assert_eq!((parsed.machine.levels.len(), parsed.warnings), (2, vec![]));
    }

    #[test]
    fn all_mistakes_are_told_at_once_in_the_order_of_lines() {
        let text = GOOD.replace("latency = \"80 ns\"", "latency = 80").replace("name = \"m\"", "nam = \"m\"");
        let Problems(problems) = parse(&text).expect_err("three mistakes");
        let fields: Vec<&str> = problems.iter().map(|p| p.field.as_str()).collect();
        assert_eq!(fields, ["name", "nam", "memory.latency"]);
    }

    #[test]
    fn what_looks_odd_is_a_warning() {
        let text = GOOD
            .replace("\"245 GB/s\"", "\"24.5 GB/s\"")
            .replace("[memory]\nbandwidth = \"50 GB/s\"", "[memory]\nbandwidth = \"51 GB/s\"");
        let parsed = from_text(Path::new("other.toml"), &text, Origin::Shipped).unwrap();
        let warnings: Vec<String> = parsed.warnings.iter().map(Problem::to_string).collect();
        insta::assert_snapshot!(warnings.join("\n"));
    }
}
