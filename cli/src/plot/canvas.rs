//! A grid of characters with colours, and lines of braille dots in it.
//!
//! Takes text and segments at places, gives lines of text. What is written later covers what was there; what is outside
//! the grid is left out. A character cell is 2 dots wide and 4 high (Unicode block "Braille Patterns").

/// An SGR code of ECMA-48, as in `ESC [ 1 m`.
pub(super) type Style = &'static str;

#[derive(Clone, Copy, Default)]
struct Cell {
    text: Option<char>,
    /// Braille dots, one bit each, as in the code points.
    dots: u8,
    style: Option<Style>,
}

pub(super) struct Canvas {
    columns: usize,
    cells: Vec<Cell>,
}

impl Canvas {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Canvas { columns, cells: vec![Cell::default(); columns * rows] }
    }

    fn cell(&mut self, column: usize, row: usize) -> Option<&mut Cell> {
        if column < self.columns { self.cells.get_mut(row * self.columns + column) } else { None }
    }

    pub(super) fn is_blank(&mut self, column: usize, row: usize) -> bool {
        self.cell(column, row).is_some_and(|c| c.char() == ' ')
    }

    pub(super) fn put(&mut self, column: usize, row: usize, text: char, style: Option<Style>) {
        if let Some(cell) = self.cell(column, row) {
            *cell = Cell { text: Some(text), dots: 0, style };
        }
    }

    pub(super) fn write(&mut self, column: usize, row: usize, text: &str, style: Option<Style>) {
        for (i, c) in text.chars().enumerate() {
            self.put(column + i, row, c, style);
        }
    }

    /// A straight line between two braille dots (Bresenham, "Algorithm for computer control of a digital plotter",
    /// 1965). Gives the character cells that it passes, in its order.
    pub(super) fn line(&mut self, a: (i32, i32), b: (i32, i32), style: Option<Style>) -> Vec<(usize, usize)> {
        let (dx, dy) = ((b.0 - a.0).abs(), -(b.1 - a.1).abs());
        let (right, down) = ((b.0 - a.0).signum(), (b.1 - a.1).signum());
        let (mut x, mut y, mut error) = (a.0, a.1, dx + dy);
        let mut passed = Vec::new();
        loop {
            passed.extend(self.dot(x, y, style));
            if (x, y) == b {
                passed.dedup();
                return passed;
            }
            let twice = 2 * error;
            if twice >= dy {
                error += dy;
                x += right;
            }
            if twice <= dx {
                error += dx;
                y += down;
            }
        }
    }

    fn dot(&mut self, x: i32, y: i32, style: Option<Style>) -> Option<(usize, usize)> {
        /// Bit of the dot in column and row of the cell.
        const BITS: [[u8; 4]; 2] = [[0, 1, 2, 6], [3, 4, 5, 7]];
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        let cell = self.cell(x / 2, y / 4)?;
        if cell.text.is_none() {
            cell.dots |= 1 << BITS[x % 2][y % 4];
            cell.style = style;
        }
        Some((x / 2, y / 4))
    }

    /// Lines without blanks at their ends; with escape sequences if `color`.
    pub(super) fn lines(&self, color: bool) -> Vec<String> {
        self.cells.chunks(self.columns).map(|cells| row_text(cells, color)).collect()
    }
}

fn row_text(cells: &[Cell], color: bool) -> String {
    let end = cells.iter().rposition(|c| c.char() != ' ').map_or(0, |i| i + 1);
    let mut text = String::new();
    for run in cells[..end].chunk_by(|a, b| a.style == b.style) {
        let characters: String = run.iter().map(Cell::char).collect();
        text.push_str(&styled(&characters, run[0].style, color));
    }
    text
}

impl Cell {
    fn char(&self) -> char {
        match (self.text, self.dots) {
            (Some(text), _) => text,
            (None, 0) => ' ',
            (None, dots) => char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '),
        }
    }
}

pub(super) fn styled(text: &str, style: Option<Style>, color: bool) -> String {
    match style {
        Some(style) if color => format!("\x1b[{style}m{text}\x1b[0m"),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_braille_and_text_covers_them() {
        let mut canvas = Canvas::new(4, 2);
        assert_eq!(canvas.line((0, 7), (7, 0), Some("32")), [(0, 1), (1, 1), (2, 0), (3, 0)]);
        assert_eq!(canvas.lines(false), ["  ⡠⠊", "⡠⠊"]);
        canvas.put(3, 0, 'a', None);
        canvas.line((0, 0), (7, 0), None);
        assert_eq!(canvas.lines(true), ["⠉⠉⡩a", "\x1b[32m⡠⠊\x1b[0m"]);
        canvas.line((-5, -5), (40, 40), None);
        canvas.write(3, 1, "cut", None);
        assert!(canvas.lines(false).iter().all(|l| l.chars().count() <= 4));
    }
}
