//! What `check` and `bisect` measure: cases of `dmdprof.toml`, or a command in their place.
//!
//! Takes the options that say so, gives cases. Refuses to have commands run that nobody has seen.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cores::REFERENCE_CORE;
use crate::gate::{config::Case, project::Project, revision::typed, trust};
use crate::measure::{options::MeasureArgs, typed::Typed};
use crate::sample::args::RunSampleArgs;

#[derive(Args, Debug)]
pub struct CasesArgs {
    /// Only cases of dmdprof.toml whose names match
    #[arg(long, value_name = "GLOB", conflicts_with = "command")]
    pub case: Option<String>,

    /// The configuration [default: dmdprof.toml here or in a directory above]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Run the commands of dmdprof.toml, and what they build, without asking. Else they are shown and asked for the
    /// first time; of the files at hand only where there is a terminal
    #[arg(long)]
    pub trust: bool,

    /// The program and its arguments, or a source file and the program's arguments, in place of the cases
    #[arg(last = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,

    /// With a command: an option of `dmdprof run`, as in --run-option=--roi=solve; may be repeated
    #[arg(long = "run-option", value_name = "OPTION", allow_hyphen_values = true)]
    run_options: Vec<OsString>,

    // Behind all others, which would have this heading too.
    #[command(flatten, next_help_heading = "Options of a command's run")]
    measure: Typed<MeasureArgs>,

    #[command(flatten)]
    sample: Typed<RunSampleArgs>,
}

impl CasesArgs {
    /// Options of the command's run. What this machine was calibrated as is no core that numbers can be compared on.
    #[must_use]
    pub fn run_options(&self) -> Vec<OsString> {
        let mut options = [&self.measure.words[..], &self.sample.words, &self.run_options].concat();
        options.iter_mut().filter(|word| *word == "--cycles=").for_each(|word| word.push(REFERENCE_CORE));
        options
    }

    /// Cases, once their commands may run; that of a command has the program's name.
    ///
    /// # Errors
    /// When they may not, or there are none.
    pub fn trusted(&self, project: &Project) -> anyhow::Result<Vec<Case>> {
        let (cases, shown): (Vec<Case>, &[Case]) = if self.command.is_empty() {
            (project.cases(self.case.as_deref())?.into_iter().cloned().collect(), &project.config.cases)
        } else {
            let name = Path::new(&self.command[0]).file_stem().unwrap_or_default().to_string_lossy();
            (vec![typed(&name, &self.command, project)?], &[])
        };
        let shown = trust::commands(&project.config, shown);
        if !shown.is_empty() {
            trust::ask(&project.home, &shown, self.trust)?;
        }
        Ok(cases)
    }
}
