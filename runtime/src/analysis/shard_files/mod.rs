//! A trace that is analysed in parts, on any machines.
//!
//! `walk` goes over a trace up to a part, or to a point of its `index`. `cut` replays the part, as `super::slices` does
//! a slice; `summary` is what that gives (`counts` what it counted), and the file that it is kept in. `pair` makes one
//! part of two, `join` the whole of all. Files are made of `packed` blocks. Refuses what `super::replay` refuses, and
//! files that are not as they were written.

mod counts;
mod cut;
mod index;
mod join;
mod packed;
mod pair;
mod summary;
mod walk;

pub use cut::{SliceError, slice};
pub use index::{Identity, IndexError, IndexingError, find, index};
pub use join::{JoinError, Joined};
pub use summary::{Name, Summary, SummaryError, read_name, read_summary, write};
pub use walk::Point;

#[cfg(test)]
mod tests;
