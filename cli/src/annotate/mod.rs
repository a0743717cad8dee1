//! `dmdprof annotate`: source files with what each line costs beside it.
//!
//! Takes a profile and the source files that it names, wherever they are now; gives the lines that cost something, with
//! lines around them. Files that are not there, and files that are not what was compiled, are named; the numbers of the
//! former are told all the same.

mod annotation;
mod sources;
#[cfg(test)]
mod tests;
mod write;

pub use annotation::{Options, annotate};
pub use sources::{Finder, State};
pub use write::{document, write};
