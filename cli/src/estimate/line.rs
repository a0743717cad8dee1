//! A subject with its estimate.

use dmdprof_models::roofline::Estimate;

use super::subject::Subject;

/// A subject with its estimate.
#[derive(Clone, Debug)]
pub struct Line<'s> {
    pub subject: &'s Subject,
    pub work: f64,
    /// Traffic at the memory of each link.
    pub traffic: Vec<f64>,
    pub estimate: Estimate,
    /// Part of the time of everything: of all functions together, for inclusive numbers and regions of the program.
    pub share: f64,
}
