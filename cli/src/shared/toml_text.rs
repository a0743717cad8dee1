//! TOML with places: every value knows its line, every mistake is reported as `FILE:LINE: what is wrong`, and what to
//! do.
//!
//! Takes the text of a baseline or of `dmdprof.toml`; refuses what is no TOML, leftovers of a merge, and keys that
//! nobody asked for.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    pub path: PathBuf,
    /// From 1; `None`: the file as a whole.
    pub line: Option<usize>,
    pub message: String,
    pub advice: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}\n  {}", self.message, self.advice)
    }
}

impl std::error::Error for TextError {}

/// What to do about a bad baseline.
pub const RESTORE: &str = "restore the file from version control, or make it again with `dmdprof check --accept`";

type Result<T> = std::result::Result<T, TextError>;

/// A file's text, and what to do if it is bad.
#[derive(Clone, Copy)]
pub struct Document<'a> {
    pub path: &'a Path,
    pub text: &'a str,
    pub advice: &'a str,
}

impl<'a> Document<'a> {
    /// The file as a table.
    ///
    /// # Errors
    /// [`TextError`] at the first thing that is no TOML.
    pub fn parse(&self) -> Result<DeTable<'a>> {
        self.no_conflict()?;
        match DeTable::parse(self.text) {
            Ok(table) => Ok(table.into_inner()),
            Err(error) => {
                // A file that was cut has its mistake at the end.
                let span = error.span().unwrap_or(self.text.len()..self.text.len());
                let what = self.text.get(span.clone()).filter(|t| (1..60).contains(&t.len()) && !t.contains('\n'));
                let message =
                    what.map_or_else(|| error.message().into(), |what| format!("{}: {what}", error.message()));
                Err(self.error(span, message))
            }
        }
    }

    fn no_conflict(&self) -> Result<()> {
        let is_mark = |line: &str| ["<<<<<<<", "=======", ">>>>>>>", "|||||||"].iter().any(|m| line.starts_with(m));
        match self.text.lines().position(is_mark) {
            None => Ok(()),
            Some(line) => Err(TextError {
                path: self.path.into(),
                line: Some(line + 1),
                message: "a merge conflict was left here".into(),
                advice: self.advice.into(),
            }),
        }
    }

    #[must_use]
    pub fn error(&self, span: Range<usize>, message: impl Into<String>) -> TextError {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        TextError { path: self.path.into(), line: Some(line), message: message.into(), advice: self.advice.into() }
    }

    /// About no line in particular.
    #[must_use]
    pub fn whole(&self, message: impl Into<String>) -> TextError {
        TextError { path: self.path.into(), line: None, message: message.into(), advice: self.advice.into() }
    }

    fn expected(&self, what: &str, value: &Spanned<DeValue<'_>>) -> TextError {
        self.error(value.span(), format!("expected {what}, found {}", describe(value.get_ref())))
    }

    /// # Errors
    /// When it is another kind of value, as for all of these.
    pub fn string(&self, value: &Spanned<DeValue<'_>>) -> Result<String> {
        value.get_ref().as_str().map(str::to_owned).ok_or_else(|| self.expected("a text", value))
    }

    /// Not negative, and small enough for differences.
    pub fn integer(&self, value: &Spanned<DeValue<'_>>) -> Result<u128> {
        let number = value.get_ref().as_integer();
        let number = number.and_then(|n| u128::from_str_radix(n.as_str(), n.radix()).ok());
        number.filter(|n| i128::try_from(*n).is_ok()).ok_or_else(|| self.expected("a whole number", value))
    }

    pub fn table<'t, 'v>(&self, value: &'t Spanned<DeValue<'v>>) -> Result<&'t DeTable<'v>> {
        value.get_ref().as_table().ok_or_else(|| self.expected("a table", value))
    }

    pub fn array<'t, 'v>(&self, value: &'t Spanned<DeValue<'v>>) -> Result<Vec<&'t Spanned<DeValue<'v>>>> {
        let array = value.get_ref().as_array().ok_or_else(|| self.expected("a list", value))?;
        Ok(array.iter().collect())
    }

    pub fn strings(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>> {
        self.array(value)?.into_iter().map(|v| self.string(v)).collect()
    }
}

fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Integer(n) => n.to_string(),
        DeValue::Float(n) => n.to_string(),
        DeValue::String(s) => format!("{s:?}"),
        DeValue::Boolean(b) => b.to_string(),
        other => format!("a {}", other.type_str()),
    }
}

/// A table of which each key is asked for once; [`Fields::finish`] refuses the others.
pub struct Fields<'d, 't, 'a> {
    document: Document<'d>,
    table: &'t DeTable<'a>,
    what: &'static str,
    known: RefCell<BTreeSet<&'static str>>,
}

impl<'d, 't, 'a> Fields<'d, 't, 'a> {
    #[must_use]
    pub fn new(document: Document<'d>, table: &'t DeTable<'a>, what: &'static str) -> Self {
        Fields { document, table, what, known: RefCell::default() }
    }

    pub fn optional(&self, key: &'static str) -> Option<&'t Spanned<DeValue<'a>>> {
        self.known.borrow_mut().insert(key);
        self.table.iter().find(|(k, _)| k.get_ref() == key).map(|(_, value)| value)
    }

    /// # Errors
    /// When the key is missing.
    pub fn required(&self, key: &'static str) -> Result<&'t Spanned<DeValue<'a>>> {
        let at = self.table.values().map(Spanned::span).min_by_key(|s| s.start);
        self.optional(key).ok_or_else(|| {
            let message = format!("{} has no {key:?}", self.what);
            at.map_or_else(|| self.document.whole(message.clone()), |span| self.document.error(span, message.clone()))
        })
    }

    /// # Errors
    /// At the first key that was not asked for.
    pub fn finish(self) -> Result<()> {
        let known = self.known.into_inner();
        let unknown = self.table.keys().filter(|k| !known.contains(k.get_ref().as_ref()));
        match unknown.min_by_key(|k| k.span().start) {
            None => Ok(()),
            Some(key) => {
                let names: Vec<&str> = known.into_iter().collect();
                let message =
                    format!("unknown key {:?} in {}; known are {}", key.get_ref(), self.what, names.join(", "));
                Err(self.document.error(key.span(), message))
            }
        }
    }
}

/// A table's entries in the order of the text.
#[must_use]
pub fn in_order<'t, 'a>(
    table: &'t DeTable<'a>,
) -> Vec<(&'t Spanned<std::borrow::Cow<'a, str>>, &'t Spanned<DeValue<'a>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}
