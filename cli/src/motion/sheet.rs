//! The document of `dmdprof motion`.

use super::{
    buffers::{Buffer, buffers},
    counts::{Counts, Policy},
    elements,
    model::{Level, Motion, Row},
    select::label,
};
use crate::{
    document::{Cell, Column, Document, Sheet, Value},
    profile::model::Outcome,
    shared::human,
};

/// What to show.
pub struct Options {
    pub policy: Policy,
    /// Only these loops.
    pub levels: Option<Vec<u32>>,
    /// At most so many loops and buffers; those with most accesses.
    pub top: Option<usize>,
    /// Leave out arrays with a smaller share of their loop's accesses.
    pub threshold: f64,
    /// List elements.
    pub elements: bool,
}

#[must_use]
pub fn document(motion: &Motion, options: &Options) -> Document {
    let shown = Shown::for_motion(motion, options);
    let mut sheets = Vec::new();
    if options.elements {
        sheets.push(elements::sheet(motion, options.policy, &shown.levels, |level| loop_name(motion, level)));
    }
    sheets.push(arrays_sheet(motion, options, &shown));
    sheets.push(loops_sheet(motion, options.policy, &shown));
    sheets.push(buffers_sheet(motion, options, &shown));
    Document {
        kind: "motion",
        source: vec![("command", motion.command.join(" ")), ("policy", options.policy.word().into())],
        heading: heading(motion),
        sheets,
        notes: notes(motion, options),
        ..Document::default()
    }
}

/// The loops to show, and how many others there are.
struct Shown {
    levels: Vec<u32>,
    others: usize,
}

impl Shown {
    fn for_motion(motion: &Motion, options: &Options) -> Self {
        let all: Vec<u32> = (0..motion.levels.len() as u32).collect();
        let chosen = options.levels.as_ref().unwrap_or(&all);
        let mut by_accesses = chosen.clone();
        by_accesses.sort_by_key(|level| (std::cmp::Reverse(accesses(motion, *level)), *level));
        let mut levels = by_accesses;
        levels.truncate(options.top.unwrap_or(usize::MAX));
        levels.sort_unstable();
        Self { others: chosen.len() - levels.len(), levels }
    }
}

/// What columns are that not everybody knows.
const FILLS: &str = "fills: elements that an iteration touches and the one before it did not";
const DRAINS: &str = "drains: elements that an iteration touches and the next one does not";
const REFILLS: &str = "refills: fills of elements that had been there before";

fn rows_of(motion: &Motion, level: u32) -> impl Iterator<Item = &Row> {
    motion.rows.iter().filter(move |row| row.level == level)
}

fn accesses(motion: &Motion, level: u32) -> u64 {
    rows_of(motion, level).map(|row| row.accesses).sum()
}

fn depth(motion: &Motion, level: u32) -> usize {
    let mut depth = 0;
    let mut at = motion.levels[level as usize].parent;
    while let Some(outer) = at {
        depth += 1;
        at = motion.levels[outer as usize].parent;
    }
    depth
}

/// The loop with its number.
fn loop_name(motion: &Motion, level: u32) -> String {
    format!("#{} {}", level + 1, label(&motion.levels[level as usize]))
}

fn heading(motion: &Motion) -> Vec<String> {
    let mut lines = vec![motion.command.join(" ")];
    if let Outcome::Signaled(signal) = motion.outcome {
        lines.push(format!("INCOMPLETE: the program was ended by signal {signal}"));
    }
    if motion.lost_events > 0 {
        let lost = human::grouped(motion.lost_events.into());
        lines.push(format!("INCOMPLETE: lost events: {lost}; all numbers are too small"));
    }
    lines
}

fn arrays_sheet(motion: &Motion, options: &Options, shown: &Shown) -> Sheet {
    let policy = options.policy;
    let columns = vec![
        Column::new("accesses", ["", "accesses"], 0),
        Column::new("element_bytes", ["element", "size"], 3),
        Column::new("fills", ["", "fills"], 0).explained(FILLS),
        Column::new("drains", ["", "drains"], 4).explained(DRAINS),
        Column::new("refills", ["", "refills"], 0).explained(REFILLS),
        Column::new("footprint", ["", "footprint"], 0),
        Column::new("peak", ["per iteration", "at most"], 0),
        Column::new("refill_factor", ["fills /", "footprint"], 2),
        Column::new("reuse", ["uses /", "fill"], 1),
        Column::new("fill_bytes", ["bytes", "filled"], 6),
        Column::new("fill_bytes_per_iteration", ["bytes filled", "per iteration"], 5),
        Column::new("refill_bytes", ["bytes", "refilled"], 6),
        Column::new("footprint_bytes", ["footprint", "bytes"], 6),
        Column::new("peak_bytes", ["per iteration", "bytes"], 1),
        Column::new("sampling", ["one page", "in"], 7),
        Column::new("kind", ["", "kind"], 7),
        Column::new("array", ["", "array"], 0),
        Column::new("loop", ["", "loop"], 0),
    ];
    let title = format!("What the iterations of each loop bring in, in elements (policy {})", policy.word());
    let mut sheet = Sheet::new("arrays", title, columns);
    let mut small = 0;
    for &level in &shown.levels {
        let least = options.threshold * accesses(motion, level) as f64;
        let iterations = motion.levels[level as usize].iterations.max(1);
        for row in rows_of(motion, level) {
            let array = &motion.arrays[row.array as usize];
            if (row.accesses as f64) < least {
                small += 1;
                continue;
            }
            let counts = Counts::from_row(row, array, policy);
            let guess = array.sampling > 1;
            let count = |n: u64| Value::Count(n.into()).guessed(guess);
            let bytes = |n: u64| Value::Bytes(n.into()).guessed(guess);
            let ratio = |x: Option<f64>| Value::or_empty(x, Value::Ratio).guessed(guess);
            sheet.row::<Cell>([
                Value::Count(counts.accesses.into()).into(),
                Value::Bytes(counts.element.into()).into(),
                count(counts.fills),
                count(counts.fills),
                count(counts.refills),
                count(counts.footprint),
                count(counts.peak),
                ratio(counts.refill_factor()),
                ratio(counts.reuse()),
                bytes(counts.fill_bytes),
                ratio(Some(counts.fill_bytes as f64 / iterations as f64)),
                bytes(counts.refill_bytes),
                bytes(counts.footprint_bytes),
                bytes(counts.peak_bytes),
                Value::Count(array.sampling.into()).into(),
                Value::Text(array.kind.word().into()).into(),
                Value::Name(array.name.clone()).into(),
                Value::Name(loop_name(motion, level)).into(),
            ]);
        }
    }
    if small > 0 {
        let percent = human::share(options.threshold);
        sheet.remarks.push(format!("({small} more arrays with less than {percent} of their loop's accesses; see -l)"));
    }
    if shown.others > 0 {
        sheet.remarks.push(format!("({} more loops; see --top and -l)", shown.others));
    }
    if motion.levels.is_empty() {
        sheet.remarks.push("No loop of the program's accessed memory.".into());
    }
    sheet
}

fn loops_sheet(motion: &Motion, policy: Policy, shown: &Shown) -> Sheet {
    let columns = vec![
        Column::new("number", ["", "#"], 0),
        Column::new("iterations", ["", "iterations"], 0),
        Column::new("entries", ["", "entered"], 1),
        Column::new("accesses", ["", "accesses"], 1),
        Column::new("fill_bytes", ["bytes", "filled"], 0),
        Column::new("refill_bytes", ["bytes", "refilled"], 0),
        Column::new("capacity_bytes", ["per iteration", "at most"], 0),
        Column::new("parts", ["loops in", "the code"], 2),
        Column::new("loop", ["", "loop"], 0),
        Column::new("function", ["", "function"], 3),
        Column::new("parent", ["", "inside"], 4),
        Column::new("file", ["", "file"], 6),
        Column::new("line", ["", "line"], 6),
    ];
    let mut sheet = Sheet::new("loops", "Loops in their nests", columns);
    for &level in &shown.levels {
        let known: &Level = &motion.levels[level as usize];
        let counts = |row: &Row| Counts::from_row(row, &motion.arrays[row.array as usize], policy);
        let fills: u64 = rows_of(motion, level).map(|row| counts(row).fill_bytes).sum();
        let refills: u64 = rows_of(motion, level).map(|row| counts(row).refill_bytes).sum();
        let guess = rows_of(motion, level).any(|row| motion.arrays[row.array as usize].sampling > 1);
        let place = known.place.as_ref();
        sheet.row::<Cell>([
            Value::Count(u128::from(level) + 1).into(),
            Value::Count(known.iterations.into()).into(),
            Value::Count(known.entries.into()).into(),
            Value::Count(accesses(motion, level).into()).into(),
            Value::Bytes(fills.into()).guessed(guess),
            Value::Bytes(refills.into()).guessed(guess),
            Value::Bytes(known.capacity.into()).guessed(guess),
            Value::Count(known.parts.into()).into(),
            Value::Name(format!("{}{}", "| ".repeat(depth(motion, level)), label(known))).into(),
            Value::Name(known.function.clone()).into(),
            Value::or_empty(known.parent, |parent| Value::Text(format!("#{}", parent + 1))).into(),
            Value::or_empty(place, |place| Value::Text(place.file.clone())).into(),
            Value::or_empty(place.filter(|place| place.line > 0), |place| Value::Count(place.line.into())).into(),
        ]);
    }
    sheet.left_out(shown.others);
    sheet
}

fn buffers_sheet(motion: &Motion, options: &Options, shown: &Shown) -> Sheet {
    let columns = vec![
        Column::new("saved_bytes", ["bytes", "saved"], 0),
        Column::new("saved_refills", ["refills", "saved"], 0),
        Column::new("refills_left", ["refills", "left"], 1),
        Column::new("buffer_bytes", ["", "buffer"], 0),
        Column::new("saved_per_byte", ["bytes saved per", "buffer byte"], 2),
        Column::new("array", ["", "array"], 0),
        Column::new("refilled_by", ["", "refilled by loop"], 0),
        Column::new("kept_across", ["", "kept across loop"], 0),
    ];
    let mut sheet = Sheet::new("buffers", "Buffers that would save refills", columns);
    let wanted = |buffer: &Buffer| options.levels.is_none() || shown.levels.contains(&buffer.refilled);
    let all: Vec<Buffer> = buffers(motion, options.policy).into_iter().filter(wanted).collect();
    let some = sheet.first(&all, options.top);
    for buffer in some {
        let array = &motion.arrays[buffer.array as usize];
        let guess = array.sampling > 1;
        sheet.row::<Cell>([
            Value::Bytes(buffer.refill_bytes.into()).guessed(guess),
            Value::Count(buffer.refills.into()).guessed(guess),
            Value::Count(buffer.left.into()).guessed(guess),
            Value::Bytes(buffer.bytes.into()).guessed(guess),
            Value::Ratio(buffer.refill_bytes as f64 / buffer.bytes.max(1) as f64).guessed(guess),
            Value::Name(array.name.clone()).into(),
            Value::Name(loop_name(motion, buffer.refilled)).into(),
            buffer.across.map_or(Value::Text("(all)".into()), |l| Value::Name(loop_name(motion, l))).into(),
        ]);
    }
    if all.is_empty() {
        sheet.remarks.push("Nothing is brought in twice.".into());
    }
    const SENTENCES: usize = 5;
    sheet.remarks.extend(some.iter().take(SENTENCES).map(|buffer| sentence(motion, buffer)));
    sheet
}

/// What to do about it.
fn sentence(motion: &Motion, buffer: &Buffer) -> String {
    let array = &motion.arrays[buffer.array as usize].name;
    let size = human::bytes(buffer.bytes.into());
    let at = label(&motion.levels[buffer.refilled as usize]);
    let saved = human::count(buffer.refills.into());
    let saved = match buffer.left {
        0 => format!("its {saved} refills at loop {at}"),
        left => format!("{saved} of its {} refills at loop {at}", human::count((buffer.refills + left).into())),
    };
    match buffer.across {
        Some(across) => {
            let outer = &motion.levels[across as usize];
            let per_iteration = human::ratio(buffer.refills as f64 / outer.iterations.max(1) as f64);
            let outer = label(outer);
            format!(
                "Keep {array}'s {size} tile across loop {outer} and {saved} ({per_iteration} per iteration) vanish."
            )
        }
        None => format!("Keep all {size} of {array} that the loop touches and {saved} vanish."),
    }
}

fn notes(motion: &Motion, options: &Options) -> Vec<String> {
    let mut notes = vec![
        "A fill is an element that an iteration touches and the iteration before it did not; as many are drained. A refill is a fill of \
         an element that the loop had before. A load and the store back to the same place are one access."
            .into(),
    ];
    if let Some(rate) = motion.arrays.iter().map(|array| array.sampling).max().filter(|rate| *rate > 1) {
        notes.push(format!(
            "~ marks arrays of which only some pages were followed (down to one in {rate}) to stay within the memory; --memory raises it."
        ));
    }
    if options.elements && motion.tiles.is_empty() {
        notes.push("This file has no lists of elements; run the program again with --elements.".into());
    }
    if options.elements && motion.tiles_cut {
        notes.push("The lists of elements end early: there were more than --elements is for.".into());
    }
    if motion.levels_cut {
        notes.push(
            "There are more than 65,536 loops in nests, or more than 64 running one inside the other: what the others do is counted for the \
             loops around them."
                .into(),
        );
    }
    if motion.threads > 1 {
        notes.push(format!(
            "Sums over {} threads: what several threads touch counts once for each.",
            human::grouped(motion.threads.into())
        ));
    }
    let unplaced = motion.levels.iter().filter(|level| level.place.is_none()).count();
    if unplaced > 0 {
        notes.push(format!("{unplaced} loops have no place in the source; compile with -g."));
    }
    notes
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::{
        document::{Format, Look, schema},
        motion::model::{Array, ArrayKind, Position, Tile},
    };

    /// Multiplication of matrices of 4 x 4 doubles, i-j-k.
    pub fn matmul() -> Motion {
        let level = |parent, variable: &str, line, iterations, entries, capacity| Level {
            parent,
            variable: Some(variable.into()),
            function: "matmul".into(),
            place: Some(Position { file: "/src/matmul.c".into(), line, column: 3 }),
            parts: 1,
            iterations,
            entries,
            capacity,
        };
        let array =
            |name: &str| Array { name: name.into(), kind: ArrayKind::Global, place: None, element: 8, sampling: 1 };
        let row = |level, array, fills: u64, footprint: u64, peak: u64| Row {
            level,
            array,
            accesses: 64,
            accessed: 512,
            fills: 8 * fills,
            kept: 0,
            footprint: 8 * footprint,
            peak: 8 * peak,
        };
        Motion {
            tool_version: "0".into(),
            command: vec!["./matmul".into(), "4".into()],
            outcome: Outcome::Exited(0),
            threads: 1,
            accesses: 300,
            lost_events: 0,
            levels: vec![
                level(None, "i", 10, 4, 1, 192),
                level(Some(0), "j", 11, 16, 4, 72),
                level(Some(1), "k", 12, 64, 16, 24),
            ],
            arrays: vec![array("A"), array("B"), array("C")],
            rows: vec![
                row(0, 0, 16, 16, 4),
                row(0, 1, 16, 16, 16),
                row(0, 2, 16, 16, 4),
                row(1, 0, 16, 16, 4),
                row(1, 1, 64, 16, 4),
                row(1, 2, 16, 16, 1),
                row(2, 0, 64, 16, 1),
                row(2, 1, 64, 16, 1),
                row(2, 2, 16, 16, 1),
            ],
            tiles: vec![vec![
                Tile { level: 0, timestamp: vec![0], first: true, arrays: vec![(0, vec![(0, 0, 32)])] },
                Tile { level: 0, timestamp: vec![1], first: false, arrays: vec![(0, vec![(0, 24, 64)])] },
            ]],
            tiles_cut: false,
            levels_cut: false,
        }
    }

    fn options() -> Options {
        Options { policy: Policy::Wrap, levels: None, top: None, threshold: 0.0, elements: true }
    }

    #[test]
    fn people_read_it() {
        let mut text = Vec::new();
        let look = Look { format: Format::Table, width: Some(140), color: false };
        document(&matmul(), &options()).write(look, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for line in [
            "./matmul 4",
            "What the iterations of each loop bring in, in elements (policy wrap)",
            "  Keep A's 32 B tile across loop j at matmul.c:11 and its 48 refills at loop k at matmul.c:12 (3.00 per iteration) vanish.",
            "  Keep B's 128 B tile across loop i at matmul.c:10 and its 48 refills at loop j at matmul.c:11 (12.0 per iteration) vanish.",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
        }
        let inner = text.lines().find(|line| line.contains("| | k at matmul.c:12")).expect("the loop in its nest");
        assert!(inner.contains(" 64 ") && inner.contains(" 768 B "), "{inner}");
    }

    #[test]
    fn loops_that_belong_to_no_line_have_no_number_for_it() {
        let mut motion = matmul();
        motion.levels[2].place.as_mut().unwrap().line = 0;
        let mut text = Vec::new();
        let look = Look { format: Format::Table, width: Some(250), color: false };
        document(&motion, &options()).write(look, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let inner = text.lines().find(|line| line.contains("| | k at matmul.c:?")).expect("the loop in its nest");
        assert_eq!(inner.split_whitespace().rev().take(2).collect::<Vec<_>>(), ["-", "/src/matmul.c"], "{inner}");
    }

    #[test]
    fn json_follows_the_schema() {
        assert_eq!(schema::errors(&document(&matmul(), &options())), Vec::<String>::new());
    }

    #[test]
    fn buffers_are_found_where_refills_end() {
        let found = buffers(&matmul(), Policy::Wrap);
        let brief: Vec<_> = found.iter().map(|b| (b.array, b.refilled, b.across, b.bytes, b.refills)).collect();
        assert_eq!(brief, [(0, 2, Some(1), 32, 48), (1, 1, Some(0), 128, 48)]);
        let text = sentence(&matmul(), &found[1]);
        assert!(text.starts_with("Keep B's 128 B tile across loop i at matmul.c:10 and its 48 refills"), "{text}");
    }

    #[test]
    fn loops_have_many_names() {
        let motion = matmul();
        let find = |word: &str| crate::motion::select::select(&motion, word).map_err(|e| e.to_string());
        for word in ["j", "11", "matmul.c:11", "/src/matmul.c:11", "#2"] {
            assert_eq!(find(word), Ok(vec![1]), "{word}");
        }
        assert_eq!(find("matmul"), Ok(vec![0, 1, 2]));
        assert!(find("x").unwrap_err().contains("#3 k at matmul.c:12 in matmul"));
    }
}
