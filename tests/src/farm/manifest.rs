//! The list of programs: `tests/farm/programs.toml`.

use serde::Deserialize;

use crate::tool::in_tests;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub program: Vec<Program>,
}

/// A program and what to do with it. Both scripts are for `bash -e`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    pub name: String,
    /// `C`, `C++` or `Rust`.
    pub language: String,
    /// What is measured, in two or three words.
    pub about: String,
    #[serde(flatten)]
    pub source: Source,
    /// Run in a copy of the sources, with `CC`, `CXX`, `CFLAGS`, `CXXFLAGS`, `CARGO_COMMAND` and `F`, the folder of the
    /// list.
    pub build: String,
    /// Run in an empty folder, with `B`, the built tree, `S`, the sources as they came, and `F`.
    pub work: String,
    /// Why two profiles may differ.
    pub varies: Option<String>,
    /// Why hooks see little of it.
    pub unseen: Option<String>,
    /// Why the run is incomplete.
    pub incomplete: Option<String>,
    /// Why the output differs in a way that is not the hooks' doing.
    pub differs: Option<String>,
}

/// Where the sources are from.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A source package of Debian.
    Debian(String),
    /// A crate with its version: `name 1.2.3`.
    Crate(String),
}

impl Manifest {
    /// # Panics
    /// If the list is not what this file describes.
    #[must_use]
    pub fn read() -> Self {
        let path = in_tests("farm/programs.toml");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// The programs of these names, all if there are none.
    ///
    /// # Errors
    /// A name that is not in the list.
    pub fn select(&self, names: &[String]) -> Result<Vec<&Program>, String> {
        if let Some(unknown) = names.iter().find(|name| !self.program.iter().any(|p| p.name == **name)) {
            return Err(format!("there is no program {unknown:?} in tests/farm/programs.toml"));
        }
        Ok(self.program.iter().filter(|p| names.is_empty() || names.contains(&p.name)).collect())
    }
}
