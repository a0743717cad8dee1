//! Costs that were estimated from a sample: [`args`] is what to draw, [`document`] the tables.

pub mod args;
pub mod budget;
mod document;
pub mod file;

pub use document::document;
pub use file::{Drawn, Estimates, Measured};
