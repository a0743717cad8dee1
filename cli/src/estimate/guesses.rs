//! What an estimate rests on that nobody measured or vouches for.

use crate::machine::Figure;

/// Numbers that are guesses, in the order of use, with why they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guesses(Vec<(String, String)>);

impl Guesses {
    /// Remembers a figure if it is a guess, and says whether it is.
    pub fn note(&mut self, what: &str, figure: &Figure) -> bool {
        let guess = figure.confidence.is_guess();
        if guess {
            self.0.push((what.into(), format!("{}: {}", figure.confidence, figure.source)));
        }
        guess
    }

    /// Remembers a figure that the machine states, if it is a guess.
    pub fn note_if(&mut self, what: &str, figure: Option<&Figure>) {
        if let Some(figure) = figure {
            self.note(what, figure);
        }
    }

    /// Remembers what the user said to assume.
    pub fn assumed(&mut self, what: String) {
        self.0.push((what, "assumed on the command line".into()));
    }

    /// Remembers what was taken because something is not known.
    pub fn stands_in(&mut self, what: String, why: String) {
        self.0.push((what, why));
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `~ on MACHINE rests on: a, b (convention: ...); c (...).`, or nothing.
    #[must_use]
    pub fn sentence(&self, machine: &str) -> Option<String> {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for (what, why) in &self.0 {
            match groups.iter_mut().find(|(reason, _)| reason == why) {
                Some((_, list)) => list.push(what),
                None => groups.push((why, vec![what])),
            }
        }
        let parts: Vec<String> = groups.iter().map(|(why, what)| format!("{} ({why})", what.join(", "))).collect();
        (!parts.is_empty()).then(|| format!("~ on {machine} rests on: {}.", parts.join("; ")))
    }
}
