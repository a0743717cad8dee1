//! A question: what it asks for, what answers it, and what counts as better.

use super::input::{Input, Inputs};
use super::value::Answer;

/// Something that `dmdprof plan` can be asked.
pub struct Question {
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// What it computes, and what it cannot see.
    pub more: &'static str,
    pub examples: &'static str,
    /// In groups.
    pub inputs: &'static [&'static [Input]],
    /// The figure that decides which point is the best.
    pub goal: &'static str,
    /// Whether the least is the best.
    pub least: bool,
    /// The figure that is set against money and carbon; they are [`super::bill::COST`] and [`super::bill::CARBON`].
    pub time: &'static str,
    pub answer: fn(&Inputs<'_>, &mut Answer) -> anyhow::Result<()>,
    /// Adds tables; asked at the first point only.
    pub tables: Option<fn(&Inputs<'_>, &mut Answer) -> anyhow::Result<()>>,
}

impl Question {
    /// All inputs.
    #[must_use]
    pub fn specs(&self) -> Vec<Input> {
        self.inputs.iter().flat_map(|group| group.iter().copied()).collect()
    }
}
