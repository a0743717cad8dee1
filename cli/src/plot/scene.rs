//! What of a chart can be seen, where, and what has to be said about the rest.
//!
//! Takes a [`Chart`], gives lines, dots (the largest first) and marks inside the frame in the unit square (y upwards),
//! the functions that the dots belong to (the largest share first), and remarks on what is not where its values are.

use std::collections::BTreeSet;

use super::chart::{Chart, Dot, Line, LineKind, Mark};
use super::scale::Scale;
use super::text::printable;
use super::trace::{Piece, Point, trace};

/// Rounding of a logarithm may move a dot on a bound of its axis out by this much.
const ROUNDING: f64 = 1e-9;

/// A line of which something is inside the frame.
pub(super) struct Seen<'a> {
    pub line: &'a Line,
    pub pieces: Vec<Piece>,
    /// Index into a palette: that of the line's group, otherwise one per curve. Roofs of no group have none.
    pub color: Option<usize>,
}

/// A dot inside the frame.
pub(super) struct Placed<'a> {
    pub dot: &'a Dot,
    pub at: Point,
    /// Its x is infinite.
    pub beyond: bool,
    /// Index into the functions.
    pub function: usize,
}

/// What the dots of one name and marker have in common.
pub(super) struct Function {
    pub name: String,
    pub marker: char,
    /// The largest of its dots.
    pub share: f64,
}

pub(super) struct Scene<'a> {
    pub x: Scale,
    pub y: Scale,
    pub lines: Vec<Seen<'a>>,
    pub dots: Vec<Placed<'a>>,
    /// Those with a dot that is drawn or outside the axes.
    pub functions: Vec<Function>,
    /// With their x.
    pub marks: Vec<(f64, &'a Mark)>,
    outside: Outside<'a>,
}

#[derive(Default)]
struct Outside<'a> {
    lines: Vec<&'a Line>,
    dots: Vec<&'a Dot>,
    marks: Vec<&'a Mark>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(chart: &'a Chart) -> Self {
        let (x, y) = (Scale::new(&chart.x), Scale::new(&chart.y));
        let mut scene = Scene {
            x,
            y,
            lines: Vec::new(),
            dots: Vec::new(),
            functions: Vec::new(),
            marks: Vec::new(),
            outside: Outside::default(),
        };
        scene.add_lines(chart);
        scene.add_dots(chart);
        scene.add_marks(chart);
        scene
    }

    fn add_lines(&mut self, chart: &'a Chart) {
        let mut curves = 0..;
        for line in &chart.lines {
            let group = group_of(line, &chart.groups);
            let color = if line.kind == LineKind::Curve { group.or(curves.next()) } else { group };
            let pieces = trace(line, &self.x, &self.y);
            if pieces.is_empty() {
                self.outside.lines.push(line);
            } else {
                self.lines.push(Seen { line, pieces, color });
            }
        }
    }

    fn add_dots(&mut self, chart: &'a Chart) {
        let counts = |d: &&Dot| d.share > 0.0 && !d.x.is_nan() && !d.y.is_nan();
        let mut dots: Vec<&Dot> = chart.dots.iter().filter(counts).collect();
        dots.sort_by(|a, b| b.share.total_cmp(&a.share));
        let keys = self.add_functions(&dots);
        for dot in dots {
            let beyond = dot.x == f64::INFINITY;
            let at = (if beyond { 1.0 } else { self.x.position_of(dot.x) }, self.y.position_of(dot.y));
            let function = keys.iter().position(|key| *key == key_of(dot));
            match (inside(at.0), inside(at.1), function) {
                (Some(x), Some(y), Some(function)) => self.dots.push(Placed { dot, at: (x, y), beyond, function }),
                _ => self.outside.dots.push(dot),
            }
        }
    }

    /// Gives name and marker of each function, in their order.
    fn add_functions<'d>(&mut self, dots: &[&'d Dot]) -> Vec<(char, &'d str)> {
        let mut seen = BTreeSet::new();
        let first: Vec<&Dot> = dots.iter().copied().filter(|d| seen.insert(key_of(d))).collect();
        let function = |d: &&Dot| Function { name: printable(&d.name), marker: marker(d), share: d.share.min(1.0) };
        self.functions = first.iter().map(function).collect();
        first.into_iter().map(key_of).collect()
    }

    fn add_marks(&mut self, chart: &'a Chart) {
        for mark in &chart.marks {
            match inside(self.x.position_of(mark.x)) {
                Some(x) => self.marks.push((x, mark)),
                None => self.outside.marks.push(mark),
            }
        }
    }

    /// Sentences on dots at the right edge and on all that is outside the axes; `tag` names a dot.
    pub(super) fn remarks(&self, tag: impl Fn(&Dot) -> String) -> Vec<String> {
        let tags = |mut dots: Vec<&Dot>| -> Vec<String> {
            dots.sort_by_key(|d| (d.marker, d.group));
            dots.into_iter().map(&tag).collect()
        };
        let beyond = tags(self.dots.iter().filter(|p| p.beyond).map(|p| p.dot).collect());
        let mut outside = tags(self.outside.dots.clone());
        outside.extend(self.outside.lines.iter().map(|l| printable(&l.name)));
        outside.extend(self.outside.marks.iter().map(|m| printable(&m.label)));
        [("at the right edge, as there is no traffic", beyond), ("outside the axes", outside)]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("{what}: {}", names.join(", ")))
            .collect()
    }
}

fn inside(at: f64) -> Option<f64> {
    (-ROUNDING..=1.0 + ROUNDING).contains(&at).then(|| at.clamp(0.0, 1.0))
}

fn key_of(dot: &Dot) -> (char, &str) {
    (dot.marker, &dot.name)
}

/// The letter of a dot; what cannot be seen or printed becomes a bullet.
pub(super) fn marker(dot: &Dot) -> char {
    if dot.marker.is_whitespace() || crate::shared::printable::controls(dot.marker) { '•' } else { dot.marker }
}

/// The group that gives a line its colour: that with the longest name that the line's name is or begins with.
fn group_of(line: &Line, groups: &[String]) -> Option<usize> {
    let belongs = |group: &String| {
        let rest = line.name.strip_prefix(group.as_str());
        !group.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    (0..groups.len()).filter(|&i| belongs(&groups[i])).max_by_key(|&i| groups[i].len())
}
