//! The dots of a chart as shapes.
//!
//! Takes the scene, gives discs, and triangles at the right edge that point on. Dots of one function at one place share
//! it, so that each group stays in sight: discs are cut into slices. Triangles stand in a row, those of different
//! functions too, as far as a part of the chart has room for them.

use svg::node::element::{Circle, Group, Path, Title};

use super::super::chart::Chart;
use super::super::scale::value;
use super::super::scene::{Placed, Scene};
use super::super::text::printable;
use super::super::trace::Point;
use super::pen::{Frame, LEFT, color, group_name, px, stroke};
use crate::shared::human;

/// Radius of a dot with a share of 1; the area goes with the share.
const LARGEST: f64 = 22.0;
/// Smaller ones could not be seen or hovered over.
const SMALLEST: f64 = 3.0;

/// Of the chart's width, for triangles at its right edge.
const ROW_SHARE: f64 = 0.4;

pub(super) struct Shape<'a> {
    pub placed: &'a Placed<'a>,
    pub center: Point,
    pub radius: f64,
    /// This one, of so many at the place.
    slice: (usize, usize),
}

pub(super) fn shapes<'a>(scene: &'a Scene, frame: Frame) -> Vec<Shape<'a>> {
    let mut shapes: Vec<Shape> = Vec::new();
    let room = ROW_SHARE * (frame.right() - LEFT);
    for placed in &scene.dots {
        let (x, y) = frame.at(placed.at);
        let radius = (LARGEST * placed.dot.share.min(1.0).sqrt()).max(SMALLEST);
        let together = |other: &Placed| {
            let (ox, oy) = frame.at(other.at);
            let same = other.function == placed.function && other.beyond == placed.beyond;
            same && (ox - x).abs() < 1.0 && (oy - y).abs() < 1.0
        };
        let before = shapes.iter().filter(|s| together(s.placed)).count();
        let all = scene.dots.iter().filter(|other| together(other)).count();
        let taken: f64 = shapes
            .iter()
            .filter(|s| s.placed.beyond && (s.center.1 - y).abs() < s.radius + radius)
            .map(|s| 2.0 * s.radius)
            .sum();
        let left = if placed.beyond { radius + taken.min(room) } else { 0.0 };
        shapes.push(Shape { placed, center: (x - left, y), radius, slice: (before, all) });
    }
    shapes
}

pub(super) fn draw(chart: &Chart, scene: &Scene, shapes: &[Shape]) -> Group {
    let mut ways = Group::new().set("stroke", "#bbbbbb");
    for function in 0..scene.functions.len() {
        let own = shapes.iter().filter(|s| s.placed.function == function);
        let mut centers: Vec<Point> = own.map(|s| s.center).collect();
        centers.sort_by(|a, b| a.0.total_cmp(&b.0));
        ways = centers.windows(2).fold(ways, |ways, pair| ways.add(stroke(pair[0], pair[1])));
    }
    let group = Group::new().set("fill-opacity", 0.85).set("stroke", "#ffffff").set("stroke-width", 0.8);
    Group::new().add(ways).add(shapes.iter().fold(group, |group, shape| group.add(dot(chart, shape))))
}

fn dot(chart: &Chart, shape: &Shape) -> Group {
    let group = Group::new()
        .set("class", "dot")
        .set("fill", color(shape.placed.dot.group))
        .add(Title::new(tooltip(chart, shape.placed)));
    let (x, y) = shape.center;
    match (shape.placed.beyond, shape.slice) {
        (true, _) => group.add(Path::new().set("d", triangle(shape))),
        (false, (_, 1)) => group.add(Circle::new().set("cx", px(x)).set("cy", px(y)).set("r", px(shape.radius))),
        (false, (index, of)) => group.add(Path::new().set("d", slice(shape, index, of))),
    }
}

fn triangle(&Shape { center: (x, y), radius: r, .. }: &Shape) -> String {
    format!("M{},{} L{},{} L{},{} Z", px(x + r), px(y), px(x - r), px(y + r), px(x - r), px(y - r))
}

/// Slice `index` of a disc cut into `of`, clockwise from the top.
fn slice(&Shape { center: (x, y), radius: r, .. }: &Shape, index: usize, of: usize) -> String {
    let edge = |i: usize| {
        let (sine, cosine) = (std::f64::consts::TAU * i as f64 / of as f64).sin_cos();
        format!("{},{}", px(x + r * sine), px(y - r * cosine))
    };
    let r = px(r);
    format!("M{},{} L{} A{r},{r} 0 0 1 {} Z", px(x), px(y), edge(index), edge(index + 1))
}

fn tooltip(chart: &Chart, placed: &Placed) -> String {
    let dot = placed.dot;
    let x = if placed.beyond { "no traffic".into() } else { value(chart.x.unit, dot.x) };
    let name = printable(&dot.name) + &group_name(chart, dot.group);
    format!("{name}: {x}, {}, {}", value(chart.y.unit, dot.y), human::share(dot.share.min(1.0)))
}
