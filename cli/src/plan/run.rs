//! Asking a question at every point: profiles, machines and all combinations of inputs with several values.
//!
//! Takes an [`Query`], gives [`PlanResult`]: a row of figures per point, the best one with its whole answer, the
//! frontiers of time against money and carbon, and how the goal moves when an input is halved or doubled. A point that
//! has no answer says why; if none has one that is the error.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::bail;

use super::bill;
use super::defaults::{Defaults, Library, Loaded, is_size_name};
use super::input::{Default, Input, Inputs};
use super::question::Question;
use super::sweep;
use super::unit::Unit;
use super::value::{Answer, Number, Origin};
use crate::estimate::view::Choice;
use crate::estimate::workload::Work;
use crate::machine::Machine;

/// A question with all that was said.
pub struct Query {
    pub question: &'static Question,
    pub title: String,
    pub profiles: Vec<String>,
    pub function: Option<String>,
    pub machines: Vec<Machine>,
    pub choice: Choice,
    pub work: Option<Work>,
    /// Texts by the keys of inputs.
    pub given: BTreeMap<&'static str, String>,
    pub library: Rc<Library>,
    pub tornado: bool,
}

/// Something that has several values.
pub struct Axis {
    pub key: &'static str,
    /// `None`: names.
    pub unit: Option<Unit>,
    pub names: Vec<String>,
    pub values: Vec<f64>,
}

impl Axis {
    #[must_use]
    pub fn len(&self) -> usize {
        if self.unit.is_some() { self.values.len() } else { self.names.len() }
    }

    /// A value for people.
    #[must_use]
    pub fn show(&self, at: usize) -> String {
        self.unit.map_or_else(|| self.names[at].clone(), |unit| unit.show(self.values[at]))
    }
}

/// A figure that at least one point has.
pub struct Heading {
    pub key: &'static str,
    pub label: &'static str,
    pub unit: Unit,
}

/// Figures of one point, in the order of the headings; NaN where there is none.
pub struct Row {
    pub at: Vec<usize>,
    pub values: Vec<f64>,
    /// One bit per heading.
    guesses: u64,
    /// Why there is no answer.
    pub refused: Option<String>,
}

impl Row {
    #[must_use]
    pub fn guess(&self, heading: usize) -> bool {
        self.guesses >> heading & 1 == 1
    }
}

/// How the goal moves with one input.
pub struct Swing {
    pub key: &'static str,
    pub number: Number,
    /// Goal at half and at double; an error where there is no answer.
    pub half: Result<f64, String>,
    pub double: Result<f64, String>,
}

impl Swing {
    /// The largest factor by which the goal changes, for sorting.
    fn size(&self, goal: f64) -> f64 {
        let factor = |value: &Result<f64, String>| match value {
            Ok(value) if *value > 0.0 && goal > 0.0 => (value / goal).ln().abs(),
            Ok(value) => {
                if *value == goal {
                    0.0
                } else {
                    f64::INFINITY
                }
            }
            Err(_) => 0.0,
        };
        factor(&self.half).max(factor(&self.double))
    }
}

/// All that was found.
pub struct PlanResult {
    /// Those with several values.
    pub axes: Vec<Axis>,
    pub headings: Vec<Heading>,
    pub rows: Vec<Row>,
    /// Of the best point.
    pub best: usize,
    pub answer: Answer,
    /// What the best point used.
    pub inputs: Vec<(Input, Number, Origin)>,
    /// Texts that were stated.
    pub texts: Vec<(&'static str, String)>,
    /// Rows that nobody beats in both time and money, and in both time and carbon.
    pub frontiers: Vec<(&'static str, Vec<usize>)>,
    pub swings: Vec<Swing>,
    pub notes: Vec<String>,
}

impl PlanResult {
    /// The number of a heading.
    #[must_use]
    pub fn heading(&self, key: &str) -> Option<usize> {
        self.headings.iter().position(|h| h.key == key)
    }
}

/// What is the same for all points of a profile and a machine.
struct PlannedPoint<'a> {
    defaults: Defaults<'a>,
    loaded: Option<usize>,
}

/// Asks at all points.
///
/// # Errors
/// Inputs that are wrong, profiles that cannot be read, too many points, or no point with an answer.
pub fn ask(ask: &Query) -> anyhow::Result<PlanResult> {
    let specs = ask.question.specs();
    let loaded = ask.profiles.iter().map(|name| ask.library.read(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let texts: BTreeMap<&'static str, String> = specs
        .iter()
        .filter(|s| s.unit == Unit::Text)
        .filter_map(|s| Some((s.key, ask.given.get(s.key)?.clone())))
        .collect();
    let of_profiles: Vec<Option<&Loaded>> =
        if loaded.is_empty() { vec![None] } else { loaded.iter().map(|l| Some(&**l)).collect() };
    let stated = of_profiles.iter().map(|l| values(&specs, ask, *l)).collect::<anyhow::Result<Vec<_>>>()?;
    let numeric: Vec<(Input, usize)> = stated[0].iter().map(|(spec, v)| (*spec, v.len())).collect();
    let places = places(ask, &of_profiles);
    let lengths: Vec<usize> = [of_profiles.len(), ask.machines.len().max(1)]
        .into_iter()
        .chain(numeric.iter().map(|(_, length)| *length))
        .collect();
    let point = |at: &[usize], scaled: Option<(&'static str, f64)>| {
        let place = &places[at[0]][at[1]];
        let given = stated[at[0]].iter().zip(&at[2..]).map(|((spec, v), i)| (spec.key, v[*i])).collect();
        debug_assert_eq!(place.loaded.unwrap_or(0), at[0]);
        Inputs { specs: &specs, given, texts: &texts, defaults: &place.defaults, scaled, used: RefCell::default() }
    };
    let answer_at = |at: &[usize], scaled| {
        let inputs = point(at, scaled);
        let mut answer = Answer::default();
        (ask.question.answer)(&inputs, &mut answer).map(|()| answer)
    };
    let mut table = Table::default();
    for at in sweep::combinations(&lengths)? {
        table.add(&at, answer_at(&at, None));
    }
    let Table { headings, rows, mut notes, first_error } = table;
    let Some(best) = best(ask.question, &headings, &rows) else {
        return Err(first_error.unwrap_or_else(|| anyhow::anyhow!("{} has no answer", ask.question.name)));
    };
    let at = rows[best].at.clone();
    let inputs = point(&at, None);
    let mut answer = Answer::default();
    (ask.question.answer)(&inputs, &mut answer)?;
    if let Some(tables) = ask.question.tables {
        tables(&inputs, &mut answer)?;
    }
    let used = inputs.used.borrow().clone();
    let used: Vec<(Input, Number, Origin)> = specs
        .iter()
        .filter_map(|spec| used.get(spec.key).map(|(number, origin)| (*spec, *number, origin.clone())))
        .collect();
    let swings = if ask.tornado { swings(ask, &used, &at, &answer_at, &answer)? } else { Vec::new() };
    for machine in places.iter().flatten() {
        let name = machine.defaults.machine.map_or("", |m| m.name.as_str());
        notes.extend(machine.defaults.guesses.borrow().sentence(name));
    }
    notes.dedup();
    let frontiers = [bill::COST, bill::CARBON]
        .into_iter()
        .filter_map(|key| Some((key, frontier(&headings, &rows, ask.question.time, key)?)))
        .collect();
    let axes = axes(ask, &numeric, &stated[0]);
    // Axes with one value are inputs like any other.
    let is_axis: Vec<bool> = lengths.iter().map(|length| *length > 1).collect();
    let mut rows = rows;
    for row in &mut rows {
        let mut keep = is_axis.iter();
        row.at.retain(|_| *keep.next().expect("one per axis"));
    }
    let texts = texts.into_iter().collect();
    Ok(PlanResult { axes, headings, rows, best, answer, inputs: used, texts, frontiers, swings, notes })
}

/// The values of each input that was stated, or has a range by default.
fn values(specs: &[Input], ask: &Query, loaded: Option<&Loaded>) -> anyhow::Result<Vec<(Input, Vec<f64>)>> {
    let mut values = Vec::new();
    for spec in specs.iter().filter(|s| s.unit != Unit::Text) {
        let text = match (ask.given.get(spec.key), spec.default) {
            (Some(text), _) => text.as_str(),
            (None, Default::Text(text, _)) => text,
            _ => continue,
        };
        if spec.unit == Unit::Bytes && is_size_name(text) {
            let Some(loaded) = loaded else {
                bail!("{}: {text:?} is of a profile; name one (profile = \"FILE\")", spec.key);
            };
            let size = loaded.size(text)?.expect("it is the name of a size");
            values.push((*spec, vec![spec.check(size)?]));
            continue;
        }
        values.push((*spec, sweep::parse(spec, text)?));
    }
    Ok(values)
}

fn places<'a>(ask: &'a Query, profiles: &[Option<&'a Loaded>]) -> Vec<Vec<PlannedPoint<'a>>> {
    let machines: Vec<Option<&Machine>> =
        if ask.machines.is_empty() { vec![None] } else { ask.machines.iter().map(Some).collect() };
    let place = |number: usize, loaded: Option<&'a Loaded>, machine| PlannedPoint {
        defaults: Defaults::new(loaded, ask.function.as_deref(), machine, ask.choice, ask.work, &ask.library),
        loaded: loaded.map(|_| number),
    };
    profiles
        .iter()
        .enumerate()
        .map(|(number, loaded)| machines.iter().map(|machine| place(number, *loaded, *machine)).collect())
        .collect()
}

fn axes(ask: &Query, numeric: &[(Input, usize)], stated: &[(Input, Vec<f64>)]) -> Vec<Axis> {
    let named = |key, names: Vec<String>| Axis { key, unit: None, names, values: Vec::new() };
    let mut axes = vec![
        named("profile", ask.profiles.clone()),
        named("machine", ask.machines.iter().map(|m| m.name.clone()).collect()),
    ];
    for ((spec, _), (_, values)) in numeric.iter().zip(stated) {
        axes.push(Axis { key: spec.key, unit: Some(spec.unit), names: Vec::new(), values: values.clone() });
    }
    axes.retain(|axis| axis.len() > 1);
    axes
}

/// Rows as they come.
#[derive(std::default::Default)]
struct Table {
    headings: Vec<Heading>,
    rows: Vec<Row>,
    notes: Vec<String>,
    first_error: Option<anyhow::Error>,
}

impl Table {
    fn add(&mut self, at: &[usize], answer: anyhow::Result<Answer>) {
        let mut row = Row { at: at.to_vec(), values: vec![f64::NAN; self.headings.len()], guesses: 0, refused: None };
        match answer {
            Ok(answer) => {
                for figure in &answer.figures {
                    let heading = self.heading(figure.key, figure.label, figure.number.unit);
                    row.values.resize(self.headings.len(), f64::NAN);
                    row.values[heading] = figure.number.value;
                    row.guesses |= u64::from(figure.number.guess) << heading;
                }
                for note in answer.notes {
                    if self.notes.len() < 20 && !self.notes.contains(&note) {
                        self.notes.push(note);
                    }
                }
            }
            Err(error) => {
                row.refused = Some(format!("{error:#}"));
                self.first_error.get_or_insert(error);
            }
        }
        self.rows.push(row);
    }

    fn heading(&mut self, key: &'static str, label: &'static str, unit: Unit) -> usize {
        self.headings.iter().position(|h| h.key == key).unwrap_or_else(|| {
            self.headings.push(Heading { key, label, unit });
            self.headings.len() - 1
        })
    }
}

fn value(row: &Row, heading: usize) -> Option<f64> {
    row.values.get(heading).copied().filter(|value| !value.is_nan())
}

/// The row with the best goal; the first of equals, and the first answered one if none has the goal.
fn best(question: &Question, headings: &[Heading], rows: &[Row]) -> Option<usize> {
    let answered = rows.iter().position(|row| row.refused.is_none())?;
    let Some(goal) = headings.iter().position(|h| h.key == question.goal) else { return Some(answered) };
    let sign = if question.least { 1.0 } else { -1.0 };
    let scored = rows.iter().enumerate().filter_map(|(i, row)| Some((i, sign * value(row, goal)?)));
    Some(scored.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0))).map_or(answered, |(i, _)| i))
}

/// Rows that no other beats in both figures, from the shortest time on.
fn frontier(headings: &[Heading], rows: &[Row], time: &str, key: &str) -> Option<Vec<usize>> {
    let of = |key: &str| headings.iter().position(|h| h.key == key);
    let (time, other) = (of(time)?, of(key)?);
    let mut points: Vec<(usize, f64, f64)> =
        rows.iter().enumerate().filter_map(|(i, row)| Some((i, value(row, time)?, value(row, other)?))).collect();
    points.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2)).then(a.0.cmp(&b.0)));
    let mut least = f64::INFINITY;
    points.retain(|(_, _, cost)| {
        let is_better = *cost < least;
        least = least.min(*cost);
        is_better
    });
    Some(points.into_iter().map(|(i, ..)| i).collect())
}

/// The goal with each number at half and at double, the largest change first.
fn swings(
    ask: &Query,
    used: &[(Input, Number, Origin)],
    at: &[usize],
    answer_at: &impl Fn(&[usize], Option<(&'static str, f64)>) -> anyhow::Result<Answer>,
    answer: &Answer,
) -> anyhow::Result<Vec<Swing>> {
    let Some(goal) = answer.get(ask.question.goal) else {
        bail!("a tornado needs {}, which has no value here", ask.question.goal);
    };
    let is_scalable = |unit: Unit| !matches!(unit, Unit::Word(_) | Unit::Text | Unit::Year);
    let with = |key, factor| match answer_at(at, Some((key, factor))) {
        Ok(answer) => answer.get(ask.question.goal).map(|n| n.value).ok_or_else(|| "no value".to_owned()),
        Err(error) => Err(format!("{error:#}")),
    };
    let mut swings: Vec<Swing> = used
        .iter()
        .filter(|(spec, number, _)| is_scalable(spec.unit) && number.value != 0.0 && number.value.is_finite())
        .map(|(spec, number, _)| Swing {
            key: spec.key,
            number: *number,
            half: with(spec.key, 0.5),
            double: with(spec.key, 2.0),
        })
        .collect();
    swings.sort_by(|a, b| b.size(goal.value).total_cmp(&a.size(goal.value)));
    Ok(swings)
}
