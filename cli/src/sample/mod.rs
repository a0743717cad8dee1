//! Costs that were estimated from a sample: [`args`] is what to draw, [`document`] the tables.

pub mod args;
mod document;

pub use document::{Drawn, document};
