//! Places as the sentences of a pair name them: paths relative to where the user is, and the reader's file only once.

use super::{pairs::Pair, places::Places};
use crate::{profile::model::LoopId, shared::names::demangle};

/// Names of places in the sentences about one pair.
pub struct Words<'p> {
    pub places: &'p Places<'p>,
    /// That the pair is read in, as it is shown.
    file: String,
}

impl<'p> Words<'p> {
    pub fn for_pair(places: &'p Places<'p>, pair: &Pair) -> Self {
        let reader = places.show(&places.lines[pair.key.line]);
        let file = reader.rsplit_once(':').map_or(reader.as_str(), |(file, _)| file).to_owned();
        Words { places, file }
    }

    /// `line 7` in the reader's file, else `FILE:7`.
    pub fn line(&self, line: usize) -> String {
        self.places.with_column(self.near(&self.places.lines[line]), line)
    }

    /// Of a loop, or the function that it is in.
    pub fn of_loop(&self, at: LoopId) -> String {
        let loops = &self.places.loops;
        let function = demangle(self.places.profile.symbol(loops.function(at)));
        match loops.place(at) {
            Some(place) => format!("in the loop at {} ({function})", self.near(&place)),
            None => format!("in a loop of {function}"),
        }
    }

    /// `: the loops at lines 3 and 4`, if both are known.
    pub fn two_loops(&self, loops: [Option<LoopId>; 2]) -> String {
        let names = loops.map(|at| at.and_then(|at| self.places.loops.place(at)).map(|place| self.near(&place)));
        match names {
            [Some(a), Some(b)] if a == b => match loops.map(|at| at.map_or(0, |at| self.places.loops.begins(at).1)) {
                [first, second] if first != second => format!(": the loops at {a}, columns {first} and {second}"),
                _ => String::new(),
            },
            [Some(a), Some(b)] => match (a.strip_prefix("line "), b.strip_prefix("line ")) {
                (Some(a), Some(b)) => format!(": the loops at lines {a} and {b}"),
                _ => format!(": the loops at {a} and {b}"),
            },
            _ => String::new(),
        }
    }

    /// `: the loop at line 4`, if it is known.
    pub fn inner(&self, at: Option<LoopId>) -> String {
        let place = at.and_then(|at| self.places.loops.place(at));
        place.map_or(String::new(), |place| format!(": the loop at {}", self.near(&place)))
    }

    fn near(&self, place: &str) -> String {
        let shown = self.places.show(place);
        match shown.rsplit_once(':') {
            Some((file, line)) if file == self.file && line.bytes().all(|c| c.is_ascii_digit()) => {
                format!("line {line}")
            }
            _ => shown,
        }
    }
}
