//! Outcomes as files, one per program, so that a table can be made of programs that were measured one by one.
//! Takes and gives outcomes; refuses files that another version of the farm wrote, and says which.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};

fn file(cache: &Path, name: &str) -> PathBuf {
    cache.join("outcomes").join(format!("{name}.json"))
}

/// # Errors
/// What could not be written.
pub fn keep(name: &str, outcome: &impl Serialize, cache: &Path) -> Result<(), String> {
    let path = file(cache, name);
    let text = serde_json::to_string_pretty(outcome).map_err(|e| e.to_string())?;
    fs::create_dir_all(cache.join("outcomes")).map_err(|e| e.to_string())?;
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// The latest outcomes of some programs, in their order, without those of programs that were never run.
///
/// # Errors
/// A file that cannot be read.
pub fn kept<'n, T: DeserializeOwned>(names: impl Iterator<Item = &'n str>, cache: &Path) -> Result<Vec<T>, String> {
    let mut outcomes = Vec::new();
    for path in names.map(|name| file(cache, name)).filter(|path| path.is_file()) {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        outcomes.push(serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?);
    }
    Ok(outcomes)
}
