//! The kernels of `tests/pairs`, of its folders, and of `tests/polybench`: one source each, whose first line names its
//! variants.
//!
//! Each variant is that source with `VARIANT_name` defined (C, C++) or with the constant `VARIANT` (Rust). Refuses, by
//! a panic, sources that name no variants, and two of one name.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tool::in_tests;

/// Times that differ by less are the same.
pub const APART: f64 = 1.15;

/// A source with its variants.
#[derive(Clone)]
pub struct Kernel {
    pub name: String,
    pub source: PathBuf,
    pub variants: Vec<String>,
}

/// Which kernels. A model of time may be fitted to the first two sets; the others are only for its score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Set {
    /// `tests/pairs` itself
    Base,
    /// `tests/pairs/first`
    First,
    /// `tests/pairs/held_out`
    HeldOut,
    /// `tests/polybench`: the 30 kernels of `PolyBench`, written anew in three variants each. With `SMALL` defined they
    /// are small
    Polybench,
}

impl Set {
    pub const ALL: [Self; 4] = [Self::Base, Self::First, Self::HeldOut, Self::Polybench];

    /// Where its kernels are, below `tests`.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Self::Base => "pairs",
            Self::First => "pairs/first",
            Self::HeldOut => "pairs/held_out",
            Self::Polybench => "polybench",
        }
    }
}

/// All kernels of a set, in the order of their names.
#[must_use]
pub fn kernels(set: Set) -> Vec<Kernel> {
    let directory = in_tests(set.folder());
    let entries = fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut sources: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    sources.sort();
    sources.retain(|path| path.extension().is_some_and(|e| e == "c" || e == "cc" || e == "rs"));
    let kernel = |source: PathBuf| {
        let text = fs::read_to_string(&source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        let first = text.lines().next().and_then(|line| line.strip_prefix("// variants: "));
        let names = first.unwrap_or_else(|| panic!("{} names no variants in its first line", source.display()));
        let variants = names.split_whitespace().map(str::to_owned).collect();
        Kernel { name: source.file_stem().expect("a name").to_string_lossy().into_owned(), source, variants }
    };
    let kernels: Vec<Kernel> = sources.into_iter().map(kernel).collect();
    for (i, kernel) in kernels.iter().enumerate() {
        let again = kernels[..i].iter().any(|other| other.name == kernel.name);
        assert!(!again, "{} has the name of another kernel", kernel.source.display());
    }
    kernels
}

impl Kernel {
    /// The kernel with one variant chosen, as a source file in a directory; gives its name.
    #[must_use]
    pub fn source_of(&self, variant: &str, directory: &Path) -> String {
        let path = self.source.display();
        let extension = self.source.extension().expect("C, C++ or Rust").to_string_lossy();
        let text = match &*extension {
            "rs" => format!("const VARIANT: &str = \"{variant}\";\ninclude!(\"{path}\");\n"),
            _ => format!("#define VARIANT_{variant} 1\n#include \"{path}\"\n"),
        };
        let name = format!("{}-{variant}.{extension}", self.name);
        fs::write(directory.join(&name), text).expect("a source");
        name
    }
}
