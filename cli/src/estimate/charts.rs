//! Charts of estimates: the roofline of a machine, and curves of traffic.

use super::curve::{self, Mark};
use super::roofline::{Line, link_name};
use super::subject::{Kind, Subject, short};
use super::view::View;
use crate::plot::{self, Axis, Chart, Dot, LineKind, Unit};

/// Functions in a roofline: more would hide each other.
const MOST: usize = 12;

/// Roofs of the machine, and for each function (or the program, if there is none) a dot per level at its intensity there and the
/// rate that the estimate allows.
#[must_use]
pub fn roofline(view: &View, lines: &[Line], unit: &str) -> Chart {
    let rate = view.rate();
    let mut roofs = vec![plot::Line::ceiling(format!("{} compute", view.kind), rate)];
    let groups: Vec<String> = (0..view.links.len()).map(|i| link_name(view, i)).collect();
    for (link, name) in view.links.iter().zip(&groups) {
        roofs.push(plot::Line::slope(name.clone(), link.link.bandwidth, rate));
    }
    let parts: Vec<&Line> = lines.iter().filter(|l| l.subject.kind != Kind::Program && l.work > 0.0).collect();
    let shown = if parts.is_empty() { lines.iter().take(1).collect() } else { parts };
    let mut dots = Vec::new();
    for (line, marker) in shown.into_iter().take(MOST).zip('a'..) {
        let y = line.work / line.estimate.total;
        for (group, intensity) in line.estimate.intensities.iter().enumerate() {
            let (name, share) = (short(&line.subject.name).to_owned(), line.share);
            dots.extend(intensity.map(|x| Dot { name, x, y, share, group, marker }));
        }
    }
    let mut chart = Chart {
        title: format!("Roofline of {}", view.machine.title),
        x: Axis { label: format!("{unit} per byte that a link brings"), unit: Unit::OpsPerByte, min: 1.0, max: 10.0 },
        y: Axis { label: format!("estimated {unit}"), unit: Unit::PerSecond, min: 1.0, max: 10.0 },
        lines: roofs,
        dots,
        marks: Vec::new(),
        groups,
    };
    chart.fit_axes();
    chart
}

/// Traffic over capacity, one curve per subject, with the capacities of machines marked.
#[must_use]
pub fn traffic(subjects: &[&Subject], marks: &[Mark], unit: u64) -> Chart {
    let line = |subject: &&Subject| plot::Line {
        name: short(&subject.name).to_owned(),
        points: curve::steps(subject, marks, unit)
            .into_iter()
            .filter(|(capacity, _)| *capacity > 0)
            .map(|(capacity, traffic)| (capacity as f64, traffic as f64))
            .collect(),
        kind: LineKind::Curve,
    };
    let moved = |subject: &&Subject| plot::Line {
        name: format!("{}, lines moved", short(&subject.name)),
        points: curve::moved_steps(subject, marks, unit)
            .into_iter()
            .map(|(z, moved)| (z as f64, moved as f64))
            .collect(),
        kind: LineKind::Curve,
    };
    let with_lines = subjects.iter().filter(|subject| subject.has_lines());
    let mut chart = Chart {
        title: "Traffic: bytes read from deeper than a capacity".into(),
        x: Axis { label: "capacity Z".into(), unit: Unit::BinaryBytes, min: 1.0, max: 2.0 },
        y: Axis { label: "traffic Q(Z)".into(), unit: Unit::Bytes, min: 1.0, max: 10.0 },
        lines: subjects.iter().map(line).chain(with_lines.map(moved)).collect(),
        dots: Vec::new(),
        marks: marks.iter().map(|m| plot::Mark { x: m.capacity as f64, label: m.text.clone() }).collect(),
        groups: Vec::new(),
    };
    chart.fit_axes();
    chart
}
