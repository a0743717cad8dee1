//! What the commands that estimate have in common: which profile, which of its functions, which machines, charts.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

use super::profile::{LinesArg, ProfileArg};
use crate::document::{Document, Look};
use crate::estimate::view::Choice;
use crate::estimate::workload::{Work, Workloads};
use crate::machine::find::{self, LOCAL, Places};
use crate::machine::{Machine, OpType};
use crate::plot::Chart;
use crate::profile::{self, Profile};
use crate::shared::{output_file, quantity::parse_size};
use crate::{report::Grouping, shared::terminal::FILE_WIDTH};

/// Which profile and which of its functions.
#[derive(Args, Debug)]
pub struct ProfileArgs {
    #[command(flatten)]
    pub profile: ProfileArg,

    #[command(flatten)]
    pub lines: LinesArg,

    /// Only this function or region, by name or pattern; may be repeated
    #[arg(short, long, value_name = "NAME")]
    pub function: Vec<String>,

    /// Charge inlined code to the function it was inlined into (the linked symbol)
    #[arg(long)]
    pub no_inline: bool,

    /// Show code inlined from the standard library and system headers as rows of its own
    #[arg(long, conflicts_with = "no_inline")]
    pub library: bool,
}

impl ProfileArgs {
    /// # Errors
    /// When the profile cannot be read, or does not have the lines that were chosen.
    pub fn read(&self) -> anyhow::Result<Profile> {
        let mut profile = profile::read(self.profile.path())?;
        self.lines.choose(&mut profile)?;
        Ok(profile)
    }

    #[must_use]
    pub fn grouping(&self) -> Grouping {
        match (self.no_inline, self.library) {
            (true, _) => Grouping::Symbols,
            (false, false) => Grouping::Functions,
            (false, true) => Grouping::AllFunctions,
        }
    }

    /// # Errors
    /// When a name matches nothing.
    pub fn subjects(&self, profile: &Profile, inclusive: bool) -> anyhow::Result<Workloads> {
        let mut subjects = Workloads::from_profile(profile, self.grouping(), inclusive);
        subjects.keep(&self.function)?;
        Ok(subjects)
    }
}

/// Which machines, and what to take for what they do not state.
#[derive(Args, Debug)]
pub struct MachineArgs {
    /// Machines to estimate for: names of `dmdprof machine list`, or files [default: local, if calibrated]
    #[arg(short, long, value_name = "NAME[,NAME...]", value_delimiter = ',')]
    pub machine: Vec<String>,

    /// Type of the operations: fp64, fp32, fp16, ... [default: each machine's own]
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_type)]
    pub kind: Option<OpType>,

    /// Share of the peak rate that the code reaches, above 0 and at most 1 [default: each machine's]
    ///
    /// Peaks are of the widest vectors with fused multiply-add; scalar code reaches an eighth or less of that.
    #[arg(long, value_name = "SHARE", value_parser = parse_efficiency)]
    pub efficiency: Option<f64>,

    /// Fast memory to assume for machines that state none, as in "24 MiB"
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub assume_capacity: Option<u64>,
}

/// Which operations are the work.
#[derive(Args, Debug)]
pub struct WorkArgs {
    /// Which operations are the work [default: flops; in the values model ops]
    #[arg(long, value_enum, value_name = "OPS")]
    pub work: Option<Work>,
}

/// Of which functions, on which machines, by which work.
#[derive(Args, Debug)]
pub struct EstimateArgs {
    #[command(flatten)]
    pub profile: ProfileArgs,

    #[command(flatten)]
    pub machine: MachineArgs,

    #[command(flatten)]
    pub work: WorkArgs,
}

/// Charts beside the tables.
#[derive(Args, Debug)]
pub struct PlotArgs {
    /// Also draw it
    #[arg(long)]
    pub plot: bool,

    /// Also write it as a picture; of several machines: FILE-MACHINE.svg
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

impl PlotArgs {
    /// Draws into the document and writes the pictures; `names` tell several charts apart.
    ///
    /// # Errors
    /// When a picture cannot be written.
    pub fn draw(&self, charts: &[Chart], names: &[&str], look: Look, document: &mut Document) -> anyhow::Result<()> {
        self.draw_named(charts, names, charts.len() != 1, look, document)
    }

    /// As [`PlotArgs::draw`]; `named` puts the name into the file name even of one chart.
    ///
    /// # Errors
    /// When a picture cannot be written.
    pub fn draw_named(
        &self,
        charts: &[Chart],
        names: &[&str],
        named: bool,
        look: Look,
        document: &mut Document,
    ) -> anyhow::Result<()> {
        if self.plot {
            let width = look.width.unwrap_or(usize::from(FILE_WIDTH));
            document.plots.extend(charts.iter().map(|chart| chart.terminal(width, look.color)));
        }
        let Some(path) = &self.svg else { return Ok(()) };
        for (chart, name) in charts.iter().zip(names) {
            let path = if named || charts.len() > 1 { with_name(path, name) } else { path.clone() };
            output_file::write(&path, chart.svg()).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// `a/b.svg` and `c` give `a/b-c.svg`.
#[must_use]
pub fn with_name(path: &Path, name: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map_or_else(String::new, |e| format!(".{}", e.to_string_lossy()));
    path.with_file_name(format!("{stem}-{name}{extension}"))
}

impl MachineArgs {
    /// The machines that were named, or the calibrated one; warnings go to standard error.
    ///
    /// # Errors
    /// When one does not exist or its file is wrong, or none is named and none was calibrated.
    pub fn machines(&self) -> anyhow::Result<Vec<Machine>> {
        let machines = self.named_or_local()?;
        if machines.is_empty() {
            bail!(
                "which machine? --machine NAME[,NAME...] says so; `dmdprof machine list` shows those there are, and `dmdprof \
                 machine calibrate` measures this one, which is then the default"
            );
        }
        Ok(machines)
    }

    /// As [`MachineArgs::machines`], but none if none is named and none was calibrated.
    ///
    /// # Errors
    /// When one does not exist or its file is wrong.
    pub fn named_or_local(&self) -> anyhow::Result<Vec<Machine>> {
        let places = Places::from_env();
        if self.machine.is_empty() && places.names().iter().any(|name| name == LOCAL) {
            return find::all(&places, &[LOCAL.to_owned()]);
        }
        find::all(&places, &self.machine)
    }

    /// As [`MachineArgs::machines`], but none if none is named.
    ///
    /// # Errors
    /// When one does not exist or its file is wrong.
    pub fn named(&self) -> anyhow::Result<Vec<Machine>> {
        find::all(&Places::from_env(), &self.machine)
    }

    #[must_use]
    pub fn choice(&self) -> Choice {
        Choice { kind: self.kind, capacity: self.assume_capacity, efficiency: self.efficiency, ..Choice::default() }
    }
}

fn parse_type(text: &str) -> Result<OpType, String> {
    let words = || OpType::ALL.map(OpType::word).join(", ");
    OpType::ALL.into_iter().find(|kind| kind.word() == text).ok_or_else(|| format!("expected one of {}", words()))
}

fn parse_efficiency(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("must be above 0 and at most 1".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_of_several_machines_have_their_names() {
        assert_eq!(with_name(Path::new("out/r.svg"), "toy3"), Path::new("out/r-toy3.svg"));
        assert_eq!(with_name(Path::new("r"), "toy3"), Path::new("r-toy3"));
    }

    #[test]
    fn shares_and_types() {
        assert_eq!((parse_efficiency("0.5"), parse_efficiency("1.5").is_err()), (Ok(0.5), true));
        assert!(parse_type("fp65").unwrap_err().contains("fp64, fp32"));
    }
}
