//! What stands to the right of the chart: the legend of groups and curves, and the list of functions.
//!
//! Takes the chart and the roofs whose names found no place along them, gives a group of a known extent.

use svg::node::element::{Circle, Group, Title};

use super::super::chart::{Chart, LineKind};
use super::super::scene::{Scene, Seen};
use super::super::text::printable;
use super::pen::{
    EDGE, FONT_SIZE, GRAY, LINE, SMALL, color, dashes, length, letters, line_color, px, stroke, text, with,
};
use crate::shared::{human, names};

const WIDEST: f64 = 250.0;
/// Between sections.
const GAP: f64 = 12.0;
const ROW: f64 = LINE + 3.0;
/// From the left of the panel to its texts.
const INDENT: f64 = 30.0;

enum Row {
    Heading(&'static str),
    Group { color: &'static str, name: String },
    Line { color: &'static str, dashes: &'static str, name: String },
    Function { marker: char, name: String, share: f64 },
    Gap,
}

impl Row {
    fn width(&self) -> f64 {
        match self {
            Row::Group { name, .. } | Row::Line { name, .. } => INDENT + length(name, FONT_SIZE) + EDGE,
            Row::Function { .. } => WIDEST,
            Row::Heading(_) | Row::Gap => 0.0,
        }
    }

    fn height(&self) -> f64 {
        if matches!(self, Row::Gap) { GAP } else { ROW }
    }
}

pub(super) struct Panel {
    rows: Vec<Row>,
}

impl Panel {
    /// `left_out`: indices of roofs of the scene to be named here.
    pub(super) fn new(chart: &Chart, scene: &Scene, left_out: &[usize]) -> Self {
        let mut rows = Vec::new();
        if !scene.functions.is_empty() {
            let group = |(i, name): (usize, &String)| Row::Group { color: color(i), name: printable(name) };
            rows.extend(chart.groups.iter().enumerate().map(group));
        }
        let curves = scene.lines.iter().filter(|s| s.line.kind == LineKind::Curve).enumerate();
        let named = curves.map(|(i, seen)| line_row(seen, dashes(i))).collect::<Vec<_>>();
        rows.extend(named.into_iter().chain(left_out.iter().map(|&i| line_row(&scene.lines[i], dashes(0)))));
        if !scene.functions.is_empty() {
            rows.push(Row::Gap);
            rows.push(Row::Heading("functions (area: share)"));
        }
        rows.extend(scene.functions.iter().map(|f| Row::Function {
            marker: f.marker,
            name: f.name.clone(),
            share: f.share,
        }));
        Panel { rows }
    }

    pub(super) fn width(&self) -> f64 {
        self.rows.iter().map(Row::width).fold(0.0, f64::max).min(WIDEST)
    }

    pub(super) fn height(&self) -> f64 {
        self.rows.iter().map(Row::height).sum()
    }

    pub(super) fn draw(&self, x: f64, top: f64) -> Group {
        let mut y = top;
        let mut group = Group::new();
        for row in &self.rows {
            group = draw_row(group, row, x, y + FONT_SIZE);
            y += row.height();
        }
        group
    }
}

fn line_row(seen: &Seen, dashes: &'static str) -> Row {
    Row::Line { color: line_color(seen), dashes, name: printable(&seen.line.name) }
}

fn draw_row(group: Group, row: &Row, x: f64, base: f64) -> Group {
    let middle = base - 4.0;
    match row {
        Row::Gap => group,
        Row::Heading(heading) => {
            group.add(with(with(text(*heading, (x, base), "start"), "font-size", px(SMALL)), "fill", GRAY))
        }
        Row::Group { color, name } => {
            let disc = Circle::new().set("cx", px(x + 12.0)).set("cy", px(middle)).set("r", 5).set("fill", *color);
            group.add(disc).add(shortened(name, x + INDENT, base, 0))
        }
        Row::Line { color, dashes, name } => {
            let line = stroke((x, middle), (x + 24.0, middle));
            let line = line.set("stroke", *color).set("stroke-width", 2).set("stroke-dasharray", *dashes);
            group.add(line).add(shortened(name, x + INDENT, base, 0))
        }
        Row::Function { marker, name, share } => {
            let share = human::share(*share);
            let letter = with(text(marker.to_string(), (x + 12.0, base), "middle"), "font-weight", "bold");
            let name = shortened(name, x + INDENT, base, share.len() + 1);
            group.add(letter).add(name).add(text(share, (x + WIDEST - EDGE, base), "end"))
        }
    }
}

/// A name that leaves room for `reserved` letters; in full as tooltip.
fn shortened(name: &str, x: f64, base: f64, reserved: usize) -> Group {
    let room = letters(WIDEST - INDENT - EDGE, FONT_SIZE) - reserved;
    Group::new().add(Title::new(name)).add(text(names::shorten(name, room), (x, base), "start"))
}
