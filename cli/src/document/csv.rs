//! The first sheet of a document as CSV: unrounded, empty where nothing is defined, `inf` where a ratio is infinite.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use super::model::{Cell, Document, Value};
use crate::shared::printable::csv_cell;

pub fn write(document: &Document, out: &mut impl Write) -> io::Result<()> {
    records(document, out).map_err(|error| match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    })
}

fn records(document: &Document, out: &mut impl Write) -> csv::Result<()> {
    let Some(sheet) = document.sheets.first() else { return Ok(()) };
    let mut writer = csv::Writer::from_writer(out);
    let keys = sheet.columns.iter().map(|c| csv_cell(&c.key));
    writer.write_record(keys.chain(["guesses".into()]).map(Cow::into_owned))?;
    for cells in &sheet.rows {
        let keys = sheet.columns.iter().zip(cells).filter(|(_, cell)| cell.guess).map(|(c, _)| c.key.as_str());
        let guesses = keys.collect::<Vec<_>>().join(" ");
        writer.write_record(cells.iter().map(text).chain([guesses]))?;
    }
    Ok(writer.flush()?)
}

fn text(cell: &Cell) -> String {
    match &cell.value {
        Value::Empty => String::new(),
        Value::Text(text) | Value::Name(text) | Value::Place(text) => csv_cell(text).into_owned(),
        Value::Count(n) | Value::Bytes(n) => n.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Ratio(x) | Value::Share(x) | Value::Seconds(x) | Value::Year(x) | Value::Shown(x, _) => x.to_string(),
    }
}
