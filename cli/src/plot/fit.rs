//! Bounds for the axes of a chart.
//!
//! Takes the data of a [`Chart`], sets its axes to the enclosing powers. Data without a logarithm does not count.

use super::chart::{Axis, Chart, Line, LineKind, Unit};

/// Factor by which a dot reaches to each side, so that none is drawn across the frame.
const ROOM: f64 = 1.25;

pub(super) fn fit(chart: &mut Chart) {
    let dots = || chart.dots.iter().filter(|d| d.share > 0.0);
    let corners: Vec<(f64, f64)> = chart.lines.iter().flat_map(corners).collect();
    let around = |v: f64| [v / ROOM, v * ROOM];
    let xs = corners.iter().map(|p| p.0).chain(chart.marks.iter().map(|m| m.x));
    let xs: Vec<f64> = xs.chain(dots().flat_map(|d| around(d.x))).collect();
    let ys: Vec<f64> = corners.iter().map(|p| p.1).chain(dots().flat_map(|d| around(d.y))).collect();
    enclose(&mut chart.x, &xs);
    enclose(&mut chart.y, &ys);
}

/// The points of a line that must be in sight. The ends of a roof may be anywhere, so only its ridge counts: the
/// leftmost of its highest points.
fn corners(line: &Line) -> Vec<(f64, f64)> {
    match line.kind {
        LineKind::Curve => line.points.clone(),
        LineKind::Roof => {
            let highest = line.points.iter().filter(|p| p.1.is_finite()).map(|p| p.1).fold(0.0, f64::max);
            line.points.iter().find(|p| p.1 == highest).copied().into_iter().collect()
        }
    }
}

fn enclose(axis: &mut Axis, values: &[f64]) {
    // The limits keep the bounds, and their powers, normal numbers.
    let (base, limit): (f64, f64) = if axis.unit == Unit::BinaryBytes { (2.0, 1020.0) } else { (10.0, 307.0) };
    let logarithms = || values.iter().filter(|v| v.is_normal() && **v > 0.0).map(|v| v.log(base));
    let (low, high) = (logarithms().fold(f64::INFINITY, f64::min), logarithms().fold(f64::NEG_INFINITY, f64::max));
    (axis.min, axis.max) = if low > high {
        (1.0, 10.0)
    } else {
        let low = exact(low).floor().clamp(-limit, limit - 1.0);
        (base.powf(low), base.powf(exact(high).ceil().clamp(low + 1.0, limit)))
    };
}

/// A logarithm that is a whole number but for rounding is that number.
fn exact(logarithm: f64) -> f64 {
    let whole = logarithm.round();
    if (logarithm - whole).abs() < 1e-9 { whole } else { logarithm }
}
