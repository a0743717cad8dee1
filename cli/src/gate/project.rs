//! The repository under the gate: what its `dmdprof.toml` says, and what follows from that.
//!
//! Takes the current directory and the configuration that was named, gives jobs of cases and paths of baselines, here
//! and in another checkout of the same repository. Refuses what [`config`] refuses. Only reads.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::config::{self, Config};
use super::key::{PathMap, PrefixRule};
use super::pattern::Pattern;
use super::runner::Job;
use crate::shared::project::{self, CONFIG_FILE};

/// What is there to check.
#[derive(Debug)]
pub struct Project {
    pub config: Config,
    /// The current directory.
    pub here: PathBuf,
    /// The directory of the configuration, else of the repository.
    pub home: PathBuf,
    /// That of the repository, which the names of sources begin at.
    pub root: PathBuf,
}

impl Project {
    /// # Errors
    /// When there is no current directory, or the configuration is wrong.
    pub fn read(given: Option<&Path>) -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("the current directory is not there")?;
        let root = project::repository(&here).unwrap_or_else(|| here.clone());
        let (config, home) = read_config(given, &root)?;
        Ok(Project { config, here, home, root })
    }

    /// For sources of this checkout.
    #[must_use]
    pub fn paths(&self, more: &[PrefixRule]) -> PathMap {
        PathMap::new(Some(&self.root), &self.rules(more))
    }

    #[must_use]
    pub fn rules(&self, more: &[PrefixRule]) -> Vec<PrefixRule> {
        self.config.path_prefix_map.iter().chain(more).cloned().collect()
    }

    /// Where baselines are.
    #[must_use]
    pub fn baselines(&self) -> PathBuf {
        self.home.join(self.config.baselines.as_deref().unwrap_or(Path::new(config::BASELINES)))
    }

    /// The baseline of a name or a path.
    #[must_use]
    pub fn baseline(&self, name: &str) -> PathBuf {
        let is_path = name.contains('/') || Path::new(name).extension().is_some_and(|e| e == "toml");
        if is_path { name.into() } else { self.baselines().join(format!("{name}.toml")) }
    }

    /// That of a case.
    #[must_use]
    pub fn baseline_of(&self, case: &config::Case) -> PathBuf {
        match &case.baseline {
            Some(name) => self.home.join(self.baseline(name)),
            None => self.baselines().join(format!("{}.toml", case.name)),
        }
    }

    /// Relative to the current directory if it is below.
    #[must_use]
    pub fn shortened(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.here).unwrap_or(path).to_path_buf()
    }

    /// Cases whose names match.
    ///
    /// # Errors
    /// When there are none.
    pub fn cases(&self, pattern: Option<&str>) -> anyhow::Result<Vec<&config::Case>> {
        if self.config.cases.is_empty() {
            bail!(
                "nothing to check: give a command, as in `dmdprof check --baseline NAME -- ./prog`, or write [[case]] into {}",
                self.home.join(CONFIG_FILE).display()
            );
        }
        let wanted = pattern.map(Pattern::new).transpose().map_err(anyhow::Error::msg)?;
        let matches = |case: &&config::Case| wanted.as_ref().is_none_or(|w| w.matches_text(&case.name));
        let chosen: Vec<&config::Case> = self.config.cases.iter().filter(matches).collect();
        match (pattern, chosen.is_empty()) {
            (Some(pattern), true) => bail!("no case matches --case {pattern}"),
            _ => Ok(chosen),
        }
    }

    /// What a case runs, in this checkout or another one, whose directory for `home` is given.
    #[must_use]
    pub fn job(case: &config::Case, home: &Path, workers: &[OsString]) -> Job {
        let stated = [
            ("--roi", &case.roi),
            ("--model", &case.model),
            ("--liveness", &case.liveness),
            ("--cycles", &case.cycles),
        ];
        let own = stated.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value.as_ref()?).into()));
        let hazards = case.hazards.then(|| "--hazards".into());
        let native = case.native.as_ref().map(|path| ["--native".into(), home.join(path).into()]);
        Job {
            command: case.command.iter().map(OsString::from).collect(),
            env: case.env.clone(),
            dir: home.join(case.dir.as_deref().unwrap_or(Path::new(""))),
            stdin: case.stdin.as_ref().map(|path| home.join(path)),
            inputs: case.inputs.iter().map(|path| home.join(path)).collect(),
            options: workers.iter().cloned().chain(own).chain(hazards).chain(native.into_iter().flatten()).collect(),
        }
    }
}

fn read_config(given: Option<&Path>, root: &Path) -> anyhow::Result<(Config, PathBuf)> {
    let path = given.map_or_else(|| root.join(CONFIG_FILE), Path::to_path_buf);
    if given.is_none() && !path.exists() {
        return Ok((Config::default(), root.to_path_buf()));
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let directory = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let home = directory.canonicalize().with_context(|| format!("cannot find {}", directory.display()))?;
    Ok((config::from_text(&path, &text)?, home))
}
