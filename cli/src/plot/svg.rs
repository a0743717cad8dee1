//! A chart as SVG.
//!
//! Takes a [`Chart`], gives a file. Text stays text in whatever sans-serif font the viewer has; its extent is
//! estimated, on the wide side, to keep labels apart. Coordinates are rounded to a tenth of a unit, which makes them
//! the same everywhere.

mod dots;
mod labels;
mod panel;
mod pen;

use svg::Document;
use svg::node::element::path::Data;
use svg::node::element::{Group, Path, Rectangle, Title};

use self::labels::Labels;
use self::panel::Panel;
use self::pen::{
    EDGE, FONT, FONT_SIZE, Frame, GRAY, HEIGHT, INK, LEFT, LINE, SMALL, TITLE_SIZE, WIDTH, dashes, group_name, length,
    letters, line_color, px, rim, stroke, text, with,
};
use super::chart::{Chart, Dot, LineKind};
use super::scale::caption;
use super::scene::{Scene, Seen, marker};
use super::stagger::{self, Span};
use super::text::{printable, wrap};
use crate::shared::names;

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

fn remarks(chart: &Chart, scene: &Scene, width: f64) -> Vec<String> {
    let tag = |dot: &Dot| format!("{}{}", marker(dot), group_name(chart, dot.group));
    let wide = letters(width - 2.0 * EDGE, SMALL);
    scene.remarks(tag).iter().flat_map(|remark| wrap(remark, wide)).collect()
}
