//! Profiles in the formats of other viewers.
//!
//! Takes a [`Profile`] and a list of metrics, gives the text or bytes of one file. [`stacks`] turns cells into call
//! stacks with a value per metric; each format is a module that writes those. Refuses metrics that code does not have
//! (footprint, calls) and several metrics where a format holds one. What each format keeps and loses: `docs/export.md`.

mod callgrind;
mod columns;
mod cpuprofile;
mod csv;
mod firefox;
mod folded;
mod pprof;
mod sarif;
mod speedscope;
pub mod stacks;
mod target;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use crate::profile::Profile;
use stacks::Stacks;

pub use target::{DEFAULT_METRICS, Options, Target, is_of_code};

/// Writes the profile. It must be one that `profile::validate` accepts, as every profile from a file is.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let stacks = Stacks::from_profile(profile, &options.metrics, options.inlined);
    match options.target {
        Target::Callgrind => callgrind::write(&stacks, out),
        Target::Speedscope => speedscope::write(&stacks, out),
        Target::Pprof => pprof::write(&stacks, out),
        Target::Folded => folded::write(&stacks, out),
        Target::Firefox => firefox::write(&stacks, out),
        Target::Cpuprofile => cpuprofile::write(&stacks, out),
        Target::Sarif => sarif::write(&stacks, options, out),
        Target::Csv => csv::write(&stacks, out),
    }
}
