//! A chart as SVG.
//!
//! Takes a [`Chart`], gives a file. Text stays text in whatever sans-serif font the viewer has; its extent is estimated, on the
//! wide side, to keep labels apart. Coordinates are rounded to a tenth of a unit, which makes them the same everywhere.

mod dots;
mod labels;
mod panel;

use svg::Document;
use svg::node::element::path::Data;
use svg::node::element::{Element, Group, Line as Stroke, Path, Rectangle, Text, Title};
use svg::node::{Node, Value};

use self::labels::Labels;
use self::panel::Panel;
use super::scale::caption;
use super::scene::{Scene, Seen, marker};
use super::stagger::{self, Span};
use super::text::{printable, wrap};
use super::trace::Point;
use super::{Chart, Dot, LineKind};
use crate::shared::names;

/// Okabe and Ito, "Color universal design", 2008, without its yellow and black; then two darker ones.
const COLORS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#555555"];
const INK: &str = "#222222";
const GRAY: &str = "#666666";
const ROOF: &str = "#444444";
const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];
const FONT: &str = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
const FONT_SIZE: f64 = 12.0;
const SMALL: f64 = 11.0;
const TITLE_SIZE: f64 = 16.0;

const LEFT: f64 = 84.0;
const WIDTH: f64 = 660.0;
const HEIGHT: f64 = 450.0;
const EDGE: f64 = 20.0;
/// From one line of small text to the next.
const LINE: f64 = 15.0;

pub(super) fn draw(chart: &Chart) -> String {
    let scene = Scene::new(chart);
    let title = wrap(&printable(&chart.title), letters(WIDTH, TITLE_SIZE));
    let flags = flags(&scene);
    let rows = flags.iter().map(|f| f.row + 1).max().unwrap_or(0);
    let frame = Frame { top: EDGE + 22.0 * title.len() as f64 + LINE * rows as f64 + 6.0 };

    let shapes = dots::shapes(&scene, frame);
    let labels = Labels::place(&scene, &shapes, frame);
    let panel = Panel::new(chart, &scene, &labels.left_out);
    let width = LEFT + WIDTH + EDGE + panel.width();
    let remarks = remarks(chart, &scene, width);
    let below = frame.bottom() + 52.0;
    let height = (below + LINE * remarks.len() as f64 + 8.0).max(frame.top + panel.height() + EDGE);

    let document = Document::new()
        .set("viewBox", format!("0 0 {} {}", px(width), px(height)))
        .set("width", px(width))
        .set("height", px(height))
        .set("role", "img")
        .set("font-family", FONT)
        .set("font-size", px(FONT_SIZE))
        .set("fill", INK)
        .add(Title::new(printable(&chart.title)))
        .add(Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "#ffffff"))
        .add(heading(&title))
        .add(grid(chart, &scene, frame))
        .add(marks(&flags, frame))
        .add(lines(&scene, frame))
        .add(dots::draw(chart, &scene, &shapes))
        .add(labels.draw())
        .add(panel.draw(LEFT + WIDTH + EDGE, frame.top))
        .add(small_lines(&remarks, EDGE, below));
    format!("{document}\n")
}

/// The area inside the axes, in units of the file (y downwards).
#[derive(Clone, Copy)]
struct Frame {
    top: f64,
}

impl Frame {
    fn bottom(&self) -> f64 {
        self.top + HEIGHT
    }

    fn right(&self) -> f64 {
        LEFT + WIDTH
    }

    fn at(&self, (x, y): Point) -> Point {
        (LEFT + x * WIDTH, self.bottom() - y * HEIGHT)
    }
}

/// Length of a text, estimated: wide letters of a wide font.
fn length(text: &str, size: f64) -> f64 {
    const LETTER: f64 = 0.6;
    text.chars().map(|c| if c.is_ascii() { LETTER } else { 2.0 * LETTER }).sum::<f64>() * size
}

/// How many letters fit.
fn letters(width: f64, size: f64) -> usize {
    (width / length("n", size)) as usize
}

/// A coordinate, to a tenth.
fn px(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    // Minus zero is zero.
    format!("{}", tenths + 0.0)
}

fn color(index: usize) -> &'static str {
    COLORS[index % COLORS.len()]
}

/// As a plain element, since one of the type [`Text`] would be written with line breaks around the content.
fn text(content: impl Into<String>, (x, y): Point, anchor: &str) -> Element {
    Text::new(content).set("x", px(x)).set("y", px(y)).set("text-anchor", anchor).into()
}

fn with(mut element: Element, name: &str, value: impl Into<Value>) -> Element {
    element.assign(name, value);
    element
}

fn stroke(from: Point, to: Point) -> Stroke {
    Stroke::new().set("x1", px(from.0)).set("y1", px(from.1)).set("x2", px(to.0)).set("y2", px(to.1))
}

/// For texts that may cross a line: a rim of the colour of the paper keeps them readable.
fn rim() -> Group {
    Group::new()
        .set("paint-order", "stroke")
        .set("stroke", "#ffffff")
        .set("stroke-width", 3)
        .set("stroke-linejoin", "round")
}

fn small_lines(lines: &[String], x: f64, y: f64) -> Group {
    let group = Group::new().set("font-size", px(SMALL)).set("fill", GRAY);
    lines.iter().enumerate().fold(group, |group, (i, line)| group.add(text(line, (x, y + LINE * i as f64), "start")))
}

fn heading(title: &[String]) -> Group {
    let group = Group::new().set("font-size", px(TITLE_SIZE)).set("font-weight", "bold");
    let place = |i: usize| (LEFT, EDGE + 12.0 + 22.0 * i as f64);
    title.iter().enumerate().fold(group, |group, (i, line)| group.add(text(line, place(i), "start")))
}

/// Grid, frame, ticks and captions.
fn grid(chart: &Chart, scene: &Scene, frame: Frame) -> Group {
    let (xs, ys) = (scene.x.ticks(letters(WIDTH, FONT_SIZE) / 9), scene.y.ticks((HEIGHT / 30.0) as usize));
    let upright = |x: f64| stroke(frame.at((x, 0.0)), frame.at((x, 1.0)));
    let level = |y: f64| stroke(frame.at((0.0, y)), frame.at((1.0, y)));
    let mut minor = Group::new().set("stroke", "#f0f0f0");
    let mut major = Group::new().set("stroke", "#d8d8d8");
    let mut labels = Group::new();
    for &x in &xs.minor {
        minor = minor.add(upright(x));
    }
    for &y in &ys.minor {
        minor = minor.add(level(y));
    }
    for (x, label) in xs.major {
        major = major.add(upright(x));
        labels = labels.add(text(label, (frame.at((x, 0.0)).0, frame.bottom() + 16.0), "middle"));
    }
    for (y, label) in ys.major {
        major = major.add(level(y));
        labels = labels.add(text(label, (LEFT - 7.0, frame.at((0.0, y)).1 + 4.0), "end"));
    }
    let border = Rectangle::new()
        .set("x", px(LEFT))
        .set("y", px(frame.top))
        .set("width", px(WIDTH))
        .set("height", px(HEIGHT))
        .set("fill", "none")
        .set("stroke", GRAY)
        .set("class", "frame");
    Group::new().add(minor).add(major).add(border).add(labels).add(captions(chart, frame))
}

fn captions(chart: &Chart, frame: Frame) -> Group {
    let middle = frame.top + HEIGHT / 2.0;
    let x = names::shorten(&caption(&chart.x), letters(WIDTH, FONT_SIZE));
    let y = names::shorten(&caption(&chart.y), letters(HEIGHT, FONT_SIZE));
    let turn = format!("rotate(-90 {} {})", px(EDGE + 4.0), px(middle));
    Group::new().add(text(x, (LEFT + WIDTH / 2.0, frame.bottom() + 36.0), "middle")).add(with(
        text(y, (EDGE + 4.0, middle), "middle"),
        "transform",
        turn,
    ))
}

/// The label of a mark, so many rows above the lowest one.
struct Flag {
    x: f64,
    start: f64,
    row: usize,
    text: String,
}

fn flags(scene: &Scene) -> Vec<Flag> {
    let mut flags: Vec<Flag> = scene
        .marks
        .iter()
        .map(|(at, mark)| {
            let text = names::shorten(&printable(&mark.label), letters(WIDTH, SMALL));
            let x = LEFT + at * WIDTH;
            Flag { x, start: (x + 3.0).min(LEFT + WIDTH - length(&text, SMALL)), row: 0, text }
        })
        .collect();
    let span =
        |f: &Flag| Span { mark: f.x, start: f.start - 2.0, end: (f.start + length(&f.text, SMALL)).max(f.x) + 6.0 };
    let rows = stagger::rows(&flags.iter().map(span).collect::<Vec<_>>());
    for (flag, row) in flags.iter_mut().zip(rows) {
        flag.row = row;
    }
    flags
}

fn marks(flags: &[Flag], frame: Frame) -> Group {
    let mut ways = Group::new().set("stroke", "#888888").set("stroke-dasharray", "2 3");
    let mut labels = rim().set("font-size", px(SMALL));
    for flag in flags {
        let base = frame.top - 5.0 - LINE * flag.row as f64;
        ways = ways.add(stroke((flag.x, base + 2.0), (flag.x, frame.bottom())));
        labels = labels.add(text(&flag.text, (flag.start, base), "start"));
    }
    Group::new().add(ways).add(labels)
}

fn lines(scene: &Scene, frame: Frame) -> Group {
    let mut group = Group::new().set("fill", "none").set("stroke-linecap", "round").set("stroke-linejoin", "round");
    let mut curves = 0..;
    for seen in &scene.lines {
        let mut path = Path::new().set("d", outline(seen, frame)).set("stroke", line_color(seen));
        path = match seen.line.kind {
            LineKind::Roof => path.set("stroke-width", 1.6),
            LineKind::Curve => path.set("stroke-width", 2).set("stroke-dasharray", dashes(curves.next().unwrap_or(0))),
        };
        group = group.add(path.add(Title::new(printable(&seen.line.name))));
    }
    group
}

fn line_color(seen: &Seen) -> &'static str {
    seen.color.map_or(ROOF, color)
}

/// Curves differ in their dashes too, for those who see or print no colours.
fn dashes(curve: usize) -> &'static str {
    DASHES[curve % DASHES.len()]
}

fn outline(seen: &Seen, frame: Frame) -> Data {
    let mut data = Data::new();
    for piece in &seen.pieces {
        let tenth = |v: f64| ((v * 10.0).round() / 10.0) as f32;
        let mut points: Vec<(f32, f32)> =
            piece.iter().map(|&p| frame.at(p)).map(|(x, y)| (tenth(x), tenth(y))).collect();
        points.dedup();
        if points.len() == 1 {
            // A line to itself is drawn as a point, a lone start is not.
            points.push(points[0]);
        }
        data = data.move_to(points[0]);
        data = points[1..].iter().fold(data, |data, &point| data.line_to(point));
    }
    data
}

/// ` (L1)`; nothing for a group without a name.
fn group_name(chart: &Chart, group: usize) -> String {
    chart.groups.get(group).map_or(String::new(), |name| format!(" ({})", printable(name)))
}

fn remarks(chart: &Chart, scene: &Scene, width: f64) -> Vec<String> {
    let tag = |dot: &Dot| format!("{}{}", marker(dot), group_name(chart, dot.group));
    let wide = letters(width - 2.0 * EDGE, SMALL);
    scene.remarks(tag).iter().flat_map(|remark| wrap(remark, wide)).collect()
}
