//! Numbers on their way through a plan, and the figures that come out of them.
//!
//! A [`Number`] knows what it counts and whether it rests on a guess. A [`Figure`] is a number with the formula that
//! gives it, what was put into the formula, and where the formula is from; it rests on a guess if one of these does.
//! [`Answer`] collects the figures of one point. Nothing is computed here.

use super::unit::Unit;
use crate::document::Sheet;

/// A number that counts something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// In base units.
    pub value: f64,
    pub unit: Unit,
    /// It was assumed, or rests on a figure of a machine that nobody vouches for.
    pub guess: bool,
}

impl Number {
    #[must_use]
    pub fn new(value: f64, unit: Unit) -> Self {
        Number { value, unit, guess: false }
    }

    /// Of [`Unit::Count`].
    #[must_use]
    pub fn count(self) -> u64 {
        self.value as u64
    }
}

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name in JSON and CSV.
    pub key: &'static str,
    /// For people.
    pub label: &'static str,
    pub number: Number,
    /// With `+ - * / ^`, parentheses, and `sqrt log2 ln exp max min ceil floor`; or words, if `is_formula` is not set.
    pub formula: &'static str,
    pub is_formula: bool,
    /// What stands for each name in the formula.
    pub with: Vec<(&'static str, Number)>,
    pub source: &'static str,
}

impl Figure {
    /// The formula with the numbers put in, for people.
    #[must_use]
    pub fn numbers(&self) -> String {
        self.put_in(|number| {
            let text = number.unit.show(number.value);
            // A number with a unit is one thing to multiply or divide by.
            if text.contains(' ') { format!("({text})") } else { text }
        })
    }

    /// The formula with something in the place of each name.
    pub fn put_in(&self, show: impl Fn(&Number) -> String) -> String {
        if !self.is_formula {
            let parts: Vec<String> =
                self.with.iter().map(|(name, n)| format!("{name} = {}", n.unit.show(n.value))).collect();
            return parts.join(", ");
        }
        let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut text = String::new();
        let mut rest = self.formula;
        while let Some(start) = rest.find(of_name) {
            text.push_str(&rest[..start]);
            let end = rest[start..].find(|c| !of_name(c)).map_or(rest.len(), |length| start + length);
            let name = &rest[start..end];
            match self.with.iter().find(|(known, _)| *known == name) {
                Some((_, number)) => text.push_str(&show(number)),
                None => text.push_str(name),
            }
            rest = &rest[end..];
        }
        text.push_str(rest);
        text
    }
}

/// What a question found at one point.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub figures: Vec<Figure>,
    /// Tables besides, of the first point only.
    pub sheets: Vec<Sheet>,
    pub notes: Vec<String>,
}

/// Where a figure is from.
#[derive(Clone, Copy, Debug)]
pub struct Name(pub &'static str, pub &'static str, pub Unit);

impl Answer {
    /// Adds a figure that a formula gives.
    pub fn figure(
        &mut self,
        name: Name,
        value: f64,
        formula: &'static str,
        with: &[(&'static str, Number)],
        source: &'static str,
    ) -> Number {
        self.add(name, value, formula, true, with, source)
    }

    /// Adds a figure that is found by a procedure, which is said in words.
    pub fn add_found(
        &mut self,
        name: Name,
        value: f64,
        how: &'static str,
        with: &[(&'static str, Number)],
        source: &'static str,
    ) -> Number {
        self.add(name, value, how, false, with, source)
    }

    fn add(
        &mut self,
        Name(key, label, unit): Name,
        value: f64,
        formula: &'static str,
        is_formula: bool,
        with: &[(&'static str, Number)],
        source: &'static str,
    ) -> Number {
        let number = Number { value, unit, guess: with.iter().any(|(_, n)| n.guess) };
        self.figures.push(Figure { key, label, number, formula, is_formula, with: with.to_vec(), source });
        number
    }

    /// Says something once.
    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    #[must_use]
    pub fn get(&self, key: &str) -> Option<Number> {
        self.figures.iter().find(|figure| figure.key == key).map(|figure| figure.number)
    }
}
/// Where a number is from, for the table of inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// `given`, `assumed`, `measured`, `machine`.
    pub kind: &'static str,
    pub why: String,
}
