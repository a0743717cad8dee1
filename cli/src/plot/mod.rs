//! Charts with two logarithmic axes: rooflines and curves of traffic over capacity.
//!
//! Takes a [`Chart`], gives text: braille and letters for a terminal, or SVG. Does no input or output, loads no font,
//! and gives the same bytes for the same chart. Refuses nothing: what has no place on logarithmic axes is left out, and
//! what was left out for its place is named below the chart. Bounds of an axis that are not positive and finite count
//! as 1.

mod canvas;
mod chart;
mod fit;
mod label;
mod scale;
mod scene;
mod stagger;
mod svg;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod trace;

pub use chart::{Axis, Chart, Dot, Line, LineKind, Mark, Unit};

impl Chart {
    /// The chart in characters, lines ended by `\n`, none wider than `width` columns (at least 40). `color` adds escape
    /// sequences; everything can be read without it.
    #[must_use]
    pub fn terminal(&self, width: usize, color: bool) -> String {
        terminal::draw(self, width, color)
    }

    /// The chart as an SVG file of its own: text stays text, white background, names of dots also as tooltips.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::draw(self)
    }

    /// Sets the bounds of both axes to the powers of ten (of two for [`Unit::BinaryBytes`]) that enclose the data.
    ///
    /// Counted are the dots with some room around them, the points of curves, the marks, and of a roof its height and
    /// the ridge where it becomes flat. An axis without data becomes 1 to 10.
    pub fn fit_axes(&mut self) {
        fit::fit(self);
    }
}
