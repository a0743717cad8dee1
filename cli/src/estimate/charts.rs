//! The roofline of a machine as a chart.

use super::line::Line;
use super::view::{View, link_name};
use super::workload::{Kind, short};
use crate::plot::{self, Axis, Chart, Dot, Unit};

/// Functions in a roofline: more would hide each other.
const MOST: usize = 12;

/// Roofs of the machine, and for each function (or the program, if there is none) a dot per level at its intensity
/// there and the rate that the estimate allows.
#[must_use]
pub fn roofline(view: &View, lines: &[Line], unit: &str) -> Chart {
    let rate = view.rate();
    let mut roofs = vec![plot::Line::ceiling(format!("{} compute", view.kind), rate)];
    let groups: Vec<String> = (0..view.links.len()).map(|i| link_name(view, i)).collect();
    for (link, name) in view.links.iter().zip(&groups) {
        roofs.push(plot::Line::slope(name.clone(), link.link.bandwidth, rate));
    }
    let parts: Vec<&Line> =
        lines.iter().filter(|l| l.workload.kind != Kind::Program && l.work > 0.0 && l.estimate.total > 0.0).collect();
    let shown = if parts.is_empty() { lines.iter().take(1).collect() } else { parts };
    let mut dots = Vec::new();
    for (line, marker) in shown.into_iter().take(MOST).zip('a'..) {
        let y = line.work / line.estimate.total;
        for (group, intensity) in line.estimate.intensities.iter().enumerate() {
            let (name, share) = (short(&line.workload.name).to_owned(), line.share);
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
