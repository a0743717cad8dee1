//! The answer of one question as a document: figures or points, the best one, frontiers, tornado, inputs, explanations,
//! charts.

use super::run::{Axis, PlanResult, Query, Row};
use super::unit::Unit;
use super::value::{Figure, Number};
use crate::document::{Cell, Column, Document, Format, Sheet, Value};
use crate::plot::{self, Chart, LineKind};

/// What to write.
#[derive(Clone, Debug, Default)]
pub struct Show {
    pub explain: bool,
    /// Rows of points for people.
    pub top: Option<usize>,
    /// Figures to draw; the goal if there are none.
    pub y: Vec<String>,
    pub format: Format,
}

/// Curves in a chart: more would hide each other.
const MOST_CURVES: usize = 6;

/// A number in base units, as people read it.
fn shown(number: Number) -> Cell {
    let Number { value, unit, guess } = number;
    match unit {
        Unit::Word(_) => Value::Text(unit.show(value)).guessed(guess),
        _ => Value::Shown(value, unit.show(value)).guessed(guess),
    }
}

/// Ends of the names of figures that follow a source's slip or another revision: the first to go.
const BESIDES: [&str; 8] = ["_mlsysim", "_later", "_no_pue", "_twice", "_amortised", "_printed", "_sqrt2", "_by_clock"];

fn column(key: &str, goes: u8) -> Column {
    let words = key.replace(['_', '-'], " ");
    let (first, second) = words.rsplit_once(' ').unwrap_or(("", &words));
    Column::new(key, [first, second], goes)
}

/// The whole answer.
#[must_use]
pub fn document(ask: &Query, found: &PlanResult, show: &Show) -> Document {
    let mut source = vec![("question", ask.question.name.to_owned())];
    if !ask.profiles.is_empty() {
        source.push(("profiles", ask.profiles.join(", ")));
    }
    if !ask.machines.is_empty() {
        source.push(("machines", ask.machines.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(", ")));
    }
    source.extend(ask.function.iter().map(|f| ("function", f.clone())));
    let about = format!("{}: {}", ask.question.name, ask.question.about);
    let heading = if ask.title.is_empty() { vec![about] } else { vec![ask.title.clone(), about] };
    let mut document = Document { kind: "plan", source, heading, ..Document::default() };
    if found.axes.is_empty() {
        document.sheets.push(figures(found));
    } else {
        document.sheets.push(points(ask, found, show));
        let mut best = best(ask, found);
        for (key, rows) in &found.frontiers {
            // One point is no frontier to look at.
            if rows.len() == 1 && show.format == Format::Table {
                let point: Vec<String> = found
                    .axes
                    .iter()
                    .zip(&found.rows[rows[0]].at)
                    .map(|(a, at)| format!("{} {}", a.key, a.show(*at)))
                    .collect();
                best.remarks.push(format!("Nothing beats {} in {} or {key}.", point.join(", "), ask.question.time));
            }
        }
        document.sheets.push(best);
        let is_shown = |rows: &[usize]| rows.len() > 1 || show.format != Format::Table;
        let frontiers = found.frontiers.iter().filter(|(_, rows)| is_shown(rows));
        document.sheets.extend(frontiers.map(|(key, rows)| frontier(ask, found, key, rows)));
    }
    document.sheets.extend(found.answer.sheets.iter().cloned());
    if ask.tornado {
        document.sheets.push(tornado(ask, found));
    }
    document.sheets.push(inputs(found));
    if show.explain {
        match show.format {
            Format::Table => document.plots.push(explained(found)),
            Format::Json | Format::Csv => document.sheets.push(explanations(found)),
        }
    }
    document.notes.extend(found.notes.iter().cloned());
    for note in &found.answer.notes {
        if !document.notes.contains(note) {
            document.notes.push(note.clone());
        }
    }
    if found.inputs.iter().any(|(_, number, _)| number.guess) {
        document.notes.push(
            "~ rests on an assumption or on a figure of the machine that nobody vouches for; the inputs say which."
                .into(),
        );
    }
    document
}

fn figures(found: &PlanResult) -> Sheet {
    let columns = vec![
        Column::new("figure", ["", "figure"], 2),
        Column::new("value", ["", "value"], 0),
        Column::new("unit", ["base", "unit"], 3),
        Column::new("meaning", ["", "meaning"], 0),
    ];
    let mut sheet = Sheet::new("figures", "", columns);
    for figure in &found.answer.figures {
        sheet.row([
            Value::Text(figure.key.into()).into(),
            shown(figure.number),
            Value::Text(figure.number.unit.base().into()).into(),
            Value::Text(figure.label.into()).into(),
        ]);
    }
    sheet
}

/// Columns of axes and figures; those that matter stay when there is no room.
fn headings(ask: &Query, found: &PlanResult) -> Vec<Column> {
    let matters = |key: &str| key == ask.question.goal || key == ask.question.time;
    let place = |i: usize| u8::try_from(i + 2).unwrap_or(u8::MAX).min(60);
    let axes = found.axes.iter().map(|axis| column(axis.key, 0));
    let figures = found.headings.iter().enumerate().map(|(i, heading)| {
        let goes = match heading.key {
            key if matters(key) => 0,
            "efficiency" | "cost" | "carbon" | "speedup" => 1,
            "cost_year" | "carbon_year" | "worth" | "replicas" | "batch_limit" | "first_token" | "each_token" => 1,
            key if BESIDES.iter().any(|end| key.ends_with(end)) => 61,
            _ => place(i),
        };
        column(heading.key, goes)
    });
    axes.chain(figures).collect()
}

fn cells(found: &PlanResult, row: &Row) -> Vec<Cell> {
    let axes = found.axes.iter().zip(&row.at).map(|(axis, at)| match axis.unit {
        Some(unit) => shown(Number::new(axis.values[*at], unit)),
        None => Value::Name(axis.names[*at].clone()).into(),
    });
    let figures = found.headings.iter().enumerate().map(|(i, heading)| match row.values.get(i) {
        Some(value) if !value.is_nan() => shown(Number { value: *value, unit: heading.unit, guess: row.guess(i) }),
        _ => Value::Empty.into(),
    });
    axes.chain(figures).collect()
}

fn points(ask: &Query, found: &PlanResult, show: &Show) -> Sheet {
    let mut columns = headings(ask, found);
    let any_refused = found.rows.iter().any(|row| row.refused.is_some());
    if any_refused {
        columns.push(Column::new("refused", ["", "no answer"], 61));
    }
    let mut sheet = Sheet::new("points", "", columns);
    let most = show.top.unwrap_or(usize::MAX).max(2);
    let count = found.rows.len();
    // Evenly, both ends included.
    let chosen: Vec<usize> =
        if count <= most { (0..count).collect() } else { (0..most).map(|i| i * (count - 1) / (most - 1)).collect() };
    if chosen.len() < count {
        sheet.remarks.push(format!("({} of {count} points; --top shows more, --format csv all)", chosen.len()));
    }
    for number in chosen {
        let row = &found.rows[number];
        let mut cells = cells(found, row);
        if any_refused {
            cells.push(row.refused.clone().map_or(Value::Empty, Value::Text).into());
        }
        sheet.row(cells);
    }
    let refused = found.rows.iter().filter(|row| row.refused.is_some()).count();
    if let Some(why) = found.rows.iter().find_map(|row| row.refused.as_ref()) {
        sheet.remarks.push(format!("{refused} of {count} points have no answer; the first: {why}"));
    }
    sheet
}

fn best(ask: &Query, found: &PlanResult) -> Sheet {
    let which = if ask.question.least { "least" } else { "most" };
    let mut sheet = Sheet::new("best", format!("Best point: the {which} {}", ask.question.goal), headings(ask, found));
    sheet.row(cells(found, &found.rows[found.best]));
    sheet
}

fn frontier(ask: &Query, found: &PlanResult, key: &str, rows: &[usize]) -> Sheet {
    let title = format!("Frontier of {} against {key}: nothing is better in both", ask.question.time);
    let mut sheet = Sheet::new(format!("frontier_{key}"), title, headings(ask, found));
    for row in rows {
        sheet.row(cells(found, &found.rows[*row]));
    }
    sheet
}

fn tornado(ask: &Query, found: &PlanResult) -> Sheet {
    let goal = ask.question.goal;
    let columns = vec![
        Column::new("input", ["", "input"], 0),
        Column::new("value", ["", "value"], 0),
        Column::new("half", [goal, "at half"], 0),
        Column::new("double", [goal, "at double"], 0),
        Column::new("change_half", ["", "change"], 1),
        Column::new("change_double", ["", "change"], 1),
    ];
    let base = found.answer.get(goal);
    let title = format!("What {goal} rests on: each input at half and at double, the largest change first");
    let mut sheet = Sheet::new("tornado", title, columns);
    let moves = |side: &Result<f64, String>| match (side, base) {
        (Ok(value), Some(base)) => *value != base.value,
        _ => true,
    };
    let (moving, still): (Vec<_>, Vec<_>) =
        found.swings.iter().partition(|swing| moves(&swing.half) || moves(&swing.double));
    for swing in moving {
        let side = |side: &Result<f64, String>| match (side, base) {
            (Ok(value), Some(base)) => shown(Number { value: *value, ..base }),
            _ => Value::Text("no answer".into()).into(),
        };
        let change = |side: &Result<f64, String>| match (side, base) {
            (Ok(value), Some(base)) if base.value != 0.0 => {
                let change = value / base.value - 1.0;
                Value::Shown(change, format!("{:+.1} %", 100.0 * change)).into()
            }
            _ => Cell::from(Value::Empty),
        };
        sheet.row([
            Value::Text(swing.key.into()).into(),
            shown(swing.number),
            side(&swing.half),
            side(&swing.double),
            change(&swing.half),
            change(&swing.double),
        ]);
    }
    if !still.is_empty() {
        let keys: Vec<&str> = still.iter().map(|swing| swing.key).collect();
        sheet.remarks.push(format!("Without effect: {}.", keys.join(", ")));
    }
    for swing in &found.swings {
        for (side, text) in [(&swing.half, "half"), (&swing.double, "double")] {
            if let Err(why) = side {
                sheet.remarks.push(format!("{} at {text}: {why}", swing.key));
            }
        }
    }
    sheet
}

fn inputs(found: &PlanResult) -> Sheet {
    let columns = vec![
        Column::new("input", ["", "input"], 0),
        Column::new("value", ["", "value"], 0),
        Column::new("unit", ["base", "unit"], 3),
        Column::new("from", ["", "from"], 0),
        Column::new("why", ["", ""], 1),
        Column::new("meaning", ["", "meaning"], 2),
    ];
    let title =
        if found.axes.is_empty() { "Inputs and assumptions" } else { "Inputs and assumptions of the best point" };
    let mut sheet = Sheet::new("inputs", title, columns);
    for (spec, number, origin) in &found.inputs {
        sheet.row([
            Value::Text(spec.key.into()).into(),
            shown(*number),
            Value::Text(number.unit.base().into()).into(),
            Value::Text(origin.kind.into()).into(),
            Value::Name(origin.why.clone()).into(),
            Value::Text(spec.help.into()).into(),
        ]);
    }
    for (key, text) in &found.texts {
        sheet.row([
            Value::Text((*key).into()),
            Value::Text(text.clone()),
            Value::Text(String::new()),
            Value::Text("given".into()),
            Value::Name(String::new()),
            Value::Text(String::new()),
        ]);
    }
    sheet
}

/// `--explain` for people.
fn explained(found: &PlanResult) -> String {
    let mut text = String::from("How each figure comes about\n");
    for figure in &found.answer.figures {
        let Figure { key, formula, source, number, .. } = figure;
        let value = format!("{}{}", if number.guess { "~" } else { "" }, number.unit.show(number.value));
        if figure.is_formula {
            text += &format!("  {key} = {formula}\n    = {}\n    = {value}\n    {source}\n", figure.numbers());
        } else {
            let numbers = figure.numbers();
            let with = if numbers.is_empty() { String::new() } else { format!("\n    with {numbers}") };
            text += &format!("  {key}: {formula}{with}\n    = {value}\n    {source}\n");
        }
    }
    text
}

fn explanations(found: &PlanResult) -> Sheet {
    let keys = ["figure", "formula", "numbers", "value", "unit", "source"];
    let mut sheet = Sheet::new("explain", "How each figure comes about", keys.map(|key| column(key, 0)).into());
    for figure in &found.answer.figures {
        sheet.row([
            Value::Text(figure.key.into()).into(),
            Value::Text(figure.formula.into()).into(),
            Value::Text(figure.numbers()).into(),
            shown(figure.number),
            Value::Text(figure.number.unit.base().into()).into(),
            Value::Text(figure.source.into()).into(),
        ]);
    }
    sheet
}

/// Curves over the first axis of numbers, one per combination of the others; one chart per figure, with its name.
///
/// # Errors
/// Figures that no point has, or nothing to draw over.
pub fn charts(ask: &Query, found: &PlanResult, show: &Show) -> anyhow::Result<Vec<(String, Chart)>> {
    let words = |axis: &Axis| matches!(axis.unit, None | Some(Unit::Word(_)));
    let Some(x) = found.axes.iter().position(|axis| !words(axis)) else {
        anyhow::bail!("a chart needs an input with several values, as in --devices 1..1024");
    };
    let usual = if found.heading("efficiency").is_some() { "efficiency" } else { ask.question.goal };
    let wanted = if show.y.is_empty() { vec![usual.to_owned()] } else { show.y.clone() };
    wanted.into_iter().map(|key| chart(ask, found, x, &key).map(|chart| (key, chart))).collect()
}

fn chart(ask: &Query, found: &PlanResult, x: usize, key: &str) -> anyhow::Result<Chart> {
    let Some(y) = found.heading(key) else {
        let known: Vec<&str> = found.headings.iter().map(|h| h.key).collect();
        let near = crate::estimate::workload::did_you_mean(key, known.into_iter());
        anyhow::bail!("no figure is called {key}{near}");
    };
    let mut lines: Vec<plot::Line> = Vec::new();
    for row in &found.rows {
        let others = found.axes.iter().zip(&row.at).enumerate().filter(|(i, _)| *i != x);
        let name: Vec<String> = others.map(|(_, (axis, at))| axis.show(*at)).collect();
        let name = if name.is_empty() { key.to_owned() } else { name.join(", ") };
        let value = row.values.get(y).copied().unwrap_or(f64::NAN);
        let point = (found.axes[x].values[row.at[x]], value);
        match lines.iter().position(|line| line.name == name) {
            Some(line) => lines[line].points.push(point),
            None if lines.len() < MOST_CURVES => {
                lines.push(plot::Line { name, points: vec![point], kind: LineKind::Curve });
            }
            None => {}
        }
    }
    for line in &mut lines {
        line.points.retain(|(_, value)| *value > 0.0 && value.is_finite());
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let label = |name: &str, unit: Unit| match unit.base() {
        "1" | "" => name.to_owned(),
        base => format!("{name} ({base})"),
    };
    let axis = |label| plot::Axis { label, unit: plot::Unit::Plain, min: 1.0, max: 10.0 };
    let x_unit = found.axes[x].unit.expect("an axis of numbers");
    let mut chart = Chart {
        title: format!("{}: {}", ask.question.name, found.headings[y].label),
        x: axis(label(found.axes[x].key, x_unit)),
        y: axis(label(found.headings[y].label, found.headings[y].unit)),
        lines,
        dots: Vec::new(),
        marks: Vec::new(),
        groups: Vec::new(),
    };
    chart.fit_axes();
    Ok(chart)
}
