//! `dmdprof rank`: variants of one kernel, run, compared and ordered.
//!
//! Data goes one way: a variant is run, or its result found in the [`cache`], and leaves [`Evidence`]; [`same`] says
//! how far its result is from the baseline's, [`standing`] who may win by which criterion, [`sheet`] prints it. The
//! rule is `dmdprof_models::variants`. Only `cache` reads and writes files.

pub mod cache;
pub mod cycles;
mod difference;
pub mod elements;
pub mod same;
pub mod sheet;
pub mod standing;
pub mod text;

use crate::profile::Profile;
use crate::profile::model::Outcome;

/// What one run of a variant left.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    pub profile: Profile,
    pub stdout: Vec<u8>,
    /// Bytes of declared outputs, in the order of declaration.
    pub outputs: Vec<Vec<u8>>,
}

impl Evidence {
    /// The program's exit code; 0 if something else ended it, which runs that are ranked do not.
    #[must_use]
    pub fn exit(&self) -> i32 {
        match self.profile.meta.outcome {
            Outcome::Exited(code) => code,
            Outcome::Signaled(_) | Outcome::Unknown => 0,
        }
    }
}

/// A variant as it was typed, with what its run left.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    pub name: String,
    pub evidence: Evidence,
}
