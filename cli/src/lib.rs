//! What the person sees: commands, the profile file and reports.

mod annotate;
pub mod cli;
mod commands;
mod convert;
pub mod driver;
mod estimate;
mod export;
#[doc(hidden)]
pub mod fuzzing;
pub mod gate;
mod help;
mod launch;
pub mod machine;
mod measure;
mod motion;
mod objects;
mod plan;
pub mod plot;
pub mod profile;
mod rank;
pub mod report;
mod sample;
mod shared;
mod sharing;
mod sheet;
mod timing;
mod toolbox;
mod view;
mod why;
