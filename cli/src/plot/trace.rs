//! A line as it is seen: the pieces of it inside the frame.
//!
//! Takes a [`Line`] and the scales, gives polylines in the unit square (y upwards). Points without a place interrupt
//! the line.

use super::chart::{Line, LineKind};
use super::scale::Scale;

pub(super) type Point = (f64, f64);
pub(super) type Piece = Vec<Point>;

pub(super) fn trace(line: &Line, x: &Scale, y: &Scale) -> Vec<Piece> {
    let at = |p: Point| place(p, line.kind, x, y);
    let mut pieces: Vec<Piece> = Vec::new();
    for pair in line.points.windows(2) {
        let on_bottom = pair.iter().all(|p| p.1 == 0.0);
        let (Some(a), Some(b)) = (at(pair[0]), at(pair[1])) else { continue };
        let Some((a, b)) = clip(a, b).filter(|_| !on_bottom) else { continue };
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&a) => piece.push(b),
            _ => pieces.push(vec![a, b]),
        }
    }
    if let [only] = line.points[..] {
        pieces.extend(at(only).and_then(|p| clip(p, p)).map(|(a, b)| vec![a, b]));
    }
    pieces
}

fn place((px, py): Point, kind: LineKind, x: &Scale, y: &Scale) -> Option<Point> {
    let across = match x.position_of(px) {
        f64::NEG_INFINITY => 0.0,
        f64::INFINITY => 1.0,
        at => at,
    };
    let up = match y.position_of(py) {
        f64::NEG_INFINITY if kind == LineKind::Curve => 0.0,
        at => at,
    };
    (across.is_finite() && up.is_finite()).then_some((across, up))
}

/// The part of a segment inside the unit square (Liang and Barsky, "A new concept and method for line clipping", 1984).
fn clip(a: Point, b: Point) -> Option<(Point, Point)> {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let (mut from, mut to) = (0.0f64, 1.0f64);
    for (step, room) in [(-dx, a.0), (dx, 1.0 - a.0), (-dy, a.1), (dy, 1.0 - a.1)] {
        if step == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if step < 0.0 {
            from = from.max(room / step);
        } else {
            to = to.min(room / step);
        }
    }
    let inside = |v: f64| v.clamp(0.0, 1.0);
    let start = if from > 0.0 { (inside(a.0 + from * dx), inside(a.1 + from * dy)) } else { a };
    let end = if to < 1.0 { (inside(a.0 + to * dx), inside(a.1 + to * dy)) } else { b };
    (from <= to).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Unit};
    use super::*;

    fn traced(kind: LineKind, points: &[Point]) -> Vec<Piece> {
        let scale = Scale::new(&Axis { label: String::new(), unit: Unit::Plain, min: 1.0, max: 1e4 });
        trace(&Line { name: String::new(), points: points.to_vec(), kind }, &scale, &scale)
    }

    #[test]
    fn lines_end_at_the_frame() {
        let diagonal = traced(LineKind::Roof, &[(1e-4, 1e-4), (1e8, 1e8)]);
        assert_eq!(diagonal, [[(0.0, 0.0), (1.0, 1.0)]]);
        assert_eq!(traced(LineKind::Roof, &[(0.0, 100.0), (f64::INFINITY, 100.0)]), [[(0.0, 0.5), (1.0, 0.5)]]);
        assert!(traced(LineKind::Roof, &[(1.0, 1e5), (1e4, 1e6)]).is_empty());
    }

    #[test]
    fn a_curve_falls_to_the_bottom_once_and_comes_back() {
        let steps = traced(LineKind::Curve, &[(1.0, 100.0), (10.0, 100.0), (10.0, 0.0), (1e3, 0.0), (1e4, 1e4)]);
        assert_eq!(steps, [vec![(0.0, 0.5), (0.25, 0.5), (0.25, 0.0)], vec![(0.75, 0.0), (1.0, 1.0)]]);
    }

    #[test]
    fn a_point_without_a_place_interrupts_and_a_lone_one_is_kept() {
        let gap = traced(LineKind::Curve, &[(1.0, 1.0), (10.0, 1.0), (f64::NAN, 1.0), (100.0, 1.0), (1e4, 1.0)]);
        assert_eq!(gap.len(), 2);
        let gap = traced(LineKind::Curve, &[(1.0, 10.0), (10.0, 10.0), (10.0, -1.0), (100.0, 10.0), (1e4, 10.0)]);
        assert_eq!(gap.len(), 2);
        assert_eq!(traced(LineKind::Curve, &[(100.0, 100.0)]), [[(0.5, 0.5), (0.5, 0.5)]]);
    }
}
