//! Outcomes as files, one per program, so that a table can be made of programs that were measured one by one.
//! Takes and gives outcomes; refuses files that another version of the farm wrote, and says which.

use std::fs;
use std::path::{Path, PathBuf};

use super::manifest::Program;
use super::outcome::Outcome;

fn file(cache: &Path, name: &str) -> PathBuf {
    cache.join("outcomes").join(format!("{name}.json"))
}

/// # Errors
/// What could not be written.
pub fn keep(outcome: &Outcome, cache: &Path) -> Result<(), String> {
    let path = file(cache, &outcome.name);
    let text = serde_json::to_string_pretty(outcome).map_err(|e| e.to_string())?;
    fs::create_dir_all(cache.join("outcomes")).map_err(|e| e.to_string())?;
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// The latest outcomes of some programs, in their order, without those of programs that were never run.
///
/// # Errors
/// A file that cannot be read.
pub fn kept(programs: &[&Program], cache: &Path) -> Result<Vec<Outcome>, String> {
    let mut outcomes = Vec::new();
    for path in programs.iter().map(|program| file(cache, &program.name)).filter(|path| path.is_file()) {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        outcomes.push(serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?);
    }
    Ok(outcomes)
}
