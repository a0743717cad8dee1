//! Free places for labels.
//!
//! Takes what is drawn already, and the places where a label may go, the best first; gives the first one that is free.
//! A label is never laid over a dot or another label; over a line only if nothing else is left.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    /// A square around a centre.
    pub(super) fn around((x, y): (f64, f64), half: f64) -> Self {
        Rect { left: x - half, top: y - half, right: x + half, bottom: y + half }
    }

    fn meets(&self, other: &Rect) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    fn within(&self, other: &Rect) -> bool {
        self.left >= other.left && self.right <= other.right && self.top >= other.top && self.bottom <= other.bottom
    }
}

/// The inside of a frame and what is drawn in it.
pub(super) struct Space {
    frame: Rect,
    /// Dots and labels.
    solid: Vec<Rect>,
    /// Lines.
    light: Vec<Rect>,
}

impl Space {
    pub(super) fn new(frame: Rect) -> Self {
        Space { frame, solid: Vec::new(), light: Vec::new() }
    }

    pub(super) fn add_solid(&mut self, rect: Rect) {
        self.solid.push(rect);
    }

    pub(super) fn add_line(&mut self, rects: impl IntoIterator<Item = Rect>) {
        self.light.extend(rects);
    }

    /// Takes and gives the first free one of the candidates, each of which covers the rectangles that `cover` gives.
    pub(super) fn take<T: Copy>(&mut self, candidates: &[T], cover: impl Fn(T) -> Vec<Rect>) -> Option<T> {
        let covers: Vec<Vec<Rect>> = candidates.iter().map(|&c| cover(c)).collect();
        let allowed = |rects: &[Rect]| {
            rects.iter().all(|r| r.within(&self.frame)) && !rects.iter().any(|r| self.solid.iter().any(|s| r.meets(s)))
        };
        let free = |rects: &[Rect]| !rects.iter().any(|r| self.light.iter().any(|l| r.meets(l)));
        let possible: Vec<usize> = (0..covers.len()).filter(|&i| allowed(&covers[i])).collect();
        let best = possible.iter().copied().find(|&i| free(&covers[i])).or(possible.first().copied())?;
        self.solid.extend(&covers[best]);
        Some(candidates[best])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_avoids_dots_always_and_lines_if_it_can() {
        let mut space = Space::new(Rect { left: 0.0, top: 0.0, right: 10.0, bottom: 10.0 });
        space.add_solid(Rect::around((1.0, 1.0), 1.0));
        space.add_line([Rect::around((5.0, 5.0), 1.0)]);
        let cover = |at: f64| vec![Rect::around((at, at), 1.0)];
        assert_eq!(space.take(&[1.5, 5.0, 8.0], cover), Some(8.0));
        assert_eq!(space.take(&[1.5, 5.0, 8.0], cover), Some(5.0), "8 is taken now, a line can be crossed");
        assert_eq!(space.take(&[1.5, 5.0, 8.0, 10.0], cover), None, "10 reaches out of the frame");
    }
}
