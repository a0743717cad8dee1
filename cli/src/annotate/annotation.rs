//! Which lines of which files are shown, and what they cost.

use std::collections::BTreeMap;

use anyhow::bail;

use super::sources::{self, Finder, State};
use crate::{
    estimate::subject::did_you_mean,
    profile::Profile,
    report::{Analysis, Grouping, Inlined, Row},
};

/// What to show.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only files whose path ends in this.
    pub file: Option<String>,
    /// Lines around each line that is shown; `None`: whole files.
    pub context: Option<u32>,
    /// Lines with a smaller share of the cost are only shown around others.
    pub threshold: f64,
    pub inlined: Inlined,
    /// Characters in a line, if not any number.
    pub width: Option<usize>,
}

/// A source file and its lines with numbers.
pub struct Annotated {
    /// As the compiler named it.
    pub path: String,
    pub state: State,
    /// Its lines, if it is there.
    pub text: Vec<String>,
    pub lines: BTreeMap<u32, Row>,
    pub cost: u128,
}

/// The annotated files, most expensive first.
pub struct Annotation {
    pub files: Vec<Annotated>,
    /// Cost of the whole program.
    pub total: u128,
    /// Cost without a known line.
    pub unplaced: u128,
    /// Files that are left out because none of their lines reaches the threshold, and their cost.
    pub small: (usize, u128),
}

/// # Errors
/// A file that the profile does not name.
pub fn annotate(profile: &Profile, finder: &Finder, options: &Options) -> anyhow::Result<Annotation> {
    let analysis = Analysis::new(profile, Grouping::Lines(options.inlined));
    let total = analysis.total.cost;
    let mut by_file: BTreeMap<String, BTreeMap<u32, Row>> = BTreeMap::new();
    let mut unplaced = 0;
    for row in analysis.rows {
        match row.file.clone() {
            Some(file) if row.line > 0 => {
                by_file.entry(file).or_default().insert(row.line, row);
            }
            _ => unplaced += row.own.cost,
        }
    }
    if let Some(wanted) = &options.file {
        let names: Vec<String> = by_file.keys().cloned().collect();
        by_file.retain(|path, _| sources::is_called(path, wanted));
        if by_file.is_empty() {
            let near = did_you_mean(wanted, names.iter().map(|name| sources::file_name(name)));
            bail!("no code of {wanted} moved data in this profile{near}");
        }
    }
    let least = options.threshold * total as f64;
    let mut annotation = Annotation { files: Vec::new(), total, unplaced, small: (0, 0) };
    for (path, lines) in by_file {
        let cost = lines.values().map(|row| row.own.cost).sum();
        if options.file.is_none() && !lines.values().any(|row| row.own.cost as f64 >= least) {
            annotation.small.0 += 1;
            annotation.small.1 += cost;
            continue;
        }
        let (state, text) = finder.find(profile, &path);
        annotation.files.push(Annotated { path, state, text, lines, cost });
    }
    annotation.files.sort_by(|a, b| b.cost.cmp(&a.cost).then_with(|| a.path.cmp(&b.path)));
    Ok(annotation)
}
