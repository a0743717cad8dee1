//! An annotation for people, and as a document for programs.

use std::{
    io::{self, Write},
    path::Path,
};

use super::{
    annotation::{Annotated, Annotation, Options},
    sources::State,
};
use crate::{
    document::{Column, Document, Sheet, Value},
    estimate,
    profile::Profile,
    report::{
        Row, Sums,
        cycles::{bound_in_short, others_in_short},
    },
    shared::{human, printable},
};

/// Widths and headings of the numbers.
const COLUMNS: [(usize, &str); 11] = [
    (6, "clock"),
    (6, "cycles"),
    (16, "most of it for"),
    (28, "and for"),
    (6, "share"),
    (7, "ByteDMD"),
    (6, "/byte"),
    (9, "read"),
    (9, "written"),
    (9, "depth p50"),
    (9, "p90"),
];
/// Those that are there only if a core followed.
const OF_CYCLES: [&str; 3] = ["cycles", "most of it for", "and for"];

/// Columns that go when code has no room, the least important first.
const GO: [&str; 8] = ["and for", "written", "depth p50", "/byte", "read", "p90", "most of it for", "share"];
/// Characters of a line of code that keep their room.
const LEAST_CODE: usize = 40;

/// The columns of numbers, and the width of a line.
struct Shape {
    columns: Vec<usize>,
    width: usize,
}

impl Shape {
    fn new(width: Option<usize>, sums: &Sums) -> Self {
        let width = width.unwrap_or(usize::MAX);
        let is_there = |column: &usize| match COLUMNS[*column].1 {
            "clock" => sums.clock > 0,
            name => !OF_CYCLES.contains(&name) || sums.cycles.total() > 0,
        };
        let mut shape = Shape { columns: (0..COLUMNS.len()).filter(is_there).collect(), width };
        for name in GO {
            if shape.numbers() + LEAST_CODE <= width {
                break;
            }
            shape.columns.retain(|&column| COLUMNS[column].1 != name);
        }
        shape
    }

    /// Characters before the code.
    fn numbers(&self) -> usize {
        self.columns.iter().map(|&column| COLUMNS[column].0 + 2).sum::<usize>() + "  12345 | ".len()
    }

    fn row(&self, cells: [&str; COLUMNS.len()]) -> String {
        let padded = self.columns.iter().map(|&column| format!("{:>1$}", cells[column], COLUMNS[column].0));
        padded.collect::<Vec<_>>().join("  ")
    }

    fn cut(&self, line: String) -> String {
        let line = line.trim_end();
        if line.chars().count() <= self.width {
            return line.to_owned();
        }
        line.chars().take(self.width - 1).collect::<String>() + "…"
    }
}

/// For people.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, annotation: &Annotation, options: &Options, out: &mut impl Write) -> io::Result<()> {
    for line in estimate::heading(profile) {
        writeln!(out, "{}", printable::name(&line))?;
    }
    let is_shown = |file: &&Annotated| !matches!(file.state, State::Missing | State::Outside(_));
    for file in annotation.files.iter().filter(is_shown) {
        writeln!(out)?;
        write_file(file, annotation, options, out)?;
    }
    write_missing(annotation, out)?;
    let ((files, weight), word) = (annotation.small, annotation.weight.word());
    if files > 0 {
        let share = human::percent(weight, annotation.total());
        let files = human::plural(files as u64, "file");
        writeln!(
            out,
            "\n{files} with {share} of the {word} left out: no line of {} or more",
            human::share(options.threshold)
        )?;
    }
    if annotation.unplaced > 0 {
        let share = human::percent(annotation.unplaced, annotation.total());
        writeln!(
            out,
            "\n{share} of the {word} has no known line: code that was compiled without -g, or made by the compiler"
        )?;
    }
    Ok(())
}

fn printed(path: &Path) -> String {
    printable::name(&path.to_string_lossy()).into_owned()
}

fn write_file(file: &Annotated, all: &Annotation, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let (share, word) = (human::percent(file.weight, all.total()), all.weight.word());
    writeln!(out, "{}: {share} of the {word}", printable::name(&file.path))?;
    match &file.state {
        State::Changed(path) => writeln!(
            out,
            "  CHANGED since the profile was made: {} is not the file that was compiled, numbers may stand beside other lines",
            printed(path)
        )?,
        State::Unverified(path) if path.as_os_str() != file.path.as_str() => {
            writeln!(out, "  from {}, which may be another version", printed(path))?;
        }
        State::Same(path) if path.as_os_str() != file.path.as_str() => writeln!(out, "  from {}", printed(path))?,
        _ => {}
    }
    let shape = Shape::new(options.width, &all.sums);
    writeln!(out, "  {}", shape.row(COLUMNS.map(|(_, name)| name)))?;
    let mut last = 0;
    for number in shown(file, all, options) {
        if number > last + 1 {
            writeln!(out, "  ...")?;
        }
        last = number;
        let text = file.text.get(number as usize - 1).map_or("", String::as_str).replace('\t', "    ");
        let text = printable::code(&text);
        let numbers = numbers(file.lines.get(&number), &all.sums);
        let numbers = shape.row(std::array::from_fn(|column| numbers[column].as_str()));
        writeln!(out, "{}", shape.cut(format!("  {numbers}  {number:>5} | {text}")))?;
    }
    if let Some((&beyond, _)) = file.lines.range(file.text.len() as u32 + 1..).next() {
        writeln!(out, "  (the file ends before line {beyond}, which has numbers)")?;
    }
    Ok(())
}

/// Numbers of lines to show.
fn shown(file: &Annotated, all: &Annotation, options: &Options) -> Vec<u32> {
    let end = file.text.len() as u32;
    let Some(context) = options.context else { return (1..=end).collect() };
    let hot = file.lines.iter().filter(|(_, row)| all.is_expensive(row, options.threshold)).map(|(line, _)| *line);
    let mut lines: Vec<u32> =
        hot.flat_map(|line| line.saturating_sub(context).max(1)..=line.saturating_add(context).min(end)).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

fn numbers(row: Option<&Row>, all: &Sums) -> [String; COLUMNS.len()] {
    match row {
        None => Default::default(),
        Some(row) => {
            let sums = &row.own;
            let read = |text: String| if sums.read > 0 { text } else { String::new() };
            let cycles = sums.cycles.total();
            let share = human::percent(cycles.into(), all.cycles.total().into());
            [
                if sums.clock > 0 { human::percent(sums.clock.into(), all.clock.into()) } else { String::new() },
                if cycles > 0 { share } else { String::new() },
                bound_in_short(&sums.cycles),
                others_in_short(&sums.cycles),
                read(human::percent(sums.cost, all.cost)),
                read(human::count(sums.cost)),
                sums.mean_cost().map_or(String::new(), human::ratio),
                read(human::bytes(sums.read.into())),
                if sums.written > 0 { human::bytes(sums.written.into()) } else { String::new() },
                read(human::bytes(row.quantiles.p50.into())),
                read(human::bytes(row.quantiles.p90.into())),
            ]
        }
    }
}

fn write_missing(annotation: &Annotation, out: &mut impl Write) -> io::Result<()> {
    let is_missing = |file: &&Annotated| file.state == State::Missing;
    let missing: Vec<&Annotated> = annotation.files.iter().filter(is_missing).collect();
    if !missing.is_empty() {
        writeln!(out, "\nSources that are not here (say where they are with --source-dir):")?;
        write_lines(&missing, annotation, out)?;
    }
    let is_outside = |file: &&Annotated| matches!(file.state, State::Outside(_));
    let outside: Vec<&Annotated> = annotation.files.iter().filter(is_outside).collect();
    if !outside.is_empty() {
        writeln!(
            out,
            "\nSources outside of the current directory and the repository around it (the profile may be anybody's; \
             --source-dir shows those below it):"
        )?;
        write_lines(&outside, annotation, out)?;
    }
    Ok(())
}

/// Files whose text is not shown, with their dearest lines.
fn write_lines(files: &[&Annotated], all: &Annotation, out: &mut impl Write) -> io::Result<()> {
    let (total, of) = (all.total(), |row: &Row| all.weight.value_in(&row.own));
    for file in files {
        write!(out, "  {:>6}  {}", human::percent(file.weight, total), printable::name(&file.path))?;
        match &file.state {
            State::Outside(real) => writeln!(out, "  (--source-dir {})", printed(real.parent().unwrap_or(real)))?,
            _ => writeln!(out)?,
        }
        let mut lines: Vec<(&u32, &Row)> = file.lines.iter().collect();
        lines.sort_by(|a, b| of(b.1).cmp(&of(a.1)).then(a.0.cmp(b.0)));
        for (line, row) in lines.into_iter().take(3).filter(|(_, row)| of(row) > 0) {
            writeln!(
                out,
                "          {:>6}  line {line}, {}",
                human::percent(of(row), total),
                printable::name(row.name())
            )?;
        }
    }
    Ok(())
}

/// For programs: one row per line with numbers.
#[must_use]
pub fn document(profile: &Profile, annotation: &Annotation) -> Document {
    let keys = [
        "file",
        "state",
        "line",
        "share",
        "cost",
        "read",
        "written",
        "cold",
        "cycles",
        "clock",
        "depth_p50",
        "depth_p90",
        "depth_p99",
        "source",
    ];
    let columns = keys.map(|key| Column::new(key, ["", key], 0)).to_vec();
    let mut sheet = Sheet::new("lines", "", columns);
    let samples = Some(annotation.sums.clock).filter(|samples| *samples > 0);
    let clock = |sums: &Sums| samples.map(|all| sums.clock as f64 / all as f64);
    for file in &annotation.files {
        let state = match file.state {
            State::Same(_) => "same",
            State::Changed(_) => "changed",
            State::Unverified(_) => "unverified",
            State::Outside(_) => "outside",
            State::Missing => "missing",
        };
        for (line, row) in &file.lines {
            let sums = &row.own;
            let all = annotation.sums.cost;
            let share = (all > 0).then(|| sums.cost as f64 / all as f64);
            let depth = |depth: u64| Value::or_empty((sums.read > 0).then_some(depth), |d| Value::Bytes(d.into()));
            sheet.row([
                Value::Name(file.path.clone()),
                Value::Text(state.into()),
                Value::Count((*line).into()),
                Value::or_empty(share, Value::Share),
                Value::Count(sums.cost),
                Value::Bytes(sums.read.into()),
                Value::Bytes(sums.written.into()),
                Value::Bytes(sums.cold.into()),
                Value::Count(sums.cycles.total().into()),
                Value::or_empty(clock(sums), Value::Share),
                depth(row.quantiles.p50),
                depth(row.quantiles.p90),
                depth(row.quantiles.p99),
                Value::or_empty(file.text.get(*line as usize - 1).cloned(), Value::Text),
            ]);
        }
    }
    Document { kind: "annotate", source: estimate::source(&profile.meta), sheets: vec![sheet], ..Document::default() }
}
