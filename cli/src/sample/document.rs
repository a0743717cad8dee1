//! The tables of a sample: cost with its interval by function or line, and by data object.
//!
//! Takes the profile of the exact counts and the sample beside it. Gives no number where too few groups saw anything.

use std::{cmp::Reverse, collections::BTreeMap};

use dmdprof_runtime::{
    counts::{
        miss_curve::Beyond,
        sampled::{Estimate, SampleCounts},
    },
    observe::sample::Design,
};

use super::file::{Drawn, Estimates};
use crate::{
    convert::SampleCells,
    document::{Cell, Column, Document, Sheet, Value},
    estimate,
    objects::groups::{Groups, word},
    profile::{Profile, model::CycleCounts},
    report::{self, Analysis, Format, Grouping, ReportOptions, analysis::Sums},
    shared::{human, names},
};

/// What stands in the place of an interval that is not known.
const TOO_FEW: &str = "too few samples";

/// What one row reads: exact counts, and what the sample has.
#[derive(Clone, Debug, Default)]
struct Counts {
    accesses: u128,
    read: u64,
    written: u64,
    /// The cost of reads that need no sample.
    exact: u128,
    sampled: SampleCounts,
    cycles: CycleCounts,
}

impl Counts {
    fn from_sums(own: &Sums) -> Self {
        Counts {
            cycles: own.cycles.clone(),
            accesses: own.accesses(),
            read: own.read,
            written: own.written,
            exact: own.cost,
            sampled: SampleCounts::default(),
        }
    }

    /// Of a function and all that it calls.
    fn with_callees(all: &Sums) -> Self {
        let mut counts = Counts::from_sums(all);
        all.sampled.iter().for_each(|sampled| counts.add(sampled));
        counts
    }

    fn add(&mut self, sampled: &SampleCounts) {
        self.read += sampled.read;
        self.sampled.merge(sampled);
    }

    fn merge(&mut self, other: &Self) {
        self.accesses += other.accesses;
        self.read += other.read;
        self.written += other.written;
        self.exact += other.exact;
        self.sampled.merge(&other.sampled);
        self.cycles.add(&other.cycles);
    }

    fn estimate(&self) -> Estimate {
        self.sampled.estimate(self.exact)
    }

    /// Largest first, by cycles if there are some; rows without an estimate come last.
    fn order(&self) -> impl Ord + use<> {
        let Estimate { cost, within } = self.estimate();
        (Reverse(self.cycles.total()), Reverse(within.is_some()), Reverse(cost as u128), Reverse(self.read))
    }

    /// Whether there is anything to say of it.
    fn is_there(&self) -> bool {
        self.read > 0 || self.written > 0 || self.cycles.total() > 0
    }

    /// Its part of all: the larger one of cycles and cost, or of bytes read where the cost is not known.
    fn part(&self, total: &Self) -> f64 {
        let Estimate { cost, within } = self.estimate();
        let read = self.read as f64 / total.read.max(1) as f64;
        let moved = if within.is_some() { cost / total.estimate().cost } else { read };
        let cycles = self.cycles.total() as f64 / total.cycles.total().max(1) as f64;
        moved.max(cycles)
    }
}

/// A sheet that does not tell what was written, if so. Of the total row neither: it stands for the rows above.
fn without_written(mut sheet: Sheet, is_so: bool) -> Sheet {
    let rows = sheet.rows.iter_mut().filter(|_| is_so);
    let column = sheet.columns.iter().position(|column| column.key == "written");
    let cells = rows.filter_map(|row| row.get_mut(column?));
    cells.for_each(|cell| *cell = Value::Empty.into());
    sheet
}

/// A row, with what names it.
type Named = (Counts, Vec<Cell>);

/// The tables.
#[must_use]
pub fn document(estimates: &Estimates, options: &ReportOptions) -> Document {
    let Estimates { profile, cells: sample, design, drawn } = estimates;
    let (design, drawn) = (*design, *drawn);
    let grouping = options.grouping;
    let analysis = Analysis::of_sample(profile, &sample.contexts, grouping, options.inclusive, options.generics);
    let mut total = Counts::default();
    let (mut rows, mut inclusive): (Vec<Named>, Vec<Named>) = Default::default();
    for row in &analysis.rows {
        let mut counts = Counts::from_sums(&row.own);
        row.sites.iter().filter_map(|site| sample.sites.get(site)).for_each(|sampled| counts.add(sampled));
        total.merge(&counts);
        let place = row.file.as_deref().map(|file| names::place(file, row.line));
        let name = Value::Name(row.name().to_owned());
        let named = vec![name.into(), Value::or_empty(place, Value::Name).into()];
        inclusive.extend(row.inclusive.as_ref().map(|all| (Counts::with_callees(all), named.clone())));
        rows.push((counts, named));
    }
    let (key, title) = match options.grouping {
        Grouping::Lines(_) => ("lines", "By line"),
        _ => ("functions", "By function"),
    };
    let mut document = Document {
        kind: "sample",
        source: estimate::source(&profile.meta),
        heading: estimate::heading(profile),
        ..Document::default()
    };
    document.source.push(("sample", format!("1/{}, seed {}", design.one_in, design.seed)));
    document.heading.push(heading(&total, design));
    let cycles = profile.cycles.as_ref();
    document.heading.extend(cycles.and_then(|cycles| report::cycles::total(cycles, &total.cycles)));
    let code = [("function", ["", "function"], 0), ("place", ["", "place"], 3)];
    // What is exact is known by place in the code only.
    let by_place = drawn == Drawn::ByProgram;
    let is_part = by_place && profile.meta.roi.is_some();
    document.sheets.push(without_written(sheet((key, title), &code, rows, &total, options), is_part));
    if options.inclusive {
        let title = ("inclusive", "By function, with all that it calls");
        document.sheets.push(without_written(sheet(title, &code, inclusive, &total, options), by_place));
    }
    if options.objects {
        let data = [("kind", ["", "kind"], 0), ("object", ["", "object"], 0), ("place", ["", "place"], 3)];
        let rows = by_object(profile, sample, options);
        let sheet = sheet(("objects", "By data object"), &data, rows, &total, options);
        document.sheets.push(without_written(sheet, by_place));
    }
    if options.format == Format::Json {
        document.sheets.push(curve(sample, &total, design));
    }
    document.notes = notes(&total, estimates, options);
    document
}

fn heading(total: &Counts, design: Design) -> String {
    let of = format!("estimated from 1 in {}, seed {}", design.one_in, design.seed);
    let Estimate { cost, within } = total.estimate();
    match within {
        Some(within) => format!(
            "ByteDMD {} +- {} in 19 of 20 samples, {of}",
            human::count(cost as u128),
            human::share(within / cost.max(1.0))
        ),
        None => format!("ByteDMD: {TOO_FEW}, {of}"),
    }
}

/// What is read deeper than each size; for programs. Traffic is not known: a sample does not see what dies above.
fn curve(sample: &SampleCells, total: &Counts, design: Design) -> Sheet {
    let columns = ["capacity", "deeper", "least", "most"].map(|key| Column::new(key, ["", key], 0));
    let mut sheet = Sheet::new("curve", "Bytes read from deeper", columns.into());
    for beyond in sample.miss_curve.curve(design.one_in, total.read) {
        let Beyond { capacity, bytes, least, most } = beyond;
        let shown = |bytes: f64| Value::Bytes(bytes.round() as u128);
        sheet.row([Value::Bytes(capacity.into()), shown(bytes), shown(least), shown(most)]);
    }
    sheet
}

fn by_object(profile: &Profile, sample: &SampleCells, options: &ReportOptions) -> Vec<Named> {
    let groups = Groups::from_profile(profile, options.contexts);
    let mut found: BTreeMap<usize, Counts> = BTreeMap::new();
    for used in profile.objects.iter().flat_map(|objects| &objects.uses) {
        let counts = found.entry(groups.of_object(used.object)).or_default();
        counts.read += used.read;
        counts.written += used.written;
        counts.exact += used.cost;
    }
    for ((object, _), sampled) in &sample.objects {
        found.entry(groups.of_object(*object)).or_default().add(sampled);
    }
    let named = |(group, counts): (usize, Counts)| {
        let group = &groups.list[group];
        let (kind, name) = (Value::Text(word(group.kind).into()), Value::Name(group.name.clone()));
        (counts, vec![kind.into(), name.into(), Value::or_empty(group.place.clone(), Value::Name).into()])
    };
    found.into_iter().map(named).collect()
}

fn sheet(
    (key, title): (&str, &str),
    names: &[(&str, [&str; 2], u8)],
    mut rows: Vec<Named>,
    total: &Counts,
    options: &ReportOptions,
) -> Sheet {
    let numbers = [
        ("share", ["", "share"], 0),
        ("bytedmd", ["", "ByteDMD"], 0),
        ("within", ["19 of 20", "within +-"], 0),
        ("read", ["", "read"], 0),
        ("written", ["", "written"], 1),
    ];
    // What took cycles is known of places in the code.
    let cycles: &[_] = if total.cycles.total() > 0 && matches!(key, "functions" | "lines") { &CYCLES } else { &[] };
    let columns = cycles.iter().chain(&numbers).chain(names);
    let columns = columns.map(|(key, header, goes)| Column::new(*key, *header, *goes));
    let mut sheet = Sheet::new(key, title, columns.collect());
    rows.retain(|(counts, _)| counts.is_there());
    // The sort keeps the order of rows that are equal, which is that of the profile.
    rows.sort_by_cached_key(|(counts, _)| counts.order());
    let all = rows.len();
    let whole = total.estimate().cost;
    rows.retain(|(counts, _)| counts.part(total) >= options.threshold);
    rows.truncate(options.top.unwrap_or(usize::MAX));
    let folded = all - rows.len();
    let numbers = |counts: &Counts| {
        let cycles = if cycles.is_empty() { Vec::new() } else { cycles_of(counts, total).into() };
        cycles.into_iter().chain(values(counts, whole)).collect::<Vec<Cell>>()
    };
    for (counts, names) in &rows {
        sheet.row(numbers(counts).into_iter().chain(names.iter().cloned()));
    }
    let rest = (1..names.len()).map(|_| Value::Empty.into());
    let name: Cell = Value::Text("total".into()).into();
    sheet.row(numbers(total).into_iter().chain(std::iter::once(name)).chain(rest));
    sheet.total = true;
    if folded > 0 {
        sheet.remarks.push(format!("({folded} smaller; see --top and --threshold)"));
    }
    sheet
}

/// Columns of cycles, which no sample is drawn of.
const CYCLES: [(&str, [&str; 2], u8); 4] = [
    ("cycles_share", ["", "cycles"], 0),
    ("cycles", ["", "in all"], 3),
    ("cycles_error", ["", "+-"], 3),
    ("bound", ["most of it", "for"], 2),
];

fn cycles_of(counts: &Counts, total: &Counts) -> [Cell; 4] {
    let (own, all) = (counts.cycles.total(), total.cycles.total());
    let error = counts.cycles.error();
    let bound = Some(report::cycles::bound_in_short(&counts.cycles)).filter(|text| !text.is_empty());
    [
        Value::part(own as f64, all as f64).into(),
        Value::Count(own.into()).into(),
        Value::Count(error.into()).into(),
        Value::or_empty(bound, Value::Text).into(),
    ]
}

fn values(counts: &Counts, whole: f64) -> [Cell; 5] {
    let Estimate { cost, within } = counts.estimate();
    let told = within.is_some();
    let shown = || Value::Shown(cost, human::count(cost.round() as u128));
    let share = if told { Value::part(cost, whole) } else { Value::Empty };
    let within = match within {
        Some(within) if cost > 0.0 => Value::Share(within / cost),
        Some(_) => Value::Share(0.0),
        None => Value::Text(TOO_FEW.into()),
    };
    [
        share.into(),
        if told { shown() } else { Value::Empty }.into(),
        within.into(),
        Value::Bytes(counts.read.into()).into(),
        Value::Bytes(counts.written.into()).into(),
    ]
}

/// One in so many is what to try where a sample saw too little.
const MORE: u32 = 8;

fn notes(total: &Counts, estimates: &Estimates, options: &ReportOptions) -> Vec<String> {
    let Estimates { profile, design, drawn, .. } = estimates;
    let by_place = *drawn == Drawn::ByProgram;
    let is_part = by_place && profile.meta.roi.is_some();
    let exact = if is_part { "read: an estimate too." } else { "read, written: exact." };
    let mut notes = vec![format!(
        "{exact} ByteDMD: an estimate; of 20 samples with other seeds 19 are within the part given beside it of the exact \
         cost. What the sample did not see is in no number."
    )];
    if by_place && (is_part || options.inclusive || options.objects) {
        notes.push(
            "Of regions of interest, of functions with all that they call, and by data object, what is read is an \
             estimate, and what is written is not known, as the program counts by place in the code."
                .to_owned(),
        );
    }
    if by_place && options.objects {
        notes.push("By data object: variables on the stack are not told from each other.".to_owned());
    }
    if let Some(cycles) = &profile.cycles {
        let others = report::cycles::others(cycles).map(|text| format!("Other cores: {text}."));
        let unknown = report::cycles::unknown(cycles).map(|text| format!("Not seen: {text}."));
        notes.push("Cycles: of the whole run, not of the sample.".to_owned());
        notes.extend(others.into_iter().chain(unknown));
    }
    if total.estimate().within.is_none() {
        let or_more =
            if design.one_in > MORE { format!(", or look at more of it: --sample=1/{MORE}") } else { String::new() };
        notes.push(format!(
            "The run has {} accesses, too few for a sample of 1 in {}: leave --sample out{or_more}.",
            human::count(total.accesses),
            design.one_in
        ));
    }
    notes
}
