//! Where a side of a comparison comes from: a profile, the estimates of a sample, or a baseline.

use std::path::Path;

use anyhow::Context;

use super::baseline;
use super::estimated::Doubt;
use super::key::{PathMap, PrefixRule};
use super::summary::Summary;
use crate::sample::{Measured, file};
use crate::shared::{project::repository, toml_text};

/// Reads any of them; with what an estimate may be off by.
///
/// # Errors
/// When it is none, or is damaged.
pub fn read(path: &Path, paths: &PathMap) -> anyhow::Result<(Summary, Option<Doubt>)> {
    if path.extension().is_some_and(|e| e == "toml") {
        return Ok((read_baseline(path)?, None));
    }
    Ok(match file::read(path)? {
        Measured::Exact(profile) => (Summary::from_profile(&profile, paths), None),
        Measured::Estimated(estimates) => {
            let (summary, doubt) = Doubt::from_estimates(&estimates, paths);
            (summary, Some(doubt))
        }
    })
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

/// The map for sources of the repository that holds the current directory.
///
/// # Errors
/// When there is no current directory.
pub fn path_map(rules: &[PrefixRule]) -> anyhow::Result<PathMap> {
    let here = std::env::current_dir().context("the current directory is not there")?;
    Ok(PathMap::new(Some(&repository(&here).unwrap_or(here)), rules))
}
