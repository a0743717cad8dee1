//! Accesses that a processor handles slower than others of their kind, wherever their bytes are: hazards.
//!
//! Takes the accesses of a ring in program order; gives, for each cell, how many of them were hazards of each kind. A
//! kind is a function here and a line in the list of `kinds`: whoever adds one needs nothing for parts of runs,
//! threads, files, reports and gates. It goes by an access and the stores among the [`WINDOW`] accesses before it, so
//! that parts of a run can be counted apart.

mod follow;
mod kinds;
mod splits;
mod stores;
#[cfg(test)]
mod tests;
mod touch;

pub use follow::{HazardBoundary, Hazards};
pub use kinds::NAMES;
pub use touch::WINDOW;
