//! Data objects: which data the bytes belong to that a program reads, as people would call them.
//!
//! [`groups`] gives objects names and puts those together that a person would not tell apart; [`report`] makes the
//! tables of `report --objects`, [`loops`] one of them, [`fields`] the one of `--fields`.

pub mod fields;
pub mod groups;
pub mod loops;
mod numbers;
mod parts;
mod print;
mod report;
#[cfg(test)]
mod tests;
pub mod waste;

pub use print::{look, print, writer};
