//! Names inside the chart: of roofs along them, of functions at their dots.
//!
//! Takes the scene, places names where there is room, the ones of larger shares first. A function without room for its
//! name gets its letter; roofs without room are handed back.

use svg::node::element::{Element, Group};

use super::super::chart::LineKind;
use super::super::label::{Rect, Space};
use super::super::scene::{Scene, Seen};
use super::super::text::printable;
use super::super::trace::Point;
use super::dots::Shape;
use super::pen::{FONT_SIZE, Frame, GRAY, LEFT, SMALL, length, line_color, px, rim, stroke, text, with};
use crate::shared::names;

/// From a line to the middle of the name along it.
const OFF_LINE: f64 = 10.0;
/// From the frame, for the rims of the letters.
const RIM: f64 = 3.0;
/// From the middle of a letter down to its base.
const BASE: f64 = 4.0;
const ROW: f64 = 14.0;
/// Between names beside each other.
const APART: f64 = 6.0;
/// Rows that a name may be away from its dot.
const FARTHEST: i32 = 6;
/// Names in the chart; the list has more of them.
const NAME_LETTERS: usize = 24;

pub(super) struct Labels {
    texts: Vec<Element>,
    leaders: Vec<(Point, Point)>,
    /// Indices of roofs without a name.
    pub left_out: Vec<usize>,
}

impl Labels {
    pub(super) fn place(scene: &Scene, shapes: &[Shape], frame: Frame) -> Self {
        let inside =
            Rect { left: LEFT + RIM, top: frame.top + RIM, right: frame.right() - RIM, bottom: frame.bottom() - RIM };
        let mut space = Space::new(inside);
        for shape in shapes {
            space.add_solid(Rect::around(shape.center, shape.radius));
        }
        for seen in &scene.lines {
            space.add_line(segments(seen, frame).into_iter().flat_map(|(a, b)| along(a, b)));
        }
        for &(x, _) in &scene.marks {
            space.add_line(along(frame.at((x, 0.0)), frame.at((x, 1.0))));
        }
        let mut labels = Labels { texts: Vec::new(), leaders: Vec::new(), left_out: Vec::new() };
        labels.roofs(scene, frame, &mut space);
        labels.functions(scene, shapes, &mut space);
        labels
    }

    fn roofs(&mut self, scene: &Scene, frame: Frame, space: &mut Space) {
        for (i, seen) in scene.lines.iter().enumerate().filter(|(_, s)| s.line.kind == LineKind::Roof) {
            let name = names::shorten(&printable(&seen.line.name), 2 * NAME_LETTERS);
            let size = length(&name, SMALL);
            let places: Vec<Along> = segments(seen, frame).into_iter().flat_map(|s| places_along(s, size)).collect();
            match space.take(&places, |place| place.cover(size)) {
                Some(place) => self.texts.push(with(place.text(&name), "fill", line_color(seen))),
                None => self.left_out.push(i),
            }
        }
    }

    fn functions(&mut self, scene: &Scene, shapes: &[Shape], space: &mut Space) {
        for (i, function) in scene.functions.iter().enumerate() {
            let mut dots: Vec<&Shape> = shapes.iter().filter(|s| s.placed.function == i).collect();
            dots.sort_by(|a, b| a.center.0.total_cmp(&b.center.0));
            for name in [names::shorten(&function.name, NAME_LETTERS), function.marker.to_string()] {
                let places = places_beside(&dots);
                let size = length(&name, FONT_SIZE);
                if let Some(place) = space.take(&places, |place| vec![place.cover(size)]) {
                    self.leaders.extend(place.leader());
                    self.texts.push(text(name, (place.x, place.middle + BASE), place.anchor.name()));
                    break;
                }
            }
        }
    }

    pub(super) fn draw(self) -> Group {
        let leaders = Group::new().set("stroke", GRAY).set("stroke-width", 0.7);
        let leaders = self.leaders.into_iter().fold(leaders, |group, (a, b)| group.add(stroke(a, b)));
        Group::new().add(leaders).add(self.texts.into_iter().fold(rim(), Group::add))
    }
}

fn segments(seen: &Seen, frame: Frame) -> Vec<(Point, Point)> {
    let pairs = seen.pieces.iter().flat_map(|piece| piece.windows(2));
    pairs.map(|pair| (frame.at(pair[0]), frame.at(pair[1]))).collect()
}

/// Small squares that cover a segment.
fn along(a: Point, b: Point) -> Vec<Rect> {
    const STEP: f64 = 4.0;
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let steps = (dx.hypot(dy) / STEP).ceil().max(1.0);
    let at = |i: usize| (a.0 + dx * i as f64 / steps, a.1 + dy * i as f64 / steps);
    (0..=steps as usize).map(|i| Rect::around(at(i), 1.5)).collect()
}

/// A place for a name along a segment.
#[derive(Clone, Copy)]
struct Along {
    /// Left end of the middle line of the name.
    start: Point,
    /// Of length 1.
    direction: Point,
}

impl Along {
    fn cover(&self, size: f64) -> Vec<Rect> {
        const HALF: f64 = 5.0;
        let count = (size / (2.0 * HALF)).ceil() as usize;
        let step = |i: usize| (HALF + 2.0 * HALF * i as f64).min(size - HALF).max(0.0);
        let at = |d: f64| (self.start.0 + self.direction.0 * d, self.start.1 + self.direction.1 * d);
        (0..count).map(|i| Rect::around(at(step(i)), HALF)).collect()
    }

    fn text(&self, name: &str) -> Element {
        let angle = self.direction.1.atan2(self.direction.0).to_degrees();
        let turn = format!("translate({} {}) rotate({})", px(self.start.0), px(self.start.1), px(angle));
        with(with(text(name, (0.0, BASE), "start"), "transform", turn), "font-size", px(SMALL))
    }
}

/// Places on both sides of a segment: from the left end, for a level one from the right end.
fn places_along((a, b): (Point, Point), size: f64) -> Vec<Along> {
    const STEP: f64 = 12.0;
    const FROM_END: f64 = 8.0;
    let (a, b) = if a.0 <= b.0 { (a, b) } else { (b, a) };
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let whole = dx.hypot(dy);
    let last = whole - size - FROM_END;
    if last < FROM_END {
        return Vec::new();
    }
    let direction = (dx / whole, dy / whole);
    let mut starts: Vec<f64> = (0..).map(|i| FROM_END + STEP * f64::from(i)).take_while(|&d| d <= last).collect();
    if dy == 0.0 {
        starts.push(last);
        starts.reverse();
    }
    let place = |d: f64, side: f64| Along {
        start: (
            a.0 + direction.0 * d + direction.1 * OFF_LINE * side,
            a.1 + direction.1 * d - direction.0 * OFF_LINE * side,
        ),
        direction,
    };
    let above = starts.iter().map(|&d| place(d, 1.0));
    above.chain(starts.iter().map(|&d| place(d, -1.0))).collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A place for a name at a dot.
#[derive(Clone, Copy)]
struct Beside {
    x: f64,
    /// Of the letters.
    middle: f64,
    anchor: Anchor,
    dot: Point,
    rows: i32,
}

impl Beside {
    fn cover(&self, size: f64) -> Rect {
        let left = match self.anchor {
            Anchor::Start => self.x,
            Anchor::Middle => self.x - size / 2.0,
            Anchor::End => self.x - size,
        };
        let (left, right) = (left - APART / 2.0, left + size + APART / 2.0);
        Rect { left, top: self.middle - ROW / 2.0, right, bottom: self.middle + ROW / 2.0 }
    }

    /// A line from the dot to a name too far away to be taken for its own.
    fn leader(&self) -> Option<(Point, Point)> {
        let end = (self.x + if self.anchor == Anchor::Start { -2.0 } else { 2.0 }, self.middle);
        (self.rows.abs() > 1).then_some((self.dot, end))
    }
}

/// Places at the dots of a function, the nearest first.
fn places_beside(dots: &[&Shape]) -> Vec<Beside> {
    const GAP: f64 = 4.0;
    let mut places = Vec::new();
    for rows in (0..=FARTHEST).flat_map(|n| [-n, n]) {
        for &&Shape { center: dot, radius: r, .. } in dots {
            let middle = dot.1 + ROW * f64::from(rows);
            let aside = r + GAP + if rows.abs() > 1 { 8.0 } else { 0.0 };
            let beside = |x: f64, anchor: Anchor| Beside { x, middle, anchor, dot, rows };
            places.push(beside(dot.0 + aside, Anchor::Start));
            places.push(beside(dot.0 - aside, Anchor::End));
            if rows.abs() == 1 {
                let middle = dot.1 + f64::from(rows) * (r + GAP + ROW / 2.0);
                places.push(Beside { middle, ..beside(dot.0, Anchor::Middle) });
            }
        }
    }
    places
}
