//! `dmdprof plan`: from measured profiles to fleets, money, carbon and years.
//!
//! A [`question::Question`] states its inputs and answers them by way of `dmdprof_models`; [`questions`] has them all.
//! [`input`], [`known`] and [`sweep`] turn what was said, measured or stated by a machine into numbers, [`run`] asks at
//! every point, [`output`] makes the document, [`scenario`] reads files of several questions. Only [`known::Library`]
//! and [`scenario`] read anything.

pub mod bill;
pub mod defaults;
pub mod input;
pub mod output;
pub mod question;
pub mod questions;
pub mod run;
pub mod scenario;
mod shared;
pub mod sweep;
#[cfg(test)]
mod tests;
pub mod unit;
pub mod value;
