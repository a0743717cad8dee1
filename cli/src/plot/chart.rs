//! What a chart shows, without how it is drawn.

/// What an axis counts, which decides how its ticks are labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of a capacity, ticks at powers of two: `64 B`, `1 KiB`, `32 KiB`.
    BinaryBytes,
    /// Bytes, ticks at powers of ten: `1 M`, the unit in the label of the axis.
    Bytes,
    /// Operations per second, ticks at powers of ten.
    PerSecond,
    /// Operations per byte, ticks at powers of ten.
    OpsPerByte,
    /// A number without a unit, ticks at powers of ten.
    Plain,
}

/// A logarithmic axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, without the unit.
    pub label: String,
    pub unit: Unit,
    /// Above 0, in the base unit.
    pub min: f64,
    /// Above `min`, in the base unit. Two bounds within 2 % of each other are moved a decade to either side.
    pub max: f64,
}

/// What a line means, which decides how it looks and what its ends are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// A limit, labelled along the line. Points with y = 0 interrupt it.
    Roof,
    /// A measured or computed function. It falls to the bottom where y = 0.
    Curve,
}

/// A line through points, straight between them on the logarithmic axes (as y = c x is). What is outside the axes is
/// cut off.
///
/// x = 0 is the left edge, an infinite x the right one; any other point without a logarithm interrupts the line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// A line whose name is that of a group, or begins with it and a space, has the colour of the group.
    pub name: String,
    pub points: Vec<(f64, f64)>,
    pub kind: LineKind,
}

/// A disc at a place, for one function and one group.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// The function. Dots with the same name and marker are one function.
    pub name: String,
    /// Infinite (no traffic): at the right edge, and said so.
    pub x: f64,
    pub y: f64,
    /// Above 0 and at most 1: the area. Dots with a share of 0 or one that is no number are not drawn.
    pub share: f64,
    /// Index into [`Chart::groups`]: the colour.
    pub group: usize,
    /// Letter of the function in the terminal.
    pub marker: char,
}

/// A vertical line with a label above the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub x: f64,
    pub label: String,
}

/// A chart, described.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Line>,
    pub dots: Vec<Dot>,
    pub marks: Vec<Mark>,
    /// Names of the groups of dots, for the legend.
    pub groups: Vec<String>,
}

impl Line {
    /// A horizontal roof at `height`: the peak rate of a roofline, in op/s.
    #[must_use]
    pub fn ceiling(name: impl Into<String>, height: f64) -> Self {
        Line { name: name.into(), points: vec![(0.0, height), (f64::INFINITY, height)], kind: LineKind::Roof }
    }

    /// A roof y = `slope` x up to the height `ceiling`: a link of so many bytes per second below a peak rate, in op/s.
    ///
    /// Formula: Williams, Waterman, Patterson, "Roofline", 2009.
    #[must_use]
    pub fn slope(name: impl Into<String>, slope: f64, ceiling: f64) -> Self {
        /// How far left of the ridge the line begins: out of any chart that shows the ridge.
        const REACH: f64 = 1e-40;
        let ridge = ceiling / slope;
        let points = vec![(ridge * REACH, ceiling * REACH), (ridge, ceiling)];
        Line { name: name.into(), points, kind: LineKind::Roof }
    }
}
