//! What was measured and what was not: the end of a report.

use std::io::{self, Write};

use dmdprof_runtime::sites::{EMULATED, IMPORTED};

use crate::profile::Profile;
use crate::profile::model::{Coverage, Liveness, Random, Unit};
use crate::profile::unseen;
use crate::report::analysis::Analysis;
use crate::report::style::Style;
use crate::{
    report::{json, regions},
    shared::human,
};

/// Names of a list that are shown.
const UNSEEN_SHOWN: usize = 5;

pub fn coverage(analysis: &Analysis, style: &Style, out: &mut impl Write) -> io::Result<()> {
    let profile = analysis.profile;
    let (meta, c) = (&profile.meta, &profile.coverage);
    writeln!(out, "\n{}", style.heading("Coverage"))?;
    let modules = match c.modules.as_slice() {
        [] => String::new(),
        [_] if how_seen(c).is_some() => String::new(),
        [one] => format!(" in {}", one.name),
        many => format!(" in {}", human::plural(many.len() as u64, "module")),
    };
    let functions = human::plural(c.functions_instrumented, "function");
    let accesses = human::plural(c.accesses_instrumented, "access");
    let how = how_seen(c).unwrap_or("instrumented");
    writeln!(out, "  {how}: {functions} with {accesses}{modules}")?;
    writeln!(out, "  skipped: {}", skipped(c))?;
    if !c.without_hooks.is_empty() {
        writeln!(out, "  linked without hooks: {}", listed(&c.without_hooks))?;
    }
    writeln!(out, "  calls into code without hooks: {}", unseen_calls(c))?;
    if let Some(random) = random(meta.random) {
        writeln!(out, "  {random}")?;
    }
    if c.unknown_frees > 0 {
        writeln!(out, "  frees of blocks whose allocation was not seen: {}", human::grouped(c.unknown_frees.into()))?;
    }
    let lost = format!("lost events: {}", human::grouped(u128::from(c.lost_events)));
    writeln!(out, "  {}", if c.lost_events > 0 { style.alarm(&lost) } else { lost })?;
    let unit = match meta.unit {
        Unit::Byte => "bytes",
        Unit::Lines => "lines only (no ByteDMD)",
    };
    let until = match meta.liveness {
        Liveness::None => "never",
        Liveness::Hints => "when they are freed or out of scope",
        Liveness::Exact => "after their last read",
    };
    let (processes, threads) = (human::plural(c.processes, "process"), human::plural(c.threads, "thread"));
    writeln!(
        out,
        "  model: {} {}{}, liveness {} (bytes leave the stack {until}), threads {} ({processes}, {threads}), depths in {unit}",
        meta.model,
        meta.model_version,
        meta.values.as_ref().map_or_else(String::new, regions::sizes),
        json::liveness(meta.liveness),
        meta.thread_mode,
    )
}

/// What was not seen, in one line; nothing if there is nothing of it.
pub fn in_short(profile: &Profile) -> Option<String> {
    let c = &profile.coverage;
    let calls = |n: u128| u64::try_from(n).map_or_else(|_| human::count(n), |n| human::plural(n, "call"));
    let unseen: u128 = c.unseen_calls.iter().map(|(_, n)| u128::from(*n)).sum();
    let parts = [
        (c.functions_skipped > 0, format!("{} skipped", human::plural(c.functions_skipped, "function"))),
        (
            !c.without_hooks.is_empty(),
            format!("{} without hooks", human::plural(c.without_hooks.len() as u64, "object file")),
        ),
        (unseen > 0, format!("{} into code without hooks", calls(unseen))),
        (c.unknown_frees > 0, format!("{} of unknown blocks", human::plural(c.unknown_frees, "free"))),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect();
    (!parts.is_empty()).then(|| format!("{} (--coverage)", parts.join(", ")))
}

/// Random numbers that the program asked the system for.
pub fn random(random: Random) -> Option<String> {
    let Random { fixed, requests } = random;
    let asked = format!("random numbers from the system: {}", human::plural(requests, "request"));
    (requests > 0).then(|| match fixed {
        true => format!("{asked}, fixed"),
        false => {
            format!("{asked}, so that runs may differ (hash seeds of HashMap?); --deterministic fixes them")
        }
    })
}

/// How accesses of a program without hooks were seen.
pub fn how_seen(coverage: &Coverage) -> Option<&'static str> {
    coverage.modules.iter().find_map(|module| match module.name.as_str() {
        EMULATED => Some("emulated"),
        IMPORTED => Some("imported"),
        _ => None,
    })
}

/// The first few names and how many more there are.
fn listed(names: &[String]) -> String {
    let mut parts: Vec<&str> = names.iter().take(UNSEEN_SHOWN).map(String::as_str).collect();
    let more = names.len().saturating_sub(UNSEEN_SHOWN);
    let more = format!("and {more} more");
    if names.len() > UNSEEN_SHOWN {
        parts.push(&more);
    }
    parts.join(", ")
}

fn skipped(c: &Coverage) -> String {
    if c.functions_skipped == 0 && c.skipped.is_empty() {
        return "nothing".into();
    }
    let functions = human::plural(c.functions_skipped, "function");
    let reasons: Vec<String> =
        c.skipped.iter().map(|(reason, n)| format!("{reason} {}", human::grouped(u128::from(*n)))).collect();
    if reasons.is_empty() { functions } else { format!("{functions}; by reason: {}", reasons.join(", ")) }
}

fn unseen_calls(c: &Coverage) -> String {
    if c.unseen_calls.is_empty() {
        return "none".into();
    }
    let total: u128 = c.unseen_calls.iter().map(|(_, n)| u128::from(*n)).sum();
    let mut parts: Vec<String> = c
        .unseen_calls
        .iter()
        .take(UNSEEN_SHOWN)
        .map(|(symbol, n)| format!("{} {}", unseen::shown(symbol), human::count(u128::from(*n))))
        .collect();
    if let Some(more) = c.unseen_calls.len().checked_sub(UNSEEN_SHOWN).filter(|n| *n > 0) {
        parts.push(format!("and {more} more"));
    }
    format!("{} ({})", human::count(total), parts.join(", "))
}
