//! A document as JSON: `docs/estimate-schema.json`. Integers are exact literals; an undefined or infinite number is
//! null.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::model::{Cell, Document, Sheet, Value};

/// Version of the JSON documents.
const VERSION: u32 = 2;

pub fn write(document: &Document, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &VERSION)?;
        map.serialize_entry("kind", self.kind)?;
        map.serialize_entry("tool_version", env!("CARGO_PKG_VERSION"))?;
        map.serialize_entry("source", &Pairs(&self.source))?;
        map.serialize_entry("sheets", &self.sheets)?;
        map.serialize_entry("notes", &self.notes)?;
        map.end()
    }
}

struct Pairs<'a>(&'a [(&'static str, String)]);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, text)| (name, text)))
    }
}

impl Serialize for Sheet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.key)?;
        map.serialize_entry("title", &self.title)?;
        map.serialize_entry("rows", &Rows(self))?;
        map.serialize_entry("remarks", &self.remarks)?;
        map.end()
    }
}

struct Rows<'a>(&'a Sheet);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.rows.len()))?;
        for cells in &self.0.rows {
            list.serialize_element(&Row { sheet: self.0, cells })?;
        }
        list.end()
    }
}

struct Row<'a> {
    sheet: &'a Sheet,
    cells: &'a [Cell],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut guesses = Vec::new();
        for (column, cell) in self.sheet.columns.iter().zip(self.cells) {
            map.serialize_entry(&column.key, &cell.value)?;
            guesses.extend(cell.guess.then_some(&column.key));
        }
        map.serialize_entry("guesses", &guesses)?;
        map.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Empty => serializer.serialize_none(),
            Value::Text(text) | Value::Name(text) | Value::Place(text) => serializer.serialize_str(text),
            Value::Count(n) | Value::Bytes(n) => serializer.serialize_u128(*n),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Ratio(x) | Value::Share(x) | Value::Seconds(x) | Value::Year(x) | Value::Shown(x, _) => {
                serializer.serialize_f64(*x)
            }
        }
    }
}
