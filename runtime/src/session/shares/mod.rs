//! A trace that is analysed in parts, on any machines.
//!
//! `cut` replays a part, as `super::slices` does a slice; `summary` is what that gives, and the file that it is kept
//! in; `join` puts such parts together. Refuses what `super::replay` refuses, and files that are not as they were
//! written.

mod cut;
mod join;
mod summary;

pub use cut::slice;
pub use join::{JoinError, Joined};
pub use summary::{Name, Summary, SummaryError, read_name, read_summary, write};
