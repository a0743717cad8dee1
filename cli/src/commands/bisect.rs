//! `dmdprof bisect`: which commit moved a number, and in which function.
//!
//! Measures the two ends, decides which number is followed, has `gate::bisect` say what to measure next, and prints the
//! commits that moved it with everything that was measured on the way.

use std::collections::BTreeMap;

use anyhow::{anyhow, bail};
use clap::Args;

use super::{cases::CasesArgs, print::PrintArgs};
use crate::document::{Column, Document, Sheet, Value};
use crate::gate::bisect::{CommitState, Search, Step};
use crate::gate::compare::{Comparison, difference};
use crate::gate::config::Case;
use crate::gate::key::Key;
use crate::gate::metric::Metric;
use crate::gate::output::words;
use crate::gate::pattern::Pattern;
use crate::gate::project::Project;
use crate::gate::revision::{NotBuilt, Revisions};
use crate::gate::summary::Summary;
use crate::gate::why;
use crate::git::{Commit, day};
use crate::shared::human;

/// Find the commit that moved a number, and the function
///
/// Builds and measures commits between two revisions, each in a checkout of its own and once: numbers are exact, so the
/// first commit that moved one is found with the logarithm of the number of commits. What was measured is kept, and
/// commits that do not build are passed over and named. Exit code: 0 found, 1 could not measure, 3 nothing moved.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct BisectArgs {
    /// A revision before
    #[arg(long, value_name = "REV")]
    pub good: String,

    /// One after it
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    pub bad: String,

    /// The number: cost, read, 'traffic(32KiB)', peak_live, ...
    #[arg(long, value_name = "METRIC", default_value = "cost")]
    pub metric: Metric,

    /// Of this function [default: of the program if that got worse, else of the function that got worse most]
    #[arg(long, value_name = "GLOB")]
    pub function: Option<String>,

    /// Find every commit that moved it, as far as it did not come back
    #[arg(long)]
    pub all: bool,

    #[command(flatten)]
    pub print: PrintArgs,

    #[command(flatten)]
    pub cases: CasesArgs,
}

const EXAMPLES: &str = "\
Examples:
  dmdprof bisect --good v1.2                           what made the worst case cost more since then?
  dmdprof bisect --good v1.2 --bad main --case small --metric 'traffic(32KiB)'
  dmdprof bisect --good HEAD~50 --function 'parse_*' --all
  dmdprof bisect --good HEAD~50 -- kernel.c 100        a source file, which needs no build

Revisions are built with `build` of dmdprof.toml, as in build = [\"make\", \"CC=dmdprof cc\", \"prog\"].";

/// As of `check`, for what is worth a look.
const NOTHING_MOVED: i32 = 3;
/// Functions that are named per step.
const FUNCTIONS: usize = 3;

/// Searches, prints and returns the exit code.
///
/// # Errors
/// When an end cannot be measured, or the one does not lead to the other.
pub fn command(args: &BisectArgs) -> anyhow::Result<i32> {
    let project = Project::read(args.cases.config.as_deref())?;
    let cases = args.cases.trusted(&project)?;
    let revisions = Revisions::new(&project, &[], args.cases.run_options())?;
    let (good, bad) = (revisions.git().commit(&args.good)?, revisions.git().commit(&args.bad)?);
    let mut commits = vec![good.clone()];
    commits.extend(revisions.git().between(&good, &bad)?);
    let mut hunt = Hunt { revisions, metric: args.metric, measured: BTreeMap::new(), broken: BTreeMap::new(), commits };
    let last = hunt.commits.len() - 1;
    let Some((case, subject)) = hunt.subject(&cases, args.function.as_deref())? else {
        let which = cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>().join(", ");
        let (good, bad) = (good.short(), bad.short());
        let line =
            format!("nothing moved: {} of {which} is the same at {good} and {bad}, in every function", args.metric);
        let hint = "what moved between them and came back is not seen; --metric names another number".into();
        args.print.print(&Document {
            kind: "bisect",
            heading: vec![line],
            notes: vec![hint],
            ..Document::default()
        })?;
        return Ok(NOTHING_MOVED);
    };
    let value = |hunt: &Hunt<'_>, at: usize| subject.value(args.metric, &hunt.measured[&(case.name.clone(), at)]);
    let mut search = Search::new(hunt.commits.len(), value(&hunt, 0), value(&hunt, last), args.all);
    while let Some(at) = search.next() {
        eprintln!("dmdprof: about {} to go", human::plural(search.left().max(1).into(), "commit"));
        let known = if hunt.measure(at, case)? { CommitState::Number(value(&hunt, at)) } else { CommitState::Broken };
        search.set_state(at, known);
    }
    args.print.print(&document(args, &hunt, case, &subject, &search))?;
    Ok(0)
}

/// The number that is followed.
enum Target {
    Program,
    Function(Key),
}

impl Target {
    /// Nothing where there is no such function.
    fn value(&self, metric: Metric, summary: &Summary) -> u128 {
        match self {
            Target::Program => summary.get(metric),
            Target::Function(key) => summary.functions.get(key).and_then(|f| metric.value_in(&f.numbers)),
        }
        .unwrap_or_default()
    }

    fn name(&self) -> &str {
        match self {
            Target::Program => "the program",
            Target::Function(key) => &key.name,
        }
    }
}

/// Commits, and what was found of them.
struct Hunt<'p> {
    revisions: Revisions<'p>,
    metric: Metric,
    commits: Vec<Commit>,
    /// By case and commit.
    measured: BTreeMap<(String, usize), Summary>,
    /// Why commits do not build.
    broken: BTreeMap<usize, String>,
}

impl Hunt<'_> {
    /// Whether a commit builds; then its numbers are known.
    fn measure(&mut self, at: usize, case: &Case) -> anyhow::Result<bool> {
        match self.revisions.summary(&self.commits[at], case)? {
            Ok(summary) => {
                self.measured.insert((case.name.clone(), at), summary);
                Ok(true)
            }
            Err(NotBuilt(why)) => {
                self.broken.insert(at, why);
                Ok(false)
            }
        }
    }

    fn measure_end(&mut self, at: usize, case: &Case) -> anyhow::Result<()> {
        if self.measure(at, case)? {
            return Ok(());
        }
        let (commit, why) = (&self.commits[at], &self.broken[&at]);
        Err(anyhow!("{} does not build, and an end has to: {why}", commit.short()))
    }

    /// The number to follow: that of the case that moved most; `None` if none moved.
    fn subject<'c>(&mut self, cases: &'c [Case], function: Option<&str>) -> anyhow::Result<Option<(&'c Case, Target)>> {
        let pattern = function.map(Pattern::new).transpose().map_err(anyhow::Error::msg)?;
        if !self.metric.of_functions() && pattern.is_some() {
            bail!("functions have no {} of their own", self.metric);
        }
        let last = self.commits.len() - 1;
        for at in [0, last] {
            for case in cases {
                self.measure_end(at, case)?;
            }
        }
        let mut found: Vec<(f64, &Case, Target)> = Vec::new();
        for case in cases {
            let of = |at: usize| &self.measured[&(case.name.clone(), at)];
            let comparison = Comparison::between(of(0), of(last));
            found.extend(self.candidates(&comparison, pattern.as_ref())?.into_iter().map(|(by, s)| (by, case, s)));
        }
        // Worse by the largest part first; what got better only if nothing got worse.
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let worst = found.iter().position(|(by, ..)| *by > 0.0);
        let at = worst.unwrap_or_else(|| found.len().saturating_sub(1));
        Ok((at < found.len()).then(|| found.swap_remove(at)).map(|(_, case, subject)| (case, subject)))
    }

    /// Numbers of a case that moved, with the part by which they got worse: the program's, or else functions'.
    fn candidates(&self, comparison: &Comparison, pattern: Option<&Pattern>) -> anyhow::Result<Vec<(f64, Target)>> {
        let worse = |(before, after): (u128, u128)| {
            let by = difference(before, after) as f64 / before.max(1) as f64;
            if self.metric.more_is_better() { -by } else { by }
        };
        let total = comparison.total(self.metric);
        if total.is_none() && self.metric.of_program() && !self.metric.more_is_better() {
            bail!("{} was not measured: {}", self.metric, self.metric.advice());
        }
        let program = total.filter(|(before, after)| before != after).map(worse);
        if pattern.is_none()
            && let Some(by) = program.filter(|by| *by > 0.0)
        {
            return Ok(vec![(by, Target::Program)]);
        }
        let all = comparison.functions.iter().filter(|c| pattern.is_none_or(|p| p.matches(&c.key)));
        let moved = all.filter_map(|change| {
            let values = change.values(self.metric).filter(|(before, after)| before != after)?;
            Some((worse(values), values.0.abs_diff(values.1), Target::Function(change.key.clone())))
        });
        let mut moved: Vec<_> = moved.collect();
        moved.sort_by_key(|(by, size, _)| (*by <= 0.0, std::cmp::Reverse(*size)));
        let function = moved.into_iter().next().map(|(by, _, subject)| (by, subject));
        let is_worse = function.as_ref().is_some_and(|(by, _)| *by > 0.0);
        match (program, pattern) {
            (Some(by), None) if !is_worse => Ok(vec![(by, Target::Program)]),
            _ => Ok(function.into_iter().collect()),
        }
    }
}

fn document(args: &BisectArgs, hunt: &Hunt<'_>, case: &Case, subject: &Target, search: &Search) -> Document {
    let steps = if args.all { search.steps() } else { search.first().into_iter().collect() };
    let mut heading = Vec::new();
    let mut moved = Sheet::new(
        "functions",
        "what moved there",
        vec![
            Column::new("commit", ["", "commit"], 0),
            Column::new("before", ["", "before"], 1),
            Column::new("after", ["", "after"], 1),
            Column::new("change", ["", "change"], 0),
            Column::new("function", ["", "function"], 0),
            Column::new("why", ["", "why"], 2),
        ],
    );
    for step in &steps {
        heading.extend(sentences(args, hunt, case, subject, step));
        functions(args.metric, hunt, case, step, &mut moved);
    }
    let mut notes = not_built(hunt);
    notes.extend(others(args, hunt, search, &steps));
    let between = human::plural(hunt.commits.len() as u64 - 1, "commit");
    let built = human::plural(hunt.revisions.builds as u64, "build");
    notes.push(format!("{built} for {between}; what was measured is kept"));
    let sheets = [moved, numbers(args.metric, hunt, case, search)].into_iter().filter(|sheet| !sheet.rows.is_empty());
    let source = vec![
        ("good", hunt.commits[0].id.clone()),
        ("bad", hunt.commits[hunt.commits.len() - 1].id.clone()),
        ("case", case.name.clone()),
        ("metric", args.metric.to_string()),
        (
            "function",
            match subject {
                Target::Program => String::new(),
                Target::Function(key) => key.name.clone(),
            },
        ),
    ];
    Document { kind: "bisect", source, heading, sheets: sheets.collect(), notes, ..Document::default() }
}

/// What a step is, in words.
fn sentences(args: &BisectArgs, hunt: &Hunt<'_>, case: &Case, subject: &Target, step: &Step) -> Vec<String> {
    let commit = &hunt.commits[step.after];
    let (from, to) = words::amounts(args.metric, step.from, step.to);
    let percent = words::percent(step.from, step.to);
    let what = format!("{} of {} ({})", args.metric.title(), subject.name(), case.name);
    let mut lines = vec![format!("{} moved {what} from {from} to {to} ({percent})", commit.short())];
    lines.push(format!("  {} {}", day(&commit.date), commit.subject));
    if step.after > step.before + 1 {
        let between: Vec<&str> = hunt.commits[step.before + 1..step.after].iter().map(Commit::short).collect();
        lines.push(format!("  or one of the commits before it, which do not build: {}", between.join(", ")));
    }
    lines
}

/// The functions that moved most in a step, and why.
fn functions(metric: Metric, hunt: &Hunt<'_>, case: &Case, step: &Step, sheet: &mut Sheet) {
    let of = |at: usize| hunt.measured.get(&(case.name.clone(), at));
    let (Some(before), Some(after)) = (of(step.before), of(step.after)) else { return };
    let mut comparison = Comparison::between(before, after);
    // Numbers of the program alone have no part in functions; their cost tells what else changed.
    let by = if metric.of_functions() { metric } else { Metric::COST };
    comparison.sort(by);
    for change in comparison.functions.iter().filter(|change| change.contribution(by) != 0).take(FUNCTIONS) {
        let Some((was, is)) = change.values(by) else { continue };
        // The strongest; `check --against` tells all.
        let cause = why::causes(change).into_iter().next().map_or_else(String::new, |cause| cause.text);
        let shown = |n: u128| Value::Shown(n as f64, words::amount(by, n));
        let change_text = format!("{} {}", words::change(by, was, is), words::percent(was, is));
        sheet.row([
            Value::Text(hunt.commits[step.after].short().into()),
            shown(was),
            shown(is),
            Value::Shown(difference(was, is) as f64, change_text),
            Value::Name(change.key.name.clone()),
            Value::Text(cause),
        ]);
    }
}

/// Every commit that was looked at.
fn numbers(metric: Metric, hunt: &Hunt<'_>, case: &Case, search: &Search) -> Sheet {
    let columns = vec![
        Column::new("commit", ["", "commit"], 0),
        Column::new("date", ["", "date"], 1),
        Column::new("number", ["", &metric.title()], 0),
        Column::new("subject", ["", "subject"], 2),
    ];
    let mut sheet = Sheet::new("commits", format!("commits measured ({})", case.name), columns);
    for (commit, known) in hunt.commits.iter().zip(search.commit_states()) {
        let number = match known {
            CommitState::Unknown => continue,
            CommitState::Broken => Value::Text("does not build".into()),
            CommitState::Number(n) => words::value(metric, *n),
        };
        let date = Value::Text(day(&commit.date).into());
        let (short, subject) = (commit.short().to_owned(), commit.subject.clone());
        sheet.row([Value::Text(short), date, number, Value::Name(subject)]);
    }
    sheet
}

fn not_built(hunt: &Hunt<'_>) -> Vec<String> {
    let line = |(at, why): (&usize, &String)| {
        let why = why.lines().next().unwrap_or_default();
        format!("{} does not build and was passed over ({why})", hunt.commits[*at].short())
    };
    hunt.broken.iter().map(line).collect()
}

/// Steps that were seen and not followed.
fn others(args: &BisectArgs, hunt: &Hunt<'_>, search: &Search, steps: &[Step]) -> Vec<String> {
    let rest = search.steps().into_iter().filter(|step| !steps.contains(step));
    let line = |step: Step| {
        let (from, to) = words::amounts(args.metric, step.from, step.to);
        let (before, after) = (hunt.commits[step.before].short(), hunt.commits[step.after].short());
        format!("it also moved from {from} to {to} between {before} and {after}: --all looks for the commits")
    };
    rest.map(line).collect()
}
