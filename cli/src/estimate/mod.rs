//! Estimates for machines, made from one measured profile.
//!
//! [`workload`] says what can be estimated (program, functions, regions) and [`view`] what of a machine a model sees;
//! the models themselves are `dmdprof_models`. Each of the other files makes the [`Document`](crate::sheet::Document)
//! of one command. No file but [`times`] reads anything.

pub mod balance;
mod charts;
pub mod curve;
pub mod fidelity;
pub mod fuse;
pub mod guesses;
mod levels;
mod line;
pub mod on_core;
pub mod place;
pub mod roofline;
pub mod stacks;
#[cfg(test)]
mod tests;
pub mod times;
pub mod view;
mod waits;
pub mod workload;

use crate::machine::Machine;
use crate::profile::model::{Meta, Unit};
use crate::report;

/// What the numbers of a profile mean, as pairs for [`Document::source`](crate::sheet::Document).
#[must_use]
pub fn source(meta: &Meta) -> Vec<(&'static str, String)> {
    let unit = match meta.unit {
        Unit::Byte => "byte",
        Unit::Lines => "lines only",
    };
    vec![
        ("command", meta.command.join(" ")),
        ("model", format!("{} {}", meta.model, meta.model_version)),
        ("liveness", report::liveness(meta.liveness).into()),
        ("threads", meta.thread_mode.to_string()),
        ("unit", unit.into()),
    ]
}

/// What can be made of machines, and a sentence on each of which it cannot. One alone must do, and of several at least
/// one.
///
/// # Errors
/// When none can be used.
pub fn usable<'m, T>(
    machines: &'m [Machine],
    make: impl Fn(&'m Machine) -> anyhow::Result<T>,
) -> anyhow::Result<(Vec<T>, Vec<String>)> {
    let mut left_out = Vec::new();
    let mut made = Vec::new();
    for machine in machines {
        match make(machine) {
            Ok(one) => made.push(one),
            Err(error) if machines.len() == 1 => return Err(error),
            Err(error) => left_out.push(format!("{} is left out: {error}.", machine.name)),
        }
    }
    if made.is_empty() && !machines.is_empty() {
        anyhow::bail!("no machine can be used\n  {}", left_out.join("\n  "));
    }
    Ok((made, left_out))
}

/// Why traffic is not known, as a sentence of a note.
#[must_use]
pub fn unknown_traffic(profile: &crate::profile::Profile) -> Option<String> {
    profile.without_traffic().map(|why| format!("Note: {why}."))
}

/// The first lines for people: what ran, what is not whole about its numbers, and what its build decides.
#[must_use]
pub fn heading(profile: &crate::profile::Profile) -> Vec<String> {
    let mut lines = vec![profile.meta.command.join(" ")];
    lines.extend(profile.gaps().iter().map(|why| format!("INCOMPLETE: {why}")));
    lines.extend(crate::report::built::notes(profile));
    lines
}
