//! Scenario files: several questions with their inputs, in TOML.
//!
//! Takes the text of a file; gives what to ask. `[common]` holds inputs of all questions that have them, `[[ask]]` one
//! question each. Refuses keys that no question has, with the nearest one that is known, and values that are neither
//! texts nor numbers nor lists of these, each with the line. Units and ranges are read where the question is asked, as
//! on the command line.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use anyhow::Context;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::defaults::Library;
use super::question::Question;
use super::questions;
use super::run::Query;
use crate::estimate::view::Choice;
use crate::estimate::workload::Work;
use crate::machine::find::Places;
use crate::machine::{Machine, OpType};
use crate::shared::toml_text::{Document, TextError, in_order};

/// Version of the format.
const SCHEMA: u128 = 1;
/// Keys besides inputs.
const KEYS: [&str; 10] = [
    "question",
    "title",
    "profile",
    "function",
    "machine",
    "type",
    "efficiency",
    "assume-capacity",
    "count",
    "tornado",
];
const ADVICE: &str = "see docs/plan.md for scenario files, and `dmdprof plan QUESTION --help` for a question's inputs";

type Value<'a> = Spanned<DeValue<'a>>;
type Result<T> = std::result::Result<T, TextError>;

/// What a question is asked with, as texts with the offsets of their keys.
#[derive(Clone, Default)]
struct Texts(BTreeMap<String, (String, usize)>);

impl Texts {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(|(text, _)| text.as_str())
    }

    fn list(&self, key: &str) -> Vec<String> {
        let parts = self.get(key).into_iter().flat_map(|text| text.split(',')).map(|part| part.trim().to_owned());
        parts.filter(|part| !part.is_empty()).collect()
    }
}

/// Reads a scenario file. Profiles are found from its directory; machines as everywhere.
///
/// # Errors
/// What is wrong with the file, at its line; machines that are not known.
pub fn read(path: &Path) -> anyhow::Result<Vec<Query>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the scenario {}", path.display()))?;
    from_text(path, &text, &Places::from_env())
}

/// # Errors
/// As for [`read`].
pub fn from_text(path: &Path, text: &str, places: &Places) -> anyhow::Result<Vec<Query>> {
    let document = Document { path, text, advice: ADVICE };
    let table = document.parse()?;
    let reader = Reader { document, made_by: RefCell::default() };
    let parts = reader.parts(&table)?;
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    let library = Rc::new(Library::new(directory, reader.made_by.take()));
    parts
        .into_iter()
        .map(|(question, texts)| {
            let title = texts.get("title").unwrap_or_default().to_owned();
            ask(question, &texts, &library, places).with_context(|| {
                format!(
                    "{}: {}{}",
                    path.display(),
                    question.name,
                    if title.is_empty() { title } else { format!(" ({title})") }
                )
            })
        })
        .collect()
}

struct Reader<'d> {
    document: Document<'d>,
    made_by: RefCell<Option<String>>,
}

impl Reader<'_> {
    fn parts(&self, table: &DeTable<'_>) -> Result<Vec<(&'static Question, Texts)>> {
        let mut title = String::new();
        let mut common = Texts::default();
        let mut asked = Vec::new();
        let mut schema = None;
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "schema" => schema = Some(self.document.integer(value)?),
                "title" => title = self.document.string(value)?,
                "made-by" => *self.made_by.borrow_mut() = Some(self.document.string(value)?),
                "common" => common = self.texts(self.document.table(value)?)?,
                "ask" => {
                    for one in self.document.array(value)? {
                        asked.push((self.texts(self.document.table(one)?)?, one.span().start));
                    }
                }
                other => {
                    let known = ["schema", "title", "made-by", "common", "ask"];
                    return Err(self.unknown(key.span().start, other, known.into_iter(), "a scenario"));
                }
            }
        }
        match schema {
            Some(SCHEMA) => {}
            Some(other) => return Err(self.document.whole(format!("schema is {other}; this dmdprof reads {SCHEMA}"))),
            None => return Err(self.document.whole(format!("schema is missing; write schema = {SCHEMA}"))),
        }
        if asked.is_empty() {
            return Err(self.document.whole("asks nothing; write an [[ask]] table with a question"));
        }
        let mut parts = Vec::new();
        for (mut texts, start) in asked {
            let question = self.question(&texts, start)?;
            let specs = question.specs();
            let is_input = |key: &str| specs.iter().any(|spec| spec.key == key);
            for (key, (_, at)) in &texts.0 {
                if !KEYS.contains(&key.as_str()) && !is_input(key) {
                    let known = KEYS.into_iter().chain(specs.iter().map(|s| s.key));
                    return Err(self.unknown(*at, key, known, question.name));
                }
            }
            for (key, entry) in &common.0 {
                if KEYS.contains(&key.as_str()) || is_input(key) {
                    texts.0.entry(key.clone()).or_insert_with(|| entry.clone());
                }
            }
            texts.0.entry("title".into()).or_insert_with(|| (title.clone(), 0));
            parts.push((question, texts));
        }
        self.nobody_has(&common, &parts)?;
        Ok(parts)
    }

    /// Refuses common keys that no question asks for.
    fn nobody_has(&self, common: &Texts, parts: &[(&'static Question, Texts)]) -> Result<()> {
        let specs: Vec<_> = parts.iter().flat_map(|(question, _)| question.specs()).collect();
        for (key, (_, at)) in &common.0 {
            if !KEYS.contains(&key.as_str()) && !specs.iter().any(|spec| spec.key == key) {
                let known = KEYS.into_iter().chain(specs.iter().map(|s| s.key));
                return Err(self.unknown(*at, key, known, "the questions of this scenario"));
            }
        }
        Ok(())
    }

    fn question(&self, texts: &Texts, start: usize) -> Result<&'static Question> {
        let names = || questions::ALL.iter().map(|q| q.name);
        let Some((name, at)) = texts.0.get("question") else {
            let message = format!("question is missing; it can be {}", names().collect::<Vec<_>>().join(", "));
            return Err(self.document.error(start..start, message));
        };
        let found = questions::ALL.into_iter().find(|question| question.name == name);
        found.ok_or_else(|| self.unknown(*at, name, names(), "plan"))
    }

    fn unknown<'k>(&self, at: usize, key: &str, known: impl Iterator<Item = &'k str>, whose: &str) -> TextError {
        let near = nearest(key, known);
        self.document.error(at..at, format!("{key:?} is unknown in {whose}{near}"))
    }

    fn texts(&self, table: &DeTable<'_>) -> Result<Texts> {
        let mut texts = Texts::default();
        for (key, value) in in_order(table) {
            let name = key.get_ref().replace('_', "-");
            let text = if matches!(name.as_str(), "step" | "prefill") && value.get_ref().as_table().is_some() {
                self.pairs(self.document.table(value)?)?
            } else {
                self.text(value)?
            };
            texts.0.insert(name, (text, key.span().start));
        }
        Ok(texts)
    }

    /// `{ 64 = "a.data", 128 = "b.data" }` as `64=a.data, 128=b.data`.
    fn pairs(&self, table: &DeTable<'_>) -> Result<String> {
        let pair = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Value<'_>)| {
            Ok(format!("{}={}", key.get_ref(), self.document.string(value)?))
        };
        in_order(table).into_iter().map(pair).collect::<Result<Vec<_>>>().map(|pairs| pairs.join(", "))
    }

    fn text(&self, value: &Value<'_>) -> Result<String> {
        Ok(match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(flag) => (if *flag { "yes" } else { "no" }).into(),
            DeValue::Array(list) => list.iter().map(|part| self.text(part)).collect::<Result<Vec<_>>>()?.join(", "),
            _ => return Err(self.document.error(value.span(), "write a text in quotes, a number, or a list of these")),
        })
    }
}

/// `; did you mean a?`, or all that are known.
#[must_use]
pub fn nearest<'k>(key: &str, known: impl Iterator<Item = &'k str>) -> String {
    let mut near: Vec<(f64, &str)> = known.map(|name| (strsim::jaro_winkler(key, name), name)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    match near.first() {
        Some((likeness, name)) if *likeness > 0.7 => format!("; did you mean {name:?}?"),
        _ => format!("; known are {}", near.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ")),
    }
}

fn ask(question: &'static Question, texts: &Texts, library: &Rc<Library>, places: &Places) -> anyhow::Result<Query> {
    let given = question
        .specs()
        .iter()
        .filter_map(|spec| Some((spec.key, texts.get(spec.key)?.to_owned())))
        .collect::<BTreeMap<_, _>>();
    let machines: Vec<Machine> = crate::machine::find::all(places, &texts.list("machine"))?;
    let tornado = match texts.get("tornado") {
        None | Some("no") => false,
        Some("yes") => true,
        Some(other) => anyhow::bail!("tornado: {other:?} is neither true nor false"),
    };
    Ok(Query {
        question,
        title: texts.get("title").unwrap_or_default().into(),
        profiles: texts.list("profile"),
        function: texts.get("function").map(str::to_owned),
        machines,
        choice: choice(texts)?,
        work: texts.get("count").map(work).transpose()?,
        given,
        library: Rc::clone(library),
        tornado,
    })
}

fn choice(texts: &Texts) -> anyhow::Result<Choice> {
    let bad = |key: &str, why: String| anyhow::anyhow!("{key}: {why}");
    let kind = |text: &str| {
        let found = OpType::ALL.into_iter().find(|kind| kind.word() == text);
        found.ok_or_else(|| bad("type", format!("{text:?} is not one of {}", OpType::ALL.map(OpType::word).join(", "))))
    };
    let efficiency = |text: &str| match super::unit::Unit::Share.parse(text) {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        Ok(_) => Err(bad("efficiency", "must be above 0 and at most 1".into())),
        Err(why) => Err(bad("efficiency", why)),
    };
    let capacity = |text: &str| crate::shared::quantity::parse_size(text).map_err(|why| bad("assume-capacity", why));
    Ok(Choice {
        kind: texts.get("type").map(kind).transpose()?,
        capacity: texts.get("assume-capacity").map(capacity).transpose()?,
        efficiency: texts.get("efficiency").map(efficiency).transpose()?,
        ..Choice::default()
    })
}

fn work(text: &str) -> anyhow::Result<Work> {
    match text {
        "flops" => Ok(Work::Flops),
        "ops" => Ok(Work::Ops),
        other => anyhow::bail!("count: {other:?} is not one of flops, ops"),
    }
}
