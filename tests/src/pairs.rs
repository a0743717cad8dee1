//! The kernels of `tests/pairs` and of `tests/polybench`: one source each, whose first line names its variants.
//!
//! Each variant is that source with `VARIANT_name` defined (C) or with the constant `VARIANT` (Rust). Refuses, by a
//! panic, sources that name no variants.

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

/// All of `tests/pairs`, in the order of their names.
#[must_use]
pub fn kernels() -> Vec<Kernel> {
    kernels_in("pairs")
}

/// The 30 kernels of `PolyBench`, written anew in three variants each, in the order of their names. With `SMALL`
/// defined they are small.
#[must_use]
pub fn polybench() -> Vec<Kernel> {
    kernels_in("polybench")
}

fn kernels_in(folder: &str) -> Vec<Kernel> {
    let directory = in_tests(folder);
    let entries = fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut sources: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    sources.sort();
    sources.retain(|path| path.extension().is_some_and(|e| e == "c" || e == "rs"));
    let kernel = |source: PathBuf| {
        let text = fs::read_to_string(&source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
        let first = text.lines().next().and_then(|line| line.strip_prefix("// variants: "));
        let names = first.unwrap_or_else(|| panic!("{} names no variants in its first line", source.display()));
        let variants = names.split_whitespace().map(str::to_owned).collect();
        Kernel { name: source.file_stem().expect("a name").to_string_lossy().into_owned(), source, variants }
    };
    sources.into_iter().map(kernel).collect()
}

impl Kernel {
    /// The kernel with one variant chosen, as a source file in a directory; gives its name.
    #[must_use]
    pub fn source_of(&self, variant: &str, directory: &Path) -> String {
        let path = self.source.display();
        let (text, extension) = if self.source.extension().is_some_and(|e| e == "c") {
            (format!("#define VARIANT_{variant} 1\n#include \"{path}\"\n"), "c")
        } else {
            (format!("const VARIANT: &str = \"{variant}\";\ninclude!(\"{path}\");\n"), "rs")
        };
        let name = format!("{}-{variant}.{extension}", self.name);
        fs::write(directory.join(&name), text).expect("a source");
        name
    }
}
