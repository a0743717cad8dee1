//! A chart in characters: braille for lines, a letter for each function with small digits for its groups.
//!
//! Takes a [`Chart`] and a width, gives lines of text. Where several dots fall into one cell the largest share is
//! shown, and all of them are listed below the chart.

use std::collections::BTreeMap;

use super::canvas::{Canvas, Style, styled};
use super::chart::{Chart, Line};
use super::label::{Rect, Space};
use super::scale::caption;
use super::scene::{Placed, Scene, Seen, marker};
use super::stagger::{self, Span};
use super::text::{printable, wrap};
use super::trace::Point;
use crate::shared::{human, names};

const NARROWEST: usize = 40;
const WIDEST: usize = 200;
const BOLD: Style = "1";
const DIM: Style = "2";
const COLORS: [Style; 6] = ["36", "33", "35", "32", "34", "31"];
const BOLD_COLORS: [Style; 6] = ["1;36", "1;33", "1;35", "1;32", "1;34", "1;31"];
const DIGITS: [char; 9] = ['₁', '₂', '₃', '₄', '₅', '₆', '₇', '₈', '₉'];
/// Columns of the longest label of a tick, with a gap: `512 MiB  `.
const TICK_WIDTH: usize = 9;
/// Columns that a name may take in the list of functions.
const NAME_WIDTH: usize = 40;

pub(super) fn draw(chart: &Chart, width: usize, color: bool) -> String {
    let width = width.clamp(NARROWEST, WIDEST);
    let scene = Scene::new(chart);
    let mut drawing = Drawing::new(chart, &scene, width);
    let paths = drawing.lines(&scene);
    drawing.marks();
    let crowded = drawing.dots(&scene, chart.groups.len());
    let unlabelled = drawing.line_labels(&scene, &paths);

    let title = wrap(&printable(&chart.title), width);
    let mut out: Vec<String> = title.iter().map(|line| styled(line, Some(BOLD), color)).collect();
    out.extend(Some(names::shorten(&caption(&chart.y), width)).filter(|caption| !caption.is_empty()));
    out.extend(drawing.canvas.lines(color));
    out.extend(legend(chart, width, color));
    out.extend(function_list(&scene, width));
    for remark in remarks(chart, &scene, &crowded, &unlabelled) {
        out.extend(wrap(&remark, width));
    }
    out.iter().map(|line| format!("{line}\n")).collect()
}

/// The part of the canvas inside the axes.
#[derive(Clone, Copy)]
struct Frame {
    left: usize,
    top: usize,
    columns: usize,
    rows: usize,
}

impl Frame {
    /// Braille dot on the canvas.
    fn dot(&self, (x, y): Point) -> (i32, i32) {
        let across = (x * (self.columns * 2 - 1) as f64).round() as usize + self.left * 2;
        let down = ((1.0 - y) * (self.rows * 4 - 1) as f64).round() as usize + self.top * 4;
        (across as i32, down as i32)
    }

    /// Character cell on the canvas.
    fn cell(&self, point: Point) -> (usize, usize) {
        let (x, y) = self.dot(point);
        (x as usize / 2, y as usize / 4)
    }

    fn right(&self) -> usize {
        self.left + self.columns
    }

    fn bottom(&self) -> usize {
        self.top + self.rows
    }
}

/// The label of a mark, so many rows above the lowest one.
struct Flag {
    column: usize,
    start: usize,
    row: usize,
    text: String,
}

/// What stands for dots of one letter in one cell.
struct Tag {
    letter: char,
    /// Ascending; those that have digits.
    groups: Vec<usize>,
    color: usize,
}

impl Tag {
    /// `groups` get digits only if there are several to tell apart.
    fn new(letter: char, mut groups: Vec<usize>, of: usize) -> Self {
        let color = groups.first().copied().unwrap_or(0);
        groups.retain(|&g| of > 1 && g < DIGITS.len());
        groups.sort_unstable();
        groups.dedup();
        Tag { letter, groups, color }
    }

    /// `a₁₃`, a letter with the numbers of its groups, as characters with their groups.
    fn characters(&self) -> impl Iterator<Item = (char, usize)> {
        let first = self.groups.first().copied().unwrap_or(self.color);
        [(self.letter, first)].into_iter().chain(self.groups.iter().map(|&g| (DIGITS[g], g)))
    }

    fn text(&self) -> String {
        self.characters().map(|(c, _)| c).collect()
    }
}

/// Cells that hold more than could be shown.
#[derive(Default)]
struct Crowded {
    /// Contents of cells with several letters.
    shared: Vec<String>,
    /// Tags whose digits would have covered the next dot.
    cut: Vec<String>,
}

/// The cells that a line passes, in its order.
type Path = Vec<(usize, usize)>;

/// The chart while it grows.
struct Drawing {
    canvas: Canvas,
    frame: Frame,
    space: Space,
    flags: Vec<Flag>,
}

impl Drawing {
    fn new(chart: &Chart, scene: &Scene, width: usize) -> Self {
        let rows = if width < 120 { 18 } else { 22 };
        let ticks = scene.y.ticks(rows / 2).major;
        let left = ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0) + 2;
        // To the right of a dot at the right edge stand its groups and an arrow.
        let beyond = scene.dots.iter().any(|p| p.beyond);
        let margin = if beyond { chart.groups.len().clamp(1, DIGITS.len()) + 1 } else { 1 };
        let columns = width - left - margin;
        let flags = flags(scene, left, columns);
        let top = flags.iter().map(|f| f.row + 1).max().unwrap_or(0);
        let frame = Frame { left, top, columns, rows };
        let inside =
            Rect { left: left as f64, top: top as f64, right: frame.right() as f64, bottom: frame.bottom() as f64 };
        let mut drawing =
            Drawing { canvas: Canvas::new(width, top + rows + 3), frame, space: Space::new(inside), flags };
        drawing.y_axis(&ticks);
        drawing.x_axis(chart, scene, width);
        drawing
    }

    fn y_axis(&mut self, ticks: &[(f64, String)]) {
        let axis = self.frame.left - 1;
        for row in self.frame.top..self.frame.bottom() {
            self.canvas.put(axis, row, '│', None);
        }
        for (at, label) in ticks {
            let (_, row) = self.frame.cell((0.0, *at));
            self.canvas.write(axis - 1 - label.chars().count(), row, label, None);
            self.canvas.put(axis, row, '┤', None);
        }
    }

    fn x_axis(&mut self, chart: &Chart, scene: &Scene, width: usize) {
        let Frame { left, columns, .. } = self.frame;
        let row = self.frame.bottom();
        self.canvas.write(left - 1, row, &format!("└{}", "─".repeat(columns)), None);
        let mut free = 0;
        for (at, label) in scene.x.ticks(columns / TICK_WIDTH).major {
            let (column, _) = self.frame.cell((at, 0.0));
            let length = label.chars().count();
            let start = column.saturating_sub(length / 2).min(width - length);
            self.canvas.put(column, row, '┬', None);
            if start >= free {
                self.canvas.write(start, row + 1, &label, None);
                free = start + length + 1;
            }
        }
        let text = names::shorten(&caption(&chart.x), columns);
        self.canvas.write(left + (columns - text.chars().count()) / 2, row + 2, &text, None);
    }

    fn lines(&mut self, scene: &Scene) -> Vec<Path> {
        let paths: Vec<Path> = scene.lines.iter().map(|seen| self.line(seen)).collect();
        self.space.add_line(paths.iter().flatten().map(|&(column, row)| extent(column, row, 1)));
        paths
    }

    fn line(&mut self, seen: &Seen) -> Path {
        let frame = self.frame;
        let segments = seen.pieces.iter().flat_map(|piece| piece.windows(2));
        let mut path: Path =
            segments.flat_map(|s| self.canvas.line(frame.dot(s[0]), frame.dot(s[1]), line_style(seen))).collect();
        // Curves may have many points to a cell.
        path.dedup();
        path
    }

    fn marks(&mut self) {
        let Frame { top, .. } = self.frame;
        let bottom = self.frame.bottom();
        for flag in &self.flags {
            for row in top - 1 - flag.row..bottom {
                if self.canvas.is_blank(flag.column, row) {
                    self.canvas.put(flag.column, row, '┊', Some(DIM));
                }
            }
            self.space.add_line((top..bottom).map(|row| extent(flag.column, row, 1)));
        }
        for flag in &self.flags {
            self.canvas.write(flag.start, top - 1 - flag.row, &flag.text, None);
        }
    }

    fn dots(&mut self, scene: &Scene, groups: usize) -> Crowded {
        let mut cells: BTreeMap<(usize, usize), Vec<&Placed>> = BTreeMap::new();
        for placed in &scene.dots {
            let (column, row) = self.frame.cell(placed.at);
            cells.entry((row, column)).or_default().push(placed);
        }
        let mut crowded = Crowded::default();
        for (&(row, column), dots) in &cells {
            let next = cells.range((row, column + 1)..(row + 1, 0)).next().map(|(&(_, next), _)| next);
            let beyond = dots[0].beyond;
            let tags = tags(dots, groups);
            let all = self.tag(column, row, next.unwrap_or(usize::MAX), &tags[0], beyond);
            if tags.len() > 1 {
                crowded.shared.push(tags.iter().map(Tag::text).collect::<Vec<_>>().join(" "));
            } else if !all {
                crowded.cut.push(tags[0].text());
            }
        }
        crowded
    }

    /// Writes a letter and as many of its digits as there is room for before the column `end`; says whether that was
    /// all.
    fn tag(&mut self, column: usize, row: usize, end: usize, tag: &Tag, beyond: bool) -> bool {
        let style = |group: usize| Some(BOLD_COLORS[group % BOLD_COLORS.len()]);
        let shown = tag.characters().count().min(end - column);
        for (i, (c, group)) in tag.characters().take(shown).enumerate() {
            self.canvas.put(column + i, row, c, style(group));
        }
        if beyond {
            self.canvas.put(column + shown, row, '→', style(tag.color));
        }
        self.space.add_solid(extent(column, row, shown));
        shown == tag.characters().count()
    }

    /// Writes the names of lines where there is room; gives those without.
    fn line_labels(&mut self, scene: &Scene, paths: &[Path]) -> Vec<String> {
        let mut unlabelled = Vec::new();
        for (i, seen) in scene.lines.iter().enumerate() {
            let text = names::shorten(&printable(&seen.line.name), self.frame.columns / 2);
            let length = text.chars().count();
            if length == 0 {
                continue;
            }
            let frame = self.frame;
            let mut places = label_places(seen.line, i, paths, length);
            places.retain(|p| p.column >= frame.left && p.column + length <= frame.right());
            let cover = |p: LabelPosition| vec![p.extent(length, frame)];
            match self.space.take(&places, cover) {
                Some(place) => self.canvas.write(place.column, place.row, &text, line_style(seen)),
                None => unlabelled.push(text),
            }
        }
        unlabelled
    }
}

fn extent(column: usize, row: usize, columns: usize) -> Rect {
    let (left, top) = (column as f64, row as f64);
    Rect { left, top, right: left + columns as f64, bottom: top + 1.0 }
}

/// Where a name may stand, and the columns to be kept free beside it.
#[derive(Clone, Copy)]
struct LabelPosition {
    column: usize,
    row: usize,
    before: usize,
    after: usize,
}

impl LabelPosition {
    /// What a name of `length` takes with the columns kept free, as far as these are inside the frame.
    fn extent(&self, length: usize, frame: Frame) -> Rect {
        let start = self.column.saturating_sub(self.before).max(frame.left);
        let end = (self.column + length + self.after).min(frame.right());
        extent(start, self.row, end - start)
    }
}

/// Where the name of line `index` may stand, the best first: next to its cells that are farthest from other lines.
fn label_places(line: &Line, index: usize, paths: &[Path], length: usize) -> Vec<LabelPosition> {
    /// Rows away from which another line no longer matters.
    const FAR: usize = 4;
    let others = || paths.iter().enumerate().filter(|(i, _)| *i != index).flat_map(|(_, path)| path);
    let distance = |&(c, r): &(usize, usize)| {
        // A character is about twice as high as wide.
        others().map(|&(oc, or)| oc.abs_diff(c) / 2 + or.abs_diff(r)).min().unwrap_or(FAR).min(FAR)
    };
    let mut cells: Vec<(usize, (usize, usize))> = paths[index].iter().map(|cell| (distance(cell), *cell)).collect();
    let flat = line.points.windows(2).all(|p| p[0].1 == p[1].1);
    if flat {
        // The left end of a ceiling is where the slopes below it crowd.
        cells.reverse();
    }
    cells.sort_by_key(|(distance, _)| FAR - distance);
    cells.into_iter().flat_map(|(_, cell)| around(cell, length, flat)).collect()
}

/// Places next to a cell of a line. Another line is kept farther away than this one, so that it is clear whose name it
/// is.
fn around((column, row): (usize, usize), length: usize, flat: bool) -> impl Iterator<Item = LabelPosition> {
    let place = |column: Option<usize>, row: Option<usize>, (before, after)| {
        Some(LabelPosition { column: column?, row: row?, before, after })
    };
    let (end, above, below) = ((column + 1).checked_sub(length), row.checked_sub(1), Some(row + 1));
    let beside = [place(Some(column + 2), Some(row), (1, 3)), place(column.checked_sub(length + 1), Some(row), (3, 1))];
    let over = [place(end, above, (1, 1)), place(Some(column), above, (1, 1))];
    let under = [place(Some(column), below, (1, 1)), place(end, below, (1, 1))];
    let order = if flat { [over, under, beside] } else { [beside, over, under] };
    order.into_iter().flatten().flatten()
}

fn flags(scene: &Scene, left: usize, columns: usize) -> Vec<Flag> {
    let frame = Frame { left, top: 0, columns, rows: 1 };
    let mut flags: Vec<Flag> = scene
        .marks
        .iter()
        .map(|(x, mark)| {
            let (column, _) = frame.cell((*x, 0.0));
            let text = names::shorten(&printable(&mark.label), columns);
            Flag { column, start: column.min(frame.right() - text.chars().count()), row: 0, text }
        })
        .collect();
    let span = |f: &Flag| Span {
        mark: f.column as f64,
        start: f.start as f64,
        end: (f.start + f.text.chars().count()).max(f.column) as f64 + 1.0,
    };
    let rows = stagger::rows(&flags.iter().map(span).collect::<Vec<_>>());
    for (flag, row) in flags.iter_mut().zip(rows) {
        flag.row = row;
    }
    flags
}

fn line_style(seen: &Seen) -> Option<Style> {
    seen.color.map(|i| COLORS[i % COLORS.len()])
}

/// One tag for each letter among the dots of a cell, in the order of these.
fn tags(dots: &[&Placed], groups: usize) -> Vec<Tag> {
    let mut letters: Vec<(char, Vec<usize>)> = Vec::new();
    for placed in dots {
        let letter = marker(placed.dot);
        match letters.iter_mut().find(|(l, _)| *l == letter) {
            Some((_, of)) => of.push(placed.dot.group),
            None => letters.push((letter, vec![placed.dot.group])),
        }
    }
    letters.into_iter().map(|(letter, of)| Tag::new(letter, of, groups)).collect()
}

/// The groups with their digits.
fn legend(chart: &Chart, width: usize, color: bool) -> Vec<String> {
    if chart.dots.is_empty() {
        return Vec::new();
    }
    let item = |(i, group): (usize, &String)| {
        let tag = Tag::new('●', vec![i], chart.groups.len()).text();
        let name = names::shorten(&printable(group), width / 2);
        (format!("{tag} {name}").trim_end().to_owned(), Some(BOLD_COLORS[i % BOLD_COLORS.len()]))
    };
    columns(&chart.groups.iter().enumerate().map(item).collect::<Vec<_>>(), width, color)
}

/// `a = matmul (45.0%)` for each function.
fn function_list(scene: &Scene, width: usize) -> Vec<String> {
    let item = |f: &super::scene::Function| {
        let name = names::shorten(&f.name, NAME_WIDTH.min(width - 20));
        (format!("{} = {name} ({})", f.marker, human::share(f.share)), None)
    };
    columns(&scene.functions.iter().map(item).collect::<Vec<_>>(), width, false)
}

/// Items side by side, all as wide as the widest.
fn columns(items: &[(String, Option<Style>)], width: usize, color: bool) -> Vec<String> {
    const GAP: usize = 3;
    let widest = items.iter().map(|(text, _)| text.chars().count()).max().unwrap_or(0);
    let per_line = ((width + GAP) / (widest + GAP)).max(1);
    let cell = |(text, style): &(String, Option<Style>)| {
        styled(text, *style, color) + &" ".repeat(widest + GAP - text.chars().count())
    };
    let line = |row: &[(String, Option<Style>)]| row.iter().map(cell).collect::<String>().trim_end().to_owned();
    items.chunks(per_line).map(line).collect()
}

fn remarks(chart: &Chart, scene: &Scene, crowded: &Crowded, unlabelled: &[String]) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut remark = |what: &str, names: &[String], separator: &str| {
        remarks.extend((!names.is_empty()).then(|| format!("{what}: {}", names.join(separator))));
    };
    remark("lines without room for their names", unlabelled, ", ");
    remark("in one place, the largest shown", &crowded.shared, "; ");
    remark("without room for all digits", &crowded.cut, "; ");
    remarks.extend(scene.remarks(|dot| Tag::new(marker(dot), vec![dot.group], chart.groups.len()).text()));
    remarks
}
