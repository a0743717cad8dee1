//! What the person can ask of a report: raw arguments ([`SubjectArgs`] and [`ReportArgs`], shared by `run` and
//! `report`) and the validated configuration they become ([`ReportOptions`]).

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{
    analysis::{Generics, Grouping, Inlined},
    tries::Tries,
};
use crate::{
    document::Format,
    profile::DEFAULT_FILE,
    shared::{
        settings,
        terminal::{Terminal, WidthArgs},
    },
};

/// Which number orders the rows. Largest first, except names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Samples of a clock
    Clock,
    /// Cycles on a core
    Cycles,
    /// Lines that a memory of 32 KiB fetches and writes back; inclusive with --inclusive
    Moved,
    /// ByteDMD; inclusive with --inclusive
    Cost,
    /// Bytes read
    Read,
    /// Bytes written
    Written,
    /// Calls (with --lines: accesses executed)
    Calls,
    /// Floating-point operations
    Flops,
    /// Mean cost per byte read
    Mean,
    /// Depth that 90 % of the bytes read do not exceed
    Depth,
    /// Name, then file and line
    Name,
}

/// What else is measured, and shown in the place of functions.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct SubjectArgs {
    /// Show which data was accessed, by object and by function; with `run`, measures it
    ///
    /// Objects are heap blocks by where they were allocated, global and static variables, variables on the stack, and
    /// mapped files.
    #[arg(long)]
    pub objects: bool,

    /// Show which threads write what others read, and lines that change hands between threads, with the bytes and
    /// fields that each writes; with `run` or `replay`, measures it. With private stacks, also first touches of what
    /// another thread had written. Takes 4 bytes of memory per byte that the program writes (private: touches, per
    /// thread)
    #[arg(long, conflicts_with = "objects")]
    pub sharing: bool,
}

/// How the report shows what was measured; beside [`SubjectArgs`].
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Report options")]
pub struct ReportArgs {
    /// Order of the rows [default: in tables clock or cycles, if they were measured, else moved, where lines were, else
    /// cost]
    #[arg(long, value_enum, value_name = "KEY")]
    pub sort: Option<Sort>,

    /// Fold rows with a smaller share into one line, as in 0.5% [default: 0.1% in tables, 0 elsewhere]
    ///
    /// The share is that of the number that orders the rows; of the cost, if they are ordered by mean, depth or name.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub threshold: Option<f64>,

    /// Show at most so many rows and fold the rest into one line [default: what fits 24 lines in tables]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,

    /// Also show each function with all that it calls; sorts and folds by those numbers
    #[arg(long, conflicts_with_all = ["lines", "objects", "sharing"])]
    pub inclusive: bool,

    /// One row per source line instead of per function
    #[arg(long, conflicts_with = "sharing")]
    pub lines: bool,

    /// With --objects: heap blocks of different calling contexts are different objects
    #[arg(long, requires = "objects")]
    pub contexts: bool,

    /// With --objects: which fields of structures are accessed, as far as debug information (-g) tells, and where in
    /// large blocks the reads go
    #[arg(long, requires = "objects")]
    pub fields: bool,

    /// Charge inlined code to the function and line in which it was written (default)
    #[arg(long, overrides_with = "no_inline")]
    pub inlined: bool,

    /// Charge inlined code to the function it was inlined into (the linked symbol)
    #[arg(long, overrides_with = "inlined")]
    pub no_inline: bool,

    /// Leave out generic arguments: all instances of a generic function share a row
    #[arg(long)]
    pub short_generics: bool,

    /// Show code inlined from the standard library and system headers as rows of its own (default: it counts for the
    /// function or line of yours that it was inlined into)
    #[arg(long, conflicts_with = "no_inline")]
    pub library: bool,

    /// With --sharing: threads that began with the same function are one row
    #[arg(long, requires = "sharing")]
    pub group_threads: bool,

    /// Show a row per thread too
    #[arg(long)]
    pub by_thread: bool,

    /// Show how deep reads reached, and the traffic at each size, in the place of functions
    #[arg(long, conflicts_with_all = ["objects", "sharing"])]
    pub depths: bool,

    /// Show why cycles pass, for each row, in the place of what it moved and cost
    #[arg(long, conflicts_with_all = ["objects", "sharing", "columns"])]
    pub causes: bool,

    /// Show what was and was not seen of the program, in the place of functions
    #[arg(long, conflicts_with_all = ["objects", "sharing"])]
    pub coverage: bool,

    /// Show everything: all totals, all rows above the threshold, memories of lines, depths, coverage
    #[arg(short, long, conflicts_with_all = ["objects", "sharing"])]
    pub verbose: bool,

    /// Show these columns and no others, in this order, by their names in the header: as in read,depth-p90 [default:
    /// those of [report] in dmdprof.toml, else those that have room]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with_all = ["objects", "sharing"])]
    pub columns: Vec<String>,

    /// Show a depth histogram for each row too
    #[arg(long, conflicts_with_all = ["objects", "sharing"])]
    pub hist: bool,

    /// How to print the report
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,

    #[command(flatten)]
    pub width: WidthArgs,
}

/// Accepts `0.5%` and `0.5`, both half a percent; gives the share, 0.005.
///
/// # Errors
/// Anything else than a number from 0 to 100.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('%').trim_end().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("expected a percentage between 0% and 100%, as in 0.5%".into()),
    }
}

/// What to show, validated. The default is the plain `dmdprof report` written to a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportOptions {
    pub sort: Option<Sort>,
    /// Rows with a smaller share of the total are folded; 0 shows all.
    pub threshold: f64,
    pub top: Option<usize>,
    /// Rows that do not fit on one screen are folded too.
    pub one_screen: bool,
    pub inclusive: bool,
    pub generics: Generics,
    pub grouping: Grouping,
    pub objects: bool,
    pub contexts: bool,
    pub fields: bool,
    pub by_thread: bool,
    pub sharing: bool,
    pub group_threads: bool,
    pub hist: bool,
    pub depths: bool,
    pub coverage: bool,
    pub causes: bool,
    pub verbose: bool,
    /// What would help, by site.
    pub tries: Tries,
    /// Names of columns; those that have room if there are none.
    pub columns: Vec<String>,
    /// Where the profile is, for commands that are named.
    pub profile: PathBuf,
    pub format: Format,
    /// Columns that the table may take; `None`: as many as it needs.
    pub width: Option<usize>,
    pub color: bool,
}

/// Share of the cost below which tables fold rows.
pub const TABLE_THRESHOLD: f64 = 0.001;

impl Default for ReportOptions {
    fn default() -> Self {
        ReportArgs::default().options(SubjectArgs::default(), Terminal::default())
    }
}

fn first_given(all: &[(bool, &'static str)]) -> Option<&'static str> {
    all.iter().find(|(is_given, _)| *is_given).map(|(_, option)| *option)
}

impl ReportArgs {
    /// The first of these that needs a profile: estimates of a sample have nothing to show for it.
    #[must_use]
    pub fn needs_profile(&self) -> Option<&'static str> {
        let all = [
            (self.hist, "--hist"),
            (self.by_thread, "--by-thread"),
            (self.fields, "--fields"),
            (self.depths, "--depths"),
            (self.coverage, "--coverage"),
            (self.causes, "--causes"),
            (self.verbose, "--verbose"),
            (!self.columns.is_empty(), "--columns"),
            (self.sort.is_some_and(|sort| sort != Sort::Cost), "--sort"),
        ];
        first_given(&all)
    }

    /// The first of these that changes tables alone, where something else is to be printed.
    #[must_use]
    pub fn needs_table(&self) -> Option<&'static str> {
        let all = [
            (self.hist && self.format == Format::Csv, "--hist"),
            (self.depths, "--depths"),
            (self.coverage, "--coverage"),
            (self.causes, "--causes"),
            (!self.columns.is_empty(), "--columns"),
        ];
        first_given(&all).filter(|_| self.format != Format::Table)
    }

    /// An option that goes by depths of bytes.
    #[must_use]
    pub fn needs_bytes(&self) -> Option<&'static str> {
        let all = [(self.hist, "--hist"), (self.by_thread, "--by-thread"), (self.depths, "--depths")];
        first_given(&all)
    }

    #[must_use]
    pub fn options(&self, subject: SubjectArgs, terminal: Terminal) -> ReportOptions {
        let threshold = self.threshold.unwrap_or(match self.format {
            Format::Table => TABLE_THRESHOLD,
            Format::Json | Format::Csv => 0.0,
        });
        let grouping = match (self.lines, self.no_inline, self.library) {
            (false, true, _) => Grouping::Symbols,
            (false, false, false) => Grouping::Functions,
            (false, false, true) => Grouping::AllFunctions,
            (true, true, _) => Grouping::Lines(Inlined::Linked),
            (true, false, false) => Grouping::Lines(Inlined::Own),
            (true, false, true) => Grouping::Lines(Inlined::All),
        };
        ReportOptions {
            sort: self.sort,
            threshold,
            top: self.top.map(|n| n as usize),
            one_screen: self.top.is_none() && self.threshold.is_none() && !self.verbose && !self.hist,
            inclusive: self.inclusive && !self.lines,
            generics: if self.short_generics { Generics::Shorten } else { Generics::Keep },
            grouping,
            objects: subject.objects,
            contexts: self.contexts,
            fields: self.fields,
            by_thread: self.by_thread,
            sharing: subject.sharing,
            group_threads: self.group_threads,
            hist: self.hist,
            depths: self.depths,
            coverage: self.coverage,
            causes: self.causes,
            verbose: self.verbose,
            tries: Tries::default(),
            columns: match self.format {
                Format::Table if self.columns.is_empty() => settings::columns(),
                _ => self.columns.clone(),
            },
            profile: DEFAULT_FILE.into(),
            format: self.format,
            width: self.width.columns(&terminal),
            color: terminal.color,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        subject: SubjectArgs,
        #[command(flatten)]
        report: ReportArgs,
    }

    fn options(args: &[&str]) -> Result<ReportOptions, String> {
        let cli = Cli::try_parse_from([&["report"], args].concat()).map_err(|e| e.to_string())?;
        Ok(cli.report.options(cli.subject, Terminal::default()))
    }

    #[test]
    fn arguments_become_options() {
        assert_eq!(options(&[]).unwrap(), ReportOptions::default());
        assert_eq!(options(&["--threshold", "5%"]).unwrap().threshold, 0.05);
        assert_eq!(options(&["--format", "csv"]).unwrap().threshold, 0.0);
        assert_eq!(options(&["--lines", "--no-inline"]).unwrap().grouping, Grouping::Lines(Inlined::Linked));
        assert_eq!(options(&["--full-names", "--width", "80"]).unwrap().width, None);
        assert!(options(&["--threshold", "101"]).unwrap_err().contains("between 0% and 100%"));
        assert!(options(&["--lines", "--inclusive"]).unwrap_err().contains("cannot be used with"));
    }
}
