//! Baselines: a [`Summary`] as a small text that is committed and reviewed, one line per function.
//!
//! The text depends on the summary alone and is sorted, so that equal runs give equal bytes and a change shows as the
//! lines of the functions that changed. Source lines are not in it: they move with every comment. Reading refuses, with
//! file, line and advice: what is no baseline, of a newer version, cut off, merged by hand, with unknown keys or
//! functions given twice, and numbers that do not add up.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use dmdprof_runtime::cycles::{CAUSES, Cause};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml_writer::{ToTomlKey, ToTomlValue};

use super::key::Key;
use super::provenance::Provenance;
use super::summary::{ALWAYS, CycleNumbers, Function, Lines, Numbers, Summary};
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
    if !provenance.core.is_empty() {
        line(format_args!("core = {}", text(&provenance.core)));
    }
    line(format_args!("compilers = {}", list(&provenance.compilers)));
    line(format_args!("command = {}", list(&provenance.command)));
    if let Some(inputs) = &provenance.inputs {
        let inputs: Vec<String> = inputs.iter().map(|(k, v)| format!("{} = {}", k.to_toml_key(), text(v))).collect();
        line(format_args!("inputs = {{{}}}", spaced(&inputs)));
    }
    line(format_args!("exit = {}", text(&provenance.exit)));
    line(format_args!("\n[total]\nfunctions = {}", summary.functions.len()));
    for (name, value) in plain(&summary.total) {
        line(format_args!("{name} = {value}"));
    }
    line(format_args!("footprint = {}\npeak_live = {}", summary.footprint, summary.peak_live));
    line(format_args!("depths = {}", counts(summary.total.depths.iter().map(|(d, n)| (d.to_string(), n)))));
    if let Some(capacities) = other_capacities(&summary.total) {
        line(format_args!("capacities = {capacities}"));
    }
    if let Some(lines) = &summary.total.lines {
        line(format_args!("lines = {}", lines_text(lines)));
    }
    for part in summary.total.cycles.iter().flat_map(cycles_text) {
        line(format_args!("{part}"));
    }
    if !summary.total.hazards.is_empty() {
        line(format_args!("hazards = {}", hazards_text(summary.total.hazards.iter())));
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

fn spaced(parts: &[String]) -> String {
    if parts.is_empty() { String::new() } else { format!(" {} ", parts.join(", ")) }
}

fn counts<'n>(entries: impl Iterator<Item = (String, &'n u128)>) -> String {
    let entries: Vec<String> = entries.map(|(key, n)| format!("{} = {n}", key.to_toml_key())).collect();
    format!("{{{}}}", spaced(&entries))
}

/// Capacities, unless they are the depths.
fn other_capacities(numbers: &Numbers) -> Option<String> {
    let capacities = numbers.capacities.as_ref().filter(|capacities| **capacities != numbers.depths)?;
    Some(counts(capacities.iter().map(|(z, n)| (z.to_string(), n))))
}

fn lines_text(lines: &Lines) -> String {
    let name = |capacity: u64| if capacity == ALWAYS { "always".into() } else { capacity.to_string() };
    let parts = lines.parts().into_iter().filter(|(_, moved)| !moved.is_empty());
    let parts = parts.map(|(part, moved)| format!("{part} = {}", counts(moved.iter().map(|(z, n)| (name(*z), n)))));
    format!("{{{}}}", spaced(&parts.collect::<Vec<_>>()))
}

fn cycles_text(cycles: &CycleNumbers) -> [String; 2] {
    let some = Cause::ALL.into_iter().zip(&cycles.by_cause).filter(|(_, cycles)| **cycles > 0);
    let by_cause = counts(some.map(|(cause, cycles)| (cause.word().to_owned(), cycles)));
    [format!("cycles = {by_cause}"), format!("cycles_error = {}", cycles.error)]
}

fn hazards_text<'n>(hazards: impl Iterator<Item = (&'n String, &'n u128)>) -> String {
    counts(hazards.map(|(name, accesses)| (name.clone(), accesses)))
}

/// Numbers that programs and functions have.
fn plain(numbers: &Numbers) -> [(&'static str, u128); 8] {
    [
        ("cost", numbers.cost),
        ("read", numbers.read),
        ("written", numbers.written),
        ("cold", numbers.cold),
        ("copied", numbers.copied),
        ("accesses", numbers.accesses),
        ("flops", numbers.flops),
        ("int_ops", numbers.int_ops),
    ]
}

fn one_line(function: &Function) -> String {
    let numbers = &function.numbers;
    // What is zero is left out, except the cost.
    let shown = plain(numbers).into_iter().filter(|(name, value)| *value > 0 || *name == "cost");
    let mut parts: Vec<String> = shown.map(|(name, value)| format!("{name} = {value}")).collect();
    parts.extend(numbers.calls.map(|calls| format!("calls = {calls}")));
    if function.body != 0 {
        parts.push(format!("body = \"{:016x}\"", function.body));
    }
    if !numbers.depths.is_empty() {
        parts.push(format!("depths = {}", counts(numbers.depths.iter().map(|(d, n)| (d.to_string(), n)))));
    }
    parts.extend(other_capacities(numbers).map(|capacities| format!("capacities = {capacities}")));
    if let Some(lines) = numbers.lines.as_ref().filter(|lines| **lines != Lines::default()) {
        parts.push(format!("lines = {}", lines_text(lines)));
    }
    let cycles = numbers.cycles.iter().filter(|cycles| **cycles != CycleNumbers::default());
    parts.extend(cycles.flat_map(cycles_text));
    let mut some = numbers.hazards.iter().filter(|(_, accesses)| **accesses > 0).peekable();
    if some.peek().is_some() {
        parts.push(format!("hazards = {}", hazards_text(some)));
    }
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
    let (footprint, peak_live) =
        (document.integer(total.required("footprint")?)?, document.integer(total.required("peak_live")?)?);
    let mut numbers = read_numbers(document, &total)?;
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
    let summary = Summary { provenance, total: numbers, footprint, peak_live, functions };
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

/// Functions that moved no line say nothing about lines, those that no core saw nothing about cycles, and those without
/// hazards nothing about them.
fn with_all_parts(mut functions: BTreeMap<Key, Function>, total: &Numbers) -> BTreeMap<Key, Function> {
    for numbers in functions.values_mut().map(|function| &mut function.numbers) {
        numbers.lines = numbers.lines.take().or(total.lines.as_ref().map(|_| Lines::default()));
        numbers.cycles = numbers.cycles.or(total.cycles.map(|_| CycleNumbers::default()));
        total.hazards.keys().for_each(|name| _ = numbers.hazards.entry(name.clone()).or_default());
    }
    functions
}

fn read_inputs(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, String>> {
    document.table(value)?.iter().map(|(name, hash)| Ok((name.get_ref().to_string(), document.string(hash)?))).collect()
}

fn read_numbers(document: Document<'_>, fields: &Fields<'_, '_, '_>) -> Result<Numbers> {
    let number = |key| fields.optional(key).map_or(Ok(0), |value| document.integer(value));
    let error = number("cycles_error")?;
    let cycles = |value| Ok(CycleNumbers { by_cause: read_cycles(document, value)?, error });
    Ok(Numbers {
        cost: document.integer(fields.required("cost")?)?,
        read: number("read")?,
        written: number("written")?,
        cold: number("cold")?,
        copied: number("copied")?,
        accesses: number("accesses")?,
        flops: number("flops")?,
        int_ops: number("int_ops")?,
        calls: fields.optional("calls").map(|v| document.integer(v)).transpose()?,
        capacities: fields.optional("capacities").map(|v| read_depths(document, v)).transpose()?,
        depths: fields.optional("depths").map_or_else(|| Ok(BTreeMap::new()), |v| read_depths(document, v))?,
        lines: fields.optional("lines").map(|v| read_lines(document, v)).transpose()?,
        cycles: fields.optional("cycles").map(cycles).transpose()?,
        hazards: fields.optional("hazards").map_or_else(|| Ok(BTreeMap::new()), |v| read_hazards(document, v))?,
    })
}

fn read_cycles(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<[u128; CAUSES]> {
    let mut cycles = [0; CAUSES];
    for (word, (span, count)) in read_counts(document, value)? {
        let cause = Cause::ALL.into_iter().find(|cause| cause.word() == word);
        let cause = cause.ok_or_else(|| document.error(span, format!("{word:?} is no cause of cycles")))?;
        cycles[cause as usize] = count;
    }
    Ok(cycles)
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

fn read_hazards(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, u128>> {
    Ok(read_counts(document, value)?.into_iter().map(|(name, (_, accesses))| (name, accesses)).collect())
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
    for ((name, total), (_, parts)) in plain(&summary.total).into_iter().zip(plain(&sum)) {
        if total != parts {
            let message =
                format!("{name} of all functions is {parts}, but [total] says {total}: lines were changed by hand");
            return Err(document.whole(message));
        }
    }
    if sum.depths != summary.total.depths {
        return Err(document.whole("the depths of all functions are not those of [total]: lines were changed by hand"));
    }
    let some = |numbers: &Numbers| -> BTreeMap<String, u128> {
        let some = numbers.hazards.iter().filter(|(_, accesses)| **accesses > 0);
        some.map(|(name, accesses)| (name.clone(), *accesses)).collect()
    };
    if some(&sum) != some(&summary.total) {
        return Err(document
            .whole("the hazards of all functions are not those of [total]: lines of the file were changed by hand"));
    }
    if sum.capacities.unwrap_or_default() != summary.total.capacities.clone().unwrap_or_default() {
        return Err(document.whole(
            "the capacities of all functions are not those of [total]: lines of the file were changed by hand",
        ));
    }
    if sum.lines.unwrap_or_default() != summary.total.lines.clone().unwrap_or_default() {
        return Err(document
            .whole("the lines of all functions are not those of [total]: lines of the file were changed by hand"));
    }
    // Errors do not add up, as what is seen in one window lies in one group.
    let [parts, total] = [sum.cycles, summary.total.cycles].map(|cycles| cycles.unwrap_or_default().by_cause);
    if parts != total {
        return Err(document
            .whole("the cycles of all functions are not those of [total]: lines of the file were changed by hand"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gate::key::PathMap;
    use crate::gate::metric::Metric;
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
        insta::assert_snapshot!(to_text(&small()));
    }

    #[test]
    fn older_texts_know_no_traffic_unless_nothing_died() {
        let of = |text: &str| from_text(Path::new("b.toml"), text).expect("a baseline").total.traffic(4096);
        let good = to_text(&small());
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
        let split = summary.get(Metric::Hazard(0)).expect("it was counted");
        assert!(split > 0 && read(&to_text(&small())).expect("a baseline").get(Metric::Hazard(0)).is_none());
        let changed = text.replacen(&format!("split_lines = {split}"), "split_lines = 1", 1);
        let error = read(&changed).expect_err("the total is another one").to_string();
        assert!(error.contains("the hazards of all functions are not those"), "{error}");
    }

    #[test]
    fn cycles_are_by_cause_and_add_up() {
        let mut profile = crate::report::tests::with_cycles();
        let places = &mut profile.cycles.as_mut().unwrap().places;
        places.iter_mut().for_each(|place| place.counts.deviations = [20, -20, 20, -20, 20, -20, 20, -20]);
        let summary = Summary::from_profile(&profile, &PathMap::default());
        assert_eq!(summary.get(Metric::Cycles), Some(15_400));
        let errors: u128 = summary.functions.values().filter_map(|f| f.numbers.cycles).map(|cycles| cycles.error).sum();
        // 20 * sqrt(7) of each place, rounded up.
        let places = profile.cycles.as_ref().unwrap().places.len() as u128;
        assert!(errors >= 53 && summary.total.cycles.unwrap().error <= 53 * places, "{errors}");
        let text = to_text(&summary);
        let read = from_text(Path::new("b.toml"), &text).expect("a baseline");
        assert_eq!(read, without_places(summary));
        let refuse = |from: &str, to: &str| {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            from_text(Path::new("b.toml"), &changed).expect_err("bad").to_string()
        };
        assert!(refuse("dependence = ", "dependents = ").contains("no cause of cycles"));
        assert!(refuse("dependence = ", "dependence = 1").contains("the cycles of all functions are not those"));
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
            let good = to_text(&small());
            let at = good.floor_char_boundary(cut.index(good.len()));
            let _ = from_text(Path::new("b.toml"), &format!("{}{text}", &good[..at]));
        }
    }

    #[test]
    fn wherever_it_is_cut_it_is_refused() {
        let good = to_text(&small());
        for end in (0..good.len() - 1).filter(|end| good.is_char_boundary(*end)) {
            let error = from_text(Path::new("b.toml"), &good[..end]).expect_err("a part is no baseline");
            assert!(error.to_string().contains("--accept"), "{error}");
        }
    }

    #[test]
    fn bad_baselines_get_line_and_advice() {
        let good = to_text(&small());
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
