//! What the person sees: commands, the profile file and reports.

mod analysis;
mod annotate;
pub mod cli;
mod commands;
mod convert;
pub mod driver;
mod estimate;
mod export;
mod follow;
#[doc(hidden)]
pub mod fuzzing;
pub mod gate;
mod help;
mod hierarchy;
mod launch;
pub mod machine;
mod motion;
mod objects;
mod output_file;
pub mod outputs;
mod plan;
pub mod plot;
mod printable;
pub mod profile;
mod progress;
mod rank;
pub mod report;
mod roi;
mod sheet;
mod signals;
mod source_file;
mod timing;
mod toolbox;
mod trace_file;
mod view;
mod why;

/// Processors that this process may use.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
