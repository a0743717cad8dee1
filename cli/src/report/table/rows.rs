//! The rows of a report as a sheet: functions or lines, what they moved and cost, and the line to look at.
//!
//! Takes an analysis and a selection of its rows. The table is as wide as it may be: columns that go first have the
//! highest number, and those with the lowest ones are the screen of 80 columns.

use std::path::Path;

use dmdprof_runtime::cycles::Cause;

use crate::{
    document::{Column, NICE_TO_HAVE, Sheet, Value},
    report::{
        analysis::{Analysis, Calls, Grouping, Row, Sums},
        args::ReportOptions,
        caches::{self, LevelMoved},
        clock::interval_in_short,
        cycles::bound_in_short,
        depths::{QuantileReader, Quantiles},
        hazards::{HazardCount, accesses},
        hot, lines,
        select::{self, Folded, Selection},
    },
    shared::{human, names, printable},
};

/// Characters of a name in a sentence.
const MOST_IN_SENTENCE: usize = 40;
/// Characters of the name of a file that stands above a column.
const MOST_ABOVE: usize = 16;
/// What columns are that not everybody knows.
const DEPTH: &str = "depth: LRU stack distance in bytes, from the last use of the same byte";
pub(super) const FIRST_TOUCH: &str = "first touch: bytes read for the first time (cold); not NUMA's first touch";
const HINTS: &str = "with hints: ByteDMD if bytes stay until they are freed or out of scope";
const SPAN: &str = "span: instructions on a longest chain of dependent ones";

/// One line of the table.
struct Line<'a> {
    row: &'a Row,
    /// In place of the name: a summary of rows, which has no place, calls or inclusive numbers.
    label: Option<String>,
    hot: Option<hot::HotLine<'a>>,
}

/// What a column says of a line.
type Say<'a> = Box<dyn Fn(&Line) -> Value + 'a>;

/// Columns in their order.
#[derive(Default)]
struct Columns<'a>(Vec<(Column, Say<'a>)>);

impl<'a> Columns<'a> {
    /// A column that goes by its header's name.
    fn add(&mut self, header: [&str; 2], goes: u8, say: impl Fn(&Line) -> Value + 'a) {
        let key = header.join(" ").trim().to_lowercase().replace(' ', "-");
        self.0.push((Column::new(key, header, goes), Box::new(say)));
    }

    /// The last one has a footnote.
    fn explain(&mut self, note: &'static str) {
        if let Some((column, _)) = self.0.last_mut() {
            column.note = Some(note);
        }
    }

    /// Leaves the last one and those with these names, in this order, whatever room there is. Gives what to say of
    /// names that no column has.
    fn choose(&mut self, names: &[String], last: &str) -> Option<String> {
        let all: Vec<String> = self.0.iter().map(|(column, _)| column.key.clone()).collect();
        let (known, unknown): (Vec<&str>, Vec<&str>) =
            names.iter().map(String::as_str).partition(|name| all.iter().any(|key| key == name));
        let place = |(column, _): &(Column, Say)| known.iter().chain([&last]).position(|name| column.key == *name);
        self.0.retain(|column| place(column).is_some());
        self.0.sort_by_key(place);
        self.0.iter_mut().for_each(|(column, _)| column.goes = 0);
        let unknown = printable::name(&unknown.join(", ")).into_owned();
        (!unknown.is_empty()).then(|| format!("(no column {unknown}; there are {})", all.join(", ")))
    }

    /// What a row's own accesses did.
    fn own(&mut self, header: [&str; 2], goes: u8, say: impl Fn(&Sums) -> Value + 'a) {
        self.add(header, goes, move |line| say(&line.row.own));
    }
}

/// The table of rows, those that are not shown as one row, and the total.
pub fn sheet(analysis: &Analysis, selection: &Selection, options: &ReportOptions) -> Sheet {
    let mut reader = QuantileReader::new(analysis.profile.totals.peak_live);
    let mut summary = |own: &Sums| Row { quantiles: reader.read(&own.depths), own: own.clone(), ..Row::default() };
    let folded = selection.folded.as_ref().map(|folded| (summary(&folded.own), fold_label(folded, options)));
    let total = summary(&analysis.total);
    let hot = match analysis.grouping {
        Grouping::Lines(_) => vec![None; selection.shown.len()],
        _ => hot::lines(analysis, &selection.shown, select::order(analysis, options)),
    };
    let shown = selection.shown.iter().zip(hot).map(|(row, hot)| Line { row, label: None, hot });
    let folded = folded.as_ref().map(|(row, label)| Line { row, label: Some(label.clone()), hot: None });
    let total = Line { row: &total, label: Some("total".into()), hot: None };
    let lines: Vec<Line> = shown.chain(folded).chain([total]).collect();

    let mut columns = Columns::default();
    clock(&mut columns, analysis, options);
    if options.causes {
        causes(&mut columns, analysis);
        texts(&mut columns, analysis, &lines, options);
        return sheet_of(columns, &lines, Vec::new());
    }
    cycles(&mut columns, analysis);
    moved(&mut columns, analysis, options);
    hazards(&mut columns, analysis);
    if analysis.profile.meta.has_bytes() {
        costs(&mut columns, analysis, options);
        depths(&mut columns, analysis);
    } else {
        columns.own(["", "written"], NICE_TO_HAVE, |sums| Value::Bytes(sums.written.into()));
    }
    work(&mut columns, analysis);
    texts(&mut columns, analysis, &lines, options);
    let key = if matches!(analysis.grouping, Grouping::Lines(_)) { "line" } else { "function" };
    let unknown = if options.columns.is_empty() { None } else { columns.choose(&options.columns, key) };
    sheet_of(columns, &lines, unknown.into_iter().collect())
}

fn sheet_of(columns: Columns, lines: &[Line], remarks: Vec<String>) -> Sheet {
    let (columns, say): (Vec<_>, Vec<_>) = columns.0.into_iter().unzip();
    let mut sheet = Sheet { total: true, remarks, ..Sheet::new("", "", columns) };
    for line in lines {
        sheet.row(say.iter().map(|say| say(line)));
    }
    sheet
}

/// Text that is aligned as the numbers of its column are.
fn among_numbers(text: impl Into<String>) -> Value {
    Value::Shown(0.0, text.into())
}

fn share(part: impl Into<u128>, whole: impl Into<u128>) -> Value {
    Value::part(part.into() as f64, whole.into() as f64)
}

/// Where a clock found the program.
fn clock<'a>(columns: &mut Columns<'a>, analysis: &'a Analysis, options: &ReportOptions) {
    if analysis.profile.clock.is_none() {
        return;
    }
    let all = analysis.total.clock;
    let goes = if options.verbose || options.causes { 0 } else { NICE_TO_HAVE };
    columns.own(["", "clock"], 0, move |sums| share(sums.clock, all));
    columns.add(["clock", "95 %"], goes, move |line| {
        among_numbers(if line.label.is_some() { String::new() } else { interval_in_short(line.row.own.clock, all) })
    });
}

/// Cycles on a core, and what most of them pass for.
fn cycles<'a>(columns: &mut Columns<'a>, analysis: &'a Analysis) {
    if analysis.profile.cycles.is_none() {
        return;
    }
    let all = analysis.total.cycles.total();
    columns.own(["", "cycles"], 0, move |sums| share(sums.cycles.total(), all));
    columns.own(["most of it", "for"], 0, |sums| among_numbers(bound_in_short(&sums.cycles)));
}

/// Cycles on a core, all causes of them, and what else there is to know.
fn causes<'a>(columns: &mut Columns<'a>, analysis: &'a Analysis) {
    let all = analysis.total.cycles.total();
    columns.own(["", "cycles"], 0, |sums| Value::Count(sums.cycles.total().into()));
    columns.own(["", "share"], 0, move |sums| share(sums.cycles.total(), all));
    if analysis.total.cycles.error() > 0 {
        columns.own(["", "+-"], 1, |sums| share(sums.cycles.error(), sums.cycles.total()));
    }
    columns.own(["instr.", "per cycle"], NICE_TO_HAVE, |sums| {
        let all = sums.cycles.total();
        Value::or_empty((all > 0).then(|| sums.cycles.instructions as f64 / all as f64), Value::Ratio)
    });
    columns.own(["branches", "missed"], NICE_TO_HAVE, |sums| Value::Count(sums.cycles.mispredicted.into()));
    // Causes that nothing here waits for need no column.
    for cause in Cause::ALL.into_iter().filter(|cause| analysis.total.cycles.cycles[*cause as usize] > 0) {
        let part = move |sums: &Sums| share(sums.cycles.cycles[cause as usize], sums.cycles.total());
        columns.own(["", cause.word()], 1, part);
    }
}

/// What memories of lines, and caches, move.
fn moved<'a>(columns: &mut Columns<'a>, analysis: &'a Analysis, options: &ReportOptions) {
    let profile = analysis.profile;
    if profile.line_size().is_some() {
        let of = move |sums: &Sums, memory| lines::shown(profile, sums.lines(), memory);
        let all = of(&analysis.total, 0);
        let beyond = move |memory| move |sums: &Sums| Value::Bytes(of(sums, memory).into());
        if options.inclusive {
            columns.add(["incl.", "lines"], 0, move |l| inclusive(l, |sums| share(of(sums, 0), all)));
        }
        // Beside both columns of time there is no room for all, and rows come by those.
        let [share_goes, far_goes] = if profile.cycles.is_some() && profile.clock.is_some() { [3, 2] } else { [0, 1] };
        columns.own(["lines", "share"], share_goes, move |sums| share(of(sums, 0), all));
        columns.own(["beyond", "32 KiB"], 0, beyond(0));
        columns.own(["beyond", "1 MiB"], far_goes, beyond(1));
    }
    let levels = profile.caches.len();
    for (level, name) in caches::NAMES.into_iter().enumerate().take(levels) {
        let moved = move |sums: &Sums| LevelMoved::all(profile, sums)[level];
        let goes = level as u8 + 1;
        columns.own([name, "fetched"], goes, move |sums| Value::Bytes(moved(sums).fetched.into()));
        columns.own([name, "conflicts"], goes + 1, move |sums| share(moved(sums).conflicts(), moved(sums).fetched));
    }
}

/// Kinds of hazards that the program has more of than a few.
fn hazards<'a>(columns: &mut Columns<'a>, analysis: &'a Analysis) {
    for (kind, hazard) in HazardCount::all(analysis.profile, &analysis.total).into_iter().enumerate() {
        if u128::from(hazard.accesses) * 1000 >= analysis.total.accesses().max(1) {
            let title = hazard.title();
            let (above, below) = title.split_once(' ').unwrap_or(("", &title));
            columns.own([above, below], 1, move |sums| Value::Count(accesses(sums, kind).into()));
        }
    }
}

/// How soon columns of bytes go: they are what there is where no lines were measured.
fn beside_lines(analysis: &Analysis) -> u8 {
    if analysis.profile.line_size().is_some() { NICE_TO_HAVE } else { 1 }
}

fn inclusive(line: &Line, say: impl Fn(&Sums) -> Value) -> Value {
    line.row.inclusive.as_ref().map_or_else(|| among_numbers(""), say)
}

/// ByteDMD, and what was read and written for it.
fn costs<'a>(columns: &mut Columns<'a>, analysis: &'a Analysis, options: &ReportOptions) {
    let (total, meta) = (analysis.total.cost, &analysis.profile.meta);
    let size = |n: u64| Value::Bytes(n.into());
    let name = "ByteDMD";
    if options.inclusive {
        columns.add(["incl.", name], 0, move |l| inclusive(l, |sums| share(sums.cost, total)));
    }
    // Beside cycles or a clock there may be no room for it, what moves, and what to try.
    let has_time = analysis.profile.cycles.is_some() || analysis.profile.clock.is_some();
    columns.own([name, "share"], u8::from(has_time), move |sums| share(sums.cost, total));
    let goes = beside_lines(analysis);
    columns.own(["", name], goes, |sums| Value::Count(sums.cost));
    if meta.tells_dead_bytes() {
        columns.own(["with", "hints"], 1, |sums| Value::Count(sums.hints_cost()));
        columns.explain(HINTS);
        columns.own(["dead", "share"], 0, |sums| share(sums.dead_cost(), sums.hints_cost()));
        columns.own(["never", "read"], NICE_TO_HAVE + 1, move |sums| size(sums.left().unread));
        columns.own(["last", "read"], NICE_TO_HAVE + 10, move |sums| size(sums.left().last_read));
    }
    columns.own([name, "per byte"], NICE_TO_HAVE + 1, |sums| Value::or_empty(sums.mean_cost(), Value::Ratio));
    columns.own(["", "read"], goes, move |sums| size(sums.read));
    if meta.values.is_some() {
        columns.own(["", "span"], 1, |sums| Value::Count(sums.span.into()));
        columns.explain(SPAN);
    } else {
        columns.own(["", "written"], NICE_TO_HAVE + 2, move |sums| size(sums.written));
        columns.own(["first", "touch"], NICE_TO_HAVE + 8, move |sums| size(sums.cold));
        columns.explain(FIRST_TOUCH);
    }
}

/// How deep reads reached.
fn depths<'a>(columns: &mut Columns<'a>, analysis: &Analysis) {
    let mut add = |name, goes, get: fn(&Quantiles) -> u64| {
        columns.add(["depth", name], goes, move |line| match line.row.own.read {
            0 => Value::Empty,
            _ => Value::Bytes(get(&line.row.quantiles).into()),
        });
        columns.explain(DEPTH);
    };
    add("p50", NICE_TO_HAVE + 5, |q| q.p50);
    add("p90", beside_lines(analysis), |q| q.p90);
    add("p99", NICE_TO_HAVE + 6, |q| q.p99);
    add("max", NICE_TO_HAVE + 1, |q| q.max);
}

/// Calls and operations.
fn work<'a>(columns: &mut Columns<'a>, analysis: &'a Analysis) {
    if matches!(analysis.grouping, Grouping::Lines(_)) {
        columns.own(["", "accesses"], NICE_TO_HAVE + 3, |sums| Value::Count(sums.accesses()));
    } else {
        columns.add(["", "calls"], NICE_TO_HAVE + 3, |line| {
            line.label.as_ref().map_or_else(|| calls(line.row.calls), |_| among_numbers(""))
        });
    }
    columns.own(["", "flops"], NICE_TO_HAVE + 3, |sums| Value::Count(sums.flops()));
    if analysis.profile.meta.has_bytes() {
        columns.own(["flops", "per byte"], NICE_TO_HAVE + 4, |sums| Value::or_empty(sums.intensity(), Value::Ratio));
    }
    columns.own(["int", "ops"], NICE_TO_HAVE + 9, |sums| Value::Count(sums.int_ops()));
}

fn calls(calls: Calls) -> Value {
    match calls {
        Calls { linked: None | Some(0), inlined: true } | Calls { linked: None, .. } => among_numbers("inlined"),
        Calls { linked: Some(n), inlined: false } => Value::Count(n),
        Calls { linked: Some(n), inlined: true } => among_numbers(format!("{}+", human::count(n))),
    }
}

/// Names and places: of functions with their hottest line, or of lines with their function.
fn texts<'a>(columns: &mut Columns<'a>, analysis: &Analysis, lines: &'a [Line], options: &'a ReportOptions) {
    let name = |line: &Line| line.label.clone().unwrap_or_else(|| joined(line.row));
    let at = |line: &Line| line.label.clone().unwrap_or_else(|| place(line.row));
    let of_rows =
        |line: &Line, text: fn(&Row) -> String| line.label.as_ref().map_or_else(|| text(line.row), |_| String::new());
    if matches!(analysis.grouping, Grouping::Lines(_)) {
        columns.add(["", "line"], 0, move |line| Value::Place(at(line)));
        columns.add(["", "function"], 0, move |line| Value::Name(of_rows(line, joined)));
        tries(columns, lines, options);
        return;
    }
    columns.add(["", "function"], 0, move |line| Value::Name(name(line)));
    let hot = |line: &'a Line| line.hot.as_ref();
    // A program of one file has its name above the column, whatever files a clock finds libraries in.
    let is_counted = |line: &&Line| line.row.own.accesses() > 0 || line.row.own.read > 0;
    let counted = || lines.iter().filter(is_counted).filter_map(hot);
    let path = counted().next().map(|first| first.file).filter(|file| counted().all(|at| at.file == *file));
    let name = path.and_then(|path| Path::new(path).file_name()?.to_str()).filter(|name| name.len() <= MOST_ABOVE);
    let path = path.filter(|_| name.is_some());
    if lines.iter().any(|line| line.hot.is_some()) {
        columns.add(["", "hot line"], 0, move |line| {
            let text = |at: &hot::HotLine| {
                let place = names::place(if path == Some(at.file) { "" } else { at.file }, at.line);
                at.variable.as_ref().map_or_else(|| place.clone(), |variable| format!("{place}  {variable}"))
            };
            Value::Place(line.hot.as_ref().map_or_else(String::new, text))
        });
        if let (Some(name), Some((column, _))) = (name, columns.0.last_mut()) {
            column.header = ["hot line in", name].map(String::from);
        }
    }
    tries(columns, lines, options);
    if lines.iter().any(|line| line.row.file.is_some()) {
        columns.add(["", "defined at"], NICE_TO_HAVE + 7, move |line| Value::Place(of_rows(line, place)));
    }
}

/// What would help, where it is known for some row.
fn tries<'a>(columns: &mut Columns<'a>, lines: &[Line], options: &'a ReportOptions) {
    let of = |line: &Line| options.tries.for_row(line.row);
    if lines.iter().any(|line| of(line).is_some()) {
        columns.add(["", "try"], 0, move |line| {
            Value::Text(if line.label.is_some() { "" } else { of(line).unwrap_or("-") }.into())
        });
    }
}

fn fold_label(folded: &Folded, options: &ReportOptions) -> String {
    if folded.cut {
        format!("({} more)", folded.rows)
    } else {
        let percent = (options.threshold * 1e6).round() / 1e4;
        format!("({} more below {percent}%)", folded.rows)
    }
}

fn joined(row: &Row) -> String {
    match row.names.len() {
        0 | 1 => row.name().into(),
        n => format!("{} (+{})", row.name(), n - 1),
    }
}

fn place(row: &Row) -> String {
    match (&row.file, row.line) {
        (None, 0) => "?".into(),
        (None, line) => format!("?:{line}"),
        (Some(file), line) => names::place(file, line),
    }
}

/// What a row is called in a sentence.
pub fn short_title(row: &Row, grouping: Grouping) -> String {
    let shorten = if matches!(grouping, Grouping::Lines(_)) { names::shorten_path } else { names::shorten };
    shorten(&title(row, grouping), MOST_IN_SENTENCE)
}

/// What a row is called where it stands alone.
pub fn title(row: &Row, grouping: Grouping) -> String {
    match grouping {
        Grouping::Lines(_) => place(row),
        Grouping::Functions | Grouping::AllFunctions | Grouping::Symbols => row.name().into(),
    }
}
