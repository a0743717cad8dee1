//! `dmdprof machine calibrate`: measures this machine ([`crate::machine::calibrate`]), prints what came out, and writes
//! its file unless the numbers do not repeat.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::machine::report::Look;
use crate::machine::{Places, Threads};

/// Measure this machine and write its file
///
/// Measures peak rates of scalar, SSE, AVX2 and AVX-512 code, read bandwidths of each cache and of memory, and memory
/// latency: in rounds, medians with their spread. Other programs disturb; nothing is written if a number does not
/// repeat within 10 %. Exit code: 0 written, 1 not. Only on x86-64.
#[derive(Args, Debug)]
#[command(after_help = CALIBRATE_EXAMPLES)]
pub struct CalibrateArgs {
    /// The file; its name without .toml is the machine's name [default: local.toml in the folder of your machines]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// How long to measure; preparing memory takes some time more
    #[arg(long, value_name = "S", default_value = "5", value_parser = parse_seconds)]
    pub seconds: Duration,

    /// Cores that work at the same time
    #[arg(long, value_enum, default_value_t, value_name = "N")]
    pub threads: Threads,

    /// Write numbers that do not repeat too, marked as estimated
    #[arg(long)]
    pub force: bool,
}

const CALIBRATE_EXAMPLES: &str = "\
Examples:
  dmdprof machine calibrate                      one core of this machine; it is then called local
  dmdprof machine calibrate --threads all -o ./server.toml
  dmdprof machine calibrate --seconds 20         longer, if other programs disturb
  dmdprof machine show local";

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|s| (0.1..=3600.0).contains(s));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "expected seconds, from 0.1 to 3600".into())
}

#[cfg(target_arch = "x86_64")]
pub use native::command;

/// # Errors
/// Always: the loops that are timed are of another architecture.
#[cfg(not(target_arch = "x86_64"))]
pub fn command(_: &Places, _: &CalibrateArgs, _: Look, _: &mut dyn Write) -> anyhow::Result<i32> {
    anyhow::bail!(
        "calibration times x86-64 instructions and cannot run on {}; describe the machine by hand: dmdprof machine show ref-cpu --toml > my.toml",
        std::env::consts::ARCH
    )
}

#[cfg(target_arch = "x86_64")]
mod native {
    use std::path::Path;
    use std::{fs, io};

    use anyhow::{Context, bail};

    use super::*;
    use crate::machine::calibrate::{self, Plan, Row};
    use crate::machine::model::Confidence;
    use crate::machine::report::{self, Column};
    use crate::machine::{file, text};
    use crate::shared::quantity;

    /// Measures, prints, writes; returns the exit code.
    ///
    /// # Errors
    /// When the machine does not tell its caches, or the file cannot be written.
    pub fn command(places: &Places, args: &CalibrateArgs, look: Look, out: &mut dyn Write) -> anyhow::Result<i32> {
        let (name, path) = destination(places, args.output.as_deref())?;
        eprintln!("dmdprof: measuring for about {} s", args.seconds.as_secs_f64());
        let calibration = calibrate::measure(Plan::new(args.seconds, args.threads))?;
        measured(&calibration.rows(), look, out)?;
        found(&calibration.cache_levels(), look, out)?;
        let noisy = calibration.noisy();
        if !noisy.is_empty() && !args.force {
            eprintln!("dmdprof: not written: {}", too_noisy(&noisy));
            return Ok(1);
        }
        for finding in calibration.not_faster() {
            eprintln!(
                "dmdprof: note: {finding} Other programs do that too: measure again while nothing else runs (--seconds 20). If it stays \
                 so, it is so, and nobody says it again."
            );
        }
        let machine = calibration.machine(&name, path.clone())?;
        let doubtful: Vec<&str> = machine
            .core
            .iter()
            .filter(|(_, figure)| figure.confidence == Confidence::Estimated)
            .map(|(name, _)| *name)
            .collect();
        if !doubtful.is_empty() {
            eprintln!(
                "dmdprof: note: these numbers of the core did not repeat within {:.0} % and are marked as estimated: {}. Cycles \
                 of this machine are as uncertain; measure again while nothing else runs (--seconds 20)",
                calibrate::SPREAD_LIMIT * 100.0,
                doubtful.join(", ")
            );
        }
        let text = text::to_toml(&machine);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        crate::shared::output_file::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        writeln!(out, "\n{}: machine {name}", path.display())?;
        Ok(0)
    }

    /// The machine's name and file.
    fn destination(places: &Places, given: Option<&Path>) -> anyhow::Result<(String, PathBuf)> {
        let path = match (given, &places.user) {
            (Some(path), _) => path.to_path_buf(),
            (None, Some(folder)) => folder.join("local.toml"),
            (None, None) => {
                bail!("there is no folder for your machines, as neither HOME nor XDG_CONFIG_HOME is set; give -o FILE")
            }
        };
        let is_toml = path.extension().is_some_and(|e| e == "toml");
        let name = path.file_stem().and_then(|stem| stem.to_str()).filter(|name| is_toml && file::is_name(name));
        match name {
            Some(name) => Ok((name.to_owned(), path)),
            None => {
                bail!("{} is no name for a machine file: write NAME.toml, in NAME {}", path.display(), file::NAME_RULE)
            }
        }
    }

    fn measured(rows: &[Row], look: Look, out: &mut dyn Write) -> io::Result<()> {
        let header =
            [Column::Text("measured"), Column::Number("median"), Column::Number("spread"), Column::Text("how")];
        let row = |row: &Row| {
            vec![
                row.what.clone(),
                quantity::rounded(row.samples.median(), row.kind),
                format!("{:.1} %", row.samples.spread() * 100.0),
                row.how.clone(),
            ]
        };
        report::columns(&header, &rows.iter().map(row).collect::<Vec<_>>(), look, out)
    }

    /// What the system says of its caches.
    fn found(levels: &[(String, u64, String)], look: Look, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        let header = [Column::Text("found"), Column::Number("capacity"), Column::Text("shared by")];
        let row = |(name, bytes, who): &(String, u64, String)| {
            vec![name.clone(), quantity::rounded(*bytes as f64, quantity::Kind::Bytes), who.clone()]
        };
        report::columns(&header, &levels.iter().map(row).collect::<Vec<_>>(), look, out)
    }

    fn too_noisy(rows: &[Row]) -> String {
        let each = rows.iter().map(|row| format!("{} {:.1} %", row.what, row.samples.spread() * 100.0));
        format!(
            "the spread is more than {:.0} % of the median: {}\n  stop other programs or measure longer (--seconds 20), or keep the numbers all the same, marked as estimated (--force)",
            calibrate::SPREAD_LIMIT * 100.0,
            each.collect::<Vec<_>>().join(", ")
        )
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    const LOOK: Look = Look { width: 160, color: false };

    /// Machines that test this are busy: whether numbers repeat is not what is tested.
    #[test]
    fn a_calibration_writes_a_file_that_is_right() {
        let folder = tempfile::tempdir().expect("a folder");
        let places = Places { user: Some(folder.path().join("dmdprof/machines")) };
        let args = |output: Option<&str>| CalibrateArgs {
            output: output.map(|name| folder.path().join(name)),
            seconds: Duration::from_millis(200),
            threads: Threads::One,
            force: true,
        };
        let mut out = Vec::new();
        assert_eq!(command(&places, &args(None), LOOK, &mut out).expect("measured"), 0);
        let text = String::from_utf8(out).expect("text");
        assert!(text.contains("shared by") && text.lines().any(|line| line.trim_start().starts_with("L1 ")), "{text}");
        assert!(text.contains("read memory") && text.ends_with("local.toml: machine local\n"), "{text}");
        assert_eq!(places.find("local").map(|found| found.machine.name), Ok("local".into()));
        assert!(command(&places, &args(Some("no toml")), LOOK, &mut Vec::new()).is_err());
    }
}
