//! Machines that models estimate for: peak rates, levels of memory, floors and energies, each number with its source.
//!
//! Data goes one way: TOML text ([`mod@file`], units by [`quantity`](crate::shared::quantity)) becomes a [`Machine`],
//! from the shipped files ([`zoo`]) or the user's ([`find`]); [`text`] writes it back, [`report`] shows it. Models take
//! a [`Machine`] and refuse, through [`Machine::need`], what it does not state. [`calibrate`] measures one. Every field
//! is described in `docs/machines.md`.

#[cfg(target_arch = "x86_64")]
pub mod calibrate;
pub mod file;
pub mod find;
pub mod model;
pub mod names;
pub mod problem;
pub mod report;
pub mod text;
pub mod zoo;

pub use find::Places;
pub use model::{Figure, Level, Machine, MissingField, OpType, Origin, WritePolicy};

/// Cores that work at the same time in a calibration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Threads {
    /// One core, the others left alone
    #[default]
    #[value(name = "1")]
    One,
    /// All processors that this process may use
    All,
}
