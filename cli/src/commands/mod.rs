//! The commands, one file each. They parse nothing themselves and hold no logic that another command could want.

pub mod annotate;
pub mod balance;
pub mod bisect;
pub mod build;
pub mod cache;
pub mod calibrate;
pub mod cargo;
pub mod cargo_runner;
pub mod cases;
pub mod check;
pub mod curve;
pub mod diff;
pub mod doctor;
pub mod estimate;
pub mod export;
pub mod export_accesses;
pub mod fuse;
pub mod history;
pub mod import;
pub mod instrument;
pub mod ir;
pub mod machine;
pub mod manual;
pub mod mcp;
pub mod merge;
pub mod motion;
pub mod place;
pub mod plan;
pub mod print;
pub mod profile;
pub mod rank;
pub mod record;
pub mod replay;
pub mod report;
pub mod roofline;
pub mod run;
pub mod sampled;
pub mod slice;
pub mod time;
pub mod twin;
pub mod view;
pub mod waste;
pub mod why;

use std::ffi::OsString;

use anyhow::bail;

/// Programs that are told apart by what was typed.
///
/// # Errors
/// One that is named twice.
fn variant_names(programs: &[OsString]) -> anyhow::Result<Vec<String>> {
    let names = crate::measure::follow::command_text(programs);
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            bail!("{name} is named twice");
        }
    }
    Ok(names)
}
