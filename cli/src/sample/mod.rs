//! Costs that were estimated from a sample: [`args`] is what to draw, [`document`] the tables.

pub mod args;
pub mod budget;
mod document;
pub mod file;

pub use document::{Drawn, document};
pub use file::{Estimates, Measured};
