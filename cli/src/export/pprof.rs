//! The protocol buffer of pprof, compressed with gzip.
//!
//! Takes stacks, gives one sample per stack with a value per metric; the first metric is the default one. Every frame
//! has its function and line. Fields and numbers: `profile.proto` of google/pprof. The file has no time of its own, so
//! equal profiles give equal bytes.

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use prost::Message;

use super::columns::{Columns, title};
use super::stacks::{Frame, FunctionIndex, Stacks};

#[derive(Clone, PartialEq, Message)]
pub struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    /// Indices into `string_table`.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct ValueType {
    #[prost(int64, tag = "1")]
    pub r#type: i64,
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Sample {
    /// The innermost frame first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Location {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Line {
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    #[prost(int64, tag = "2")]
    pub line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Function {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(int64, tag = "2")]
    pub name: i64,
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    #[prost(int64, tag = "4")]
    pub filename: i64,
    #[prost(int64, tag = "5")]
    pub start_line: i64,
}

pub fn write(stacks: &Stacks, out: &mut impl Write) -> io::Result<()> {
    let mut gzip = GzBuilder::new().mtime(0).write(out, Compression::default());
    gzip.write_all(&message(stacks).encode_to_vec())?;
    gzip.finish()?;
    Ok(())
}

fn message(stacks: &Stacks) -> Profile {
    let columns = Columns::for_stacks(stacks);
    let mut tables = Tables::new(stacks);
    let sample_type = stacks.metrics.iter().zip(&columns.names).map(|(metric, name)| ValueType {
        r#type: tables.strings.id(name),
        unit: tables.strings.id(if metric.is_bytes() { "bytes" } else { "count" }),
    });
    let sample_type: Vec<ValueType> = sample_type.collect();
    let sample = stacks.list.iter().map(|stack| Sample {
        location_id: stack.frames.iter().rev().map(|frame| tables.location(frame)).collect(),
        value: columns.values(&stack.values).into_iter().map(|value| value as i64).collect(),
    });
    let sample = sample.collect();
    let comment = vec![tables.strings.id(&title(stacks.profile))];
    let default_sample_type = sample_type.first().map_or(0, |first| first.r#type);
    Profile {
        sample_type,
        sample,
        location: tables.locations,
        function: tables.functions,
        string_table: tables.strings.list,
        comment,
        default_sample_type,
    }
}

/// Index 0 is the empty string.
struct Strings {
    list: Vec<String>,
    by_text: HashMap<String, i64>,
}

impl Strings {
    fn id(&mut self, text: &str) -> i64 {
        if let Some(id) = self.by_text.get(text) {
            return *id;
        }
        let id = self.list.len() as i64;
        self.list.push(text.into());
        self.by_text.insert(text.into(), id);
        id
    }
}

/// Ids of locations and functions start at 1.
struct Tables<'s> {
    stacks: &'s Stacks<'s>,
    strings: Strings,
    functions: Vec<Function>,
    by_function: HashMap<(FunctionIndex, String), u64>,
    locations: Vec<Location>,
    by_frame: HashMap<Frame, u64>,
}

impl<'s> Tables<'s> {
    fn new(stacks: &'s Stacks<'s>) -> Self {
        let strings = Strings { list: vec![String::new()], by_text: HashMap::from([(String::new(), 0)]) };
        let (functions, by_function, locations, by_frame) = Default::default();
        Tables { stacks, strings, functions, by_function, locations, by_frame }
    }

    fn location(&mut self, frame: &Frame) -> u64 {
        let key = Frame { inlines_next: false, ..*frame };
        if let Some(id) = self.by_frame.get(&key) {
            return *id;
        }
        let line = Line { function_id: self.function(frame), line: self.stacks.line(frame).into() };
        let id = self.locations.len() as u64 + 1;
        self.locations.push(Location { id, line: vec![line] });
        self.by_frame.insert(key, id);
        id
    }

    /// A function has one file here, so one with lines of several files is there once per file.
    fn function(&mut self, frame: &Frame) -> u64 {
        let file = self.stacks.file(frame).unwrap_or_default();
        let key = (frame.function, file.to_string());
        if let Some(id) = self.by_function.get(&key) {
            return *id;
        }
        let function = &self.stacks.functions[frame.function];
        let id = self.functions.len() as u64 + 1;
        self.functions.push(Function {
            id,
            name: self.strings.id(&function.name),
            system_name: self.strings.id(&function.symbol),
            filename: self.strings.id(file),
            start_line: function.line.into(),
        });
        self.by_function.insert(key, id);
        id
    }
}
