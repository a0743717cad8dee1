//! What a project's `dmdprof.toml` says of reports: `[report]`, with the `columns` of its table.
//!
//! Takes a directory, gives names of columns; none where there is no such file. One that is not right is told of and
//! says nothing, as a report can be made all the same.

use std::{env, fs, path::Path};

use toml::{Spanned, de::DeValue};

use super::{
    printable,
    project::{CONFIG_FILE, repository},
    toml_text::{Document, Fields, TextError},
};

const ADVICE: &str =
    "as in columns = [\"cycles\", \"beyond-32-kib\", \"try\"], with names as `report --columns` has them";

/// Names of columns that the project of the current directory wants.
#[must_use]
pub fn columns() -> Vec<String> {
    env::current_dir().ok().and_then(|here| repository(&here)).map(|at| columns_in(&at)).unwrap_or_default()
}

fn columns_in(directory: &Path) -> Vec<String> {
    let path = directory.join(CONFIG_FILE);
    let Ok(text) = fs::read_to_string(&path) else { return Vec::new() };
    let document = Document { path: &path, text: &text, advice: ADVICE };
    let read = || {
        let table = document.parse()?;
        let fields = Fields::new(document, &table, "the configuration");
        fields.optional("report").map_or_else(|| Ok(Vec::new()), |value| columns_of(document, value))
    };
    read().unwrap_or_else(|error: TextError| {
        printable::say(format_args!("note: {error}"));
        Vec::new()
    })
}

/// The columns of `[report]`.
///
/// # Errors
/// Anything else in it, with the line.
pub fn columns_of(document: Document<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, TextError> {
    let fields = Fields::new(document, document.table(value)?, "[report]");
    let columns = match fields.optional("columns") {
        Some(names) => document.strings(names)?,
        None => Vec::new(),
    };
    fields.finish()?;
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_says_which_columns_it_wants() {
        let directory = tempfile::tempdir().expect("a directory");
        let of = |text: &str| {
            fs::write(directory.path().join(CONFIG_FILE), text).expect("a file");
            columns_in(directory.path())
        };
        assert!(columns_in(directory.path()).is_empty());
        assert_eq!(of("[report]\ncolumns = [\"clock\", \"try\"]\n"), ["clock", "try"]);
        assert!(of("[[case]]\nname = \"a\"\n").is_empty());
        assert!(of("[report]\ncolumns = [1]\n").is_empty() && of("[report]\nother = 1\n").is_empty());
    }
}
