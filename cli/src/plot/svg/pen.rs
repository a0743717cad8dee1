//! What all parts of the picture are drawn with: colours, sizes, the area of the chart, texts and strokes.

use svg::{
    Node,
    node::{
        Value,
        element::{Element, Group, Line as Stroke, Text},
    },
};

use super::super::{chart::Chart, scene::Seen, text::printable, trace::Point};

/// Okabe and Ito, "Color universal design", 2008, without its yellow and black; then two darker ones.
pub(super) const COLORS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#555555"];
pub(super) const INK: &str = "#222222";
pub(super) const GRAY: &str = "#666666";
pub(super) const ROOF: &str = "#444444";
pub(super) const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];
pub(super) const FONT: &str = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
pub(super) const FONT_SIZE: f64 = 12.0;
pub(super) const SMALL: f64 = 11.0;
pub(super) const TITLE_SIZE: f64 = 16.0;
pub(super) const LEFT: f64 = 84.0;
pub(super) const WIDTH: f64 = 660.0;
pub(super) const HEIGHT: f64 = 450.0;
pub(super) const EDGE: f64 = 20.0;
/// From one line of small text to the next.
pub(super) const LINE: f64 = 15.0;

/// The area inside the axes, in units of the file (y downwards).
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) top: f64,
}

impl Frame {
    pub(super) fn bottom(&self) -> f64 {
        self.top + HEIGHT
    }

    pub(super) fn right(&self) -> f64 {
        LEFT + WIDTH
    }

    pub(super) fn at(&self, (x, y): Point) -> Point {
        (LEFT + x * WIDTH, self.bottom() - y * HEIGHT)
    }
}

/// Length of a text, estimated: wide letters of a wide font.
pub(super) fn length(text: &str, size: f64) -> f64 {
    const LETTER: f64 = 0.6;
    text.chars().map(|c| if c.is_ascii() { LETTER } else { 2.0 * LETTER }).sum::<f64>() * size
}

/// How many letters fit.
pub(super) fn letters(width: f64, size: f64) -> usize {
    (width / length("n", size)) as usize
}

/// A coordinate, to a tenth.
pub(super) fn px(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    // Minus zero is zero.
    format!("{}", tenths + 0.0)
}

pub(super) fn color(index: usize) -> &'static str {
    COLORS[index % COLORS.len()]
}

/// As a plain element, since one of the type [`Text`] would be written with line breaks around the content.
pub(super) fn text(content: impl Into<String>, (x, y): Point, anchor: &str) -> Element {
    Text::new(content).set("x", px(x)).set("y", px(y)).set("text-anchor", anchor).into()
}

pub(super) fn with(mut element: Element, name: &str, value: impl Into<Value>) -> Element {
    element.assign(name, value);
    element
}

pub(super) fn stroke(from: Point, to: Point) -> Stroke {
    Stroke::new().set("x1", px(from.0)).set("y1", px(from.1)).set("x2", px(to.0)).set("y2", px(to.1))
}

/// For texts that may cross a line: a rim of the colour of the paper keeps them readable.
pub(super) fn rim() -> Group {
    Group::new()
        .set("paint-order", "stroke")
        .set("stroke", "#ffffff")
        .set("stroke-width", 3)
        .set("stroke-linejoin", "round")
}

pub(super) fn line_color(seen: &Seen) -> &'static str {
    seen.color.map_or(ROOF, color)
}

/// Curves differ in their dashes too, for those who see or print no colours.
pub(super) fn dashes(curve: usize) -> &'static str {
    DASHES[curve % DASHES.len()]
}

/// ` (L1)`; nothing for a group without a name.
pub(super) fn group_name(chart: &Chart, group: usize) -> String {
    chart.groups.get(group).map_or(String::new(), |name| format!(" ({})", printable(name)))
}
