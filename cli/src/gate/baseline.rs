//! Baselines: a [`Summary`] as a small text that is committed and reviewed, one line per function.
//!
//! The text depends on the summary alone and is sorted, so that equal runs give equal bytes and a change shows as the
//! lines of the functions that changed. Source lines are not in it: they move with every comment. Reading refuses, with
//! file, line and advice: what is no baseline, of a newer version, cut off, merged by hand, with unknown keys or
//! functions given twice, and numbers that do not add up.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use dmdprof_runtime::cycles::Cause;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml_writer::{ToTomlKey, ToTomlValue};

use super::key::Key;
use super::metric::{Metric, kind_of};
use super::provenance::Provenance;
use super::summary::{ALWAYS, Function, Lines, Numbers, Summary};
use crate::shared::toml_text::{Document, Fields, RESTORE, TextError};

/// Bumped when a reader of before would misunderstand the text. Texts before version 2 have no lines, and texts before
/// version 3 do not know traffic: what they have is bytes by depth.
pub const VERSION: u128 = 3;
/// Texts that know no traffic, with lines and without.
const WITHOUT_TRAFFIC: [u128; 2] = [1, 2];

const UNKNOWN_FILE: &str = "?";

type Result<T> = std::result::Result<T, TextError>;

/// The text of a baseline.
#[must_use]
pub fn to_text(summary: &Summary) -> String {
    let mut out =
        String::from("# A baseline of dmdprof, one line per function. Update it with `dmdprof check --accept`.\n");
    let mut line = |text: std::fmt::Arguments<'_>| {
        out.write_fmt(text).and_then(|()| out.write_char('\n')).expect("writing to memory");
    };
    let provenance = &summary.provenance;
    let text = |s: &str| s.to_toml_value();
    let list = |all: &[String]| format!("[{}]", all.iter().map(|s| text(s)).collect::<Vec<_>>().join(", "));
    let version = match summary.total.capacities {
        Some(_) => VERSION,
        None => WITHOUT_TRAFFIC[usize::from(summary.total.lines.is_some())],
    };
    line(format_args!("version = {version}\n\n[made]"));
    line(format_args!("model = {}", text(&provenance.model)));
    line(format_args!("liveness = {}", text(&provenance.liveness)));
    line(format_args!("threads = {}", text(&provenance.threads)));
    line(format_args!("unit = {}", text(&provenance.unit)));
    if let Some(size) = provenance.line_size {
        line(format_args!("line_size = {size}"));
    }
    if let Some(roi) = &provenance.roi {
        line(format_args!("roi = {}", text(roi)));
    }
    for (key, value) in [("core", &provenance.core), ("caches", &provenance.caches)] {
        if !value.is_empty() {
            line(format_args!("{key} = {}", text(value)));
        }
    }
    line(format_args!("compilers = {}", list(&provenance.compilers)));
    line(format_args!("command = {}", list(&provenance.command)));
    if let Some(inputs) = &provenance.inputs {
        let inputs: Vec<String> = inputs.iter().map(|(k, v)| format!("{} = {}", k.to_toml_key(), text(v))).collect();
        line(format_args!("inputs = {{{}}}", spaced(&inputs)));
    }
    line(format_args!("exit = {}", text(&provenance.exit)));
    line(format_args!("\n[total]\nfunctions = {}", summary.functions.len()));
    for metric in PLAIN.into_iter().chain(OF_PROGRAM) {
        line(format_args!("{metric} = {}", summary.total.of(metric)));
    }
    for table in tables(&summary.total, true) {
        line(format_args!("{table}"));
    }
    let mut file = None;
    for (key, function) in &summary.functions {
        if file != Some(&key.file) {
            file = Some(&key.file);
            let name = if key.file.is_empty() { UNKNOWN_FILE } else { &key.file };
            line(format_args!("\n[functions.{}]", name.to_toml_key()));
        }
        line(format_args!("{} = {}", key.name.to_toml_key(), one_line(function)));
    }
    out
}

impl Summary {
    /// With these numbers beside those that every baseline has.
    #[must_use]
    pub fn with_numbers(&self, limited: &[Metric]) -> Self {
        let mut total = self.total.clone();
        total.by_path.retain(|path, _| has_a_place(path) || limited.iter().any(|metric| metric.path() == path));
        self.in_common([&self.total, &total])
    }
}

fn spaced(parts: &[String]) -> String {
    if parts.is_empty() { String::new() } else { format!(" {} ", parts.join(", ")) }
}

fn counts<'n>(entries: impl Iterator<Item = (String, &'n u128)>) -> String {
    let entries: Vec<String> = entries.map(|(key, n)| format!("{} = {n}", key.to_toml_key())).collect();
    format!("{{{}}}", spaced(&entries))
}

fn lines_text(lines: &Lines) -> String {
    let name = |capacity: u64| if capacity == ALWAYS { "always".into() } else { capacity.to_string() };
    let parts = lines.parts().into_iter().filter(|(_, moved)| !moved.is_empty());
    let parts = parts.map(|(part, moved)| format!("{part} = {}", counts(moved.iter().map(|(z, n)| (name(*z), n)))));
    format!("{{{}}}", spaced(&parts.collect::<Vec<_>>()))
}

/// Numbers that every line has, unless they are zero.
const PLAIN: [Metric; 8] = [
    Metric::COST,
    Metric::READ,
    Metric::WRITTEN,
    Metric::COLD,
    Metric::COPIED,
    Metric::ACCESSES,
    Metric::FLOPS,
    Metric::INT_OPS,
];
const OF_PROGRAM: [Metric; 2] = [Metric::FOOTPRINT, Metric::PEAK_LIVE];
/// Beginnings of paths of what stands together under a name, if it was measured.
const CAUSES: &str = "cycles_by_cause_";
const HAZARDS: &str = "hazards_";
const ACCESSES: &str = "_accesses";

fn path_of(cause: Cause) -> String {
    format!("{CAUSES}{}", cause.word())
}

fn kind_of_hazard(path: &str) -> Option<&str> {
    path.strip_prefix(HAZARDS)?.strip_suffix(ACCESSES)
}

/// Whether every baseline has a number where it was measured, in a place of its own or because it follows from others.
fn has_a_place(path: &str) -> bool {
    let other = [Metric::CALLS, Metric::CYCLES, Metric::CYCLES_ERROR];
    let mut placed = PLAIN.iter().chain(&OF_PROGRAM).chain(&other);
    path.starts_with(CAUSES) || kind_of_hazard(path).is_some() || placed.any(|metric| metric.path() == path)
}

/// Numbers under names of their own, of the program or of a function; functions leave out what is zero.
fn tables(numbers: &Numbers, is_total: bool) -> Vec<String> {
    let is_shown = |n: u128| is_total || n > 0;
    let mut tables = Vec::new();
    let mut table =
        |name: &str, is_shown: bool, text: String| tables.extend(is_shown.then(|| format!("{name} = {text}")));
    let by_size = |sizes: &BTreeMap<u64, u128>| counts(sizes.iter().map(|(size, n)| (size.to_string(), n)));
    let Numbers { by_path, depths, capacities, lines } = numbers;
    table("depths", is_total || !depths.is_empty(), by_size(depths));
    if let Some(capacities) = capacities {
        table("capacities", capacities != depths, by_size(capacities));
    }
    if let Some(lines) = lines {
        table("lines", is_total || *lines != Lines::default(), lines_text(lines));
    }
    if let (Some(cycles), Some(error)) = (by_path.get(Metric::CYCLES.path()), by_path.get(Metric::CYCLES_ERROR.path()))
    {
        let causes = Cause::ALL.into_iter();
        let causes = causes.filter_map(|cause| Some((cause.word().to_owned(), by_path.get(&path_of(cause))?)));
        let is_shown = is_shown(cycles + error);
        table("cycles", is_shown, counts(causes.filter(|(_, cycles)| **cycles > 0)));
        table("cycles_error", is_shown, error.to_string());
    }
    let shown = by_path.iter().filter(|(_, n)| is_shown(**n));
    let hazards: Vec<_> = shown.filter_map(|(path, n)| Some((kind_of_hazard(path)?.to_owned(), n))).collect();
    table("hazards", !hazards.is_empty(), counts(hazards.into_iter()));
    // A share of nothing is none, and not zero.
    let is_share = |path: &str| kind_of(path).is_some_and(|kind| !kind.unit.is_whole());
    let others = by_path.iter().filter(|(path, n)| !has_a_place(path) && (is_shown(**n) || is_share(path)));
    let others: Vec<_> = others.map(|(path, n)| (path.clone(), n)).collect();
    table("numbers", !others.is_empty(), counts(others.into_iter()));
    tables
}

fn one_line(function: &Function) -> String {
    let numbers = &function.numbers;
    // What is zero is left out, except the cost.
    let shown = PLAIN.into_iter().map(|metric| (metric, numbers.of(metric)));
    let shown = shown.filter(|(metric, value)| *value > 0 || *metric == Metric::COST);
    let mut parts: Vec<String> = shown.map(|(metric, value)| format!("{metric} = {value}")).collect();
    parts.extend(Metric::CALLS.value_in(numbers).map(|calls| format!("calls = {calls}")));
    if function.body != 0 {
        parts.push(format!("body = \"{:016x}\"", function.body));
    }
    parts.extend(tables(numbers, false));
    if !function.callees.is_empty() {
        parts.push(format!("callees = {}", counts(function.callees.iter().map(|(k, n)| (k.clone(), n)))));
    }
    format!("{{ {} }}", parts.join(", "))
}

/// Reads a baseline; `path` is for messages.
///
/// # Errors
/// Everything in the module's description.
pub fn from_text(path: &Path, text: &str) -> Result<Summary> {
    let document = Document { path, text, advice: RESTORE };
    let table = document.parse()?;
    let fields = Fields::new(document, &table, "the baseline");
    let version = version(document, &fields)?;
    let provenance = read_made(document, fields.required("made")?)?;
    let total = Fields::new(document, document.table(fields.required("total")?)?, "[total]");
    let count = document.integer(total.required("functions")?)?;
    let mut numbers = read_numbers(document, &total)?;
    for metric in OF_PROGRAM {
        *numbers.entry(metric) = document.integer(total.required(metric.name())?)?;
    }
    total.finish()?;
    let mut functions = match fields.optional("functions") {
        Some(value) => read_functions(document, document.table(value)?)?,
        None => BTreeMap::new(),
    };
    fields.finish()?;
    let knows_traffic = version == VERSION || provenance.liveness == "none";
    let all = functions.values_mut().map(|function| &mut function.numbers).chain([&mut numbers]);
    all.for_each(|numbers| with_capacities(numbers, knows_traffic));
    let functions = with_all_parts(functions, &numbers);
    let summary = Summary { provenance, total: numbers, functions };
    adds_up(document, &summary, count)?;
    Ok(summary)
}

fn version(document: Document<'_>, fields: &Fields<'_, '_, '_>) -> Result<u128> {
    let value = fields.required("version")?;
    match document.integer(value)? {
        known @ 1..=VERSION => Ok(known),
        newer if newer > VERSION => {
            let message = format!("version {newer} was written by a newer dmdprof; this one knows version {VERSION}");
            let advice = "update dmdprof, or make the baseline again with `dmdprof check --accept`".into();
            Err(TextError { advice, ..document.error(value.span(), message) })
        }
        other => Err(document.error(value.span(), format!("there is no version {other}"))),
    }
}

fn read_made(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<Provenance> {
    let fields = Fields::new(document, document.table(value)?, "[made]");
    let text = |key| document.string(fields.required(key)?);
    let list = |key| document.strings(fields.required(key)?);
    let provenance = Provenance {
        model: text("model")?,
        liveness: text("liveness")?,
        threads: text("threads")?,
        unit: text("unit")?,
        line_size: fields.optional("line_size").map(|v| line_size(document, v)).transpose()?,
        roi: fields.optional("roi").map(|v| document.string(v)).transpose()?,
        core: fields.optional("core").map_or_else(|| Ok(String::new()), |v| document.string(v))?,
        caches: fields.optional("caches").map_or_else(|| Ok(String::new()), |v| document.string(v))?,
        compilers: list("compilers")?,
        command: list("command")?,
        inputs: fields.optional("inputs").map(|v| read_inputs(document, v)).transpose()?,
        exit: text("exit")?,
    };
    fields.finish()?;
    Ok(provenance)
}

fn line_size(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<u32> {
    let size = u32::try_from(document.integer(value)?).ok().filter(|size| size.is_power_of_two());
    size.ok_or_else(|| document.error(value.span(), "expected the bytes of a line, a power of two"))
}

/// Capacities that are not given are the depths, in texts that know traffic.
fn with_capacities(numbers: &mut Numbers, are_known: bool) {
    let given = numbers.capacities.take();
    numbers.capacities = are_known.then(|| given.unwrap_or_else(|| numbers.depths.clone()));
}

/// What is whole and not said of a function is zero, and so are the lines of those that moved none.
fn with_all_parts(mut functions: BTreeMap<Key, Function>, total: &Numbers) -> BTreeMap<Key, Function> {
    let is_counted = |path: &&String| kind_of(path).is_some_and(|kind| kind.unit.is_whole());
    let of_program = |path: &&String| OF_PROGRAM.iter().any(|metric| metric.path() == *path);
    let counted: Vec<&String> = total.by_path.keys().filter(is_counted).filter(|path| !of_program(path)).collect();
    for numbers in functions.values_mut().map(|function| &mut function.numbers) {
        numbers.lines = numbers.lines.take().or(total.lines.as_ref().map(|_| Lines::default()));
        counted.iter().for_each(|path| _ = numbers.by_path.entry((*path).clone()).or_default());
    }
    functions
}

fn read_inputs(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, String>> {
    document.table(value)?.iter().map(|(name, hash)| Ok((name.get_ref().to_string(), document.string(hash)?))).collect()
}

fn read_numbers(document: Document<'_>, fields: &Fields<'_, '_, '_>) -> Result<Numbers> {
    let group = |name| fields.optional(name).map(|value| read_counts(document, value)).transpose();
    let mut numbers = Numbers {
        capacities: fields.optional("capacities").map(|v| read_depths(document, v)).transpose()?,
        depths: fields.optional("depths").map_or_else(|| Ok(BTreeMap::new()), |v| read_depths(document, v))?,
        lines: fields.optional("lines").map(|v| read_lines(document, v)).transpose()?,
        ..Numbers::default()
    };
    for metric in PLAIN {
        let value = match metric {
            Metric::COST => Some(fields.required("cost")?),
            other => fields.optional(other.name()),
        };
        *numbers.entry(metric) = value.map_or(Ok(0), |value| document.integer(value))?;
    }
    if let Some(calls) = fields.optional("calls") {
        *numbers.entry(Metric::CALLS) = document.integer(calls)?;
    }
    let error = fields.optional("cycles_error").map_or(Ok(0), |value| document.integer(value))?;
    if let Some(cycles) = group("cycles")? {
        let mut all = 0u128;
        Cause::ALL.into_iter().for_each(|cause| _ = numbers.by_path.insert(path_of(cause), 0));
        for (word, (span, cycles)) in cycles {
            let cause = numbers.by_path.get_mut(&format!("{CAUSES}{word}"));
            *cause.ok_or_else(|| document.error(span, format!("{word:?} is no cause of cycles")))? = cycles;
            all = all.saturating_add(cycles);
        }
        numbers.by_path.extend(Numbers::from([(Metric::CYCLES, all), (Metric::CYCLES_ERROR, error)]).by_path);
    }
    for (kind, (_, accesses)) in group("hazards")?.unwrap_or_default() {
        numbers.by_path.insert(format!("{HAZARDS}{kind}{ACCESSES}"), accesses);
    }
    for (path, (span, n)) in group("numbers")?.unwrap_or_default() {
        if kind_of(&path).is_none() || has_a_place(&path) {
            return Err(document.error(span, format!("{path:?} is no number of this table")));
        }
        numbers.by_path.insert(path, n);
    }
    Ok(numbers)
}

fn read_lines(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<Lines> {
    let fields = Fields::new(document, document.table(value)?, "lines");
    let part = |name| fields.optional(name).map_or_else(|| Ok(BTreeMap::new()), |v| read_depths(document, v));
    let lines = Lines { loads: part("loads")?, stores: part("stores")?, write_backs: part("writebacks")? };
    fields.finish()?;
    Ok(lines)
}

fn read_depths(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<u64, u128>> {
    read_counts(document, value)?
        .into_iter()
        .map(|(key, (span, bytes))| {
            let depth = if key == "always" { Some(ALWAYS) } else { key.parse().ok() };
            let depth = depth.filter(|d: &u64| d.is_power_of_two() || *d == u64::MAX);
            let depth =
                depth.ok_or_else(|| document.error(span.clone(), format!("{key:?} is no depth of a baseline")))?;
            Ok((depth, bytes))
        })
        .collect()
}

type Counts = BTreeMap<String, (std::ops::Range<usize>, u128)>;

fn read_counts(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<Counts> {
    let table = document.table(value)?;
    table.iter().map(|(key, n)| Ok((key.get_ref().to_string(), (key.span(), document.integer(n)?)))).collect()
}

fn read_functions(document: Document<'_>, files: &DeTable<'_>) -> Result<BTreeMap<Key, Function>> {
    let mut functions = BTreeMap::new();
    for (file, value) in files {
        let file = if file.get_ref() == UNKNOWN_FILE { String::new() } else { file.get_ref().to_string() };
        for (name, value) in document.table(value)? {
            let key = Key { file: file.clone(), name: name.get_ref().to_string() };
            functions.insert(key, read_function(document, value)?);
        }
    }
    Ok(functions)
}

fn read_function(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<Function> {
    let fields = Fields::new(document, document.table(value)?, "a function");
    let numbers = read_numbers(document, &fields)?;
    let body = match fields.optional("body") {
        None => 0,
        Some(value) => u64::from_str_radix(&document.string(value)?, 16)
            .map_err(|_| document.error(value.span(), "expected a hash of 16 hexadecimal digits"))?,
    };
    let callees = match fields.optional("callees") {
        None => BTreeMap::new(),
        Some(value) => read_counts(document, value)?.into_iter().map(|(name, (_, n))| (name, n)).collect(),
    };
    fields.finish()?;
    Ok(Function { numbers, body, callees, place: None })
}

/// Catches lines that went missing or were changed by hand.
fn adds_up(document: Document<'_>, summary: &Summary, count: u128) -> Result<()> {
    let found = summary.functions.len();
    if count != found as u128 {
        let message =
            format!("[total] says {count} functions, but there are {found}: the file was cut off or merged by hand");
        return Err(document.whole(message));
    }
    let mut sum = Numbers::default();
    for function in summary.functions.values() {
        if !sum.checked_merge(&function.numbers) {
            return Err(document.whole("the numbers of all functions are too large to add"));
        }
    }
    let of_functions = summary.functions.values().flat_map(|function| function.numbers.by_path.keys());
    for path in of_functions.filter(|path| *path != Metric::CALLS.path()).chain(summary.total.by_path.keys()) {
        let (parts, total) = (sum.by_path.get(path).copied().unwrap_or_default(), summary.total.by_path.get(path));
        let is_sum = total == Some(&parts) || kind_of(path).is_none_or(|kind| !kind.adds);
        if total.is_none() || !is_sum {
            let name = Metric::of_path(path).map_or_else(|| path.clone(), |metric| metric.to_string());
            let total = total.map_or_else(|| "nothing".into(), u128::to_string);
            let message =
                format!("{name} of all functions is {parts}, but [total] says {total}: lines were changed by hand");
            return Err(document.whole(message));
        }
    }
    let Numbers { depths, capacities, lines, .. } = &summary.total;
    for (name, is_sum) in [
        ("depths", sum.depths == *depths),
        ("capacities", sum.capacities.unwrap_or_default() == capacities.clone().unwrap_or_default()),
        ("lines", sum.lines.unwrap_or_default() == lines.clone().unwrap_or_default()),
    ] {
        if !is_sum {
            let message = format!("the {name} of all functions are not those of [total]: lines were changed by hand");
            return Err(document.whole(message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gate::key::PathMap;
    use crate::profile::sample;

    fn small() -> Summary {
        Summary::from_profile(&sample::small(), &PathMap::default())
    }

    fn without_places(mut summary: Summary) -> Summary {
        summary.functions.values_mut().for_each(|f| f.place = None);
        summary
    }

    #[test]
    fn the_text() {
        insta::assert_snapshot!(to_text(&small().with_numbers(&[])));
    }

    #[test]
    fn older_texts_know_no_traffic_unless_nothing_died() {
        let of = |text: &str| from_text(Path::new("b.toml"), text).expect("a baseline").total.traffic(4096);
        let good = to_text(&small().with_numbers(&[]));
        assert_eq!(of(&good), Some(small().total.deeper(4096)), "nothing died above what was read");
        let older = good.replace("version = 3", "version = 1");
        assert_eq!(of(&older), None);
        assert!(of(&older.replace("liveness = \"hints\"", "liveness = \"none\"")).is_some());
        let deaths = Summary::from_profile(&sample::deaths(), &PathMap::default());
        assert_eq!(of(&to_text(&deaths)), deaths.total.traffic(4096));
        assert!(deaths.total.traffic(4096) > Some(deaths.total.deeper(4096)));
    }

    #[test]
    fn hazards_are_those_that_were_counted_and_add_up() {
        let summary = without_places(Summary::from_profile(&sample::with_hazards(), &PathMap::default()));
        let text = to_text(&summary);
        let read = |text: &str| from_text(Path::new("b.toml"), text);
        assert_eq!(read(&text).expect("a baseline"), summary);
        let split_lines = Metric::Number("hazards_split_lines_accesses");
        let split = summary.get(split_lines).expect("it was counted");
        assert!(split > 0 && read(&to_text(&small())).expect("a baseline").get(split_lines).is_none());
        let changed = text.replacen(&format!("split_lines = {split}"), "split_lines = 1", 1);
        let error = read(&changed).expect_err("the total is another one").to_string();
        assert!(error.contains("split_lines of all functions is"), "{error}");
    }

    #[test]
    fn cycles_are_by_cause_and_add_up() {
        let mut profile = crate::report::tests::with_cycles();
        let places = &mut profile.cycles.as_mut().unwrap().places;
        places.iter_mut().for_each(|place| place.counts.deviations = [20, -20, 20, -20, 20, -20, 20, -20]);
        let summary = Summary::from_profile(&profile, &PathMap::default());
        assert_eq!(summary.get(Metric::CYCLES), Some(15_400));
        let errors: u128 = summary.functions.values().map(|f| f.numbers.of(Metric::CYCLES_ERROR)).sum();
        // 20 * sqrt(7) of each place, rounded up.
        let places = profile.cycles.as_ref().unwrap().places.len() as u128;
        assert!(errors >= 53 && summary.total.of(Metric::CYCLES_ERROR) <= 53 * places, "{errors}");
        let text = to_text(&summary);
        let read = from_text(Path::new("b.toml"), &text).expect("a baseline");
        assert_eq!(read, without_places(summary));
        let refuse = |from: &str, to: &str| {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            from_text(Path::new("b.toml"), &changed).expect_err("bad").to_string()
        };
        assert!(refuse("dependence = ", "dependents = ").contains("no cause of cycles"));
        assert!(refuse("dependence = ", "dependence = 1").contains(" of all functions is "));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(profile in sample::any_profile()) {
            let summary = Summary::from_profile(&profile, &PathMap::default());
            let text = to_text(&summary);
            prop_assert_eq!(from_text(Path::new("b.toml"), &text).map_err(|e| e.to_string()), Ok(without_places(summary)));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*", cut in any::<prop::sample::Index>()) {
            let good = to_text(&small().with_numbers(&[]));
            let at = good.floor_char_boundary(cut.index(good.len()));
            let _ = from_text(Path::new("b.toml"), &format!("{}{text}", &good[..at]));
        }
    }

    #[test]
    fn wherever_it_is_cut_it_is_refused() {
        let good = to_text(&small().with_numbers(&[]));
        for end in (0..good.len() - 1).filter(|end| good.is_char_boundary(*end)) {
            let error = from_text(Path::new("b.toml"), &good[..end]).expect_err("a part is no baseline");
            assert!(error.to_string().contains("--accept"), "{error}");
        }
    }

    #[test]
    fn bad_baselines_get_line_and_advice() {
        let good = to_text(&small().with_numbers(&[]));
        let refuse = |text: &str| from_text(Path::new("dmdprof/b.toml"), text).expect_err("bad").to_string();
        let line_of = |needle: &str| good.lines().position(|l| l.contains(needle)).expect(needle) + 1;
        let first = good.lines().find(|l| l.starts_with("main")).expect("main");
        let messages = [
            refuse(""),
            refuse("not a baseline"),
            refuse(&good.replace("version = 3", "version = 99")),
            refuse(&good.replace("[total]", "<<<<<<< HEAD\n[total]\n=======\n[total]\n>>>>>>> other")),
            refuse(&good.replace("liveness = ", "lifeness = \"x\"\nliveness = ")),
            refuse(&good.replace(first, &format!("{first}\n{first}"))),
            refuse(&good.replace(first, "")),
            refuse(&good.replacen("cost = ", "cost = 1", 1)),
            refuse(&good.replace("exit = \"0\"", "exit = 0")),
            refuse(&good.replace(first, &first.replace("written = ", "written = -"))),
        ];
        assert!(messages[5].contains(&format!("b.toml:{}: ", line_of("main = ") + 1)), "{}", messages[5]);
        insta::assert_snapshot!(messages.join("\n"));
    }
}
