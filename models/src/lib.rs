//! Performance models: what measured counts mean on a machine.
//!
//! Takes counts of one profile (work, span, bytes, traffic Q(Z)) and figures of a machine, gives times, bounds,
//! energies and rankings. Every model is a module of pure functions: no files, no clock, no machine of its own. All
//! quantities are in SI units (seconds, bytes, operations per second, bytes per second, joules, watts) unless a name
//! says otherwise; one fused multiply-add is two operations. A figure that cannot be right (a bandwidth of 0, a
//! negative time, a NaN) is refused with an [`InputError`] that names it.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod balance;
pub mod bounds;
pub mod bytedmd;
pub mod collectives;
pub mod energy;
mod error;
pub mod experts;
pub mod facility;
pub mod fidelity;
pub mod fusion;
pub mod iron_law;
pub mod isotonic;
pub mod leaves;
pub mod network;
pub mod pipeline;
pub mod placement;
pub mod projection;
#[cfg(test)]
mod published;
pub mod queueing;
pub mod reliability;
pub mod roofline;
pub mod scaling;
pub mod serving;
pub mod stages;
pub mod training;
pub mod variants;

pub use error::InputError;
