//! A workload with its estimate.

use dmdprof_models::roofline::Estimate;

use super::{on_core::OnCore, workload::Workload};

/// A workload with its estimate.
#[derive(Clone, Debug)]
pub struct Line<'s> {
    pub workload: &'s Workload,
    pub work: f64,
    /// Traffic at the memory of each link.
    pub traffic: Vec<f64>,
    pub estimate: Estimate,
    /// Its time on the machine's core, which is that of the estimate then.
    pub core: Option<&'s OnCore>,
    /// Part of the time of everything: of all functions together, for inclusive numbers and regions of the program.
    pub share: f64,
}
