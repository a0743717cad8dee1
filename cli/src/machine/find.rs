//! A machine by what the user typed: a path, a name of the user's own folder, or a shipped name.
//!
//! The user's folder is `dmdprof/machines` in `$XDG_CONFIG_HOME`, else in `~/.config`; a file there is found by its
//! name and goes before a shipped machine. Refuses names that are neither, and says which are near.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::bail;

use super::file::{self, Parsed, Problem, Problems};
use super::model::Machine;
use super::zoo;
use crate::shared::places;

/// The machine that `dmdprof machine calibrate` describes, if nobody names one.
pub const LOCAL: &str = "local";

/// A machine, and what the user should know about where it is from.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundMachine {
    pub machine: Machine,
    /// Warnings, as sentences.
    pub notes: Vec<String>,
}

/// Why there is no such machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error(
        "no machine is called {name:?}{} All are in `dmdprof machine list`; a file is given with its path, as in ./my.toml",
        did_you_mean(nearest)
    )]
    Unknown { name: String, nearest: Vec<String> },
    #[error(transparent)]
    Bad(#[from] Problems),
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() { ".".into() } else { format!("; did you mean {}?", nearest.join(" or ")) }
}

/// All machines there are, by name, and the user's files that are wrong.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub machines: Vec<FoundMachine>,
    pub broken: Vec<Problems>,
}

/// Where machines are looked for.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The user's folder; it need not exist.
    pub user: Option<PathBuf>,
}

impl Places {
    /// As the environment says.
    #[must_use]
    pub fn from_env() -> Self {
        Places { user: places::config().map(|config| config.join("dmdprof/machines")) }
    }

    /// The machine that `argument` means: a file if it contains `/` or ends in `.toml`, else a name.
    ///
    /// # Errors
    /// When there is none, or its file is wrong.
    pub fn find(&self, argument: &str) -> Result<FoundMachine, FindError> {
        if argument.contains('/') || argument.ends_with(".toml") {
            return Ok(with_warnings(file::read(Path::new(argument))?));
        }
        if let Some(path) = self.user_file(argument) {
            return Ok(self.of_user(argument, &path)?);
        }
        match zoo::machine(argument) {
            Some(machine) => Ok(FoundMachine { machine, notes: Vec::new() }),
            None => Err(FindError::Unknown { name: argument.into(), nearest: nearest(argument, self.names()) }),
        }
    }

    /// All names, sorted; those of the user's folder included.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = zoo::names().map(str::to_owned).chain(self.user_names()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// All machines.
    #[must_use]
    pub fn all(&self) -> Listing {
        let mut listing = Listing::default();
        for name in self.names() {
            match self.find(&name) {
                Ok(found) => listing.machines.push(found),
                Err(FindError::Bad(problems)) => listing.broken.push(problems),
                Err(FindError::Unknown { .. }) => {}
            }
        }
        listing
    }

    fn user_file(&self, name: &str) -> Option<PathBuf> {
        let path = self.user.as_ref()?.join(format!("{name}.toml"));
        path.is_file().then_some(path)
    }

    fn user_names(&self) -> Vec<String> {
        let Some(entries) = self.user.as_ref().and_then(|folder| fs::read_dir(folder).ok()) else { return Vec::new() };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let machines = paths.filter(|path| path.extension().is_some_and(|e| e == "toml") && path.is_file());
        machines.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
    }

    fn of_user(&self, name: &str, path: &Path) -> Result<FoundMachine, Problems> {
        let mut found = with_warnings(file::read(path)?);
        if zoo::names().any(|shipped| shipped == name) {
            found.notes.insert(0, format!("{name} is {}, not the shipped machine", path.display()));
        }
        Ok(found)
    }
}

fn with_warnings(parsed: Parsed) -> FoundMachine {
    FoundMachine { machine: parsed.machine, notes: parsed.warnings.iter().map(Problem::to_string).collect() }
}

/// At most three names that begin alike or differ by little, the likeliest first.
fn nearest(name: &str, names: Vec<String>) -> Vec<String> {
    let lower = name.to_lowercase();
    let mut scored: Vec<(f64, String)> = names.into_iter().map(|n| (strsim::jaro_winkler(&lower, &n), n)).collect();
    scored.retain(|(score, _)| *score >= 0.8);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

/// A machine may be asked for several times.
fn say_once(note: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().is_ok_and(|mut said| said.insert(note.to_owned())) {
        eprintln!("dmdprof: note: {note}");
    }
}

/// The machines of these names; what is to be said of them goes to standard error.
///
/// # Errors
/// When a machine does not exist or its file is wrong.
pub fn all(places: &Places, names: &[String]) -> anyhow::Result<Vec<Machine>> {
    let mut machines: Vec<Machine> = Vec::new();
    for name in names {
        let found = places.find(name)?;
        found.notes.iter().for_each(|note| say_once(note));
        if machines.iter().any(|m| m.name == found.machine.name) {
            bail!("machine {} is named twice", found.machine.name);
        }
        machines.push(found.machine);
    }
    Ok(machines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Origin, text};

    fn places_with(files: &[(&str, &str)]) -> (tempfile::TempDir, Places) {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("written");
        }
        let places = Places { user: Some(folder.path().into()) };
        (folder, places)
    }

    fn renamed(name: &str) -> String {
        let mut machine = zoo::machine("toy3").expect("shipped");
        machine.name = name.into();
        text::to_toml(&machine)
    }

    #[test]
    fn the_users_machines_go_first_and_paths_are_files() {
        let (folder, places) = places_with(&[("mine.toml", &renamed("mine")), ("h200.toml", &renamed("h200"))]);
        let mine = places.find("mine").unwrap();
        assert_eq!((mine.machine.origin, mine.notes), (Origin::File(folder.path().join("mine.toml")), vec![]));
        let overridden = places.find("h200").unwrap();
        assert_eq!(overridden.machine.levels.len(), 3);
        assert!(overridden.notes[0].ends_with("not the shipped machine"), "{:?}", overridden.notes);
        assert_eq!(places.find("b200").unwrap().machine.origin, Origin::Shipped);
        let path = folder.path().join("mine.toml");
        assert_eq!(places.find(path.to_str().expect("text")).unwrap().machine.name, "mine");
        assert_eq!(places.names().len(), zoo::names().count() + 1);
    }

    #[test]
    fn unknown_names_get_the_nearest_ones() {
        let error = Places::default().find("H100").expect_err("not a machine");
        assert_eq!(
            error.to_string(),
            "no machine is called \"H100\"; did you mean h100-sxm or h200 or v100? All are in `dmdprof machine list`; a file is given with its path, as in ./my.toml"
        );
        let error = Places::default().find("qqq").expect_err("not a machine").to_string();
        assert!(error.starts_with("no machine is called \"qqq\". All are in"), "{error}");
        assert!(matches!(Places::default().find("nowhere.toml"), Err(FindError::Bad(_))));
    }

    #[test]
    fn a_broken_file_of_the_user_hides_no_other() {
        let (_folder, places) = places_with(&[("bad.toml", "schema = 1"), ("note.txt", "no machine")]);
        let listing = places.all();
        assert_eq!((listing.machines.len(), listing.broken.len()), (zoo::names().count(), 1));
        assert!(matches!(places.find("bad"), Err(FindError::Bad(_))));
    }
}
