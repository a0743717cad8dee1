//! What a report opens with, for a page: the same rows, columns and sentences, each row with what it leads to.
//!
//! Takes a profile with names for people and what to try; gives what a terminal of [`WIDTH`] columns has room for, with
//! names at full length.

use std::io;

use serde::Serialize;

use super::{
    analysis::{Analysis, Row},
    args::ReportOptions,
    hot, select,
    table::{self, rows},
    tries::Tries,
};
use crate::{
    document::{Fitting, fitting},
    profile::Profile,
};

/// A terminal's, with room for names.
const WIDTH: usize = 100;

/// The table of functions, and what is to be said of it.
#[derive(Serialize)]
pub struct Opening {
    columns: Vec<Fitting>,
    /// Of the first rows, what they are of; those that are folded and the total lead nowhere.
    rows: Vec<Leads>,
    sentences: Vec<String>,
    /// `dmdprof why` says more of it.
    has_pairs: bool,
}

/// Where a row leads.
#[derive(Serialize)]
struct Leads {
    function: FunctionLine,
    hot: Option<FunctionLine>,
}

/// A function by its name, and a line of a file.
#[derive(Serialize)]
struct FunctionLine {
    name: String,
    file: Option<String>,
    line: u32,
}

impl Opening {
    /// # Errors
    /// None: text is put together in memory.
    pub fn from_profile(profile: &Profile, tries: Tries) -> io::Result<Self> {
        let options = ReportOptions { width: Some(WIDTH), color: false, tries, ..ReportOptions::default() };
        let analysis = Analysis::new(profile, options.grouping);
        let mut selection = select::select(&analysis, &options);
        table::around(&analysis, &mut selection, &options)?;
        let hot = hot::lines(&analysis, &selection.shown, select::order(&analysis, &options));
        let leads = |(row, hot): (&&Row, Option<hot::HotLine>)| Leads {
            function: FunctionLine { name: row.name().to_owned(), file: row.file.clone(), line: row.line },
            hot: hot.map(|at| FunctionLine { name: String::new(), file: Some(at.file.to_owned()), line: at.line }),
        };
        Ok(Opening {
            columns: fitting(&rows::sheet(&analysis, &selection, &options), WIDTH),
            rows: selection.shown.iter().zip(hot).map(leads).collect(),
            sentences: table::sentences(&analysis, &selection, &options),
            has_pairs: !profile.pairs.is_empty(),
        })
    }
}
