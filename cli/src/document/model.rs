//! What a command says: values in rows and columns, and lines, drawings and notes around them.

use clap::ValueEnum;

use crate::shared::terminal::{FILE_WIDTH, Terminal};

/// `--format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people: rounded numbers with units
    #[default]
    Table,
    /// For programs: exact numbers, not rounded, by a schema in docs/
    Json,
    /// For spreadsheets: the first table only, not rounded
    Csv,
}

/// One value and how it is meant.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not defined, or not known.
    Empty,
    Text(String),
    /// Function, region or file: shortened when the table is too wide.
    Name(String),
    /// A place in the source, which keeps its end when it is shortened.
    Place(String),
    Count(u128),
    Bytes(u128),
    /// A ratio or a number per something; infinite is allowed.
    Ratio(f64),
    /// A part of 1.
    Share(f64),
    Seconds(f64),
    /// A point in time, as in 2019.8.
    Year(f64),
    Flag(bool),
    /// A number in the base unit of its column or row, and how it looks to people.
    Shown(f64, String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub value: Value,
    /// A number behind it was guessed, estimated or agreed, not measured.
    pub guess: bool,
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        Cell { value, guess: false }
    }
}

impl Value {
    /// The value, marked if `guess`. Nothing (no value, no time, no share) is nothing on any machine.
    #[must_use]
    pub fn guessed(self, guess: bool) -> Cell {
        let nothing = matches!(self, Value::Empty | Value::Seconds(0.0) | Value::Share(0.0));
        Cell { value: self, guess: guess && !nothing }
    }

    /// A share of `whole`; [`Value::Empty`] of nothing.
    #[must_use]
    pub fn part(part: f64, whole: f64) -> Value {
        if whole > 0.0 { Value::Share(part / whole) } else { Value::Empty }
    }

    /// [`Value::Empty`] for nothing.
    #[must_use]
    pub fn or_empty<T>(value: Option<T>, of: impl FnOnce(T) -> Value) -> Value {
        value.map_or(Value::Empty, of)
    }
}

/// A column. Those with the highest `goes` are left out first when a table is too wide; 0 stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name in JSON and CSV.
    pub key: String,
    /// Two lines.
    pub header: [String; 2],
    pub goes: u8,
    /// What it is, in a line below the table, where the header alone does not say it.
    pub note: Option<&'static str>,
}

impl Column {
    #[must_use]
    pub fn new(key: impl Into<String>, header: [&str; 2], goes: u8) -> Self {
        Column { key: key.into(), header: header.map(String::from), goes, note: None }
    }

    /// With a footnote. Columns of one word share one.
    #[must_use]
    pub fn explained(self, note: &'static str) -> Self {
        Column { note: Some(note), ..self }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Name in JSON.
    pub key: String,
    /// Heading; may be empty.
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    /// The last row is a sum or the whole.
    pub total: bool,
    /// Lines below the table.
    pub remarks: Vec<String>,
}

impl Sheet {
    #[must_use]
    pub fn new(key: impl Into<String>, title: impl Into<String>, columns: Vec<Column>) -> Self {
        Sheet { key: key.into(), title: title.into(), columns, rows: Vec::new(), total: false, remarks: Vec::new() }
    }

    /// What of a list has room among `most` rows; how many do not is said below the table.
    pub fn first<'t, T>(&mut self, list: &'t [T], most: Option<usize>) -> &'t [T] {
        let (shown, left_out) = list.split_at(most.map_or(list.len(), |most| most.min(list.len())));
        self.left_out(left_out.len());
        shown
    }

    /// Says that so many rows are not shown, if there are any.
    pub fn left_out(&mut self, count: usize) {
        if count > 0 {
            self.remarks.push(format!("({count} more; see --top)"));
        }
    }

    /// Adds a row of as many cells as there are columns.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        debug_assert_eq!(cells.len(), self.columns.len(), "row of sheet {}", self.key);
        self.rows.push(cells);
    }
}

/// Everything that one command prints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// What it is, in JSON: `roofline`, ...
    pub kind: &'static str,
    /// What the numbers were made from: pairs of name and text, in JSON under `source`.
    pub source: Vec<(&'static str, String)>,
    /// First lines for people.
    pub heading: Vec<String>,
    pub sheets: Vec<Sheet>,
    /// Lines for people, after the sheets; those that are indented belong to the one before.
    pub paragraphs: Vec<String>,
    /// Drawings for people, after these.
    pub plots: Vec<String>,
    /// What to know about the numbers, at the end.
    pub notes: Vec<String>,
}

/// How to write a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub format: Format,
    /// Columns of the terminal that a table may take; `None`: as many as it needs.
    pub width: Option<usize>,
    pub color: bool,
}

impl Look {
    /// For standard output.
    #[must_use]
    pub fn stdout(format: Format, full_names: bool) -> Self {
        let terminal = Terminal::stdout();
        let width = (!full_names).then(|| usize::from(terminal.width.unwrap_or(FILE_WIDTH)));
        Look { format, width, color: terminal.color }
    }
}
