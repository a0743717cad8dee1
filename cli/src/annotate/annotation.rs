//! Which lines of which files are shown, and what they cost.

use std::collections::BTreeMap;

use anyhow::bail;

use super::sources::{self, Finder, State};
use crate::{
    estimate::workload::did_you_mean,
    profile::Profile,
    report::{Analysis, Grouping, Inlined, Row, Sums},
};

/// What to show.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only files whose path ends in this.
    pub file: Option<String>,
    /// Lines around each line that is shown; `None`: whole files.
    pub context: Option<u32>,
    /// Lines with a smaller share of whatever was measured are only shown around others.
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
    pub weight: u128,
}

/// What orders files: samples of a clock, if there are some, else cycles, if a core followed, else the cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    Clock,
    Cycles,
    Cost,
}

impl Weight {
    const ALL: [Self; 3] = [Self::Clock, Self::Cycles, Self::Cost];

    fn in_profile(profile: &Profile) -> Self {
        match profile {
            Profile { clock: Some(_), .. } => Self::Clock,
            Profile { cycles: Some(_), .. } => Self::Cycles,
            _ => Self::Cost,
        }
    }

    #[must_use]
    pub fn value_in(self, sums: &Sums) -> u128 {
        match self {
            Self::Clock => sums.clock.into(),
            Self::Cycles => sums.cycles.total().into(),
            Self::Cost => sums.cost,
        }
    }

    /// The word in sentences.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Clock => "time",
            Self::Cycles => "cycles",
            Self::Cost => "cost",
        }
    }
}

/// The annotated files, the heaviest first.
pub struct Annotation {
    pub files: Vec<Annotated>,
    pub weight: Weight,
    /// Of the whole program.
    pub sums: Sums,
    /// What has no known line.
    pub unplaced: u128,
    /// Files that are left out because none of their lines reaches the threshold, and their weight.
    pub small: (usize, u128),
}

impl Annotation {
    /// The weight of the whole program.
    #[must_use]
    pub fn total(&self) -> u128 {
        self.weight.value_in(&self.sums)
    }

    /// Whether a line has such a share of any weight: what a library does for a line has its time, not its cost.
    #[must_use]
    pub fn is_expensive(&self, row: &Row, threshold: f64) -> bool {
        let reaches = |weight: Weight| {
            let all = weight.value_in(&self.sums);
            all > 0 && weight.value_in(&row.own) as f64 >= threshold * all as f64
        };
        Weight::ALL.into_iter().any(reaches)
    }
}

/// # Errors
/// A file that the profile does not name.
pub fn annotate(profile: &Profile, finder: &Finder, options: &Options) -> anyhow::Result<Annotation> {
    let analysis = Analysis::new(profile, Grouping::Lines(options.inlined));
    let weight = Weight::in_profile(profile);
    let sums = analysis.total;
    let mut by_file: BTreeMap<String, BTreeMap<u32, Row>> = BTreeMap::new();
    let mut unplaced = 0;
    for row in analysis.rows {
        match row.file.clone() {
            Some(file) if row.line > 0 => {
                by_file.entry(file).or_default().insert(row.line, row);
            }
            _ => unplaced += weight.value_in(&row.own),
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
    let mut annotation = Annotation { files: Vec::new(), weight, sums, unplaced, small: (0, 0) };
    for (path, lines) in by_file {
        let of_file = lines.values().map(|row| weight.value_in(&row.own)).sum();
        if options.file.is_none() && !lines.values().any(|row| annotation.is_expensive(row, options.threshold)) {
            annotation.small.0 += 1;
            annotation.small.1 += of_file;
            continue;
        }
        let (state, text) = finder.find(profile, &path);
        annotation.files.push(Annotated { path, state, text, lines, weight: of_file });
    }
    annotation.files.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.path.cmp(&b.path)));
    Ok(annotation)
}
