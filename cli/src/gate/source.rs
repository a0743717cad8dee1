//! Where a side of a comparison comes from: a profile, or a baseline; told apart by the first bytes.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::baseline;
use super::key::{PathMap, PrefixRule};
use super::summary::Summary;
use crate::profile;
use crate::shared::toml_text;

/// Reads either kind of file.
///
/// # Errors
/// When it is neither, or is damaged.
pub fn read(path: &Path, paths: &PathMap) -> anyhow::Result<Summary> {
    if path.extension().is_some_and(|e| e == "toml") {
        return read_baseline(path);
    }
    let profile = profile::read(path)?;
    Ok(Summary::of(&profile, paths))
}

/// # Errors
/// When there is none, or a bad one.
pub fn read_baseline(path: &Path) -> anyhow::Result<Summary> {
    let text = std::fs::read(path).with_context(|| format!("cannot read baseline {}", path.display()))?;
    let Ok(text) = String::from_utf8(text) else {
        anyhow::bail!("{}: not a text, so no baseline\n  {}", path.display(), toml_text::RESTORE);
    };
    Ok(baseline::from_text(path, &text)?)
}

/// The nearest directory at or above that holds `dmdprof.toml`, else `.git`.
#[must_use]
pub fn repository(from: &Path) -> Option<PathBuf> {
    let holds = |name: &str| from.ancestors().find(|d| d.join(name).exists()).map(Path::to_path_buf);
    holds(super::CONFIG_FILE).or_else(|| holds(".git"))
}

/// The map for sources of the repository that holds the current directory.
///
/// # Errors
/// When there is no current directory.
pub fn path_map(rules: &[PrefixRule]) -> anyhow::Result<PathMap> {
    let here = std::env::current_dir().context("the current directory is not there")?;
    Ok(PathMap::new(Some(&repository(&here).unwrap_or(here)), rules))
}
