//! What a question asks for, what was said, and what is taken where nothing was said.
//!
//! An [`Input`] is described once; the command line, scenario files, help and the table of assumptions come from that
//! description. [`Inputs`] are those of one point: asked for a name, they give a number, or an error that says what to
//! state.

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::bail;

use super::defaults::Defaults;
use super::unit::{Allowed, Unit};
use super::value::{Number, Origin};

/// What is taken if nobody states an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// It must be stated.
    Required,
    /// It may be missing.
    Optional,
    /// This, in base units, and why.
    Assumed(f64, &'static str),
    /// As a text, for lists: `1..100000`.
    Text(&'static str, &'static str),
    /// What is known of the program or the machine under this name; else it must be stated.
    Known(&'static str),
    /// What is known of the program or the machine under this name; else it may be missing.
    Perhaps(&'static str),
    /// What is known of the program or the machine under this name; else this, and why.
    KnownOr(&'static str, f64, &'static str),
}

/// Something that a question asks for.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    pub key: &'static str,
    pub unit: Unit,
    pub allowed: Allowed,
    pub default: Default,
    pub help: &'static str,
}

impl Input {
    #[must_use]
    pub const fn new(key: &'static str, unit: Unit, allowed: Allowed, default: Default, help: &'static str) -> Self {
        Input { key, unit, allowed, default, help }
    }

    /// Checks a value that was read.
    ///
    /// # Errors
    /// When the input cannot have it.
    pub fn check(&self, value: f64) -> anyhow::Result<f64> {
        match self.allowed.check(value, self.unit) {
            Ok(value) => Ok(value),
            Err(why) => bail!("{} {why}", self.key),
        }
    }

    /// For help: what is taken if nobody states it.
    #[must_use]
    pub fn default_text(&self) -> Option<String> {
        Some(match self.default {
            Default::Required | Default::Optional => return None,
            Default::Assumed(value, why) => format!("{} ({why})", self.unit.show(value)),
            Default::Text(text, _) => text.into(),
            Default::Known(what) | Default::Perhaps(what) => super::defaults::describe(what).into(),
            Default::KnownOr(what, value, _) => {
                format!("{}, else {}", super::defaults::describe(what), self.unit.show(value))
            }
        })
    }
}

/// The inputs of one point.
pub struct Inputs<'a> {
    pub specs: &'a [Input],
    /// What was said, in base units.
    pub given: BTreeMap<&'static str, f64>,
    /// What was said, of [`Unit::Text`].
    pub texts: &'a BTreeMap<&'static str, String>,
    pub defaults: &'a Defaults<'a>,
    /// Factors for the tornado, by input.
    pub scaled: Option<(&'static str, f64)>,
    /// Which inputs were looked at, and where their numbers are from.
    pub used: RefCell<BTreeMap<&'static str, (Number, Origin)>>,
}

impl Inputs<'_> {
    /// # Errors
    /// When it is not known; the message says what to state.
    pub fn get(&self, key: &'static str) -> anyhow::Result<Number> {
        let spec = self.spec(key);
        let (number, origin) = match self.find(spec) {
            Ok(Some(found)) => found,
            Ok(None) => bail!("{key} is not known; state it ({}){}", spec.help, self.hint(spec)),
            Err(why) => bail!("{key} is not known: {why}; or state it: {key} = ... ({})", spec.help),
        };
        self.take(spec, number, origin)
    }

    /// As [`Inputs::get`], but nothing if it is not known.
    ///
    /// # Errors
    /// When it is known and the input cannot have that value.
    pub fn maybe(&self, key: &'static str) -> anyhow::Result<Option<Number>> {
        let spec = self.spec(key);
        match self.find(spec) {
            Ok(Some((number, origin))) => self.take(spec, number, origin).map(Some),
            Ok(None) | Err(_) => Ok(None),
        }
    }

    /// The word of a [`Unit::Word`].
    ///
    /// # Errors
    /// As for [`Inputs::get`].
    pub fn word(&self, key: &'static str) -> anyhow::Result<&'static str> {
        let number = self.get(key)?;
        let Unit::Word(words) = number.unit else { unreachable!("{key} is a word") };
        Ok(words[number.value as usize])
    }

    /// A [`Unit::Text`] that was stated.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.texts.get(key).map(String::as_str)
    }

    /// Whether somebody stated it.
    #[must_use]
    pub fn is_given(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    fn spec(&self, key: &str) -> &Input {
        self.specs.iter().find(|spec| spec.key == key).expect("questions ask for what they describe")
    }

    fn hint(&self, spec: &Input) -> String {
        match spec.default {
            Default::Known(what) | Default::Perhaps(what) | Default::KnownOr(what, ..) => {
                format!(", or {}", super::defaults::advice(what))
            }
            _ => String::new(),
        }
    }

    fn find(&self, spec: &Input) -> Result<Option<(Number, Origin)>, String> {
        if let Some(value) = self.given.get(spec.key) {
            let origin = Origin { kind: "given", why: String::new() };
            return Ok(Some((Number::new(*value, spec.unit), origin)));
        }
        let assumed = |value, why: &str| {
            let number = Number { value, unit: spec.unit, guess: true };
            Some((number, Origin { kind: "assumed", why: why.into() }))
        };
        match spec.default {
            Default::Required | Default::Optional | Default::Text(..) => Ok(None),
            Default::Assumed(value, why) => Ok(assumed(value, why)),
            Default::Known(what) | Default::Perhaps(what) => self
                .defaults
                .get(what)
                .map(|found| found.map(|(number, origin)| (Number { unit: spec.unit, ..number }, origin))),
            Default::KnownOr(what, value, why) => match self.defaults.get(what) {
                Ok(Some((number, origin))) => Ok(Some((Number { unit: spec.unit, ..number }, origin))),
                _ => Ok(assumed(value, why)),
            },
        }
    }

    fn take(&self, spec: &Input, mut number: Number, origin: Origin) -> anyhow::Result<Number> {
        if let Some((_, factor)) = self.scaled.filter(|(key, _)| *key == spec.key) {
            number.value *= factor;
            if spec.unit == Unit::Count {
                number.value = number.value.floor().max(1.0);
            }
            if spec.unit == Unit::Share {
                number.value = number.value.min(1.0);
            }
            if spec.allowed == Allowed::AtLeastOne {
                number.value = number.value.max(1.0);
            }
        }
        number.value = spec.check(number.value)?;
        self.used.borrow_mut().insert(spec.key, (number, origin));
        Ok(number)
    }
}
